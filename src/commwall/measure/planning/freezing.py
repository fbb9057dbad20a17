"""From a campaign file and a machine to the frozen plan, and the plan in words.

Layer: measure. Reads and writes no file.
"""

import random
from collections.abc import Sequence

from commwall.measure.duration import (
    basis_text,
    expected_plan_s,
    expected_platform_s,
    expected_suite_s,
    timed_share,
)
from commwall.measure.planning.configuration import CAMPAIGNS_NAME, Campaign
from commwall.measure.planning.fitting import Fitted, fit
from commwall.records.layout import TAKEN
from commwall.schema.case import Case, CollectivesCase, MemoryCase, SuiteName, TrainingCase
from commwall.schema.errors import ConfigError
from commwall.schema.inference import InferenceCase
from commwall.schema.mitigation import PriceCase, StepCase
from commwall.schema.plan import Plan, PlannedPlatform, PlannedSuite
from commwall.schema.record import MachineFacts
from commwall.schema.strategies import StrategiesCase
from commwall.schema.treatment import EmulatedLink, NcclVariables, Treatment
from commwall.schema.units import rate_text, significant, size_text, time_text

FINGERPRINT_DIGITS = 8


def build_plan(campaign: Campaign, machine: MachineFacts, words: str) -> Plan:
    """The plan of a campaign on this machine; the same input gives the same plan.

    Args:
        campaign: what the user asked for.
        machine: this machine.
        words: the machine in one line.

    Raises:
        ConfigError: if the machine allows none of it, the campaign is another kind's, or its name
            is taken.
    """
    _refuse_other_machines(campaign, machine, words)
    _refuse_taken_name(campaign_id(campaign, machine.fingerprint))
    _refuse_missing_nodes(campaign, machine)
    config, fitted = campaign.config, fit(campaign, machine)
    suites = tuple(_plan_suite(campaign, fitted, suite) for suite in config.rounds)
    if not any(suite.platforms for suite in suites):
        raise _nothing_to_measure(campaign, fitted)
    return Plan(
        id=campaign_id(campaign, machine.fingerprint),
        title=config.title,
        fingerprint=machine.fingerprint,
        machine=words,
        seed=config.seed,
        platforms=tuple(fitted.platforms.values()),
        comparisons=fitted.comparisons,
        suites=tuple(suite for suite in suites if suite.platforms),
        left_out=fitted.left_out,
        replicates=config.replicates,
    )


def _refuse_other_machines(campaign: Campaign, machine: MachineFacts, words: str) -> None:
    """Raise ConfigError where a campaign names one kind of machine and this is another."""
    wanted = campaign.config.machine
    if wanted is None or machine.fingerprint.startswith(wanted):
        return
    raise ConfigError(
        f"campaign {campaign.name} is measured on one kind of machine only",
        where=f"{CAMPAIGNS_NAME}/{campaign.name}.yaml, key machine",
        found=f"{machine.fingerprint[:FINGERPRINT_DIGITS]}: {words}",
        expected=wanted,
        next_step="measure `auto` here, or this on a machine of its kind; where its records are "
        f"published (results/{campaign.name}), read its pages, and `commwall replicate "
        f"{campaign.name}` measures it again under another name",
    )


def _refuse_taken_name(name: str) -> None:
    """Raise ConfigError where a campaign would lie in a folder that is made anew with the pages."""
    if name in TAKEN:
        raise ConfigError(
            f"no campaign may be called {name}",
            where=f"{CAMPAIGNS_NAME}/{name}.yaml",
            found=f"results/{name} holds pages, and is emptied whenever they are made",
            next_step="give the campaign file another name",
        )


def _refuse_missing_nodes(campaign: Campaign, machine: MachineFacts) -> None:
    """Raise ConfigError where a case binds processes to a NUMA node that this machine lacks."""
    count = machine.numa_nodes
    asked = {n: c.mitigation.numa for n, c in campaign.cases.items() if isinstance(c, StepCase)}
    wrong = {
        n: node for n, node in asked.items() if isinstance(node, int) and node >= (count or 256)
    }
    if not wrong:
        return
    raise ConfigError(
        f"campaign {campaign.name} binds processes to a NUMA node that is not here",
        where=f"{CAMPAIGNS_NAME}/{campaign.name}.yaml",
        found="\n".join(f"cases.{n}.mitigation.numa: node {node}" for n, node in wrong.items()),
        expected=f"a node of this machine, 0 to {(count or 1) - 1}",
        next_step="name one of them, or `near`, which is skipped where there is one node",
    )


def _nothing_to_measure(campaign: Campaign, fitted: Fitted) -> ConfigError:
    reasons = [f"{item.what}: {item.reason}" for item in fitted.left_out]
    return ConfigError(
        f"campaign {campaign.name} measures nothing on this machine",
        where=f"{CAMPAIGNS_NAME}/{campaign.name}.yaml",
        found="\n".join(reasons or ["no platform runs a case of a suite that has rounds"]),
        expected="a platform that this machine has, with a case",
        next_step="name another campaign under campaigns in config/config.yaml, or `auto`",
    )


def campaign_id(campaign: Campaign, fingerprint: str) -> str:
    """The concrete identifier of a campaign file on this kind of machine.

    A file that names its kind of machine needs no digits to keep other kinds away.
    """
    if campaign.config.machine is not None:
        return campaign.name
    return f"{campaign.name}-{fingerprint[:FINGERPRINT_DIGITS]}"


