"""What records tell the model of a step: workloads of training records, links of sweeps.

Layer: analysis. Reads no file. What a record lacks for it is a reason, not an error.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from commwall.analysis.names import OPERATION_TIME, Quantity, is_emulated
from commwall.analysis.pairs import Cell
from commwall.analysis.points import points
from commwall.analysis.readings import gap_reason, measured, typical_s
from commwall.analysis.result import Analysis
from commwall.model.step import Timeline
from commwall.model.sweep import Contention, Link, Sweep
from commwall.model.bucketed import Workload
from commwall.schema.case import CollectivesCase, Leg, TrainingCase
from commwall.schema.record import Record
from commwall.schema.result import Series

GRADIENTS = "float32"
"""Type of the gradients: weights stay float32 in every case."""
LEAST_SIZES = 2
EMULATED = "the link is emulated: only real ones are predicted"


@dataclass(frozen=True)
class MeasuredStep:
    """One round of a training case on one platform."""

    workload: Workload
    full_s: float
    """Step with its exchange [s]."""
    comm_s: float | None
    """The exchange alone; None where that leg was not measured [s]."""

    def over(self, link: Link) -> Link:
        """The link as this step's own exchange had it: leg `comm` decides over the sweep."""
        if self.comm_s is None:
            return link
        return link.as_exchanged(self.workload.bucket_bytes, self.comm_s)


@dataclass(frozen=True)
class PlatformLink:
    """What sweeps tell of one platform, round by round."""

    case: str
    """The sweep that was taken."""
    rounds: tuple[Link, ...]
    contended: bool
    """Whether a sweep beside a load was measured too."""

    def without_load(self) -> "PlatformLink":
        """The same, as if nothing had been measured beside a load."""
        alone = tuple(Link(link.alone) for link in self.rounds)
        return PlatformLink(self.case, alone, contended=False)


Steps = tuple[MeasuredStep, ...] | str
"""Rounds of a case on a platform, or why there is none."""


@dataclass(frozen=True)
class StepInputs:
    """All that a campaign has for the model; a text says why something is missing."""

    steps: dict[tuple[str, str], Steps]
    """Platform and case -> its rounds."""
    links: dict[str, PlatformLink | str]
    """Platform -> its link."""


def step_inputs(analysis: Analysis) -> StepInputs:
    """Everything that the admitted records of a campaign have for the model."""
    trained: dict[tuple[str, str], list[Cell]] = {}
    swept: dict[str, list[Cell]] = {}
    for cell in analysis.cells:
        place, case = cell.record.id, cell.record.case
        if isinstance(case, TrainingCase):
            trained.setdefault((place.platform, place.case), []).append(cell)
        elif isinstance(case, CollectivesCase) and case.collective == "all_reduce":
            swept.setdefault(place.platform, []).append(cell)
    return StepInputs(
        steps={place: _steps(cells) for place, cells in trained.items()},
        links={
            platform: _link(swept.get(platform, []))
            for platform in dict.fromkeys([*(platform for platform, _ in trained), *swept])
        },
    )


def measured_step(cell: Cell) -> MeasuredStep | str:
    """What one training record has for the model, or what it lacks."""
    record, runtime = cell.record, cell.record.software.runtime
    times = _times(record)
    full_s, packed_s = (_step_s(cell, leg) for leg in ("full", "packed"))
    if isinstance(full_s, str):
        return full_s
    if isinstance(packed_s, str):
        return packed_s
    if isinstance(times, str):
        return times
    ready_s, end_s = times
    if runtime is None or len(ready_s) != len(runtime.bucket_bytes):
        return "it does not tell bytes and ready times of the same buckets"
    if not 0 <= max(ready_s) <= end_s <= packed_s:
        return "its buckets, the end of its backward pass and its step do not follow each other"
    workload = Workload(
        Timeline(ready_s, end_s, packed_s), runtime.bucket_bytes, record.platform.world_size
    )
    comm_s = _step_s(cell, "comm")
    return MeasuredStep(workload, full_s, None if isinstance(comm_s, str) else comm_s)


def _steps(cells: list[Cell]) -> Steps:
    if is_emulated(cells[0].record.platform):
        return EMULATED
    found = [_admitted_step(cell) for cell in cells]
    known = tuple(step for step in found if isinstance(step, MeasuredStep))
    return known or "; ".join(dict.fromkeys(step for step in found if isinstance(step, str)))


def _admitted_step(cell: Cell) -> MeasuredStep | str:
    return "; ".join(cell.refusals) or measured_step(cell)


def _step_s(cell: Cell, leg: Leg) -> float | str:
    """Step time of a leg [s], or why there is none."""
    quantity = Quantity("step_time_s", leg)
    if quantity in cell.derived.values:
        return cell.derived.values[quantity]
    return cell.derived.absent.get(quantity, f"leg {leg} was not measured")


