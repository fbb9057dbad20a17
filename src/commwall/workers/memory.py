"""Suite `memory`: copies within and between memories, on this rank.

Layer: workers. Reads and writes no file. On device cpu the device's memory is RAM. All ranks
work at once, as they do in training, or take turns if the case asks for it; of peer copies one
pair works while the others wait. The treatment of a link acts on none of this: peer copies are
the driver's, not NCCL's.
"""

from collections.abc import Callable
from itertools import permutations

import torch

from commwall.schema.case import NO_PEER_ACCESS, TRAFFIC, MemoryCase, MemoryOperation
from commwall.schema.result import CaseResult, Check, Gap, NamedCase
from commwall.workers.findings import Findings
from commwall.workers.group import Group
from commwall.workers.repetitions import Operation, Recorder, recorder_of, time_repetitions
from commwall.workers.reporting import exchanged, runtime_facts, skipped, tell_progress
from commwall.workers.timing import Alone, Crew, clock_of
from commwall.workers.values import POISON, ramp

TRIAD_SCALE = 3.0
_PAGEABLE = (
    "the host itself takes part in a copy of pageable memory, which a recording of the device's "
    "work leaves out: the host asks for each repetition"
)
_PEER = (
    "a copy between devices waits for streams of both, of which a recording on one sees only its "
    "own: the host asks for each repetition, which small buffers show"
)
_COPY = (
    "recorded, a copy of 1 GiB within an H200 took half as long again as an eager one: the host "
    "asks for each repetition, which small buffers show"
)
EAGER: dict[MemoryOperation, str] = {
    "copy": _COPY,
    "host_to_device_pageable": _PAGEABLE,
    "device_to_host_pageable": _PAGEABLE,
    "peer": _PEER,
    "peer_bidirectional": _PEER,
}
"""Operations that are not recorded in a CUDA graph, and why.

Source: NVIDIA CUDA Runtime API, "API synchronization behavior": pageable memory is staged first.
"""
_VALUE_BYTES = 4


def run_case(named: NamedCase, group: Group) -> CaseResult:
    """Measure a memory operation at all its sizes.

    Returns:
        The merged findings of all ranks, or why the platform has no such memory.

    Raises:
        CheckFailed: if a copy is not what was copied.
    """
    case = named.case
    assert isinstance(case, MemoryCase)  # the suite chose this module
    reason = why_skipped(case.operation, group.device.type, group.size)
    if reason:
        return skipped(named.name, reason)
    findings = Findings(named.name, group.rank)
    findings.runtime = runtime_facts(group, named.name)
    findings.gap(why_eager(case.operation, group.device))
    for buffer_bytes in case.buffer_bytes:
        tell_progress(group, named.name, f"{buffer_bytes}B")
        if TRAFFIC[case.operation].between == "peer":
            _measure_pairs(named.name, case, buffer_bytes, group, findings)
        elif case.ranks == "one_at_a_time":
            _measure_in_turn(named.name, case, buffer_bytes, group, findings)
        else:
            transfer = own_transfer(case.operation, buffer_bytes, group.device)
            _measure(transfer, case, group, findings)
    return exchanged(named.name, group, findings)


def why_skipped(operation: MemoryOperation, device_type: str, ranks: int) -> str | None:
    """Why a platform has no such operation; None if it has."""
    between = TRAFFIC[operation].between
    if between != "device" and device_type == "cpu":
        return "on device cpu there is one memory, RAM: nothing is copied to or from a device"
    if between == "peer" and ranks < 2:
        return "one process has one device, which has no peer"
    return None


def recorder(operation: MemoryOperation, device: torch.device) -> Recorder | None:
    """How repetitions of an operation are recorded; None where the host asks for each."""
    return None if operation in EAGER else recorder_of(device)


def why_eager(operation: MemoryOperation, device: torch.device) -> Gap | None:
    """A gap where a device that records does not record this operation."""
    if operation not in EAGER or recorder_of(device) is None:
        return None
    return Gap(what="recorded_repetitions", reason=EAGER[operation])


def pairs_of(operation: MemoryOperation, ranks: int) -> tuple[tuple[int, int], ...]:
    """Pairs (own rank, peer) to measure; a bidirectional pair once."""
    both = operation == "peer_bidirectional"
    return tuple((a, b) for a, b in permutations(range(ranks), 2) if a < b or not both)


