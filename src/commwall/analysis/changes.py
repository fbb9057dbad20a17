"""One campaign held against another: has an update made anything slower?

Layer: analysis. Reads no file. Cells are matched by platform, suite and the parameters of the case.
The rounds of two campaigns do not belong together, so that values are compared unpaired; of two
platforms, which did share rounds, the ratio of each round is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from commwall.analysis.names import (
    BUSBW,
    LATENCY,
    MEMORY_BANDWIDTH,
    PRIMARY,
    Quantity,
    compared_platforms,
)
from commwall.analysis.pairs import Cell
from commwall.analysis.result import Analysis
from commwall.analysis.verdicts import Verdict
from commwall.records.changed import obstacles, told_changes
from commwall.schema.case import SuiteName
from commwall.schema.change import CampaignChange, ChangedCell, Outcome
from commwall.schema.errors import PlanError
from commwall.schema.plan import Plan
from commwall.stats.unpaired import UnpairedRatio, unpaired_ratio

SPEEDS: dict[SuiteName, tuple[Quantity, ...]] = {
    "training": (PRIMARY,),
    "collectives": (BUSBW, LATENCY),
    "memory": (MEMORY_BANDWIDTH,),
}
"""What can become faster or slower."""
Place = tuple[str, SuiteName, str]
"""Platform, suite, case."""
ONE_ROUND = "a campaign with one round has no interval"
NO_SPREAD = "the rounds show no spread, so no interval can be trusted"


@dataclass(frozen=True)
class Side:
    """One of two campaigns, as it is looked up."""

    analysis: Analysis
    plan: Plan

    @cached_property
    def cells(self) -> Mapping[Place, list[Cell]]:
        """Every readable record of each place, refused ones too."""
        found: dict[Place, list[Cell]] = {}
        for cell in self.analysis.cells:
            where = cell.record.id
            found.setdefault((where.platform, where.suite, where.case), []).append(cell)
        return found

    def usable(self, place: Place) -> list[Cell]:
        """Records of a place whose numbers count."""
        return [cell for cell in self.cells.get(place, []) if not cell.refusals]

    def verdict(
        self, suite: SuiteName, case: str, quantity: Quantity, sides: tuple[str, str]
    ) -> Verdict | None:
        """The ratio of two platforms; None if it is not asked for."""
        wanted = suite, case, quantity, sides
        own = (
            v for v in self.analysis.verdicts
            if (v.suite, v.case, v.quantity, (v.comparison.a, v.comparison.b)) == wanted
        )  # fmt: skip
        return next(own, None)

    def noise_floor(self, suite: SuiteName, case: str, quantity: Quantity) -> float | None:
        """The widest noise floor of a case and quantity [1]; None without an A/A control."""
        floors = [
            v.open_difference
            for v in self.analysis.verdicts
            if v.comparison.control and (v.suite, v.case, v.quantity) == (suite, case, quantity)
        ]
        return max((floor for floor in floors if floor is not None), default=None)


@dataclass(frozen=True)
class Two:
    """Two campaigns, and what is tolerated between them."""

    before: Side
    after: Side
    tolerance: float

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both, the yardstick first."""
        return self.before, self.after


@dataclass(frozen=True)
class Match:
    """A case that both campaigns have, by name on each side; None on a side that has it not."""

    suite: SuiteName
    before: str | None
    after: str | None

    @property
    def names(self) -> tuple[str | None, str | None]:
        """Its name on both sides."""
        return self.before, self.after

    @property
    def name(self) -> str:
        """Its name in front of readers."""
        return self.before or self.after or ""


def compare_campaigns(before: Analysis, after: Analysis, tolerance: float) -> CampaignChange:
    """What has changed from one campaign to another.

    Args:
        before: the yardstick.
        after: what is held against it.
        tolerance: share by which something may become slower [1].

    Raises:
        PlanError: if a plan cannot be read, or a campaign has no readable record.
    """
    two = Two(_side(before), _side(after), tolerance)
    matches = tuple(_matches(two.before.plan, two.after.plan))
    return CampaignChange(
        before=two.before.plan.id,
        after=two.after.plan.id,
        confidence=before.confidence,
        tolerance=tolerance,
        told=told_changes(before.evidence.records, after.evidence.records),
        cells=(*_value_cells(two, matches), *_ratio_cells(two, matches)),
    )


def _side(analysis: Analysis) -> Side:
    plan, index = analysis.evidence.plan, analysis.evidence.index
    if plan is None:
        raise PlanError(
            "cannot read a plan", where=f"results/{index.campaign}", found="; ".join(index.problems)
        )
    if not analysis.evidence.records:
        raise PlanError(
            "a campaign without records cannot be compared",
            where=f"results/{index.campaign}",
            found=f"none of {len(index.findings)} records can be read",
            expected="at least two rounds of one case",
            next_step="measure it, or import its bundle",
        )
    return Side(analysis, plan)


def _matches(before: Plan, after: Plan) -> Iterator[Match]:
    """Cases of both plans: of equal parameters, else of one name, else alone."""
    taken = set()
    for suite in before.suites:
        others = next((s.cases for s in after.suites if s.suite == suite.suite), {})
        for name, case in suite.cases.items():
            equal = [other for other in others if others[other] == case]
            partner = name if name in equal else next(iter(equal), None)
            partner = partner or (name if name in others else None)
            taken.add((suite.suite, partner))
            yield Match(suite.suite, name, partner)
    for suite in after.suites:
        for name in suite.cases:
            if (suite.suite, name) not in taken:
                yield Match(suite.suite, None, name)


