"""Does a replication agree: cell by cell, inside the interval that was fixed beforehand or not.

Layer: analysis. Reads no file.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Literal

from commwall.analysis.quantities import Quantity
from commwall.analysis.values.cells import Cell, not_positive
from commwall.analysis.verdicts.judging import Verdict
from commwall.language.translate import clauses, tr
from commwall.records.comparable import Difference
from commwall.records.replicable import obstacles, same_devices, told_differences
from commwall.schema.predictions import Bounds, Predicted, PredictedCell, Predictions
from commwall.schema.record import Record

LEAST_INSIDE = 0.9
"""Share of ratios inside their intervals from which a replication agrees [1]. Of intervals for
95 % one in twenty may miss by chance."""
Outcome = Literal["inside", "outside", "does not count", "missing"]


@dataclass(frozen=True)
class JudgedCell:
    """One cell of a published campaign, measured again."""

    predicted: Predicted
    values: tuple[float, ...]
    """New values, one a round, shape (m,)."""
    reason: str | None
    """Why it is missing or does not count."""
    counts: bool = True
    """False where the new records differ in what must agree."""

    @property
    def cell(self) -> PredictedCell:
        """What it is about."""
        return self.predicted.cell

    @property
    def new(self) -> float | None:
        """Geometric mean of the new rounds."""
        return geometric_mean(self.values) if self.values else None

    @property
    def bounds(self) -> Bounds | None:
        """The interval for so many new rounds; None without any, or for more than were fixed."""
        fixed = self.predicted.bounds
        return fixed[len(self.values) - 1] if 0 < len(self.values) <= len(fixed) else None

    @property
    def outcome(self) -> Outcome:
        """What became of it."""
        if not self.counts:
            return "does not count"
        if self.new is None or self.bounds is None:
            return "missing"
        return "inside" if self.bounds.low <= self.new <= self.bounds.high else "outside"


@dataclass(frozen=True)
class Count:
    """Cells of one kind, counted."""

    inside: int
    outside: int
    uncounted: int
    missing: int

    @property
    def judged(self) -> int:
        """Cells that are inside or outside."""
        return self.inside + self.outside

    @property
    def share(self) -> float | None:
        """Share of judged cells that are inside [1]; None without any."""
        return self.inside / self.judged if self.judged else None


@dataclass(frozen=True)
class Replication:
    """A published campaign, measured again."""

    published: str
    confidence: float
    cells: tuple[JudgedCell, ...] = ()
    told: tuple[Difference, ...] = ()
    """Differences that may be, new value first."""
    same_devices: bool | None = None
    """Whether a GPU measured both sides; None where devices have no identity."""
    problem: str | None = None
    """Why nothing can be judged."""

    @property
    def ratios(self) -> Count:
        """Ratios of two platforms, counted."""
        return _count(cell for cell in self.cells if cell.cell.b is not None)

    @property
    def values(self) -> Count:
        """Values of one platform, counted."""
        return _count(cell for cell in self.cells if cell.cell.b is None)

    @property
    def agrees(self) -> bool | None:
        """True if enough ratios are inside; None if none could be judged."""
        share = self.ratios.share
        return None if share is None else share >= LEAST_INSIDE


def judge_replication(
    predictions: Predictions,
    basis: Sequence[Record],
    verdicts: Sequence[Verdict],
    cells: Sequence[Cell],
) -> Replication:
    """Hold new values against predictions.

    Args:
        predictions: of the published campaign.
        basis: the records they rest on.
        verdicts: of the replication.
        cells: of the replication, refused ones too.
    """
    usable = [cell for cell in cells if not cell.refusals]
    own = [cell.record for cell in usable]
    judged = tuple(
        _judged(predicted, basis, verdicts, usable) for predicted in predictions.predicted
    )
    return Replication(
        published=predictions.campaign,
        confidence=predictions.confidence,
        cells=judged,
        told=told_differences(own, basis),
        same_devices=same_devices(own, basis),
    )


def _judged(
    predicted: Predicted,
    basis: Sequence[Record],
    verdicts: Sequence[Verdict],
    cells: Sequence[Cell],
) -> JudgedCell:
    cell = predicted.cell
    differ = _obstacles(cell, basis, [c.record for c in cells])
    if differ:
        return JudgedCell(predicted, (), clauses(map(str, differ)), counts=False)
    values, reason = _ratio(cell, verdicts) if cell.b else _values(cell, cells)
    if len(values) > len(predicted.bounds):
        reason = tr("intervals are fixed for up to {n} new rounds", n=len(predicted.bounds))
    return JudgedCell(predicted, values, reason)


def _obstacles(
    cell: PredictedCell, basis: Sequence[Record], own: Sequence[Record]
) -> tuple[Difference, ...]:
    """What keeps the records of a cell's platforms from counting, each difference once."""
    found = (
        difference
        for platform in (cell.a, cell.b)
        for published in _of(basis, cell, platform)[:1]
        for record in _of(own, cell, platform)
        for difference in obstacles(record, published)
    )
    return tuple(dict.fromkeys(found))


def _of(records: Iterable[Record], cell: PredictedCell, platform: str | None) -> list[Record]:
    wanted = (cell.suite, cell.case, platform)
    return [r for r in records if (r.id.suite, r.id.case, r.id.platform) == wanted]


def _ratio(
    cell: PredictedCell, verdicts: Sequence[Verdict]
) -> tuple[tuple[float, ...], str | None]:
    for verdict in verdicts:
        sides = verdict.comparison
        place = (verdict.suite, verdict.case, verdict.quantity.metric_id, sides.a, sides.b)
        if place == (cell.suite, cell.case, cell.metric, cell.a, cell.b):
            return (verdict.ratio.ratios, None) if verdict.ratio else ((), verdict.why_none)
    return (), tr("not part of the replication")


def _values(cell: PredictedCell, cells: Sequence[Cell]) -> tuple[tuple[float, ...], str | None]:
    """New values of one platform, or why there are none: as of a ratio, one not above 0 is why."""
    quantity = Quantity(cell.metric)
    own = [c for c in cells if _of([c.record], cell, cell.a)]
    if found := not_positive(own, quantity):
        where = found.record.id
        return (), tr(
            "{platform} is not above zero in round {round}",
            platform=where.platform,
            round=where.round,
        )
    values = tuple(c.derived.values[quantity] for c in own if quantity in c.derived.values)
    if values:
        return values, None
    absent = dict.fromkeys(c.derived.absent[quantity] for c in own if quantity in c.derived.absent)
    return (), clauses(absent) or tr("no usable record")


def _count(cells: Iterable[JudgedCell]) -> Count:
    outcomes = [cell.outcome for cell in cells]
    return Count(
        inside=outcomes.count("inside"),
        outside=outcomes.count("outside"),
        uncounted=outcomes.count("does not count"),
        missing=outcomes.count("missing"),
    )
