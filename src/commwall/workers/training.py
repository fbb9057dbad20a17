"""Suite `training`: all legs of one case, on this rank.

Layer: workers. Reads and writes no file (but see `commwall.workers.peak`). Every rank runs
`run_case` in step; the legs come in a fixed order, the exchange-free ones last, because ranks
that do not exchange gradients drift apart.
"""

import gc
from functools import partial
from statistics import median

from torch.nn.parallel import DistributedDataParallel

from commwall.schema.case import CAPTURING, COMPILING, Leg, TrainingCase
from commwall.schema.result import CaseResult, NamedCase
from commwall.schema.treatment import EmulatedLink
from commwall.workers import compilation, hosting, legs, peak, stepping
from commwall.workers.bounds import binding_mark, link_rate_check
from commwall.workers.findings import Findings
from commwall.workers.group import Group
from commwall.workers.lanes import LinkCounters
from commwall.workers.packing import Packing
from commwall.workers.reporting import exchanged, runtime_facts, tell_progress
from commwall.workers.timing import Alone, Crew, Pace, Timed, clock_of, time_leg

ONE_SAMPLE_S = 0.7
LEAST_STEPS = 10


def run_case(named: NamedCase, group: Group) -> CaseResult:
    """Measure a case with all its legs.

    Returns:
        The merged findings of all ranks; every rank gets the same.

    Raises:
        Unsupported: if the device cannot run it.
        CheckFailed: if a result is wrong.
    """
    findings = Findings(named.name, group.rank)
    _Run(named, group, findings).all_legs()
    gc.collect()
    return exchanged(named.name, group, findings)


def compile_case(named: NamedCase, group: Group) -> CaseResult:
    """Take the first steps of a case, so that its kernels are compiled and kept; time nothing.

    Returns:
        The merged findings of all ranks, without a value of the case.

    Raises:
        Unsupported: if the device cannot run it.
        CheckFailed: if a result is wrong.
    """
    findings = Findings(named.name, group.rank)
    _Run(named, group, findings).compile()
    gc.collect()
    return exchanged(named.name, group, findings)


