"""How long a plan takes, said before it starts.

Layer: measure. Reads and writes no file.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from commwall.schema.case import Case, SuiteName, TrainingCase
from commwall.schema.plan import Plan, PlannedSuite
from commwall.schema.units import significant

WARMUP_SHARE = 0.3
"""Share of the longest warm-up that a leg takes as a rule."""
POINT_SHARE = 2.0
"""Time of a size of a collective or copy, relative to its window: the warm-up besides."""
TRANSFER_S = 1.7
"""The known transfer of a launch on GPUs, with the quiet around it [s]."""


class Allowance(NamedTuple):
    """What measuring takes besides windows and warm-ups."""

    launch_s: float
    """Start of the interpreters and the process group, and their end [s]."""
    case_s: float
    """Building the model, compiling or loading its kernels, checks [s]."""
    point_s: Mapping[SuiteName, float]
    """Making and checking the buffers of one size [s]."""


ALLOWANCES: dict[Literal["cpu", "cuda"], Allowance] = {
    "cpu": Allowance(5.5, 1.0, {"memory": 0.0, "collectives": 0.0}),
    "cuda": Allowance(10.0, 10.0, {"memory": 1.0, "collectives": 0.1}),
}
"""Read off the demonstration on two cores and a campaign on two H200 GPUs whose kernels had been
compiled; the first launch that compiles takes up to a minute more for each model."""


def expected_launch_s(cases: Sequence[Case], device: Literal["cpu", "cuda"]) -> float:
    """Expected duration of one launch: windows, warm-ups and allowances [s]."""
    allowance = ALLOWANCES[device]
    exchanging = any(case.suite != "memory" for case in cases)
    transfer_s = TRANSFER_S if device == "cuda" and exchanging else 0.0
    cases_s = sum(_expected_case_s(case, allowance) for case in cases)
    return allowance.launch_s + transfer_s + cases_s


def expected_suite_s(plan: Plan, suite: PlannedSuite) -> float:
    """Expected duration of all rounds of a suite of a plan [s]."""
    launches = [
        expected_launch_s([suite.cases[name] for name in cases], plan.platform(platform).device)
        for platform, cases in suite.platforms.items()
    ]
    return suite.rounds * sum(launches)


def expected_plan_s(plan: Plan) -> float:
    """Expected duration of all suites of a plan [s]."""
    return sum(expected_suite_s(plan, suite) for suite in plan.suites)


def basis_text(plan: Plan, suite: PlannedSuite) -> str:
    """What the expectation of a suite is made of."""
    own = (ALLOWANCES[plan.platform(platform).device] for platform in suite.platforms)
    allowance = max(own, key=lambda each: each.launch_s, default=ALLOWANCES["cpu"])
    launch = significant(allowance.launch_s)
    if suite.suite != "training":
        return f"{POINT_SHARE:g} times the windows, {launch} s a launch"
    case = significant(allowance.case_s)
    warmup = f"{WARMUP_SHARE:.0%} of the longest warm-ups"
    return f"windows, {warmup}, {launch} s a launch and {case} s a case"


def _expected_case_s(case: Case, allowance: Allowance) -> float:
    if not isinstance(case, TrainingCase):
        return case.points * (POINT_SHARE * case.window_s + allowance.point_s[case.suite])
    windows = case.windows
    timed_s = sum(windows.full_s if leg == "full" else windows.other_s for leg in case.legs)
    return allowance.case_s + timed_s + WARMUP_SHARE * windows.warmup_max_s * len(case.legs)
