"""How long a plan takes, said before it starts.

Layer: measure. Reads and writes no file.
"""

from collections.abc import Mapping, Sequence
from math import comb
from typing import Literal, NamedTuple

from commwall.schema.case import TRAFFIC, Case, MemoryCase, SuiteName, TrainingCase
from commwall.schema.mitigation import PriceCase, StepCase
from commwall.schema.plan import Plan, PlannedSuite
from commwall.schema.units import significant

WINDOW_SHARE = 1.05
"""Time of a leg's window, relative to what is asked for: steps are planned with a margin."""
POINT_SHARE = 2.0
"""Time of a size of a collective or copy, relative to its window: the warm-up besides."""
TRANSFER_S = 2.0
"""The known transfer of a launch on GPUs, with the quiet around it [s]."""

READ_OFF_RANKS = 2
"""Processes of the launches of which the allowances are."""
STEP_BLOCKS = 4
"""Blocks of a step with a mitigation and of the step without, A B B A."""
PRICE_BATCH_S = 0.004
"""A batch of the small task on two CPUs; each seed trains with and without the mitigation, and the
first one's gradients are looked at as well [s]."""


class Allowance(NamedTuple):
    """What measuring takes besides windows."""

    launch_s: Mapping[SuiteName, float]
    """Start of the interpreters and the process group, and their end [s]."""
    case_s: float
    """Building a model, compiling or loading its kernels, first steps, checks [s]."""
    anew_s: float
    """Having the plain step of the case before begin anew, in place of building it [s]."""
    leg_s: float
    """Recording a leg, and seeing whether the host keeps up [s]."""
    warmup_share: float
    """Share of the longest warm-up that a leg takes as a rule [1]."""
    point_s: Mapping[SuiteName, float]
    """Making and checking the buffers of one size [s]."""


ALLOWANCES: dict[Literal["cpu", "cuda"], Allowance] = {
    "cpu": Allowance(
        launch_s={
            "training": 5.5,
            "memory": 5.5,
            "collectives": 5.5,
            "strategies": 6.0,
            "inference": 6.0,
            "mitigations": 5.5,
        },
        case_s=1.0,
        anew_s=0.5,
        leg_s=0.0,
        warmup_share=0.3,
        point_s={"memory": 0.0, "collectives": 0.0, "strategies": 1.5, "inference": 0.5},
    ),
    "cuda": Allowance(
        launch_s={
            "training": 17.0,
            "memory": 10.0,
            "collectives": 10.0,
            "strategies": 12.0,
            "inference": 12.0,
            "mitigations": 17.0,
        },
        case_s=7.0,
        anew_s=1.0,
        leg_s=0.9,
        warmup_share=0.0,
        point_s={"memory": 1.15, "collectives": 0.06, "strategies": 8.0, "inference": 6.0},
    ),
}
"""Read off the demonstration on two cores and launches on two H200 GPUs whose kernels had been
compiled (training 113 and 120 s for four cases, collectives 36 and 42 s for eight, memory 39 s for
ten). In training a case took 7 to 16 s besides its windows: large models most, host-staged more
than over NVLink. The first launch that compiles takes up to a minute more for each model."""


def expected_launch_s(
    cases: Sequence[Case], device: Literal["cpu", "cuda"], ranks: int = READ_OFF_RANKS
) -> float:
    """Expected duration of one launch: windows, warm-ups and allowances [s].

    Args:
        cases: what it measures.
        device: where.
        ranks: processes.
    """
    return expected_start_s(cases, device) + sum(expected_cases_s(cases, device, ranks))


def expected_start_s(cases: Sequence[Case], device: Literal["cpu", "cuda"]) -> float:
    """Expected time of a launch besides its cases [s]."""
    allowance = ALLOWANCES[device]
    exchanging = any(case.suite != "memory" for case in cases)
    transfer_s = TRANSFER_S if device == "cuda" and exchanging else 0.0
    return max((allowance.launch_s[case.suite] for case in cases), default=0.0) + transfer_s


def expected_suite_s(plan: Plan, suite: PlannedSuite) -> float:
    """Expected duration of all rounds of a suite of a plan [s]."""
    return sum(expected_platform_s(plan, suite, platform) for platform in suite.platforms)


