"""Where the faster of two links begins to pay: measured cells, and the line between and beyond.

Layer: analysis. Reads no file. A step is placed by its compute time for each byte of gradients. The
line knows two numbers of a comparison, the exchange over either link for each byte (leg `comm`,
median of the cases), and is drawn twice: with nothing hidden, and with all hidden that fits into
the backward pass.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import Literal

from commwall.analysis.platforms import treatments_compared
from commwall.analysis.result import Analysis
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.legs import (
    COMM,
    FULL,
    PACKED,
    hidden_share_of,
    without_exchange_s,
)
from commwall.analysis.values.readings import gradient_bytes
from commwall.analysis.verdicts.pairs import Pairing
from commwall.model.overlap import TwoLinks
from commwall.schema.case import TrainingCase
from commwall.schema.plan import Comparison
from commwall.stats.paired import PairedRatio, paired_ratio

GAINS = (0.01, 0.05, 0.20)
"""Gains [1] of which the crossings are told."""
NOTHING, ALL = 0.0, 1.0
"""Ends of the overlap: the edges of the band."""


@dataclass(frozen=True)
class Point:
    """A case over two links; values of its rounds, in round order."""

    case: str
    gradient_bytes: int
    compute_s: tuple[float, ...]
    """Step without exchange, geometric mean of both sides [s]."""
    packed: bool
    """Whether that includes the packing of gradients into buckets."""
    gain: PairedRatio
    """Step time over the slower link over that over the faster one."""
    exchange_s: tuple[float, float]
    """Leg `comm` over the faster and the slower link, geometric means [s]."""
    hidden: tuple[float | None, float | None]
    """Overlap as `commwall.model.overlap` defines it, over either link, median."""

    @property
    def s_per_byte(self) -> float:
        """Compute for each byte of gradients [s/byte]."""
        return geometric_mean(self.compute_s) / self.gradient_bytes


@dataclass(frozen=True)
class Contest:
    """Two platforms that differ in their link, with all cases that both ran."""

    faster: str
    slower: str
    points: tuple[Point, ...]

    @property
    def links(self) -> TwoLinks:
        """Exchange over either link for each byte, medians of the cases."""
        fast, slow = (
            median(point.exchange_s[side] / point.gradient_bytes for point in self.points)
            for side in (0, 1)
        )
        return TwoLinks(fast, slow)


def contests(analysis: Analysis) -> Iterator[Contest]:
    """The comparisons of two links of a campaign that have cells with all legs needed."""
    for comparison in treatments_compared(analysis.plan):
        own = [p for p in analysis.pairings if p.comparison == comparison and p.pairs]
        trained = [p for p in own if isinstance(p.planned, TrainingCase)]
        if trained:
            yield from _contest(comparison, trained, analysis)


def _contest(
    comparison: Comparison, trained: Sequence[Pairing], analysis: Analysis
) -> Iterator[Contest]:
    """Sides in the order of their exchange: the faster link is the one that exchanges faster."""
    found = [
        (p.case, pairs)
        for p in trained
        if (pairs := [pair for pair in p.pairs if all(map(_has_legs, pair))])
    ]
    if not found:
        return
    order = (0, 1) if _first_is_faster([pairs for _, pairs in found]) else (1, 0)
    sides = (comparison.a, comparison.b)
    points = tuple(_point(case, pairs, order, analysis) for case, pairs in found)
    yield Contest(sides[order[0]], sides[order[1]], points)


def _has_legs(cell: Cell) -> bool:
    """Whether a record tells compute, exchange, and the size of that."""
    known = {FULL, COMM} <= cell.derived.values.keys() and without_exchange_s(cell)
    return bool(known and gradient_bytes(cell.record))


def _first_is_faster(cases: Sequence[Sequence[tuple[Cell, Cell]]]) -> bool:
    ratios = [a.derived.values[COMM] / b.derived.values[COMM] for pairs in cases for a, b in pairs]
    return geometric_mean(ratios) <= 1


def _point(
    case: str, pairs: Sequence[tuple[Cell, Cell]], order: tuple[int, int], analysis: Analysis
) -> Point:
    fast, slow = ([pair[side] for pair in pairs] for side in order)
    steps = [[cell.derived.values[FULL] for cell in side] for side in (slow, fast)]
    computed = tuple(
        geometric_mean([alone_s for cell in pair if (alone_s := without_exchange_s(cell))])
        for pair in pairs
    )
    exchange = [geometric_mean([c.derived.values[COMM] for c in side]) for side in (fast, slow)]
    return Point(
        case=case,
        gradient_bytes=gradient_bytes(fast[0].record),
        compute_s=computed,
        packed=all(PACKED in cell.derived.values for pair in pairs for cell in pair),
        gain=paired_ratio(*steps, confidence=analysis.confidence, seed=analysis.seed),
        exchange_s=(exchange[0], exchange[1]),
        hidden=(_hidden(fast), _hidden(slow)),
    )


def _hidden(cells: Sequence[Cell]) -> float | None:
    shares = [share for cell in cells if (share := hidden_share_of(cell)) is not None]
    return median(shares) if shares else None


def band(links: TwoLinks, s_per_byte: float) -> tuple[float, float]:
    """Least and greatest gain of the line at a compute time for each byte [1].

    Over the overlap a gain is a ratio of two straight lines, so that its extremes lie at the ends.
    """
    ends = [float(links.gain(s_per_byte, overlap)) for overlap in (NOTHING, ALL)]
    return min(ends), max(ends)


def standing(point: Point, ends: tuple[float, float]) -> Literal["below", "within", "above"]:
    """Where a measured gain lies: below, within or above the band that ends there [1].

    Its interval counts, where it has one.
    """
    around = point.gain.interval
    low, high = (around.low, around.high) if around else (point.gain.centre, point.gain.centre)
    if high - 1 < ends[0]:
        return "below"
    return "above" if low - 1 > ends[1] else "within"
