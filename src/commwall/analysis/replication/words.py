"""A judged replication in sentences, and as a table.

Layer: analysis. Reads no file.
"""

from collections.abc import Iterator

from commwall.analysis.quantities import Quantity
from commwall.analysis.replication.judging import LEAST_INSIDE, Count, JudgedCell, Replication
from commwall.analysis.result import Analysis
from commwall.analysis.tables.rows import Row
from commwall.language.translate import between_text, clauses, listed, quantity_text, tr, tr_later
from commwall.records.replicable import MUST_AGREE, TOLD

HEADLINES = {
    True: tr_later(
        "This replication agrees with {published}: {inside} of {judged} ratios ({share}) lie "
        "inside the intervals fixed beforehand."
    ),
    False: tr_later(
        "This replication does not agree with {published}: {inside} of {judged} ratios ({share}) "
        "lie inside the intervals fixed beforehand."
    ),
    None: tr_later(
        "This replication does not yet judge {published}: {inside} of {judged} ratios lie inside "
        "the intervals fixed beforehand."
    ),
}
"""Whether a replication agrees -> the sentence that says so."""


def headline_text(replication: Replication) -> str:
    """Whether the replication agrees, with counts."""
    if replication.problem:
        return tr(
            "No judgement of this replication of {published}: {problem}",
            published=replication.published,
            problem=replication.problem,
        )
    count = replication.ratios
    share = None if count.share is None else f"{count.share:.0%}"
    return tr(
        HEADLINES[replication.agrees],
        published=replication.published,
        inside=count.inside,
        judged=count.judged,
        share=share,
    )


def lines(replication: Replication) -> Iterator[str]:
    """What else a reader must know, one sentence a line."""
    if replication.problem:
        return
    yield tr("Ratios: {counts}.", counts=_count_text(replication.ratios))
    yield tr("Absolute values: {counts}.", counts=_count_text(replication.values))
    confidence, least = (f"{share:.0%}" for share in (replication.confidence, LEAST_INSIDE))
    yield tr(
        "An interval holds the geometric mean of as many new rounds with a probability of "
        "{confidence}, if they are like the published ones; {least} of the ratios inside are asked "
        "for. Cells of one launch are not independent. Published rounds of one machine do not show "
        "how machines of a kind differ: ratios should not care, absolute values may.",
        confidence=confidence,
        least=least,
    )
    yield _devices_text(replication.same_devices)
    yield tr(
        "What must agree: {fields}, the treatment, the driver's first number.",
        fields=_fields(MUST_AGREE),
    )
    differ = clauses(map(str, replication.told)) or tr("nothing does")
    yield tr("What may differ ({fields}): {differences}.", fields=_fields(TOLD), differences=differ)


def cell_text(judged: JudgedCell) -> str:
    """What a cell is about."""
    cell = judged.cell
    sides = f"{cell.a} / {cell.b}" if cell.b else cell.a
    return listed([cell.case, Quantity(cell.metric).label, sides])


def interval_text(judged: JudgedCell) -> str:
    """The fixed interval, or "none"."""
    bounds = judged.bounds
    if bounds is None:
        return tr("none")
    return between_text(value_text(judged, bounds.low), value_text(judged, bounds.high))


def value_text(judged: JudgedCell, value: float | None) -> str:
    """A value or ratio of a cell."""
    if value is None:
        return tr("none")
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
    parts = [tr("{n} inside", n=count.inside), tr("{n} outside", n=count.outside)]
    parts += [tr("{n} do not count", n=count.uncounted)] if count.uncounted else []
    parts += [tr("{n} missing", n=count.missing)] if count.missing else []
    return listed(parts)


def _devices_text(same: bool | None) -> str:
    if same is None:
        return tr("Devices have no identity here: whether another machine measured is not known.")
    if same:
        return tr("A GPU of the published rounds measured here too: a repetition, not independent.")
    return tr("Other GPUs than those of the published rounds measured here.")


def _fields(names: tuple[str, ...]) -> str:
    return listed(name.removeprefix("software.").removeprefix("machine.") for name in names)
