"""Suite `mitigations`: a step with a mitigation beside the same step without, on this rank.

Layer: workers. Reads and writes no file. Both steps are there at once and are timed in turns, A B B
A, so that a drift of the machine weighs on both alike. `sides` builds the steps and keeps the plain
one from case to case; `commwall.workers.price` measures the other kind of case.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from commwall.schema.case import Leg
from commwall.schema.mitigation import PriceCase, StepCase
from commwall.schema.result import LEAST_BOUND_SHARE, CaseResult, Mark, NamedCase
from commwall.workers import binding, hosting, legs
from commwall.workers.findings import Findings
from commwall.workers.group import Group
from commwall.workers.price import run_price
from commwall.workers.reporting import exchanged, runtime_facts, skipped, tell_progress
from commwall.workers.sides import KeptPlain, Side, one_stream, same_losses
from commwall.workers.timing import Pace, Timed, clock_of, time_leg

TURNS: tuple[Leg, ...] = ("full", "mitigated", "mitigated", "full")
LEAST_STEPS = 3
ALONE = "one process exchanges nothing, and a mitigation has nothing to mitigate"
ONE_NODE = "the machine has one NUMA node: all of its CPUs are as near to every device"
_PLAIN = KeptPlain()


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
        _PLAIN.drop()
        return run_price(named.name, case, group)
    assert isinstance(case, StepCase)  # the suite chose this module
    nodes = binding.node_cpus() if case.mitigation.numa is not None else {}
    if case.mitigation.numa is not None and len(nodes) < 2:
        return skipped(named.name, ONE_NODE)
    findings = Findings(named.name, group.rank)
    with one_stream(group.device):
        _Pair(named.name, case, group, findings).measure()
        _PLAIN.end_case()
    return exchanged(named.name, group, findings)


def compile_case(named: NamedCase, group: Group) -> CaseResult:
    """Take the first steps of a case, so that its kernels are compiled and kept; time nothing."""
    case, findings = named.case, Findings(named.name, group.rank)
    if isinstance(case, StepCase):
        with one_stream(group.device):
            _Pair(named.name, case, group, findings)
            _PLAIN.end_case()
    return exchanged(named.name, group, findings)


class _Pair:
    """The step without and the step with a mitigation, on one rank."""

    def __init__(self, name: str, case: StepCase, group: Group, findings: Findings) -> None:
        legs.require_precision(case, group.device)
        self._name, self._case, self._group, self._findings = name, case, group, findings
        tell_progress(group, name, "prepare")
        self._sides: dict[Leg, Side] = {
            "full": _PLAIN.side(case, group),
            "mitigated": Side(case, case.mitigation, group, "mitigated"),
        }

    def measure(self) -> None:
        """Time both in turns, and keep what was found."""
        for side in self._sides.values():
            side.record()
            for check in side.checks:
                self._findings.check(check)
        if not self._case.mitigation.numerical:
            # What changes no arithmetic must give the losses of the unmitigated step.
            plain, own = (side.losses for side in self._sides.values())
            self._findings.check(same_losses("losses_as_unmitigated", own, plain))
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

    def _block(self, side: Side) -> Timed:
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

    def _host(self, leg: Leg, side: Side, blocks: list[Timed]) -> None:
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
