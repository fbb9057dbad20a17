"""Suite `mitigations`: a step with a mitigation beside the same step without, on this rank.

Layer: workers. Reads and writes no file. Both steps are there at once and are timed in turns, A B B
A, so that a drift of the machine weighs on both alike. `commwall.workers.price` measures the other
kind of case.
"""

import gc
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from commwall.schema.case import CAPTURING, Leg
from commwall.schema.mitigation import Mitigation, PriceCase, StepCase
from commwall.schema.result import LEAST_BOUND_SHARE, CaseResult, Check, Mark, NamedCase
from commwall.workers import binding, hosting, legs, stepping
from commwall.workers.findings import Findings
from commwall.workers.group import Group
from commwall.workers.mitigated import POWERSGD_START, mitigated_step
from commwall.workers.price import run_price
from commwall.workers.reporting import exchanged, runtime_facts, skipped, tell_progress
from commwall.workers.timing import Pace, Timed, clock_of, time_leg

TURNS: tuple[Leg, ...] = ("full", "mitigated", "mitigated", "full")
LEAST_STEPS = 3
SAME_LOSS_WITHIN = 0.02
"""Relative. A step that rounds in another order stays far below it, one that computes something
else does not."""
ALONE = "one process exchanges nothing, and a mitigation has nothing to mitigate"
ONE_NODE = "the machine has one NUMA node: all of its CPUs are as near to every device"
_STATEFUL = frozenset({"int8", "onebit", "powersgd"})


def run_case(named: NamedCase, group: Group) -> CaseResult:
    """Measure a case of either kind.

    Returns:
        The merged findings of all ranks; every rank gets the same.

    Raises:
        Unsupported: if the device cannot run it.
        CheckFailed: if a result is wrong.
    """
    case = named.case
    if group.size == 1:
        return skipped(named.name, ALONE)
    if isinstance(case, PriceCase):
        return run_price(named.name, case, group)
    assert isinstance(case, StepCase)  # the suite chose this module
    nodes = binding.node_cpus() if case.mitigation.numa is not None else {}
    if case.mitigation.numa is not None and len(nodes) < 2:
        return skipped(named.name, ONE_NODE)
    findings = Findings(named.name, group.rank)
    _Pair(named.name, case, group, findings).measure()
    gc.collect()
    return exchanged(named.name, group, findings)


def compile_case(named: NamedCase, group: Group) -> CaseResult:
    """Take the first steps of a case, so that its kernels are compiled and kept; time nothing."""
    case, findings = named.case, Findings(named.name, group.rank)
    if isinstance(case, StepCase):
        _Pair(named.name, case, group, findings)
        gc.collect()
    return exchanged(named.name, group, findings)


class _Side:
    """One of the two steps, after its first steps have been taken and checked."""

    def __init__(self, case: StepCase, mitigation: Mitigation, group: Group, word: str) -> None:
        self.mode = mitigation.step_mode or case.step_mode
        self.mitigation, self._group = mitigation, group
        own = case.model_copy(
            update={
                "batch_per_gpu": case.batch_per_gpu * mitigation.batch_times,
                "step_mode": self.mode,
            }
        )
        self.workload = legs.Workload(own, group.device, group.rank)
        self.step = mitigated_step(self.workload, mitigation, case.bucket_bytes)
        with stepping.first_run_of(self.mode):
            self.losses = [
                self._loss_of_step() for _ in range(max(legs.FIRST_STEPS, POWERSGD_START))
            ]
        self.checks = [self.sound(f"{word}_step_sound")]
        self.run: stepping.Step = self.step

    def record(self) -> None:
        """Have the step recorded if its mode says so."""
        self.run = stepping.in_mode(self.mode, self.step)
        if self.recorded and self.mitigation.exchange not in _STATEFUL:
            self.workload.restart()
            if self.mitigation.local_steps == 1:  # else the optimiser's state tells in the loss
                self.checks.append(legs.recorded_check(self.workload, self.run, self.step))

    @property
    def recorded(self) -> bool:
        """Whether a CUDA graph is replayed."""
        return self.mode in CAPTURING

    def sound(self, name: str) -> Check:
        """Losses are finite, and weights the same bits on all ranks; all ranks must ask."""
        weights = [p.detach() for p in self.workload.module.parameters()]
        prints = self._group.all(legs.fingerprint(weights))
        losses = [*self.losses, float(self.workload.loss)]
        return Check(
            name=name,
            passed=len(set(prints)) == 1 and all(map(math.isfinite, losses)),
            found=f"losses {losses}; sums of the weights' bits per rank: "
            + ", ".join(f"{each:.0f}" for each in prints),
            expected="finite losses, one sum after the exchange",
        )

    def _loss_of_step(self) -> float:
        self.step()
        return float(self.workload.loss)


