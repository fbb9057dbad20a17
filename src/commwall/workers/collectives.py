"""Suite `collectives`: one collective over messages of growing size, on this rank.

Layer: workers. Reads and writes no file. Every rank runs `run_case` in step. Buffers are single
tensors, because the emulated link refuses the forms that take lists. On GPUs the repetitions are
recorded in a CUDA graph; NCCL chooses algorithm and protocol when they are recorded.
"""

from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist

from commwall.schema.case import CollectivesCase
from commwall.schema.collective import DTYPE_BYTES, Collective
from commwall.schema.result import CaseResult, Check, Gap, NamedCase
from commwall.schema.treatment import EmulatedLink
from commwall.workers.beside import MatrixProducts, time_beside
from commwall.workers.bounds import link_bound_share, link_rate_check
from commwall.workers.findings import Findings
from commwall.workers.group import Group
from commwall.workers.repetitions import (
    Operation,
    Recorder,
    Repeated,
    recorder_of,
    time_repetitions,
)
from commwall.workers.reporting import exchanged, runtime_facts, skipped, tell_progress
from commwall.workers.timing import clock_of
from commwall.workers.values import POISON, counted

_ROOT = 0
_ALONE = "one process has nobody to exchange with"


def run_case(named: NamedCase, group: Group) -> CaseResult:
    """Measure a collective at all its sizes.

    Returns:
        The merged findings of all ranks; every rank gets the same.

    Raises:
        CheckFailed: if a result is wrong, or faster than the link.
    """
    if group.size < 2:
        return skipped(named.name, _ALONE)
    case = named.case
    assert isinstance(case, CollectivesCase)  # the suite chose this module
    findings = Findings(named.name, group.rank)
    findings.runtime = runtime_facts(group, named.name)
    for message_bytes in case.message_sizes(group.size):
        tell_progress(group, named.name, f"{message_bytes}B")
        _measure_size(case, message_bytes, group, findings)
    return exchanged(named.name, group, findings)


class Exchange:
    """A collective on buffers of one size, and what it must give.

    Rank r sends the values x + r, where x counts up over the full buffer; what is received
    lies in `received`, which shares memory with what is sent where the operation is in place.
    """

    def __init__(self, case: CollectivesCase, message_bytes: int, group: Group) -> None:
        self._collective, self._group, self._bytes = case.collective, group, message_bytes
        dtype: torch.dtype = getattr(torch, case.dtype)
        full = message_bytes // DTYPE_BYTES[case.dtype]
        self._share = full // group.size
        own = slice(group.rank * self._share, (group.rank + 1) * self._share)
        buffers = [torch.zeros(full, dtype=dtype, device=group.device)]
        if not case.in_place:
            parts = self._collective in ("all_gather", "reduce_scatter")
            count = self._share if parts else full
            buffers.append(torch.zeros(count, dtype=dtype, device=group.device))
        whole, other = buffers[0], buffers[-1]
        in_parts = whole[own] if case.in_place else other
        if self._collective == "all_gather":
            self.received, self._sent = whole, in_parts
        elif self._collective == "reduce_scatter":
            self.received, self._sent = in_parts, whole
        else:
            self.received, self._sent = whole, other
        self.repeatable = not (case.in_place and self._collective in _REDUCING)
        self._move = _moves(self._collective, group.rank, group.size)

    def run(self) -> None:
        """Carry the collective out; returns when the device's stream has it."""
        self._move(self.received, self._sent)

    def check(self, name: str, run: Callable[[], object]) -> Check:
        """Exchange known values into a poisoned buffer; the buffers are zero afterwards.

        Args:
            name: of the check.
            run: carries the collective out on these buffers, several times where it is
                `repeatable`.
        """
        self.received.fill_(POISON)
        if self._collective != "broadcast" or self._group.rank == _ROOT:
            for part, at in _parts(self._sent):
                part.copy_(self._counted(at) + self._group.rank)
        run()
        wrong = sum((part != self._expected(at)).sum() for part, at in _parts(self.received))
        self._sent.zero_()
        self.received.zero_()
        return Check(
            name=name,
            passed=int(wrong) == 0,
            found=f"{int(wrong)} of {self.received.numel()} values wrong at {self._bytes} byte",
            expected="0 wrong",
        )

    def _counted(self, at: torch.Tensor) -> torch.Tensor:
        return counted(at, self.received.dtype)

    def _expected(self, at: torch.Tensor) -> torch.Tensor:
        """What this rank must receive at some positions."""
        ranks, rank, share = self._group.size, self._group.rank, self._share
        own = rank * share
        if self._collective == "all_reduce":
            return ranks * self._counted(at) + ranks * (ranks - 1) // 2
        if self._collective == "reduce_scatter":
            return ranks * self._counted(own + at) + ranks * (ranks - 1) // 2
        if self._collective == "all_gather":
            return self._counted(at % share) + at // share
        if self._collective == "all_to_all":
            return self._counted(own + at % share) + at // share
        return self._counted(at) + (
            _ROOT if self._collective == "broadcast" else (rank - 1) % ranks
        )