def expected_platform_s(plan: Plan, suite: PlannedSuite, platform: str) -> float:
    """Expected duration of all rounds of a suite on one platform [s]."""
    cases = [suite.cases[name] for name in suite.platforms[platform]]
    place = plan.platform(platform)
    return suite.rounds * expected_launch_s(cases, place.device, place.world_size)


def expected_plan_s(plan: Plan) -> float:
    """Expected duration of all suites of a plan [s]."""
    return sum(expected_suite_s(plan, suite) for suite in plan.suites)


def timed_share(plan: Plan, suite: PlannedSuite, platform: str) -> float:
    """Share of a platform's expected time that lies in timed windows [1]."""
    timed_s = sum(_timed_s(suite.cases[name]) for name in suite.platforms[platform])
    return suite.rounds * timed_s / expected_platform_s(plan, suite, platform)


def basis_text(plan: Plan, suite: PlannedSuite) -> str:
    """What the expectation of a suite is made of."""
    own = (ALLOWANCES[plan.platform(platform).device] for platform in suite.platforms)
    allowance = max(own, key=lambda each: each.case_s, default=ALLOWANCES["cpu"])
    launch = significant(allowance.launch_s[suite.suite])
    if suite.suite not in ("training", "mitigations"):
        return f"{POINT_SHARE:g} times the windows, {launch} s a launch"
    case = f"{significant(allowance.case_s)} s a {'case' if suite.suite == 'training' else 'step'}"
    if suite.suite == "mitigations":
        case += f" that is built and {significant(allowance.anew_s)} s where it is kept"
    leg = f" and {significant(allowance.leg_s)} s a leg" if allowance.leg_s else ""
    share = allowance.warmup_share
    warmup = f"{share:.0%} of the longest warm-ups, " if share else ""
    return f"windows, {warmup}{launch} s a launch, {case}{leg}"


def expected_cases_s(
    cases: Sequence[Case], device: Literal["cpu", "cuda"], ranks: int = READ_OFF_RANKS
) -> list[float]:
    """Expected time of each case of a launch of so many processes, in their order [s]."""
    before = (None, *cases)
    return [
        _case_s(case, device, ranks, kept=_same_plain(last, case))
        for last, case in zip(before, cases, strict=False)
    ]


def _same_plain(last: Case | None, case: Case) -> bool:
    """Whether a case takes over what the case before did without a mitigation."""
    if isinstance(last, StepCase) and isinstance(case, StepCase):
        return last.identity == case.identity
    if isinstance(last, PriceCase) and isinstance(case, PriceCase):
        return (last.seeds, last.batches) == (case.seeds, case.batches)
    return False


def _case_s(case: Case, device: Literal["cpu", "cuda"], ranks: int, *, kept: bool) -> float:
    allowance = ALLOWANCES[device]
    if isinstance(case, PriceCase):
        trainings = case.seeds if kept else 2 * case.seeds
        return PRICE_BATCH_S * case.batches * (1 + trainings)
    if isinstance(case, TrainingCase | StepCase):
        leg_s = allowance.leg_s + allowance.warmup_share * case.windows.warmup_max_s
        if isinstance(case, TrainingCase):
            return allowance.case_s + _timed_s(case) + leg_s * len(case.legs)
        plain_s = allowance.anew_s if kept else allowance.case_s
        return plain_s + allowance.case_s + _timed_s(case) + leg_s * STEP_BLOCKS
    point_s = POINT_SHARE * case.window_s + allowance.point_s[case.suite]
    return _turns(case, ranks) * case.points * point_s


def _turns(case: Case, ranks: int) -> float:
    """How many times as long as with READ_OFF_RANKS processes a case takes: copies between devices
    are timed pair after pair, some others process after process [1]."""
    if not isinstance(case, MemoryCase):
        return 1.0
    if TRAFFIC[case.operation].between == "peer":
        return comb(ranks, 2) / comb(READ_OFF_RANKS, 2)
    return ranks / READ_OFF_RANKS if case.ranks == "one_at_a_time" else 1.0


def _timed_s(case: Case) -> float:
    """What a case's windows take [s]."""
    if isinstance(case, PriceCase):
        return 0.0
    if isinstance(case, StepCase):
        return WINDOW_SHARE * 2 * case.windows.full_s
    if not isinstance(case, TrainingCase):
        return case.points * case.window_s
    windows = case.windows
    asked_s = sum(windows.full_s if leg == "full" else windows.other_s for leg in case.legs)
    return WINDOW_SHARE * asked_s