class _Pair:
    """The step without and the step with a mitigation, on one rank."""

    def __init__(self, name: str, case: StepCase, group: Group, findings: Findings) -> None:
        legs.require_precision(case, group.device)
        self._name, self._case, self._group, self._findings = name, case, group, findings
        tell_progress(group, name, "prepare")
        self._sides: dict[Leg, _Side] = {
            "full": _Side(case, Mitigation.model_construct(), group, "plain"),
            "mitigated": _Side(case, case.mitigation, group, "mitigated"),
        }

    def measure(self) -> None:
        """Time both in turns, and keep what was found."""
        for side in self._sides.values():
            side.record()
            for check in side.checks:
                self._findings.check(check)
        if not self._case.mitigation.numerical:
            self._findings.check(self._same_loss())
        self._findings.runtime = runtime_facts(
            self._group,
            self._name,
            parameters=self._sides["full"].workload.parameters,
            step_flops=legs.step_flops(self._case),
        )
        self._turns()
        for leg, side in self._sides.items():
            self._findings.check(side.sound(f"{leg}_sound_after_timing"))

    def _turns(self) -> None:
        blocks: dict[Leg, list[Timed]] = {leg: [] for leg in self._sides}
        shares: dict[Leg, list[float]] = {leg: [] for leg in self._sides}
        for leg in TURNS:
            tell_progress(self._group, self._name, leg)
            with self._bound() if leg == "mitigated" else nullcontext():
                blocks[leg].append(self._block(self._sides[leg]))
            link = self._group.link
            if link and link.bound_share is not None:
                shares[leg].append(link.bound_share)
        for leg, side in self._sides.items():
            self._findings.timed(leg, *blocks[leg])
            self._host(leg, side, blocks[leg])
            self._link(leg, shares[leg])

    def _block(self, side: _Side) -> Timed:
        """Half of a side's window."""
        windows, link = self._case.windows, self._group.link
        batches = side.mitigation.batches
        pace = Pace(
            window_s=windows.full_s / 2,
            min_steps=max(LEAST_STEPS, math.ceil(windows.min_steps / (2 * batches))),
            warmup_max_s=windows.warmup_max_s,
        )
        forget: Callable[[], None] = link.reset if link else lambda: None
        return time_leg(side.run, pace, clock_of(self._group.device), self._group, forget)

    def _bound(self) -> AbstractContextManager[None]:
        """The binding that the mitigation asks for, told in the findings."""
        asked, group = self._case.mitigation.numa, self._group
        if asked is None:
            return nullcontext()
        cpus = binding.node_cpus()
        node = binding.chosen_node(asked, group.device, group.rank, list(cpus))
        self._findings.values("bound_node", (node,), "mitigated")
        self._findings.values("bound_cpus", (len(cpus[node]),), "mitigated")
        return binding.bound_to(cpus[node])

    def _host(self, leg: Leg, side: _Side, blocks: list[Timed]) -> None:
        """See whether the device waits for the host, where a replay can tell."""
        if not side.recorded:
            return
        queued_s = hosting.queued_steps(side.run, clock_of(self._group.device), self._group)
        if queued_s:
            self._findings.values("queued_step_time_s", queued_s, leg)
        step_s = tuple(s for block in blocks for s in block.step_s)
        self._findings.mark(hosting.gap_mark(leg, queued_s, step_s))

    def _link(self, leg: Leg, shares: list[float]) -> None:
        """Keep the emulated link's share; doubt a low one of the unmitigated step.

        Where a mitigated step leaves the link idle, lateness makes it look worse, never better.
        """
        if not shares:
            return
        self._findings.values("link_bound_share", (min(shares),), leg)
        if leg == "full" and min(shares) < LEAST_BOUND_SHARE:
            detail = f"on rank {self._group.rank} the link sets {min(shares):.1%} of the time"
            self._findings.mark(Mark(name="emulation_not_binding", leg=leg, detail=detail))

    def _same_loss(self) -> Check:
        """What changes no arithmetic must give the losses of the unmitigated step."""
        plain, own = (self._sides[leg].losses for leg in self._sides)
        worst = max(abs(b / a - 1) for a, b in zip(plain, own, strict=True))
        return Check(
            name="losses_as_unmitigated",
            passed=worst <= SAME_LOSS_WITHIN,
            found=f"{own}, {worst:.2g} apart from {plain}",
            expected=f"within {SAME_LOSS_WITHIN:g} of the unmitigated step's",
        )
