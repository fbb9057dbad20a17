"""What has changed from one campaign to another, in sentences.

Layer: analysis. Reads no file.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from statistics import geometric_mean

from commwall.analysis.quantities import Quantity
from commwall.analysis.verdicts.judging import Effect
from commwall.analysis.verdicts.wording import effect_text, share_text
from commwall.language.translate import (
    between_text,
    clauses,
    listed,
    quantity_text,
    tr,
    tr_later,
    trn,
)
from commwall.schema.change import CampaignChange, ChangedCell, ToldChange
from commwall.schema.units import significant

OUTCOMES = (
    tr_later("faster"),
    tr_later("slower"),
    tr_later("larger"),
    tr_later("smaller"),
    tr_later("cannot tell"),
    tr_later("not comparable"),
    tr_later("missing"),
)
"""What may have become of a cell, for the catalogues."""
MOST_TOLD = 4
"""Beyond so many values of one side, their number is told."""


def headline_text(change: CampaignChange) -> str:
    """Whether anything became slower, and what became of all values, counted."""
    counts = Counter(cell.outcome for cell in change.values)
    counted = listed(f"{number} {tr(outcome)}" for outcome, number in counts.most_common())
    told = {"before": change.before, "after": change.after, "counted": counted}
    if not change.judged:
        told["counted"] = counted or tr("no value in both")
        return tr("{after} against {before}: nothing could be compared ({counted}).", **told)
    shown = clauses([_slower_text(change), *_open_text(change)])
    return tr("{after} against {before}: {shown} ({counted}).", **told, shown=shown)


def _slower_text(change: CampaignChange) -> str:
    """How many values are slower by more than what is tolerated.

    None is, where their intervals say so; else none is shown to be.
    """
    told = {"all": f"{len(change.judged)}", "tolerance": share_text(change.tolerance)}
    if change.slower:
        return trn(
            "{n} of {all} values is slower by more than {tolerance}",
            "{n} of {all} values are slower by more than {tolerance}",
            len(change.slower),
            **told,
        )
    if change.left_open:
        return tr("none of {all} values is shown to be slower by more than {tolerance}", **told)
    return tr("none of {all} values is slower by more than {tolerance}", **told)


def _open_text(change: CampaignChange) -> Iterator[str]:
    if change.left_open:
        yield trn("{n} leaves that open", "{n} leave that open", len(change.left_open))


def told_text(told: ToldChange) -> str:
    """One thing that differs: "driver: 550.1 before, 560.1 after"."""
    sides = {"before": _values_text(told.before), "after": _values_text(told.after)}
    return tr("{what}: {before} before, {after} after", what=told.what, **sides)


def cell_text(cell: ChangedCell) -> str:
    """What a cell is about."""
    sides = f"{cell.a} / {cell.b}" if cell.b else cell.a
    return listed([cell.case, Quantity(cell.metric).label, sides])


def outcome_text(cell: ChangedCell) -> str:
    """Both values and by how much they differ, or why nothing can be told."""
    if cell.change is None:
        return cell.reason or tr("no value")
    rounds = tr("n = {before} and {after}", before=len(cell.before), after=len(cell.after))
    told = {"values": _both(cell), "rounds": rounds}
    if cell.low is None or cell.high is None:
        return tr("{values}, {rounds}: {reason}", **told, reason=cell.reason)
    if cell.outcome == "cannot tell":
        ends = between_text(significant(cell.low, 4), significant(cell.high, 4))
        ratio = significant(cell.change, 4)
        return tr("{values}, ratio {ratio} ({ends}, {rounds})", **told, ratio=ratio, ends=ends)
    size, ends = effect_text(_effect(cell.change, cell.low, cell.high))
    return tr("{values}, by {size} % ({ends}, {rounds})", **told, size=size, ends=ends)


def noise_text(cell: ChangedCell) -> str:
    """The noise floors of both campaigns, with a word where the change is not above them."""
    floors = [cell.noise_floor_before, cell.noise_floor_after]
    known = [floor for floor in floors if floor is not None]
    if not known:
        return tr("noise floor not measured")
    shown = _and(tr("not measured") if floor is None else share_text(floor) for floor in floors)
    decided = cell.outcome != "cannot tell" and cell.change is not None
    if decided and abs(math.log(cell.change or 1.0)) <= math.log1p(max(known)):
        return tr("noise floor {floors}; the change is not above it", floors=shown)
    return tr("noise floor {floors}", floors=shown)


def not_covered_lines(change: CampaignChange) -> Iterator[str]:
    """What the verdicts do not cover."""
    yield tr(
        "Values were measured at different times: whatever else changed between them, beside what "
        "is listed, is in them. Ratios of two platforms are of one round each, and care less."
    )
    confidence = f"{change.confidence:.0%}"
    yield tr(
        "An interval holds with {confidence}; of 20 cells that did not change, one may seem to "
        "have. It knows the spread between the rounds of each campaign, not that between days or "
        "boots.",
        confidence=confidence,
    )
    missing = sum(cell.outcome == "missing" for cell in change.cells)
    if missing:
        yield tr("{n} cells are in one campaign only, or have no usable record.", n=missing)


def _both(cell: ChangedCell) -> str:
    """Both values, of the earlier campaign first."""
    sides = [geometric_mean(side) for side in (cell.before, cell.after)]
    if cell.b:
        return _and(significant(side, 4) for side in sides)
    return _and(quantity_text(side, cell.unit) for side in sides)


def _and(sides: Iterable[str]) -> str:
    return tr(" and ").join(sides)


def _effect(change: float, low: float, high: float) -> Effect:
    """The change relative to what was before; its ends ascend."""
    ends = (low - 1, high - 1) if change > 1 else (1 - high, 1 - low)
    return Effect("after", "before", abs(change - 1), *ends)


def _values_text(values: tuple[str, ...]) -> str:
    if len(values) > MOST_TOLD:
        return tr("{n} values", n=len(values))
    return listed(values) or tr("not told")
