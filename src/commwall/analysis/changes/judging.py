"""One campaign held against another: has an update made anything slower?

Layer: analysis. Reads no file. The rounds of two campaigns do not belong together, so that values
are compared unpaired; of two platforms, which did share rounds, the ratio of each round is.
"""

from collections.abc import Iterator

from commwall.analysis.changes.matching import (
    CampaignPair,
    Match,
    Place,
    Side,
    matches,
    platforms_of,
    side_of,
)
from commwall.analysis.platforms import treatments_compared
from commwall.analysis.quantities import (
    BUSBW,
    DECODE_TOKENS,
    LATENCY,
    MEMORY_BANDWIDTH,
    MITIGATED,
    PREFILL_TOKENS,
    PRIMARY,
    STRATEGY_TOKENS,
    UNMITIGATED,
    Quantity,
)
from commwall.analysis.result import Analysis
from commwall.analysis.verdicts.judging import Verdict, not_above_zero
from commwall.language.translate import clauses, tr, tr_later
from commwall.records.changed import obstacles, told_changes
from commwall.schema.case import SuiteName
from commwall.schema.change import CampaignChange, ChangedCell, Outcome
from commwall.stats.unpaired import UnpairedRatio, unpaired_ratio

SPEEDS: dict[SuiteName, tuple[Quantity, ...]] = {
    "training": (PRIMARY,),
    "collectives": (BUSBW, LATENCY),
    "memory": (MEMORY_BANDWIDTH,),
    "strategies": (STRATEGY_TOKENS,),
    "inference": (DECODE_TOKENS, PREFILL_TOKENS),
    "mitigations": (MITIGATED, UNMITIGATED),
}
"""What can become faster or slower."""
ONE_ROUND = tr_later("a campaign with one round has no interval")
NO_SPREAD = tr_later("the rounds show no spread, so no interval can be trusted")


def compare_campaigns(before: Analysis, after: Analysis, tolerance: float) -> CampaignChange:
    """What has changed from one campaign to another.

    Args:
        before: the yardstick.
        after: what is held against it.
        tolerance: share by which something may become slower [1].

    Raises:
        PlanError: if a plan cannot be read, or a campaign has no readable record.
    """
    two = CampaignPair(side_of(before), side_of(after), tolerance)
    cases = tuple(matches(two.before.plan, two.after.plan))
    return CampaignChange(
        before=two.before.plan.id,
        after=two.after.plan.id,
        confidence=before.confidence,
        tolerance=tolerance,
        told=told_changes(before.evidence.records, after.evidence.records),
        cells=(*_value_cells(two, cases), *_ratio_cells(two, cases)),
    )


def _value_cells(two: CampaignPair, cases: tuple[Match, ...]) -> Iterator[ChangedCell]:
    for match in cases:
        for platform in platforms_of(two, match):
            for quantity in _speeds(two, match):
                yield _value_cell(two, match, platform, quantity)


def _speeds(two: CampaignPair, match: Match) -> list[Quantity]:
    """What can become faster or slower of a case."""
    cases = (
        side.plan.suite(match.suite).cases[name]
        for side, name in zip(two.sides, match.names, strict=True)
        if name
    )
    case = next(cases)
    return [quantity for quantity in SPEEDS[match.suite] if quantity.concerns(case)]


def _value_cell(two: CampaignPair, match: Match, platform: str, quantity: Quantity) -> ChangedCell:
    cell = _blank(two, match, quantity, platform)
    places = match.places(platform)
    if places is None:
        return cell.model_copy(update={"reason": _lacking(two, match)})
    found = [_values(side, place, quantity) for side, place in zip(two.sides, places, strict=True)]
    if missing := clauses(why for _, why in found if why):
        return cell.model_copy(update={"reason": missing})
    return _compared_cell(two, match, cell, found[0][0], found[1][0])


def _ratio_cells(two: CampaignPair, cases: tuple[Match, ...]) -> Iterator[ChangedCell]:
    """Ratios that both campaigns ask for."""
    for match in cases:
        for pair in treatments_compared(two.before.plan):
            for quantity in _speeds(two, match):
                before, after = (
                    side.verdict(match.suite, name, quantity, (pair.a, pair.b)) if name else None
                    for side, name in zip(two.sides, match.names, strict=True)
                )
                if before and after:
                    cell = _blank(two, match, quantity, pair.a, pair.b)
                    yield _ratio_cell(two, match, cell, before, after)


