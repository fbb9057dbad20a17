"""Suite `strategies`: a training step of a transformer stack, split over the ranks.

Layer: workers. Reads and writes no file. Every rank runs `run_case` in step. Before anything is
timed, the first steps are held against those of the whole stack on one process with the whole
batch; each rank computes these for itself.
"""

import gc
import math
import time
from collections.abc import Callable
from statistics import median

from commwall.schema.result import CaseResult, Check, NamedCase
from commwall.schema.strategies import StrategiesCase, why_indivisible
from commwall.workers import hosting, peak
from commwall.workers.bounds import binding_mark
from commwall.workers.counting import count_bytes
from commwall.workers.findings import Findings
from commwall.workers.graphs import Graph
from commwall.workers.group import Group
from commwall.workers.reporting import exchanged, runtime_facts, skipped, tell_progress
from commwall.workers.split_steps import Moment, Step, compared, one_process, squares
from commwall.workers.splitting import Split, split
from commwall.workers.stepping import WARMUPS
from commwall.workers.timing import Pace, Timed, clock_of, time_leg

FIRST_STEPS = 3
"""Steps that are compared one by one with those on one process."""
WARMUP_SHARE = 1.5
"""Longest warm-up, relative to the window."""
LEAST_STEPS = 5
_ALONE = "one process has nobody to share the stack with"


def run_case(named: NamedCase, group: Group) -> CaseResult:
    """Measure one strategy.

    Returns:
        The merged findings of all ranks; every rank gets the same.

    Raises:
        Unsupported: if the step cannot be recorded as asked.
        CheckFailed: if the step computes something else than one process does.
    """
    case = named.case
    assert isinstance(case, StrategiesCase)  # the suite chose this module
    reason = _ALONE if group.size < 2 else why_indivisible(case, group.size)
    if reason:
        return skipped(named.name, reason)
    findings = Findings(named.name, group.rank)
    _Run(named.name, case, group, findings).measure()
    gc.collect()
    return exchanged(named.name, group, findings)


class _Run:
    """One rank's way through a case."""

    def __init__(self, name: str, case: StrategiesCase, group: Group, findings: Findings) -> None:
        self._name, self._case = name, case
        self._group, self._findings = group, findings
        self._clock = clock_of(group.device)
        self._recorded = case.step_mode == "captured"

    def measure(self) -> None:
        """Compare, time, count."""
        group, case = self._group, self._case
        tell_progress(group, self._name, "reference")
        more = 1 + WARMUPS if self._recorded else 0
        whole = one_process(case, group.size, group.device)
        expected = [next(whole) for _ in range(FIRST_STEPS + more)]
        whole.close()
        gc.collect()
        no_peak = peak.reset_peak(group.device)
        parts = split(case, group)
        count = parts.whole_parameters
        self._findings.runtime = runtime_facts(group, self._name, parameters=count)
        step = Step(parts, group.device, recorded=self._recorded)
        self._first_steps(parts, step, expected[:FIRST_STEPS])
        run = self._in_mode(parts, step, expected[-1])
        tell_progress(group, self._name, "step")
        timed = self._time(run)
        self._look_at_host(run, timed)
        count_bytes(run, median(timed.step_s), group, self._findings)
        self._finite(self._moment(parts, step))
        self._findings.peak(no_peak or peak.peak_bytes(group.device))

    def _first_steps(self, parts: Split, step: Step, expected: list[Moment]) -> None:
        """What is computed must be what one process computes."""
        found: list[Moment] = []
        duration_s: list[float] = []
        for _ in expected:
            begin_s = time.perf_counter()
            step()
            found.append(self._moment(parts, step))
            duration_s.append(time.perf_counter() - begin_s)
        self._findings.check(
            compared("steps_equal_one_process", found, expected, self._case.precision)
        )
        self._findings.values("loss", (moment.loss for moment in found))
        self._findings.values("gradient_norm", (moment.gradient_norm for moment in found))
        self._findings.values("first_steps_time_s", duration_s)

    def _in_mode(self, parts: Split, step: Step, expected: Moment) -> Callable[[], object]:
        """What is timed; a recorded step must go on as one process does."""
        if not self._recorded:
            return step
        run = Graph(step, WARMUPS).replay
        run()
        name, found = "recorded_step_equals_one_process", self._moment(parts, step)
        self._findings.check(compared(name, [found], [expected], self._case.precision))
        return run

    def _time(self, run: Callable[[], object]) -> Timed:
        link, window_s = self._group.link, self._case.window_s
        pace = Pace(window_s=window_s, min_steps=LEAST_STEPS, warmup_max_s=WARMUP_SHARE * window_s)
        forget = link.reset if link else lambda: None
        timed = time_leg(run, pace, self._clock, self._group, forget)
        self._findings.timed(None, timed)
        if link and link.bound_share is not None:
            self._findings.values("link_bound_share", (link.bound_share,))
            self._findings.mark(binding_mark(link, self._group.rank))
        return timed

    def _look_at_host(self, run: Callable[[], object], timed: Timed) -> None:
        """Whether a GPU waits for the host; eager steps are held against enqueued ones, too."""
        if self._group.device.type != "cuda":
            return
        queued_s = hosting.queued_steps(run, self._clock, self._group)
        if queued_s:
            self._findings.values("queued_step_time_s", queued_s)
        self._findings.mark(hosting.gap_mark(None, queued_s, timed.step_s))

    def _finite(self, moment: Moment) -> None:
        """What was timed computed numbers to its end."""
        check = Check(
            name="finite_after_timing",
            passed=all(map(math.isfinite, moment)),
            found=f"loss {moment.loss}, gradient norm {moment.gradient_norm}",
            expected="finite numbers",
        )
        self._findings.check(check)

    def _moment(self, parts: Split, step: Step) -> Moment:
        """Loss of the whole batch and norm of all gradients; all ranks must ask."""
        losses = self._group.all(float(step.loss))
        loss = losses[-1] if parts.loss_at_the_end else sum(losses) / len(losses)
        total = sum(
            squares(gradient) / (self._group.size if same else 1)
            for gradient, same in parts.gradients()
        )
        return Moment(loss, math.sqrt(sum(self._group.all(total))))
