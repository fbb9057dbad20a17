"""Suite `inference`: a tensor-parallel decoder reads prompts and generates tokens, on this rank.

Layer: workers. Reads and writes no file. Every rank runs `run_case` in step. Before anything is
built, its size is held against the device's free memory; before anything is timed, a small decoder
of the same code must answer as it does on one process.
"""

import gc
import os
from collections.abc import Callable
from statistics import median

import torch

from commwall.schema.inference import InferenceCase, needed_bytes, why_uncuttable
from commwall.schema.result import CaseResult, Check, NamedCase
from commwall.schema.units import size_text
from commwall.schema.workload import CAPTURING, COMPILING
from commwall.workers import compilation, hosting, peak, stepping
from commwall.workers.bounds import binding_mark
from commwall.workers.counting import count_bytes
from commwall.workers.findings import Findings
from commwall.workers.group import Group
from commwall.workers.llama import WHOLE, Llama, Part, Run
from commwall.workers.reporting import exchanged, runtime_facts, skipped, tell_progress
from commwall.workers.timing import Pace, Timed, clock_of, time_leg

FREE_SHARE = 0.95
"""Of the free memory that a case may need; the allocator and NCCL want some."""
TOLERANCES = {"float32": 1e-4, "bfloat16": 5e-2}
"""By how much scores may differ from those of one process, relative to the largest of them."""
RECORDED_TOLERANCE = 1e-2
"""The same of a replay, relative to what the recorded work gave when it ran."""
ANSWERED = 4
"""Tokens of each answer that are compared with one process."""
WARMUP_SHARE = 1.5
"""Longest warm-up, relative to the window."""
LEAST_STEPS = 5
WARMUPS = 2
"""Runs before one is recorded."""


def run_case(named: NamedCase, group: Group) -> CaseResult:
    """Measure one decoder.

    Returns:
        The merged findings of all ranks; every rank gets the same.

    Raises:
        Unsupported: if prompts or tokens cannot be compiled or recorded as asked.
        CheckFailed: if the decoder does not answer as it does on one process.
    """
    return _through(named, group, _Run.measure)


def compile_case(named: NamedCase, group: Group) -> CaseResult:
    """Have what the decoder needs compiled; time nothing.

    Raises:
        Unsupported: if it cannot be compiled.
        CheckFailed: if the decoder does not answer as it does on one process.
    """
    return _through(named, group, _Run.compile)


def _through(named: NamedCase, group: Group, doing: Callable[["_Run"], None]) -> CaseResult:
    """Do it if the decoder can be cut and fits."""
    case = named.case
    assert isinstance(case, InferenceCase)  # the suite chose this module
    reason = why_uncuttable(case, group.size) or _why_too_large(case, group)
    if reason:
        return skipped(named.name, reason)
    findings = Findings(named.name, group.rank)
    doing(_Run(named.name, case, group, findings))
    gc.collect()
    return exchanged(named.name, group, findings)