_REDUCING = ("all_reduce", "reduce_scatter")
_PART_VALUES = 2**24
"""Values that are made or looked at in one go: their positions take 128 MiB."""


def _parts(buffer: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """A buffer part by part with the positions in it, so that a check needs little memory."""
    for first in range(0, buffer.numel(), _PART_VALUES):
        part = buffer[first : first + _PART_VALUES]
        yield part, torch.arange(first, first + part.numel(), device=buffer.device)


_Move = Callable[[torch.Tensor, torch.Tensor], object]
"""Carries a collective out: (received, sent)."""


def _moves(collective: Collective, rank: int, ranks: int) -> _Move:
    """How torch does it."""

    def pass_on(received: torch.Tensor, sent: torch.Tensor) -> None:
        there = dist.P2POp(dist.isend, sent, (rank + 1) % ranks)
        here = dist.P2POp(dist.irecv, received, (rank - 1) % ranks)
        for work in dist.batch_isend_irecv([there, here]):
            work.wait()

    moves: dict[Collective, _Move] = {
        "all_reduce": lambda received, _: dist.all_reduce(received),
        "all_gather": dist.all_gather_into_tensor,
        "reduce_scatter": dist.reduce_scatter_tensor,
        "all_to_all": dist.all_to_all_single,
        "broadcast": lambda received, _: dist.broadcast(received, _ROOT),
        "send_recv": pass_on,
    }
    return moves[collective]


def _measure_size(
    case: CollectivesCase, message_bytes: int, group: Group, findings: Findings
) -> None:
    """Check, time, check again; then ask whether the link allows it."""
    exchange = Exchange(case, message_bytes, group)
    findings.check(exchange.check("received_values", exchange.run))
    if case.beside:
        _measure_beside(case, exchange, message_bytes, group, findings)
        return
    clock, record = clock_of(group.device), recorder_of(group.device)
    repeated = time_repetitions(exchange.run, case.window_s, clock, group, record=record)
    again = once_more(exchange, repeated, record)
    findings.check(exchange.check("received_values_after_timing", again))
    findings.repeated(repeated, message_bytes)
    _hold_against_link(case, message_bytes, repeated.time_s, group, findings)
    if isinstance(group.treatment, EmulatedLink):
        share = link_bound_share(
            collective=case.collective,
            message_bytes=message_bytes,
            ranks=group.size,
            times_s=repeated.time_s,
            link=group.treatment,
        )
        findings.values("link_bound_share", (share,), message_bytes=message_bytes)


def _measure_beside(
    case: CollectivesCase, exchange: Exchange, message_bytes: int, group: Group, findings: Findings
) -> None:
    """Time a collective beside the load, and the load; then check that it still computes."""
    load = MatrixProducts(group.device)
    disturbed = time_beside(exchange.run, load, case.window_s, group.device, group)
    findings.check(exchange.check("received_values_after_timing", exchange.run))
    if disturbed is None:
        reason = f"no run of matrix products outlasted the collective at {message_bytes} byte"
        findings.gap(Gap(what=f"load_beside_time_s at {message_bytes} byte", reason=reason))
        return
    findings.disturbed(disturbed, message_bytes)
    _hold_against_link(case, message_bytes, disturbed.operation_s, group, findings)


def once_more(exchange: Exchange, repeated: Repeated, record: Recorder | None) -> Operation:
    """What is checked after the timing: what was timed, a replay where it was recorded.

    A reduction in place adds to its own result when it is repeated, so that one repetition is
    recorded for its check, in the same way.
    """
    if record is None or exchange.repeatable or repeated.recorded == 1:
        return repeated.again
    return record(exchange.run, 1)


def _hold_against_link(
    case: CollectivesCase,
    message_bytes: int,
    times_s: tuple[float, ...],
    group: Group,
    findings: Findings,
) -> None:
    """No time may be shorter than an emulated link takes [s]."""
    if not isinstance(group.treatment, EmulatedLink):
        return
    check = link_rate_check(
        collective=case.collective,
        message_bytes=message_bytes,
        ranks=group.size,
        fastest_s=min(times_s),
        bound_bytes_per_s=group.treatment.bandwidth_bytes_per_s,
    )
    findings.check(check)