def _times(record: Record) -> tuple[tuple[float, ...], float] | str:
    """When each bucket was ready and the backward pass over on the slowest rank [s]."""
    ready = sorted(measured(record, "bucket_ready_time_s", "packed"), key=_bucket)
    ends = measured(record, "backward_end_time_s", "packed")
    for metric, own in (("bucket_ready_time_s", ready), ("backward_end_time_s", ends)):
        if not own:
            return gap_reason(record, metric) or f"{metric} was not measured"
    buckets = [list(own) for _, own in groupby(ready, key=_bucket)]
    if not all(map(_alike, (*buckets, ends))):
        return "its ranks timed different numbers of steps until the buckets were ready"
    return tuple(typical_s(own) for own in buckets), typical_s(ends)


def _bucket(series: Series) -> int:
    return -1 if series.bucket is None else series.bucket


def _alike(own: list[Series]) -> bool:
    return len({len(series.values) for series in own}) == 1 and bool(own[0].values)


def _link(swept: list[Cell]) -> PlatformLink | str:
    """The link of a platform by its best sweep, and by its best one beside a load."""
    alone, loaded = (_swept(swept, beside=beside) for beside in (False, True))
    best = _best(alone, GRADIENTS)
    if not best:
        return "no all-reduce was swept over sizes, or no round of it counts"
    sweeps = [sweep for sweep in map(_sweep, best) if sweep]
    if not sweeps:
        return f"{best[0].record.id.case} has fewer than {LEAST_SIZES} usable sizes"
    loads = _contentions(_best(loaded, GRADIENTS), alone)
    links = [
        Link(sweep, loads[i % len(loads)]) if loads else Link(sweep)
        for i, sweep in enumerate(sweeps)
    ]
    return PlatformLink(best[0].record.id.case, tuple(links), bool(loads))


def _swept(cells: list[Cell], *, beside: bool) -> list[Cell]:
    """Admitted sweeps beside a load, or alone."""
    return [
        cell
        for cell in cells
        if cell.record.status.state == "ok"
        and not cell.refusals
        and (_sweep_case(cell).beside is not None) is beside
    ]


def _best(cells: list[Cell], dtype: str) -> list[Cell]:
    """Rounds of the sweep that fits best: of that type if there is one, to the largest size."""

    def fitness(cell: Cell) -> tuple[bool, int, str]:
        case = _sweep_case(cell)
        return case.dtype == dtype, case.max_bytes, cell.record.id.case

    best = max(map(fitness, cells), default=None)
    return [cell for cell in cells if fitness(cell) == best]


def _sweep_case(cell: Cell) -> CollectivesCase:
    case = cell.record.case
    assert isinstance(case, CollectivesCase)  # the caller chose the cells
    return case


def _contentions(loaded: list[Cell], alone: list[Cell]) -> list[Contention]:
    """What each round beside a load says, by the sweep alone of the same type."""
    if not loaded:
        return []
    same = [s for s in map(_sweep, _best(alone, _sweep_case(loaded[0]).dtype)) if s]
    pairs = [(cell, same[i % len(same)]) for i, cell in enumerate(loaded)] if same else []
    return [load for load in (_contention(*pair) for pair in pairs) if load]


def _sweep(cell: Cell) -> Sweep | None:
    found = [point for point in points(cell.record) if point.bound]
    if len(found) < LEAST_SIZES:
        return None
    return Sweep(
        tuple(point.message_bytes for point in found),
        tuple(point.values[OPERATION_TIME] for point in found),
    )


def _contention(cell: Cell, alone: Sweep) -> Contention | None:
    """What a sweep beside a load says, by the sweep alone; None if it has no usable size."""
    found = list(_loads(cell.record, alone))
    return Contention(*(tuple(column) for column in zip(*found, strict=True))) if found else None


def _loads(record: Record, alone: Sweep) -> Iterator[tuple[int, float, float]]:
    """Size [byte], compute lost of each second of exchange [1], stretch of the exchange [1]."""
    for point in points(record):
        size, time_s = point.message_bytes, point.values[OPERATION_TIME]
        load_s, beside_s, repetitions = (
            _at(record, metric, size)
            for metric in ("load_time_s", "load_beside_time_s", "load_beside_repetitions")
        )
        if load_s is not None and beside_s is not None and repetitions:
            yield size, (beside_s - load_s) / (repetitions * time_s), time_s / alone.at(size)


def _at(record: Record, metric: str, size: int) -> float | None:
    """Typical value of a metric at a size; of all sizes where it has none."""
    own = [series for series in measured(record, metric) if series.message_bytes in (size, None)]
    return typical_s(own) if own and _alike(own) else None