def free_bytes(device: torch.device, ranks: int) -> int:
    """Memory that a rank may still take; ranks on a CPU share it [byte]."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        return int(torch.cuda.mem_get_info(device)[0])
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // ranks


def _why_too_large(case: InferenceCase, group: Group) -> str | None:
    """Why the decoder does not fit; all ranks must ask, and get the same."""
    needed, free = needed_bytes(case, group.size), free_bytes(group.device, group.size)
    least = int(group.least(free))
    if needed <= FREE_SHARE * least:
        return None
    return f"{case.text} needs {size_text(needed)} on each rank, {size_text(least)} are free"


class _Run:
    """One rank's way through a case."""

    def __init__(self, name: str, case: InferenceCase, group: Group, findings: Findings) -> None:
        self._name, self._case = name, case
        self._group, self._findings = group, findings
        self._clock = clock_of(group.device)
        self._compiled = compilation.cache_use().misses if case.step_mode in COMPILING else 0

    def compile(self) -> None:
        """Answer once, which runs all that is compiled."""
        tell_progress(self._group, self._name, "compile")
        self._findings.check(self._answers_alike())
        self._decoder()

    def measure(self) -> None:
        """Compare, build, time, count."""
        group = self._group
        tell_progress(group, self._name, "reference")
        self._findings.check(self._answers_alike())
        no_peak = peak.reset_peak(group.device)
        tell_progress(group, self._name, "weights")
        llama = self._decoder()
        self._findings.runtime = runtime_facts(group, self._name)
        self._findings.check(self._parameters(llama))
        tell_progress(group, self._name, "prompts")
        self._time("prefill_time_s", self._in_mode("prompts", llama, llama.read_prompts))
        tell_progress(group, self._name, "tokens")
        run = self._in_mode("tokens", llama, llama.next_tokens)
        timed = self._time("token_time_s", run)
        count_bytes(run, median(timed.step_s), group, self._findings)
        self._findings.check(_finite(llama))
        self._findings.peak(no_peak or peak.peak_bytes(group.device))

    def _decoder(self) -> Llama:
        """The decoder, which has read its prompts and generated one token of each answer."""
        mode = self._case.step_mode
        llama = Llama(self._case, Part(self._group.rank, self._group.size), self._group.device)
        with stepping.first_run_of(mode):
            llama.read_prompts()
            llama.next_tokens()
        if mode in COMPILING:
            misses = compilation.cache_use().misses
            self._findings.mark(compilation.anew_mark(misses - self._compiled))
        return llama

    def _answers_alike(self) -> Check:
        """A small decoder of the same code, cut and whole: scores of prompts and of some tokens."""
        group = self._group
        small = InferenceCase(
            preset="demo",
            batch=2,
            prompt_tokens=8,
            generated_tokens=2 * ANSWERED,
            precision=self._case.precision,
            seed=self._case.seed,
        )
        whole = Llama(small, WHOLE, group.device)
        compiled = small.model_copy(update={"step_mode": self._case.step_mode})
        cut = Llama(compiled, Part(group.rank, group.size), group.device)
        apart = []
        for run in (Llama.read_prompts, *(Llama.next_tokens,) * ANSWERED):
            cut.tokens.copy_(whole.tokens)  # two words that tie would lead them apart
            with stepping.first_run_of(self._case.step_mode):
                run(cut)
            run(whole)
            apart.append(_apart(cut.scores, whole.scores))
        tolerance = TOLERANCES[self._case.precision]
        return Check(
            name="scores_equal_one_process",
            passed=max(apart) <= tolerance,
            found=f"scores of {1 + ANSWERED} tokens apart by {max(apart):.2g} at most",
            expected=f"{tolerance:g} of the largest score",
        )

    def _parameters(self, llama: Llama) -> Check:
        """The ranks together have the decoder that it is called."""
        cut = sum(self._group.all(llama.weights.cut))
        found = int(cut) + llama.weights.whole
        expected = self._case.decoder.parameters
        return Check(
            name="parameter_count",
            passed=found == expected,
            found=str(found),
            expected=str(expected),
        )

    def _in_mode(self, what: str, llama: Llama, run: Run) -> Run:
        """What is timed; a replay must give what the work itself gives."""
        mode = self._case.step_mode
        if mode not in CAPTURING:
            return run
        before = llama.tokens.clone(), llama.at.clone()
        run()
        expected = llama.scores.clone()
        replay = stepping.in_mode(mode, run, WARMUPS)
        for tensor, kept in zip((llama.tokens, llama.at), before, strict=True):
            tensor.copy_(kept)
        replay()
        apart = _apart(llama.scores, expected)
        check = Check(
            name=f"recorded_{what}_equal_plain",
            passed=apart <= RECORDED_TOLERANCE,
            found=f"scores apart by {apart:.2g} of the largest",
            expected=f"at most {RECORDED_TOLERANCE:g}",
        )
        self._findings.check(check)
        return replay

    def _time(self, metric: str, run: Run) -> Timed:
        """Time prompts or tokens, and keep what was found."""
        group, link, window_s = self._group, self._group.link, self._case.window_s
        pace = Pace(window_s=window_s, min_steps=LEAST_STEPS, warmup_max_s=WARMUP_SHARE * window_s)
        timed = time_leg(run, pace, self._clock, group, link.reset if link else lambda: None)
        self._findings.timed(None, timed, metric=metric)
        if link:
            self._findings.mark(binding_mark(link, group.rank))
        if group.device.type == "cuda":
            queued_s = hosting.queued_steps(run, self._clock, group)
            self._findings.mark(hosting.gap_mark(None, queued_s, timed.step_s))
        return timed


def _apart(scores: torch.Tensor, expected: torch.Tensor) -> float:
    """Largest difference, relative to the largest score."""
    return float((scores - expected).abs().max() / expected.abs().max())


def _finite(llama: Llama) -> Check:
    """What was timed computed numbers to its end."""
    odd = int((~llama.scores.isfinite()).sum())
    return Check(
        name="finite_after_timing",
        passed=odd == 0,
        found=f"{odd} of {llama.scores.numel()} scores are no finite number",
        expected="0",
    )
