"""Which cells of two campaigns stand beside each other.

Layer: analysis. Reads no file. Cells are matched by platform, suite and the parameters of the case,
whatever its name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from commwall.analysis.platforms import compared_platforms
from commwall.analysis.quantities import Quantity
from commwall.analysis.result import Analysis
from commwall.analysis.values.cells import Cell
from commwall.analysis.verdicts.judging import Verdict
from commwall.schema.case import SuiteName
from commwall.schema.errors import PlanError
from commwall.schema.plan import Plan

Place = tuple[str, SuiteName, str]
"""Platform, suite, case."""


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
class CampaignPair:
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
    """A case of two campaigns, by its name on each side; None on a side that has it not."""

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

    def places(self, platform: str) -> tuple[Place, Place] | None:
        """Where a platform's records of it lie on both sides; None if a side has it not."""
        if self.before is None or self.after is None:
            return None
        return (platform, self.suite, self.before), (platform, self.suite, self.after)


def side_of(analysis: Analysis) -> Side:
    """A campaign as one side of a comparison.

    Raises:
        PlanError: if its plan cannot be read, or it has no readable record.
    """
    plan, index = analysis.plan, analysis.evidence.index
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


def matches(before: Plan, after: Plan) -> Iterator[Match]:
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


def platforms_of(two: CampaignPair, match: Match) -> tuple[str, ...]:
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
