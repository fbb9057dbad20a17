"""What records tell the model of a step: its workloads, and the links of the campaign.

Layer: analysis. Reads no file. What a record lacks for it is a reason, not an error.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from commwall.analysis.platforms import is_emulated
from commwall.analysis.quantities import EXCHANGE_COST, step_time
from commwall.analysis.steps.links import Links, platform_links
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.readings import alike, gap_reason, measured, typical_s
from commwall.language.translate import clauses, tr, tr_later
from commwall.model.bucketed import BucketedStep
from commwall.model.step import Timeline
from commwall.model.sweep import SweptLink
from commwall.schema.case import CollectivesCase, Leg, TrainingCase
from commwall.schema.plan import Plan
from commwall.schema.record import Record
from commwall.schema.result import Series

MOST_NOTED = 1.02
"""By so much steps whose moments are noted may be longer than others [1]. Chosen: what a host may
add to a step without being marked."""
EMULATED = tr_later("the link is emulated: only real ones are predicted")


@dataclass(frozen=True)
class MeasuredStep:
    """One round of a training case on one platform."""

    bucketed: BucketedStep
    full_s: float
    """Step with its exchange [s]."""
    comm_s: float | None
    """The exchange alone; None where that leg was not measured [s]."""

    def over(self, link: SweptLink) -> SweptLink:
        """The link as this step's own exchange had it: leg `comm` decides over the sweep."""
        if self.comm_s is None:
            return link
        return link.as_exchanged(self.bucketed.bucket_bytes, self.comm_s)


Steps = tuple[MeasuredStep, ...] | str
"""Rounds of a case on a platform, or why there is none."""


@dataclass(frozen=True)
class StepInputs:
    """All that a campaign has for the model; a text says why something is missing."""

    steps: dict[tuple[str, str], Steps]
    """Platform and case -> its rounds."""
    links: Links
    full_s: dict[tuple[str, str], tuple[float, ...]]
    """Platform and case -> step with its exchange, of all rounds that count [s]."""


def step_inputs(plan: Plan, cells: Iterable[Cell]) -> StepInputs:
    """Everything that the admitted records of a campaign have for the model."""
    trained: dict[tuple[str, str], list[Cell]] = {}
    swept: dict[str, list[Cell]] = {}
    for cell in cells:
        place, case = cell.record.id, cell.record.case
        if isinstance(case, TrainingCase):
            trained.setdefault((place.platform, place.case), []).append(cell)
        elif isinstance(case, CollectivesCase) and case.collective == "all_reduce":
            swept.setdefault(place.platform, []).append(cell)
    return StepInputs(
        steps={place: _steps(own) for place, own in trained.items()},
        links=platform_links(swept, plan.platforms),
        full_s={place: tuple(_full_s(own)) for place, own in trained.items()},
    )


def _full_s(cells: list[Cell]) -> Iterator[float]:
    times = (_step_s(cell, "full") for cell in cells if not cell.refusals)
    return (time_s for time_s in times if not isinstance(time_s, str))


def measured_step(cell: Cell) -> MeasuredStep | str:
    """What one training record has for the model, or what it lacks."""
    full_s, packed_s, comm_s = (_step_s(cell, leg) for leg in ("full", "packed", "comm"))
    times = _times(cell.record)
    if isinstance(full_s, str):
        return full_s
    if isinstance(packed_s, str):
        return packed_s
    if EXCHANGE_COST in cell.derived.absent:
        return cell.derived.absent[EXCHANGE_COST]  # clocks, which the traits would take in
    if isinstance(times, str):
        return times
    timeline = _timeline(*times, packed_s)
    runtime = cell.record.software.runtime
    if timeline is None:
        return tr("its buckets, the end of its backward pass and its step do not follow each other")
    if runtime is None or len(timeline.ready_s) != len(runtime.bucket_bytes):
        return tr("it does not tell bytes and ready times of the same buckets")
    bucketed = BucketedStep(timeline, runtime.bucket_bytes, cell.record.platform.world_size)
    return MeasuredStep(bucketed, full_s, None if isinstance(comm_s, str) else comm_s)


def _timeline(ready_s: tuple[float, ...], end_s: float, packed_s: float) -> Timeline | None:
    """Moments of a step that took so long; None if they cannot be of one step [s].

    Steps whose moments are noted take a little longer than those that are timed. Shortened by one
    factor, moments that were one may differ by a rounding: none comes after what it precedes.
    """
    longer = max(1.0, end_s / packed_s)
    if longer > MOST_NOTED or not 0 <= min(ready_s) <= max(ready_s) <= end_s:
        return None
    backward_s = min(packed_s, end_s / longer)
    return Timeline(tuple(min(s / longer, backward_s) for s in ready_s), backward_s, packed_s)


def _steps(cells: list[Cell]) -> Steps:
    if is_emulated(cells[0].record.platform):
        return tr(EMULATED)
    found = [_admitted_step(cell) for cell in cells]
    known = tuple(step for step in found if isinstance(step, MeasuredStep))
    return known or clauses(dict.fromkeys(step for step in found if isinstance(step, str)))


def _admitted_step(cell: Cell) -> MeasuredStep | str:
    return clauses(cell.refusals) or measured_step(cell)


def _step_s(cell: Cell, leg: Leg) -> float | str:
    """Step time of a leg [s], or why there is none."""
    quantity = step_time(leg)
    if quantity in cell.derived.values:
        return cell.derived.values[quantity]
    return cell.derived.absent.get(quantity, tr("leg {leg} was not measured", leg=leg))


def _times(record: Record) -> tuple[tuple[float, ...], float] | str:
    """When each bucket was ready and the backward pass over on the slowest rank [s]."""
    ready = sorted(measured(record, "bucket_ready_time_s", "packed"), key=_bucket)
    ends = measured(record, "backward_end_time_s", "packed")
    for metric, own in (("bucket_ready_time_s", ready), ("backward_end_time_s", ends)):
        if not own:
            return gap_reason(record, metric) or tr("{metric} was not measured", metric=metric)
    buckets = [list(own) for _, own in groupby(ready, key=_bucket)]
    if not all(map(alike, (*buckets, ends))):
        return tr("its ranks timed different numbers of steps until the buckets were ready")
    return tuple(typical_s(own) for own in buckets), typical_s(ends)


def _bucket(series: Series) -> int:
    return -1 if series.bucket is None else series.bucket