class _Run:
    """One rank's way through the legs of a case."""

    def __init__(self, named: NamedCase, group: Group, findings: Findings) -> None:
        self._name = named.name
        assert isinstance(named.case, TrainingCase)  # the suite chose this module
        self._case = named.case
        self._group = group
        self._findings = findings
        self._compiled = self._compiled_so_far()

    def compile(self) -> None:
        """Take the first steps under DDP, which run all that is compiled."""
        legs.require_precision(self._case, self._group.device)
        tell_progress(self._group, self._name, "compile")
        self._first_steps(legs.Workload(self._case, self._group.device, self._group.rank))

    def all_legs(self) -> None:
        device = self._group.device
        legs.require_precision(self._case, device)
        no_peak = peak.reset_peak(device)
        workload = legs.Workload(self._case, device, self._group.rank)
        self._findings.check(legs.parameter_check(workload))
        buckets = self._distributed_legs(workload)
        self._findings.runtime = runtime_facts(
            self._group,
            self._name,
            parameters=workload.parameters,
            step_flops=legs.step_flops(self._case),
            buckets=buckets,
        )
        if "packed" in self._case.legs:
            self._without_sending(workload, buckets)
        if "comm" in self._case.legs:
            self._exchange_alone(buckets)
        if "single" in self._case.legs:
            self._one_rank_alone(workload)
        self._findings.peak(no_peak or peak.peak_bytes(device))

    def _distributed_legs(self, workload: legs.Workload) -> tuple[int, ...]:
        """Legs under DDP; returns the bytes of its buckets."""
        ddp, step, first = self._first_steps(workload)
        # Checks first: a series holds finite numbers only, a check tells of others.
        for check in first.checks:
            self._findings.check(check)
        self._findings.values("loss", first.losses)
        self._findings.values("gradient_norm", first.gradient_norms)
        self._preparation(first)
        if "full" in self._case.legs:
            self._full_leg(workload, step)
        if "nosync" in self._case.legs:
            workload.restart()
            alone = partial(legs.without_exchange, ddp, workload.step)
            self._leg("nosync", self._in_mode(alone, stepping.SETTLED_WARMUPS))
        return legs.bucket_bytes(ddp)

    def _first_steps(
        self, workload: legs.Workload
    ) -> tuple[DistributedDataParallel, stepping.Step, legs.CheckedSteps]:
        """The model under DDP, its step, and what its first steps gave."""
        ddp = legs.distribute(workload, self._case)
        step = partial(workload.step, ddp)
        with stepping.first_run_of(self._case.step_mode):
            return ddp, step, legs.first_steps(workload, step, self._group)

    def _preparation(self, first: legs.CheckedSteps) -> None:
        """Keep what the first steps took, and how the compiler's cache served."""
        self._findings.values("first_steps_time_s", first.duration_s)
        if self._case.step_mode in COMPILING:
            use = compilation.cache_use()
            self._findings.values("compile_cache_hits", (use.hits,))
            self._findings.values("compile_cache_misses", (use.misses,))
            self._findings.mark(compilation.anew_mark(use.misses - self._compiled))

    def _compiled_so_far(self) -> int:
        """Graphs that this process has had to compile, for the cases before."""
        return compilation.cache_use().misses if self._case.step_mode in COMPILING else 0

    def _full_leg(self, workload: legs.Workload, step: stepping.Step) -> None:
        run = self._in_mode(step, stepping.WARMUPS - legs.FIRST_STEPS)
        if self._recorded:
            workload.restart()
            self._findings.check(legs.recorded_check(workload, run, step))
        workload.restart()
        self._leg("full", run)
        for check in legs.checks_after_timing(workload, run, self._group):
            self._findings.check(check)

    @property
    def _recorded(self) -> bool:
        return self._case.step_mode in CAPTURING

    def _in_mode(self, step: stepping.Step, warmups: int = stepping.WARMUPS) -> stepping.Step:
        return stepping.in_mode(self._case.step_mode, step, warmups)

    def _without_sending(self, workload: legs.Workload, buckets: tuple[int, ...]) -> None:
        """Leg `packed`, and when its buckets are ready."""
        gc.collect()  # the hooks of the DDP before go with it
        workload.restart()
        ddp = legs.distribute(workload, self._case)
        packing = Packing(workload, ddp)
        self._leg("packed", self._in_mode(packing.step))
        self._findings.check(legs.same_buckets(buckets, legs.bucket_bytes(ddp)))
        noted = self._in_mode(packing.noted_step, warmups=1)
        ready_s, backward_end_s = packing.moments(noted)
        for bucket, times_s in enumerate(ready_s):
            self._findings.values("bucket_ready_time_s", times_s, "packed", bucket=bucket)
        self._findings.values("backward_end_time_s", backward_end_s, "packed")

    def _exchange_alone(self, buckets: tuple[int, ...]) -> None:
        exchange = legs.Exchange(buckets, self._group)
        exchange.run = self._in_mode(exchange.step, stepping.SETTLED_WARMUPS)
        self._findings.check(exchange.check("exchanged_values"))
        timed = self._leg("comm", exchange.run)
        self._findings.check(exchange.check("exchanged_values_after_timing"))
        treatment = self._group.treatment
        if isinstance(treatment, EmulatedLink):
            check = link_rate_check(
                collective="all_reduce",
                message_bytes=sum(buckets),
                ranks=self._group.size,
                fastest_s=min(timed.step_s),
                bound_bytes_per_s=treatment.bandwidth_bytes_per_s,
            )
            self._findings.check(check)

    def _one_rank_alone(self, workload: legs.Workload) -> None:
        """Rank 0 steps without DDP; the others sleep in the store until it is through."""
        gc.collect()  # DDP's hooks go with it
        workload.restart()
        if self._group.rank == 0:
            step = partial(workload.step, workload.module)
            timed = self._leg("single", self._in_mode(step, stepping.SETTLED_WARMUPS), Alone())
            on_gpu = self._group.device.type == "cuda"
            if on_gpu and not self._recorded and self._case.batch_per_gpu > 1:
                self._one_sample(workload, timed)
        self._group.texts(f"single/{self._name}", "done")

    def _one_sample(self, workload: legs.Workload, timed: Timed) -> None:
        """Doubt a step that hardly gets shorter with one sample."""
        workload.draw((1, *self._case.batch_shape[1:]))
        pace = Pace(window_s=ONE_SAMPLE_S, min_steps=LEAST_STEPS, warmup_max_s=ONE_SAMPLE_S)
        step = partial(workload.step, workload.module)
        small = time_leg(step, pace, clock_of(self._group.device), Alone())
        self._findings.values("one_sample_step_time_s", small.step_s, "single")
        times_s = median(small.step_s), median(timed.step_s)
        self._findings.mark(hosting.one_sample_mark(*times_s, self._case.batch_per_gpu))

    def _leg(self, leg: Leg, step: stepping.Step, crew: Crew | None = None) -> Timed:
        """Time a leg and keep what was found."""
        tell_progress(self._group, self._name, leg)
        windows, link = self._case.windows, self._group.link
        pace = Pace(
            window_s=windows.full_s if leg == "full" else windows.other_s,
            min_steps=windows.min_steps,
            warmup_max_s=windows.warmup_max_s,
        )
        clock = clock_of(self._group.device)
        forget = link.reset if link else lambda: None
        timed = time_leg(step, pace, clock, crew or self._group, forget)
        self._findings.timed(leg, timed)
        if self._recorded:
            queued_s = hosting.queued_steps(step, clock, crew or self._group)
            if queued_s:
                self._findings.values("queued_step_time_s", queued_s, leg)
            self._findings.mark(hosting.gap_mark(leg, queued_s, timed.step_s))
        if link:
            self._link_binds(leg, link)
        return timed

    def _link_binds(self, leg: Leg, link: LinkCounters) -> None:
        """Keep the link's share of the operations' time; doubt a low one."""
        if link.bound_share is not None:
            self._findings.values("link_bound_share", (link.bound_share,), leg)
            self._findings.mark(binding_mark(link, self._group.rank, leg))
