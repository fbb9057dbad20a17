"""What sweeps of the all-reduce tell of each platform's link, alone and beside a load.

Layer: analysis. Reads no file.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import cycle

from commwall.analysis.quantities import OPERATION_TIME
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.operations import points
from commwall.analysis.values.readings import alike, measured, typical_s
from commwall.language.translate import tr
from commwall.model.sweep import UNKNOWN, Contention, Sweep, SweptLink
from commwall.schema.case import CollectivesCase
from commwall.schema.plan import PlannedPlatform
from commwall.schema.record import Record

GRADIENTS = "float32"
"""Type of the gradients: weights stay float32 in every case."""
LEAST_SIZES = 2


@dataclass(frozen=True)
class PlatformLink:
    """What sweeps tell of one platform, round by round."""

    case: str
    """The sweep alone that was taken."""
    sweeps: tuple[Sweep, ...]
    """Its rounds."""
    loads: tuple[Contention, ...]
    """Rounds of the sweep beside a load; empty where there was none."""

    @property
    def contended(self) -> bool:
        """Whether a sweep beside a load was measured too."""
        return bool(self.loads)

    @property
    def rounds(self) -> tuple[SweptLink, ...]:
        """Both sweeps together; rounds of the one beside a load in turn, where they are fewer."""
        loads = cycle(self.loads or (UNKNOWN,))
        return tuple(SweptLink(*both) for both in zip(self.sweeps, loads, strict=False))

    def without_load(self) -> "PlatformLink":
        """The same, as if nothing had been measured beside a load."""
        return replace(self, loads=())


Links = Mapping[str, PlatformLink | str]
"""Platform -> its link, or why nothing is known of it."""


def platform_links(swept: Mapping[str, list[Cell]], platforms: Iterable[PlannedPlatform]) -> Links:
    """The link of every platform.

    One that was not swept beside a load takes the contention of the same link under another name.

    Args:
        swept: platform -> records of its all-reduces.
        platforms: those of the campaign.
    """
    planned = list(platforms)
    own = {platform.name: _link(swept.get(platform.name, [])) for platform in planned}
    return {platform.name: _with_load(platform, planned, own) for platform in planned}


def same_treatment(a: PlannedPlatform, b: PlannedPlatform) -> bool:
    """Whether two platforms have the same link, as many processes on it, and two names (A/A)."""
    one, other = (
        platform.model_dump(exclude={"name": True, "path": True, "treatment": {"label"}})
        for platform in (a, b)
    )
    return one == other


def _with_load(
    platform: PlannedPlatform, planned: Iterable[PlannedPlatform], links: Links
) -> PlatformLink | str:
    link = links[platform.name]
    if isinstance(link, str) or link.contended:
        return link
    alike = (links[other.name] for other in planned if same_treatment(platform, other))
    loads = (other.loads for other in alike if isinstance(other, PlatformLink) and other.loads)
    return replace(link, loads=next(loads, ()))


def _link(swept: list[Cell]) -> PlatformLink | str:
    """The link of a platform by its best sweep, and by its best one beside a load."""
    alone, loaded = (_swept(swept, beside=beside) for beside in (False, True))
    best = _best(alone, GRADIENTS)
    if not best:
        return tr("no all-reduce was swept over sizes, or no round of it counts")
    sweeps = tuple(sweep for sweep in map(_sweep, best) if sweep)
    if not sweeps:
        case = best[0].record.id.case
        return tr("{case} has fewer than {n} usable sizes", case=case, n=LEAST_SIZES)
    loads = _contentions(_best(loaded, GRADIENTS), alone)
    return PlatformLink(best[0].record.id.case, sweeps, tuple(loads))


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


def _contentions(loaded: list[Cell], alone: list[Cell]) -> Iterator[Contention]:
    """What each round beside a load says, by the sweep alone of the same type."""
    dtypes = {_sweep_case(cell).dtype for cell in loaded}
    sweeps = [s for dtype in dtypes for s in map(_sweep, _best(alone, dtype)) if s]
    for cell, sweep in zip(loaded, cycle(sweeps), strict=False):
        if found := list(_loads(cell.record, sweep)):
            sizes, lost, stretch = zip(*found, strict=True)
            yield Contention(sizes, lost, stretch)


def _sweep(cell: Cell) -> Sweep | None:
    found = [point for point in points(cell.record) if point.bound]
    if len(found) < LEAST_SIZES:
        return None
    return Sweep(
        tuple(point.message_bytes for point in found),
        tuple(point.values[OPERATION_TIME] for point in found),
    )


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
    return typical_s(own) if own and alike(own) else None
