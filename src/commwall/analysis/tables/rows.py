"""Rows of tidy tables, and the columns that rows of several tables have.

Layer: analysis. Reads and writes no file; makes no table, so that pandas is not needed.
"""

from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any, Protocol

from commwall.analysis.platforms import any_emulated, is_emulated
from commwall.analysis.quantities import Quantity
from commwall.analysis.result import Analysis
from commwall.schema.plan import Comparison
from commwall.schema.record import Record
from commwall.stats.paired import PairedRatio

Row = dict[str, Any]
"""Column -> value."""


def platform_columns(record: Record, analysis: Analysis) -> Row:
    """Where a row about a record belongs."""
    place = record.id
    return {
        "campaign": place.campaign,
        "platform": place.platform,
        "label": analysis.names.get(place.platform, place.platform),
        "emulated": is_emulated(record.platform),
        "suite": place.suite,
        "case": place.case,
    }


def round_columns(record: Record) -> Row:
    """Round of a row about a record."""
    return {"round": record.id.round, "round_id": record.id.round_id}


def quantity_columns(quantity: Quantity) -> Row:
    """What a row has a value of."""
    return {"metric": quantity.metric_id, "leg": quantity.leg, "unit": quantity.metric.unit}


class Compared(Protocol):
    """Anything about one comparison and case."""

    @property
    def comparison(self) -> Comparison:
        """Which two platforms."""

    @property
    def suite(self) -> str:
        """Its suite."""

    @property
    def case(self) -> str:
        """Its case."""


def pair_columns(part: Compared, analysis: Analysis) -> Row:
    """Where a row about a comparison belongs."""
    a, b = part.comparison.a, part.comparison.b
    return {
        "campaign": analysis.campaign,
        "suite": part.suite,
        "case": part.case,
        "a": a,
        "b": b,
        "label_a": analysis.names[a],
        "label_b": analysis.names[b],
        "control": part.comparison.control,
        "emulated": any_emulated(analysis.plan, (a, b)),
    }


def percent(share: float | None) -> float | None:
    """A share [1] in percent; where there is none, none."""
    return None if share is None else 100 * share


def mean_columns(names: tuple[str, str, str], values: Sequence[float], analysis: Analysis) -> Row:
    """Geometric mean over the rounds and the ends of its interval, in columns of these names."""
    around = analysis.interval(values)
    ends = (around.low, around.high) if around else (None, None)
    return dict(zip(names, (geometric_mean(values), *ends), strict=True))


def ratio_columns(ratio: PairedRatio) -> Row:
    """A ratio with its interval and what its rounds say."""
    interval = ratio.interval
    return {
        "n": ratio.n,
        "confidence": ratio.confidence,
        "method": interval.method if interval else None,
        "ratio": ratio.centre,
        "ratio_low": interval.low if interval else None,
        "ratio_high": interval.high if interval else None,
        "ratio_median": ratio.median,
        "ratio_min": min(ratio.ratios),
        "ratio_max": max(ratio.ratios),
        "rounds_needed": ratio.rounds_needed,
    }
