"""A campaign's frozen plan: platforms, cases, rounds, order and the machine it belongs to.

Layer: schema. Stored as `results/<campaign>/plan.json`.
"""

from typing import Literal, Self

from pydantic import model_validator

from commwall.schema.base import Model, Name, Words, WorldSize
from commwall.schema.case import Case, SuiteName
from commwall.schema.treatment import LinkPath, Treatment

PLAN_VERSION: Literal[1] = 1
MOST_RECORDS = 20_000
"""Of one campaign, as many as a bundle takes."""
MOST_PAIRS = 20_000
"""Of records that a campaign compares."""


class PlannedPlatform(Model):
    """A machine plus one treatment of its link."""

    name: Name
    """Name of the platform."""
    device: Literal["cpu", "cuda"]
    """Where the processes compute."""
    world_size: WorldSize
    """Processes of a launch, one a device."""
    nodes: WorldSize = 1
    """Machines of one kind that the processes are spread over, as many on each."""
    treatment: Treatment
    """How the link is chosen."""
    path: LinkPath | None = None
    """Way that the traffic must be seen to take; null claims none."""

    @property
    def per_node(self) -> int:
        """Processes on each machine."""
        return self.world_size // self.nodes

    @model_validator(mode="after")
    def _spread_evenly(self) -> Self:
        if self.world_size % self.nodes:
            raise ValueError(
                f"world_size {self.world_size} cannot be spread evenly over {self.nodes} nodes"
            )
        return self


class Comparison(Model):
    """A question the campaign asks: how much faster is `a` than `b`."""

    a: Name
    """Platform whose speed-up is asked for."""
    b: Name
    """Platform it is compared with."""
    control: bool = False
    """True if both carry the same treatment (A/A): the ratio shows the noise floor."""


class LeftOut(Model):
    """Something the campaign file asks for and this machine does not allow."""

    what: str
    """Platform, comparison or legs."""
    reason: str
    """Why it is not planned."""


class PlannedSuite(Model):
    """Cases of one suite and the order in which each round visits the platforms."""

    suite: SuiteName
    cases: dict[Name, Case]
    """Name -> case with every parameter resolved."""
    platforms: dict[Name, tuple[Name, ...]]
    """Platform -> names of the cases it runs."""
    orders: tuple[tuple[Name, ...], ...]
    """Order of the platforms in round 1, 2, …"""

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return len(self.orders)

    def platforms_of(self, case: str) -> tuple[str, ...]:
        """Platforms that run a case, in plan order."""
        return tuple(name for name, cases in self.platforms.items() if case in cases)


class Replicated(Model):
    """The published campaign that a campaign measures again."""

    campaign: Name
    """Its identifier."""
    predictions: str
    """Digest of its predictions as they stood before anything was measured again."""


class Plan(Model):
    """What a campaign measures, fixed before its first record."""

    schema_version: Literal[1] = PLAN_VERSION
    id: Name
    """Name of the campaign; equals its folder."""
    title: Words
    """What the campaign asks, for the head of the report."""
    fingerprint: str
    """Identity of the kind of machine that may write records of this campaign."""
    machine: str
    """That machine in words."""
    seed: int
    """Seed of the order of the platforms."""
    platforms: tuple[PlannedPlatform, ...]
    comparisons: tuple[Comparison, ...]
    suites: tuple[PlannedSuite, ...]
    left_out: tuple[LeftOut, ...] = ()
    """What the campaign file asks for and this machine does not allow."""
    replicates: Replicated | None = None
    """Published campaign that is measured again; null for a campaign of its own."""

    def platform(self, name: str) -> PlannedPlatform:
        """The platform of that name.

        Raises:
            KeyError: if the plan has no such platform.
        """
        return {planned.name: planned for planned in self.platforms}[name]

    def suite(self, name: SuiteName) -> PlannedSuite:
        """The suite of that name.

        Raises:
            KeyError: if the plan has no such suite.
        """
        return {planned.suite: planned for planned in self.suites}[name]

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        known = [p.name for p in self.platforms]
        if len(set(known)) != len(known):
            raise ValueError("platform names must differ")
        for comparison in self.comparisons:
            for side in (comparison.a, comparison.b):
                if side not in known:
                    raise ValueError(
                        f"comparison names platform {side!r}; known: {', '.join(known)}"
                    )
        for suite in self.suites:
            _check_suite(suite, known)
        self._check_size()
        return self

    def _check_size(self) -> None:
        """Raise ValueError for a plan that nobody could measure, or wait for its pages."""
        records = sum(s.rounds * sum(map(len, s.platforms.values())) for s in self.suites)
        pairs = len(self.comparisons) * sum(s.rounds * len(s.cases) for s in self.suites)
        if records > MOST_RECORDS or pairs > MOST_PAIRS:
            raise ValueError(
                f"{records} records and {pairs} pairs of them; at most {MOST_RECORDS} and "
                f"{MOST_PAIRS} make a campaign"
            )


def _check_suite(suite: PlannedSuite, known: list[str]) -> None:
    """Raise ValueError where a suite names platforms or cases that the plan lacks."""
    for name, cases in suite.platforms.items():
        if name not in known or not set(cases) <= set(suite.cases):
            raise ValueError(
                f"suite {suite.suite}: {name!r} or one of its cases is not in the plan"
            )
    for order in suite.orders:
        if sorted(order) != sorted(suite.platforms):
            raise ValueError(f"suite {suite.suite}: a round must visit each platform once")
