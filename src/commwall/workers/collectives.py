"""Suite `collectives`: one collective over messages of growing size, on this rank.

Layer: workers. Reads and writes no file. Every rank runs `run_case` in step. Buffers are single
tensors, because the emulated link refuses the forms that take lists.
"""

from collections.abc import Callable

import torch
import torch.distributed as dist

from commwall.schema.case import CollectivesCase
from commwall.schema.collective import Collective
from commwall.schema.result import CaseResult, Check, NamedCase
from commwall.schema.treatment import EmulatedLink
from commwall.workers.bounds import link_rate_check
from commwall.workers.findings import Findings
from commwall.workers.group import Group
from commwall.workers.repetitions import Repeated, time_repetitions
from commwall.workers.reporting import exchanged, runtime_facts, skipped, tell_progress
from commwall.workers.timing import clock_of
from commwall.workers.values import POISON, ramp

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
    lies in `received`, which is also what is sent where the operation works in place.
    """

    def __init__(
        self, collective: Collective, message_bytes: int, dtype: torch.dtype, group: Group
    ) -> None:
        self._collective, self._group = collective, group
        full = message_bytes // torch.empty(0, dtype=dtype).element_size()
        share = full // group.size
        self._full = torch.empty(full, dtype=dtype, device=group.device)
        sent = share if collective == "all_gather" else full
        received = share if collective == "reduce_scatter" else full
        self._sent = torch.zeros(sent, dtype=dtype, device=group.device)
        self.received = torch.zeros(received, dtype=dtype, device=group.device)
        self._move = _moves(collective, group.rank, group.size)

    def run(self) -> None:
        """Carry the collective out; returns when the device's stream has it."""
        self._move(self.received, self._sent)

    def check(self, name: str) -> Check:
        """Exchange known values into a poisoned buffer; the buffers are zero afterwards."""
        values = ramp(self._full)
        own = values + self._group.rank
        self._sent.copy_(own[: self._sent.numel()])
        self.received.fill_(POISON)
        if self._collective == "all_reduce" or self._is_root:
            self.received.copy_(own)
        self.run()
        wrong = int((self.received != self._expected(values)).sum())
        self._sent.zero_()
        self.received.zero_()
        return Check(
            name=name,
            passed=wrong == 0,
            found=f"{wrong} of {self.received.numel()} values wrong at {self._full.nbytes} byte",
            expected="0 wrong",
        )

    @property
    def _is_root(self) -> bool:
        return self._collective == "broadcast" and self._group.rank == _ROOT

    def _expected(self, values: torch.Tensor) -> torch.Tensor:
        """What this rank must receive."""
        ranks, rank = self._group.size, self._group.rank
        share = values.numel() // ranks
        own = values[rank * share : (rank + 1) * share]
        if self._collective == "all_reduce":
            return ranks * values + ranks * (ranks - 1) / 2
        if self._collective == "reduce_scatter":
            return ranks * own + ranks * (ranks - 1) / 2
        if self._collective == "all_gather":
            return torch.cat([values[:share] + sender for sender in range(ranks)])
        if self._collective == "all_to_all":
            return torch.cat([own + sender for sender in range(ranks)])
        return values + (_ROOT if self._collective == "broadcast" else (rank - 1) % ranks)


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
    dtype: torch.dtype = getattr(torch, case.dtype)
    exchange = Exchange(case.collective, message_bytes, dtype, group)
    findings.check(exchange.check("received_values"))
    link = group.link
    forget = link.reset if link else lambda: None
    clock = clock_of(group.device)
    repeated = time_repetitions(exchange.run, case.window_s, clock, group, forget)
    share = link.bound_share if link else None
    findings.check(exchange.check("received_values_after_timing"))
    findings.repeated(repeated, message_bytes)
    if share is not None:
        findings.values("link_bound_share", (share,), message_bytes=message_bytes)
    if isinstance(group.treatment, EmulatedLink):
        findings.check(_rate_check(case, message_bytes, repeated, group.size, group.treatment))


def _rate_check(
    case: CollectivesCase, message_bytes: int, repeated: Repeated, ranks: int, link: EmulatedLink
) -> Check:
    return link_rate_check(
        collective=case.collective,
        message_bytes=message_bytes,
        ranks=ranks,
        fastest_s=min(repeated.time_s),
        bound_bytes_per_s=link.bandwidth_bytes_per_s,
    )