def _value_cells(two: Two, matches: tuple[Match, ...]) -> Iterator[ChangedCell]:
    for match in matches:
        for platform in _platforms(two, match):
            for quantity in SPEEDS[match.suite]:
                yield _value_cell(two, match, platform, quantity)


def _platforms(two: Two, match: Match) -> tuple[str, ...]:
    """Platforms that run a case in either campaign, without those that are only controls."""
    found = [
        platform
        for side, name in zip(two.sides, match.names, strict=True)
        for suite in side.plan.suites
        if suite.suite == match.suite and name
        for platform in suite.platforms_of(name)
        if platform in compared_platforms(side.plan)
    ]
    return tuple(dict.fromkeys(found))


def _value_cell(two: Two, match: Match, platform: str, quantity: Quantity) -> ChangedCell:
    cell = _blank(two, match, quantity, platform)
    if reason := _alone(two, match):
        return cell.model_copy(update={"reason": reason})
    places = _places(match, platform)
    found = [_values(side, place, quantity) for side, place in zip(two.sides, places, strict=True)]
    if missing := "; ".join(why for _, why in found if why):
        return cell.model_copy(update={"reason": missing})
    return _compared_cell(two, match, cell, found[0][0], found[1][0])


def _ratio_cells(two: Two, matches: tuple[Match, ...]) -> Iterator[ChangedCell]:
    """Ratios that both campaigns ask for."""
    for match in matches:
        for pair in two.before.plan.comparisons:
            for quantity in SPEEDS[match.suite]:
                before, after = (
                    side.verdict(match.suite, name, quantity, (pair.a, pair.b)) if name else None
                    for side, name in zip(two.sides, match.names, strict=True)
                )
                if before and after and not pair.control:
                    cell = _blank(two, match, quantity, pair.a, pair.b)
                    yield _ratio_cell(two, match, cell, before, after)


def _ratio_cell(
    two: Two, match: Match, cell: ChangedCell, before: Verdict, after: Verdict
) -> ChangedCell:
    if before.ratio and after.ratio:
        return _compared_cell(two, match, cell, before.ratio.ratios, after.ratio.ratios)
    told = (
        f"{side.plan.id}: {verdict.why_none}"
        for side, verdict in zip(two.sides, (before, after), strict=True)
        if verdict.why_none
    )
    return cell.model_copy(update={"reason": "; ".join(told)})


def _blank(two: Two, match: Match, quantity: Quantity, a: str, b: str | None = None) -> ChangedCell:
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


def _alone(two: Two, match: Match) -> str | None:
    """Which campaign has not got the case; None if both have it."""
    lacking = (side.plan.id for side, name in zip(two.sides, match.names, strict=True) if not name)
    return next((f"{campaign} has no such case" for campaign in lacking), None)


def _places(match: Match, platform: str) -> tuple[Place, Place]:
    before, after = match.names
    assert before and after  # `_alone` has seen to it
    return (platform, match.suite, before), (platform, match.suite, after)


def _values(side: Side, place: Place, quantity: Quantity) -> tuple[tuple[float, ...], str | None]:
    """One value a round, or why there is none."""
    usable = side.usable(place)
    values = [cell.derived.values.get(quantity, 0.0) for cell in usable]
    if positive := tuple(value for value in values if value > 0):
        return positive, None
    why = [reason for cell in side.cells.get(place, []) for reason in cell.refusals]
    why += [cell.derived.absent[quantity] for cell in usable if quantity in cell.derived.absent]
    return (), f"{side.plan.id}: {next(iter(why), 'no record')}"


def _compared_cell(
    two: Two, match: Match, cell: ChangedCell, before: tuple[float, ...], after: tuple[float, ...]
) -> ChangedCell:
    """The cell with what its rounds tell, unless fields that must agree do not."""
    platforms = [name for name in (cell.a, cell.b) if name]
    differ = "; ".join(dict.fromkeys(d for name in platforms for d in _differ(two, match, name)))
    if differ:
        return cell.model_copy(update={"outcome": "not comparable", "reason": differ})
    ratio = unpaired_ratio(after, before, confidence=two.before.analysis.confidence)
    outcome, around = _outcome(cell, ratio), ratio.interval
    no_interval = ONE_ROUND if min(len(before), len(after)) < 2 else NO_SPREAD
    return cell.model_copy(
        update={
            "outcome": outcome,
            "reason": None if around else no_interval,
            "before": before,
            "after": after,
            "change": ratio.centre,
            "low": around.low if around else None,
            "high": around.high if around else None,
            "beyond_tolerance": outcome == "slower" and abs(ratio.centre - 1) > two.tolerance,
        }
    )


def _differ(two: Two, match: Match, platform: str) -> list[str]:
    """Fields of a platform's records that must agree and do not, with both values."""
    before, after = (
        side.usable(place)
        for side, place in zip(two.sides, _places(match, platform), strict=True)
    )  # fmt: skip
    found = obstacles(before[0].record, after[0].record) if before and after else ()
    return [str(difference) for difference in found]


def _outcome(cell: ChangedCell, ratio: UnpairedRatio) -> Outcome:
    around = ratio.interval
    if around is None or around.low <= 1 <= around.high:
        return "cannot tell"
    grown = around.low > 1
    if cell.b is not None:
        return "larger" if grown else "smaller"
    more_is_better = Quantity(cell.metric).metric.direction == "higher"
    return "faster" if grown == more_is_better else "slower"