def visiting_orders(
    platforms: Sequence[str], rounds: int, seed: int, suite: str
) -> tuple[tuple[str, ...], ...]:
    """Orders in which the rounds visit the platforms: a shuffle, its reverse, another shuffle, …

    A drift over a pair of rounds then weighs the same on every platform. More rounds leave the
    orders of the first ones as they were.

    Args:
        platforms: names, in plan order.
        rounds: how many orders.
        seed: of the campaign.
        suite: name, so that suites differ.
    """
    orders: list[tuple[str, ...]] = []
    for pair in range((rounds + 1) // 2):
        order = list(platforms)
        random.Random(f"{seed}/{suite}/{pair}").shuffle(order)
        orders += [tuple(order), tuple(reversed(order))]
    return tuple(orders[:rounds])


def plan_text(plan: Plan) -> str:
    """The plan for a reader: machine, platforms, cases, order of every round, expected time."""
    parts = [
        [
            f"campaign  {plan.id}: {plan.title}",
            f"machine   {plan.machine}",
            f"seed      {plan.seed}",
        ],
        ["platforms", *[line for platform in plan.platforms for line in _platform_lines(platform)]],
        *[_suite_lines(plan, suite) for suite in plan.suites],
        ["comparisons", *(_comparison_lines(plan) or ["  none"])],
        *([["left out", *_left_out_lines(plan)]] if plan.left_out else []),
        [f"expected machine time  {time_text(expected_plan_s(plan))}"],
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def _plan_suite(campaign: Campaign, fitted: Fitted, suite: SuiteName) -> PlannedSuite:
    config = campaign.config
    cases = {name: case for name, case in fitted.cases.items() if case.suite == suite}
    runs = {}
    for name, planned in fitted.platforms.items():
        wanted = config.platforms[name].cases
        runs[planned.name] = tuple(case for case in cases if wanted is None or case in wanted)
    platforms = {name: own for name, own in runs.items() if own}
    orders = visiting_orders(list(platforms), config.rounds[suite], config.seed, suite)
    return PlannedSuite(suite=suite, cases=cases, platforms=platforms, orders=orders)


def _platform_lines(platform: PlannedPlatform) -> list[str]:
    label = platform.treatment.label
    processes = f"{platform.world_size} processes on {platform.device}"
    if platform.nodes > 1:
        processes += f", {platform.per_node} on each of {platform.nodes} nodes"
    proven = f"; path {platform.path} to be proven" if platform.path else ""
    return [
        f"  {platform.name}: {label.title}; {processes}; "
        f"{_treatment_text(platform.treatment)}{proven}",
        f"    stands for      {label.stands_for}",
        f"    does not cover  {label.does_not_cover}",
    ]


def _treatment_text(treatment: Treatment) -> str:
    if isinstance(treatment, EmulatedLink):
        rate, latency = treatment.bandwidth_bytes_per_s, treatment.latency_s
        return f"emulated link of {rate_text(rate)} per direction and {time_text(latency)}"
    if isinstance(treatment, NcclVariables):
        return " ".join(f"{name}={value}" for name, value in treatment.variables.items())
    return "the link as it is"


def _suite_lines(plan: Plan, suite: PlannedSuite) -> list[str]:
    launches = suite.rounds * len(suite.platforms)
    head = f"{suite.rounds} rounds of {len(suite.platforms)} platforms, {launches} launches"
    orders = [
        f"  round {number}: {', '.join(order)}" for number, order in enumerate(suite.orders, 1)
    ]
    cases = [f"  case {name}: {_case_text(case)}" for name, case in suite.cases.items()]
    expected_s, basis = expected_suite_s(plan, suite), basis_text(plan, suite)
    expected = f"  expected time: {time_text(expected_s)} ({basis})"
    shares = [f"    {_time_line(plan, suite, platform)}" for platform in suite.platforms]
    return [f"suite {suite.suite}: {head}", *cases, *orders, expected, *shares]


def _time_line(plan: Plan, suite: PlannedSuite, platform: str) -> str:
    expected = time_text(expected_platform_s(plan, suite, platform))
    share = timed_share(plan, suite, platform)
    cases = len(suite.platforms[platform])
    return f"{platform}: {expected} for {cases} cases, {share:.0%} of it in timed windows"


def _case_text(case: Case) -> str:
    if isinstance(case, PriceCase):
        counted = f"{case.seeds} seeds a round, {case.batches} batches each"
        return f"price of {case.mitigation.words}, {counted}"
    if not isinstance(case, TrainingCase | StepCase):
        return f"{_operation_text(case)}, {significant(case.window_s)} s each"
    windows = case.windows
    size = f"{case.batch_per_gpu} samples ({case.sample_text}) per process and step"
    work = f"{case.model} {case.preset}, {size}, {case.precision}, {case.step_mode}"
    if isinstance(case, StepCase):
        timed = f"{significant(windows.full_s)} s each"
        return f"{work}; with and without {case.mitigation.words}, {timed}"
    timed = f"full {significant(windows.full_s)} s, others {significant(windows.other_s)} s each"
    return f"{work}; legs {', '.join(case.legs)} ({timed})"


def _operation_text(case: MemoryCase | CollectivesCase | StrategiesCase | InferenceCase) -> str:
    if isinstance(case, StrategiesCase | InferenceCase):
        return f"{case.text}, {case.batch_text}, {case.precision}, {case.step_mode}"
    if isinstance(case, CollectivesCase):
        most = size_text(case.max_bytes)
        place = " in place" if case.in_place else ""
        return f"{case.collective}{place} of {case.dtype}, {case.points} sizes up to {most}"
    return f"{case.operation}, buffers of {', '.join(map(size_text, case.buffer_bytes))}"


def _left_out_lines(plan: Plan) -> list[str]:
    return [f"  {item.what}: {item.reason}" for item in plan.left_out]


def _comparison_lines(plan: Plan) -> list[str]:
    return [
        f"  {pair.a} against {pair.b}{' (control: the same treatment)' if pair.control else ''}"
        for pair in plan.comparisons
    ]
