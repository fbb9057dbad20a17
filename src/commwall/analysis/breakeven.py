"""Where the faster of two links begins to pay: measured cells, and the line between and beyond.

Layer: analysis. Reads no file; `commwall.analysis.tables.files` writes these tables too. A step is
placed by its compute time for each byte of gradients. The line knows two numbers of a comparison,
the exchange over either link for each byte (leg `comm`, median of the cases), and is drawn twice:
with nothing hidden, and with all hidden that fits into the backward pass.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import Any

import pandas as pd

from commwall.analysis.names import is_emulated
from commwall.analysis.result import Analysis
from commwall.analysis.verdicts.pairs import Cell, Pairing
from commwall.analysis.whatif.calibration import (
    COMM,
    FULL,
    PACKED,
    alone,
    gradient_bytes,
    hidden_share_of,
)
from commwall.model.overlap import TwoLinks
from commwall.schema.case import TrainingCase
from commwall.schema.plan import Comparison
from commwall.stats.paired import PairedRatio, paired_ratio

Row = dict[str, Any]
GAINS = (0.01, 0.05, 0.20)
"""Gains [1] of which the crossings are told."""
NOTHING, ALL = 0.0, 1.0
"""Ends of the overlap: the edges of the band."""
_TEXT, _COUNT, _NUMBER, _TRUTH = "string", "Int64", "float64", "boolean"
_SIDES = {
    "campaign": _TEXT,
    "faster": _TEXT,
    "slower": _TEXT,
    "label_faster": _TEXT,
    "label_slower": _TEXT,
    "emulated": _TRUTH,
}
COLUMNS: dict[str, dict[str, str]] = {
    "breakeven": {
        **_SIDES,
        "case": _TEXT,
        "n": _COUNT,
        "gradient_bytes": _NUMBER,
        "packed": _TRUTH,
        "compute_s": _NUMBER,
        "compute_s_per_byte": _NUMBER,
        "gain_percent": _NUMBER,
        "gain_low_percent": _NUMBER,
        "gain_high_percent": _NUMBER,
        "model_low_percent": _NUMBER,
        "model_high_percent": _NUMBER,
        "hidden_faster_percent": _NUMBER,
        "hidden_slower_percent": _NUMBER,
        "standing": _TEXT,
    },
    "crossings": {
        **_SIDES,
        "faster_s_per_byte": _NUMBER,
        "slower_s_per_byte": _NUMBER,
        "gain_percent": _NUMBER,
        "overlap": _NUMBER,
        "compute_s_per_byte": _NUMBER,
        "measured": _TRUTH,
    },
}
"""Columns of each table with their types. `packed`: whether compute includes the packing
of gradients into buckets; `standing` is below, within or above the band; `measured` says whether
measured cells lie on both sides of a crossing."""

DESCRIPTIONS = {
    "breakeven": "gain of the faster link against compute for each byte of gradients, case by case",
    "crossings": "compute for each byte at which the faster link gains 1, 5 and 20 %, modelled",
}
"""What each table holds, in the order a reader wants them."""


@dataclass(frozen=True)
class BreakEven:
    """Both tables."""

    breakeven: pd.DataFrame
    crossings: pd.DataFrame


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


def break_even(analysis: Analysis) -> BreakEven:
    """Both tables of a campaign; without training over two links they have no rows."""
    found = tuple(contests(analysis))
    return BreakEven(
        _frame("breakeven", (row for each in found for row in _point_rows(each, analysis))),
        _frame("crossings", (row for each in found for row in _crossing_rows(each, analysis))),
    )


def contests(analysis: Analysis) -> Iterator[Contest]:
    """The comparisons of two links of a campaign that have cells with all legs needed."""
    plan = analysis.evidence.plan
    for comparison in plan.comparisons if plan else ():
        own = [p for p in analysis.pairings if p.comparison == comparison and p.pairs]
        trained = [p for p in own if isinstance(p.planned, TrainingCase)]
        if not comparison.control and trained:
            yield from _contest(comparison, trained, analysis.confidence)


def _contest(
    comparison: Comparison, trained: Sequence[Pairing], confidence: float
) -> Iterator[Contest]:
    """Sides in the order of their exchange: the faster link is the one that exchanges faster."""
    found = [(p.case, pairs) for p in trained if (pairs := [*_usable(p.pairs)])]
    if not found:
        return
    order = (0, 1) if _first_is_faster([pairs for _, pairs in found]) else (1, 0)
    sides = (comparison.a, comparison.b)
    points = tuple(_point(case, pairs, order, confidence) for case, pairs in found)
    yield Contest(sides[order[0]], sides[order[1]], points)


def _usable(pairs: Sequence[tuple[Cell, Cell]]) -> Iterator[tuple[Cell, Cell]]:
    """Pairs of which both sides have the legs and the size of the exchange."""
    for pair in pairs:
        if all(
            {FULL, COMM} <= c.derived.values.keys() and alone(c) and gradient_bytes(c) for c in pair
        ):
            yield pair


def _first_is_faster(cases: Sequence[Sequence[tuple[Cell, Cell]]]) -> bool:
    ratios = [a.derived.values[COMM] / b.derived.values[COMM] for pairs in cases for a, b in pairs]
    return geometric_mean(ratios) <= 1


def _point(
    case: str, pairs: Sequence[tuple[Cell, Cell]], order: tuple[int, int], confidence: float
) -> Point:
    fast, slow = ([pair[side] for pair in pairs] for side in order)
    steps = [[cell.derived.values[FULL] for cell in side] for side in (slow, fast)]
    computed = tuple(
        geometric_mean([alone_s for cell in pair if (alone_s := alone(cell))]) for pair in pairs
    )
    exchange = [geometric_mean([c.derived.values[COMM] for c in side]) for side in (fast, slow)]
    return Point(
        case=case,
        gradient_bytes=gradient_bytes(fast[0]),
        compute_s=computed,
        packed=all(PACKED in cell.derived.values for pair in pairs for cell in pair),
        gain=paired_ratio(*steps, confidence=confidence),
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


def _standing(point: Point, ends: tuple[float, float]) -> str:
    """Where a measured gain lies; its interval counts, where it has one."""
    around = point.gain.interval
    low, high = (around.low, around.high) if around else (point.gain.centre, point.gain.centre)
    if high - 1 < ends[0]:
        return "below"
    return "above" if low - 1 > ends[1] else "within"


def _side_columns(contest: Contest, analysis: Analysis) -> Row:
    plan = analysis.evidence.plan
    emulated = {p.name for p in (plan.platforms if plan else ()) if is_emulated(p)}
    return {
        "campaign": analysis.evidence.index.campaign,
        "faster": contest.faster,
        "slower": contest.slower,
        "label_faster": analysis.names[contest.faster],
        "label_slower": analysis.names[contest.slower],
        "emulated": bool(emulated & {contest.faster, contest.slower}),
    }


def _point_rows(contest: Contest, analysis: Analysis) -> Iterator[Row]:
    for point in contest.points:
        ends = band(contest.links, point.s_per_byte)
        around = point.gain.interval
        yield {
            **_side_columns(contest, analysis),
            "case": point.case,
            "n": point.gain.n,
            "gradient_bytes": point.gradient_bytes,
            "packed": point.packed,
            "compute_s": geometric_mean(point.compute_s),
            "compute_s_per_byte": point.s_per_byte,
            "gain_percent": 100 * (point.gain.centre - 1),
            "gain_low_percent": 100 * (around.low - 1) if around else None,
            "gain_high_percent": 100 * (around.high - 1) if around else None,
            "model_low_percent": 100 * ends[0],
            "model_high_percent": 100 * ends[1],
            **dict(
                zip(
                    ("hidden_faster_percent", "hidden_slower_percent"),
                    (None if share is None else 100 * share for share in point.hidden),
                    strict=True,
                )
            ),
            "standing": _standing(point, ends),
        }


def _crossing_rows(contest: Contest, analysis: Analysis) -> Iterator[Row]:
    links = contest.links
    measured = [point.s_per_byte for point in contest.points]
    for gain in GAINS:
        for overlap in (NOTHING, ALL):
            crossing = links.crossing(gain, overlap)
            inside = crossing is not None and min(measured) <= crossing <= max(measured)
            yield {
                **_side_columns(contest, analysis),
                "faster_s_per_byte": links.fast_s_per_byte,
                "slower_s_per_byte": links.slow_s_per_byte,
                "gain_percent": 100 * gain,
                "overlap": overlap,
                "compute_s_per_byte": math.nan if crossing is None else crossing,
                "measured": inside,
            }


def _frame(name: str, rows: Iterator[Row]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(COLUMNS[name])).astype(COLUMNS[name])