def _ratio_cell(
    two: CampaignPair, match: Match, cell: ChangedCell, before: Verdict, after: Verdict
) -> ChangedCell:
    if before.ratio and after.ratio:
        return _compared_cell(two, match, cell, before.ratio.ratios, after.ratio.ratios)
    told = (
        tr("{campaign}: {reason}", campaign=side.plan.id, reason=verdict.why_none)
        for side, verdict in zip(two.sides, (before, after), strict=True)
        if verdict.why_none
    )
    return cell.model_copy(update={"reason": clauses(told)})


def _blank(
    two: CampaignPair, match: Match, quantity: Quantity, a: str, b: str | None = None
) -> ChangedCell:
    """A cell of which nothing is known but what stands beside it."""
    before, after = (
        side.noise_floor(match.suite, name, quantity) if name else None
        for side, name in zip(two.sides, match.names, strict=True)
    )
    return ChangedCell(
        suite=match.suite,
        case=match.name,
        metric=quantity.metric_id,
        a=a,
        b=b,
        unit="1" if b else quantity.metric.unit,
        outcome="missing",
        noise_floor_before=before,
        noise_floor_after=after,
    )


def _lacking(two: CampaignPair, match: Match) -> str:
    lacking = two.before if match.before is None else two.after
    return tr("{campaign} has no such case", campaign=lacking.plan.id)


def _values(side: Side, place: Place, quantity: Quantity) -> tuple[tuple[float, ...], str | None]:
    """One value a round, or why there is none."""
    usable = side.usable(place)
    values = tuple(c.derived.values[quantity] for c in usable if quantity in c.derived.values)
    wrong = not_above_zero(usable, quantity)
    if values and wrong is None:
        return values, None
    why = [wrong] if wrong else []
    why += [reason for cell in side.cells.get(place, []) for reason in cell.refusals]
    why += [cell.derived.absent[quantity] for cell in usable if quantity in cell.derived.absent]
    reason = next(iter(why), tr("no record"))
    return (), tr("{campaign}: {reason}", campaign=side.plan.id, reason=reason)


def _compared_cell(
    two: CampaignPair,
    match: Match,
    cell: ChangedCell,
    before: tuple[float, ...],
    after: tuple[float, ...],
) -> ChangedCell:
    """The cell with what its rounds tell, unless fields that must agree do not."""
    platforms = [name for name in (cell.a, cell.b) if name]
    differ = clauses(dict.fromkeys(d for name in platforms for d in _differ(two, match, name)))
    if differ:
        return cell.model_copy(update={"outcome": "not comparable", "reason": differ})
    ratio = unpaired_ratio(after, before, confidence=two.before.analysis.confidence)
    outcome, around = _outcome(cell, ratio), ratio.interval
    no_interval = ONE_ROUND if min(len(before), len(after)) < 2 else NO_SPREAD
    return cell.model_copy(
        update={
            "outcome": outcome,
            "reason": None if around else tr(no_interval),
            "before": before,
            "after": after,
            "change": ratio.centre,
            "low": around.low if around else None,
            "high": around.high if around else None,
            **_tolerated(cell, ratio, outcome, two.tolerance),
        }
    )


def _tolerated(
    cell: ChangedCell, ratio: UnpairedRatio, outcome: Outcome, tolerance: float
) -> dict[str, bool]:
    """Whether a value of one platform has become slower by more than that, or may have."""
    if cell.b is not None or ratio.interval is None:
        return {}
    worst = 1 - ratio.interval.low if _more_is_better(cell) else ratio.interval.high - 1
    beyond = outcome == "slower" and abs(ratio.centre - 1) > tolerance
    return {"beyond_tolerance": beyond, "left_open": worst > tolerance and not beyond}


def _differ(two: CampaignPair, match: Match, platform: str) -> list[str]:
    """Fields of a platform's records that must agree and do not, with both values."""
    places = match.places(platform) or ()
    usable = [side.usable(place) for side, place in zip(two.sides, places, strict=True)]
    before, after = (cells[0].record for cells in usable)
    return [str(difference) for difference in obstacles(before, after)]


def _outcome(cell: ChangedCell, ratio: UnpairedRatio) -> Outcome:
    around = ratio.interval
    if around is None or around.low <= 1 <= around.high:
        return "cannot tell"
    grown = around.low > 1
    if cell.b is not None:
        return "larger" if grown else "smaller"
    return "faster" if grown == _more_is_better(cell) else "slower"


def _more_is_better(cell: ChangedCell) -> bool:
    return Quantity(cell.metric).metric.direction == "higher"
