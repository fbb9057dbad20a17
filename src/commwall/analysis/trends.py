"""Values over the campaigns that measured them: dates, drivers, versions.

Layer: analysis. Reads no file. A line joins what `commwall compare` would hold against each other,
measured by one kind of machine.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import geometric_mean

from commwall.analysis.platforms import compared_platforms, is_emulated
from commwall.analysis.quantities import QUANTITIES_OF, Quantity
from commwall.analysis.result import Analysis
from commwall.analysis.values.cells import Cell
from commwall.records.changed import TOLD, line_identity
from commwall.schema.case import SuiteName
from commwall.stats.intervals import Interval, geometric_interval
from commwall.stats.unpaired import UnpairedRatio, unpaired_ratio

KIND_DIGITS = 9
"""Of a fingerprint, to tell kinds of machine with one name apart."""
VERSIONS = ("driver", "NCCL", "PyTorch")
"""What is marked where it changes."""


@dataclass(frozen=True)
class Point:
    """What one campaign measured."""

    campaign: str
    label: str
    """The platform's name for readers."""
    measured_at: datetime
    """End of its first round (UTC)."""
    versions: dict[str, str]
    """Of VERSIONS those that its records tell."""
    values: tuple[float, ...]
    """One value a round, shape (n,)."""
    interval: Interval | None
    """Of the geometric mean."""

    @property
    def centre(self) -> float:
        """Geometric mean of the rounds."""
        return geometric_mean(self.values)


@dataclass(frozen=True)
class Trend:
    """One value of one platform over time."""

    machine: str
    """The kind of machine in words."""
    suite: SuiteName
    case: str
    platform: str
    quantity: Quantity
    emulated: bool
    points: tuple[Point, ...]
    """In the order of time."""

    @property
    def shared(self) -> bool:
        """Whether more than one campaign measured it."""
        return len(self.points) > 1

    def change(self, confidence: float) -> UnpairedRatio:
        """The last campaign's value / the first one's."""
        return unpaired_ratio(self.points[-1].values, self.points[0].values, confidence=confidence)


def trends(analyses: Iterable[Analysis]) -> tuple[Trend, ...]:
    """Every value that campaigns measured, over these campaigns.

    Args:
        analyses: looked at one after another, so that they need not be held together.
    """
    lines: dict[str, list[tuple[Trend, Point]]] = {}
    for analysis in analyses:
        for identity, trend, point in _points(analysis):
            lines.setdefault(identity, []).append((trend, point))
    return tuple(_joined(own) for own in lines.values())


def _joined(line: list[tuple[Trend, Point]]) -> Trend:
    """One trend of the points of a line; the latest campaign names it."""
    ordered = sorted(line, key=lambda item: item[1].measured_at)
    return replace(ordered[-1][0], points=tuple(point for _, point in ordered))


def _points(analysis: Analysis) -> Iterator[tuple[str, Trend, Point]]:
    """What a campaign has to say, each with the identity of its line."""
    plan = analysis.plan
    for cells in _by_place(analysis):
        record, quantity = cells[0].record, QUANTITIES_OF[cells[0].record.id.suite][0]
        usable = [cell for cell in cells if cell.derived.values.get(quantity, 0.0) > 0]
        if plan and usable:
            machine = f"{plan.machine} [{plan.fingerprint[:KIND_DIGITS]}]"
            where, emulated = record.id, is_emulated(record.platform)
            trend = Trend(machine, where.suite, where.case, where.platform, quantity, emulated, ())
            yield line_identity(record), trend, _point(analysis, usable, quantity)


def _by_place(analysis: Analysis) -> Iterable[list[Cell]]:
    """Admitted cells of one suite, case and platform together, without the controls."""
    plan, groups = analysis.plan, defaultdict(list)
    wanted = compared_platforms(plan) if plan else frozenset()
    for cell in analysis.cells:
        where = cell.record.id
        if where.platform in wanted and not cell.refusals:
            groups[where.suite, where.case, where.platform].append(cell)
    return groups.values()


def _point(analysis: Analysis, cells: list[Cell], quantity: Quantity) -> Point:
    values = tuple(cell.derived.values[quantity] for cell in cells)
    records = [cell.record for cell in cells]
    told = {
        what: dict.fromkeys(str(TOLD[what](record)) for record in records if TOLD[what](record))
        for what in VERSIONS
    }
    return Point(
        campaign=records[0].id.campaign,
        label=analysis.names[records[0].id.platform],
        measured_at=min(record.measured_at for record in records),
        versions={what: ", ".join(found) for what, found in told.items() if found},
        values=values,
        interval=geometric_interval(values, confidence=analysis.confidence),
    )