class Transfer:
    """A memory operation on buffers of one size, and what it must give.

    Args:
        run: carries it out; returns when the own device's stream has it.
        pairs: each source with its target, float32.
        factor: times the source's value, the target must hold.
    """

    def __init__(
        self,
        run: Callable[[], object],
        *pairs: tuple[torch.Tensor, torch.Tensor],
        factor: float = 1.0,
    ) -> None:
        self.run, self._pairs, self._factor = run, pairs, factor

    @property
    def buffer_bytes(self) -> int:
        """Size of a buffer [byte]."""
        return int(self._pairs[0][0].nbytes)

    def check(self, name: str, run: Operation | None = None) -> Check:
        """Fill the sources with known values and poison the targets, then look at these.

        Args:
            name: of the check.
            run: carries the operation out, once or several times; None takes its own way.
        """
        for source, target in self._pairs:
            source.copy_(ramp(source))
            target.fill_(POISON)
        self._wait()
        (run or self.run)()
        self._wait()
        wrong = sum(int((t != ramp(t).mul_(self._factor)).sum()) for _, t in self._pairs)
        values = sum(target.numel() for _, target in self._pairs)
        return Check(
            name=name,
            passed=wrong == 0,
            found=f"{wrong} of {values} values wrong at {self.buffer_bytes} byte",
            expected="0 wrong",
        )

    def _wait(self) -> None:
        """Until every device concerned has done what it was told."""
        for device in {tensor.device for pair in self._pairs for tensor in pair}:
            if device.type == "cuda":
                torch.cuda.synchronize(device)


def own_transfer(operation: MemoryOperation, buffer_bytes: int, device: torch.device) -> Transfer:
    """An operation of one device: copy, triad, or a transfer between it and the host."""
    count = buffer_bytes // _VALUE_BYTES
    here = torch.zeros(count, device=device)
    if operation == "triad":
        other, target = torch.ones(count, device=device), torch.zeros(count, device=device)
        other.copy_(ramp(other))

        def triad() -> None:
            torch.add(here, other, alpha=TRIAD_SCALE, out=target)

        return Transfer(triad, (here, target), factor=1 + TRIAD_SCALE)
    if operation == "copy":
        return _copying(here, torch.zeros(count, device=device))
    host = torch.zeros(count, pin_memory=operation.endswith("pinned"))
    return _copying(host, here) if operation.startswith("host_to") else _copying(here, host)


def _copying(source: torch.Tensor, target: torch.Tensor) -> Transfer:
    return Transfer(lambda: target.copy_(source, non_blocking=True), (source, target))


def peer_transfer(
    operation: MemoryOperation, buffer_bytes: int, own: torch.device, peer: torch.device
) -> Transfer:
    """Copies from the own device into its peer, and back at the same time if bidirectional.

    torch runs a copy on the source device's current stream and lets the target's stream wait,
    so the way back takes a stream of its own on both devices.
    """
    count = buffer_bytes // _VALUE_BYTES
    there = torch.zeros(count, device=own), torch.zeros(count, device=peer)
    if operation == "peer":
        return _copying(*there)
    back = torch.zeros(count, device=peer), torch.zeros(count, device=own)
    main = torch.cuda.current_stream(own)
    near, far = torch.cuda.Stream(own), torch.cuda.Stream(peer)

    def both() -> None:
        near.wait_stream(main)
        far.wait_stream(main)
        there[1].copy_(there[0], non_blocking=True)
        with torch.cuda.stream(far), torch.cuda.stream(near):
            back[1].copy_(back[0], non_blocking=True)
        main.wait_stream(near)

    return Transfer(both, there, back)


def _measure_pairs(
    name: str, case: MemoryCase, buffer_bytes: int, group: Group, findings: Findings
) -> None:
    """One pair after the other; the other ranks sleep in the store."""
    for rank, peer in pairs_of(case.operation, group.size):
        if rank == group.rank:
            device = torch.device("cuda", peer)
            findings.gap(unreachable(rank, peer, torch.cuda.can_device_access_peer))
            transfer = peer_transfer(case.operation, buffer_bytes, group.device, device)
            _measure(transfer, case, group, findings, Alone(), peer)
        group.texts(f"pair/{name}/{buffer_bytes}/{rank}/{peer}", "done")


def _measure_in_turn(
    name: str, case: MemoryCase, buffer_bytes: int, group: Group, findings: Findings
) -> None:
    """One rank after the other; the others sleep in the store."""
    for rank in range(group.size):
        if rank == group.rank:
            transfer = own_transfer(case.operation, buffer_bytes, group.device)
            _measure(transfer, case, group, findings, Alone())
        group.texts(f"turn/{name}/{buffer_bytes}/{rank}", "done")


def unreachable(rank: int, peer: int, can_access: Callable[[int, int], bool]) -> Gap | None:
    """A gap where a device cannot reach its peer, so that the driver stages through the host."""
    if can_access(rank, peer):
        return None
    return Gap(
        what=NO_PEER_ACCESS.format(rank=rank, peer=peer),
        reason="the driver does not offer it: these copies are staged through host memory",
    )


def _measure(
    transfer: Transfer,
    case: MemoryCase,
    group: Group,
    findings: Findings,
    crew: Crew | None = None,
    peer: int | None = None,
) -> None:
    """Check, time, check what was timed: a replay, where repetitions were recorded."""
    findings.check(transfer.check("copied_values"))
    repeated = time_repetitions(
        transfer.run,
        case.window_s,
        clock_of(group.device),
        crew or group,
        record=recorder(case.operation, group.device),
    )
    findings.check(transfer.check("copied_values_after_timing", repeated.again))
    findings.repeated(repeated, transfer.buffer_bytes, peer)
