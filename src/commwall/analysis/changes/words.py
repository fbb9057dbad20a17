"""What has changed from one campaign to another, in sentences.

Layer: analysis. Reads no file.
"""

from collections import Counter
from collections.abc import Iterator
from statistics import geometric_mean

from commwall.analysis.names import Quantity
from commwall.analysis.verdicts import Effect
from commwall.analysis.wording import effect_text, share_text
from commwall.schema.change import CampaignChange, ChangedCell, ToldChange
from commwall.schema.units import quantity_text, significant

MOST_TOLD = 4
"""Beyond so many values of one side, their number is told."""


def headline_text(change: CampaignChange) -> str:
    """Whether anything became slower, and what became of all values, counted."""
    held, slower = f"{change.after} against {change.before}", len(change.slower)
    counts = Counter(cell.outcome for cell in change.values)
    counted = ", ".join(f"{number} {outcome}" for outcome, number in counts.most_common())
    if not change.judged:
        return f"{held}: nothing could be compared ({counted or 'no value in both'})."
    verb = "are" if slower > 1 else "is"
    said = f"{slower or 'none'} of {len(change.judged)} values {verb} slower by more than"
    return f"{held}: {said} {share_text(change.tolerance)} ({counted})."


def told_text(told: ToldChange) -> str:
    """One thing that differs: "driver: 550.1 before, 560.1 after"."""
    return f"{told.what}: {_listed(told.before)} before, {_listed(told.after)} after"


def cell_text(cell: ChangedCell) -> str:
    """What a cell is about."""
    sides = f"{cell.a} / {cell.b}" if cell.b else cell.a
    return f"{cell.case}, {Quantity(cell.metric).label}, {sides}"


def outcome_text(cell: ChangedCell) -> str:
    """Both values and by how much they differ, or why nothing can be told."""
    if cell.change is None:
        return cell.reason or "no value"
    rounds = f"n = {len(cell.before)} and {len(cell.after)}"
    if cell.low is None or cell.high is None:
        return f"{_both(cell)}, {rounds}: {cell.reason}"
    if cell.outcome == "cannot tell":
        ends = f"{significant(cell.low, 4)} to {significant(cell.high, 4)}"
        return f"{_both(cell)}, ratio {significant(cell.change, 4)} ({ends}, {rounds})"
    size, ends = effect_text(_effect(cell.change, cell.low, cell.high))
    return f"{_both(cell)}, by {size} % ({ends}, {rounds})"


def noise_text(cell: ChangedCell) -> str:
    """The noise floors of both campaigns, with a word where the change is not above them."""
    floors = [cell.noise_floor_before, cell.noise_floor_after]
    known = [floor for floor in floors if floor is not None]
    if not known:
        return "noise floor not measured"
    shown = " and ".join("not measured" if f is None else share_text(f) for f in floors)
    decided = cell.outcome != "cannot tell" and cell.change is not None
    doubt = decided and abs((cell.change or 1.0) - 1) <= max(known)
    return f"noise floor {shown}" + ("; the change is not above it" if doubt else "")


def not_covered_lines(change: CampaignChange) -> Iterator[str]:
    """What the verdicts do not cover."""
    yield (
        "Values were measured at different times: whatever else changed between them, beside what "
        "is listed, is in them. Ratios of two platforms are of one round each, and care less."
    )
    yield (
        f"An interval holds with {change.confidence:.0%}; of 20 cells that did not change, one may "
        "seem to have. It knows the spread between the rounds of each campaign, not that between "
        "days or boots."
    )
    missing = [cell for cell in change.cells if cell.outcome == "missing"]
    if missing:
        yield f"{len(missing)} cells are in one campaign only, or have no usable record."


def _both(cell: ChangedCell) -> str:
    """Both values, of the earlier campaign first."""
    sides = [geometric_mean(side) for side in (cell.before, cell.after)]
    if cell.b:
        return " and ".join(significant(side, 4) for side in sides)
    return " and ".join(quantity_text(side, cell.unit) for side in sides)


def _effect(change: float, low: float, high: float) -> Effect:
    """The change relative to what was before; its ends ascend."""
    ends = (low - 1, high - 1) if change > 1 else (1 - high, 1 - low)
    return Effect("after", "before", abs(change - 1), *ends)


def _listed(values: tuple[str, ...]) -> str:
    if len(values) > MOST_TOLD:
        return f"{len(values)} values"
    return ", ".join(values) or "not told"
