"""A judged replication in sentences, and as a table.

Layer: analysis. Reads no file.
"""

from collections.abc import Iterator
from typing import Any

from commwall.analysis.names import Quantity
from commwall.analysis.replication.judging import LEAST_INSIDE, Count, JudgedCell, Replication
from commwall.analysis.result import Analysis
from commwall.records.replicable import MUST_AGREE, TOLD
from commwall.schema.units import quantity_text

Row = dict[str, Any]


def headline_text(replication: Replication) -> str:
    """Whether the replication agrees, with counts."""
    if replication.problem:
        return f"No judgement of this replication of {replication.published}: {replication.problem}"
    words = {True: "agrees with", False: "does not agree with", None: "does not yet judge"}
    count = replication.ratios
    share = "" if count.share is None else f" ({count.share:.0%})"
    return (
        f"This replication {words[replication.agrees]} {replication.published}: "
        f"{count.inside} of {count.judged} ratios{share} lie inside the intervals fixed beforehand."
    )


def lines(replication: Replication) -> Iterator[str]:
    """What else a reader must know, one sentence a line."""
    if replication.problem:
        return
    yield f"Ratios: {_count_text(replication.ratios)}."
    yield f"Absolute values: {_count_text(replication.values)}."
    yield (
        "An interval holds the geometric mean of as many new rounds with a probability of "
        f"{replication.confidence:.0%}, if they are like the published ones; {LEAST_INSIDE:.0%} of "
        "the ratios inside are asked for. Cells of one launch are not independent. Published "
        "rounds of one machine do not show how machines of a kind differ: ratios should not care, "
        "absolute values may."
    )
    yield _devices_text(replication.same_devices)
    yield f"What must agree: {_fields(MUST_AGREE)}, the treatment, the driver's first number."
    differ = "; ".join(str(each) for each in replication.told)
    yield f"What may differ ({_fields(TOLD)}): {differ or 'nothing does'}."


def cell_text(judged: JudgedCell) -> str:
    """What a cell is about."""
    cell = judged.cell
    sides = f"{cell.a} / {cell.b}" if cell.b else cell.a
    return f"{cell.case}, {Quantity(cell.metric).label}, {sides}"


def interval_text(judged: JudgedCell) -> str:
    """The fixed interval, or "none"."""
    bounds = judged.bounds
    if bounds is None:
        return "none"
    return f"{value_text(judged, bounds.low)} to {value_text(judged, bounds.high)}"


def value_text(judged: JudgedCell, value: float | None) -> str:
    """A value or ratio of a cell."""
    if value is None:
        return "none"
    if judged.cell.b:
        return f"{value:.4f}"
    return quantity_text(value, Quantity(judged.cell.metric).metric.unit)


def replication_rows(analysis: Analysis) -> Iterator[Row]:
    """Rows of the table `replication`; none for a campaign of its own."""
    found = analysis.replication
    if found is None:
        return
    for judged in found.cells:
        cell, bounds = judged.cell, judged.bounds
        yield {
            "published": found.published,
            "suite": cell.suite,
            "case": cell.case,
            "metric": cell.metric,
            "unit": "1" if cell.b else Quantity(cell.metric).metric.unit,
            "a": cell.a,
            "b": cell.b,
            "published_rounds": len(judged.predicted.rounds),
            "published_mean": judged.predicted.centre,
            "rounds": len(judged.values),
            "mean": judged.new,
            "low": bounds.low if bounds else None,
            "high": bounds.high if bounds else None,
            "outcome": judged.outcome,
            "reason": judged.reason,
        }


def _count_text(count: Count) -> str:
    parts = [f"{count.inside} inside", f"{count.outside} outside"]
    parts += [f"{count.uncounted} do not count"] if count.uncounted else []
    parts += [f"{count.missing} missing"] if count.missing else []
    return ", ".join(parts)


def _devices_text(same: bool | None) -> str:
    if same is None:
        return "Devices have no identity here: whether another machine measured is not known."
    if same:
        return "A GPU of the published rounds measured here too: a repetition, not independent."
    return "Other GPUs than those of the published rounds measured here."


def _fields(names: tuple[str, ...]) -> str:
    return ", ".join(name.removeprefix("software.").removeprefix("machine.") for name in names)
