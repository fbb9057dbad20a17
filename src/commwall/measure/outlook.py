"""What a run would measure here, and how long, without starting anything.

Layer: measure. Reads config/, envs/bench.lock, plans and records; writes nothing.
"""

from dataclasses import dataclass
from pathlib import Path

from commwall.measure.duration import expected_launch_s
from commwall.measure.nodes import planned_machine
from commwall.measure.planning.configuration import load
from commwall.measure.planning.freezing import build_plan
from commwall.measure.rounds import visits
from commwall.measure.startup import environment_identity
from commwall.records.arrival import is_evidence
from commwall.records.freshness import freshness_key
from commwall.records.layout import Layout
from commwall.records.todo import examine, todo
from commwall.schema.case import SuiteName
from commwall.schema.plan import Plan


@dataclass(frozen=True)
class Outlook:
    """What is due of one campaign that is asked for here."""

    plan: Plan
    cases: dict[SuiteName, int]
    """Suite -> cases to be measured, each platform and round counted; suites that owe none left
    out."""
    expected_s: float
    """Expected time of them [s]."""


def look_ahead(root: Path) -> tuple[Outlook, ...]:
    """What `make report` would measure of each configured campaign.

    Args:
        root: the checkout.

    Raises:
        ConfigError: naming every problem of the configuration.
        ProvisionError: if envs/bench.lock is absent.
    """
    machine = planned_machine(root)
    wanted = load(root, has_gpu=bool(machine.facts.gpus))
    identity = environment_identity(root, wanted.config)
    plans = [build_plan(campaign, machine.facts, machine.words) for campaign in wanted.campaigns]
    return tuple(_outlook(root, plan, identity) for plan in plans)


def _outlook(root: Path, plan: Plan, identity: str) -> Outlook:
    layout, cases, expected_s = Layout(root), dict[SuiteName, int](), 0.0
    for suite in () if is_evidence(layout, plan.id) else plan.suites:
        found = examine(layout, plan, suite.suite, freshness_key(suite.suite, identity))
        due = visits(plan, suite.suite, todo(plan, suite.suite, found))
        if due:
            cases[suite.suite] = sum(len(visit.cases) for visit in due)
        for visit in due:
            own = [suite.cases[name] for name in visit.cases]
            place = plan.platform(visit.platform)
            expected_s += expected_launch_s(own, place.device, place.world_size)
    return Outlook(plan, cases, expected_s)
