"""Emulated serial links: a process group that lets gloo move the data and a clock set the end.

Layer: workers. Reads and writes no file. A serial link carries one operation after the other;
an operation of w wire bytes per rank holds it for

    latency_s + w / bandwidth_bytes_per_s

and starts when the last rank has asked for it and the link is free. `EmulatedGroup` wraps gloo:
before each operation the ranks agree through gloo on the latest such moment (they share
CLOCK_MONOTONIC, being on one machine), so all have the same deadline. One thread per lane
carries the operations in order and completes none before its deadline. What comes on top, gloo
where it needs longer and the waking of the threads, is lateness, which `LinkCounters` sums up.
Collectives use one lane; sends and receives have one each (the link is full duplex), which do not
share the rate with it and which hand the data to gloo: gloo's send writes to a socket before it
returns, and a caller held by it would ask for what follows too late.

Operations without a wire formula here are refused. Only what C++ code asks for without asking
Python falls through to gloo undelayed; DDP does no such thing.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from commwall.schema.treatment import EmulatedLink
from commwall.workers.lanes import Job, Lane, LinkCounters, LinkWork, Move

BACKEND = "emulated"
_SWITCH_INTERVAL_S = 5e-4
_NICENESS = 10
_SENDERS_TAG, _RECEIVERS_TAG = 2**30, 2**30 + 1


def _yield_to_link() -> None:
    """Let the calling thread, which will compute, make way for gloo's and the link's threads.

    A real link moves data beside the compute; here both need the same cores. Linux keeps a
    niceness per thread; threads that exist already keep theirs.
    """
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def _nbytes(tensors: Any) -> int:
    """Bytes of a tensor or of arbitrarily nested lists of tensors [byte]."""
    if isinstance(tensors, torch.Tensor):
        return int(tensors.nbytes)
    return sum(_nbytes(part) for part in tensors)


class EmulatedGroup(dist.ProcessGroup):  # type: ignore[misc]
    """A process group whose collectives take as long as a serial link would.

    Args:
        inner: gloo's group of the same ranks; moves the data.
        link: rate and latency to emulate.

    Source: wire bytes per rank of ring algorithms, NVIDIA nccl-tests, doc/PERFORMANCE.md;
    gather and scatter as seen by the root, which carries all pieces but its own.
    """

    def __init__(self, inner: dist.ProcessGroupGloo, link: EmulatedLink) -> None:
        super().__init__(inner.rank(), inner.size())
        self._inner = inner
        self._link = link
        self._ranks: int = inner.size()
        self.counters = LinkCounters()
        names = ("collectives", "sends", "receives")
        self._lanes = {name: Lane(name, self.counters) for name in names}
        self._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.CUSTOM, inner)
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        _yield_to_link()

    def getBackendName(self) -> str:  # noqa: N802 - torch's name
        """Name under which the backend is registered."""
        return BACKEND

    def shutdown(self) -> None:
        """Let the lanes finish and end their threads."""
        for lane in self._lanes.values():
            lane.close()

    # Collectives. Names and arguments are torch's; `_part` is the ring's (n-1)/n.

    def allreduce(self, tensors: Any, opts: Any = None) -> LinkWork:
        """Ring all-reduce: a reduce-scatter and an all-gather, 2(n-1)/n of the size."""
        opts = opts or dist.AllreduceOptions()
        wire = 2 * self._part * _nbytes(tensors)
        return self._carry(wire, lambda: self._inner.allreduce(tensors, opts), tensors)

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> LinkWork:
        """As `allreduce`, of all tensors together."""
        opts = opts or dist.AllreduceCoalescedOptions()
        wire = 2 * self._part * _nbytes(tensors)
        return self._carry(wire, lambda: self._inner.allreduce_coalesced(tensors, opts), tensors)

    def broadcast(self, tensors: Any, opts: Any = None) -> LinkWork:
        """Pipelined broadcast: the whole size passes every link."""
        opts = opts or dist.BroadcastOptions()
        return self._carry(_nbytes(tensors), lambda: self._inner.broadcast(tensors, opts), tensors)

    def reduce(self, tensors: Any, opts: Any = None) -> LinkWork:
        """Pipelined reduce: the whole size passes every link."""
        opts = opts or dist.ReduceOptions()
        return self._carry(_nbytes(tensors), lambda: self._inner.reduce(tensors, opts), tensors)

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None) -> LinkWork:
        """Ring all-gather: (n-1)/n of the gathered size."""
        opts = opts or dist.AllgatherOptions()
        wire = self._part * _nbytes(outputs)
        return self._carry(wire, lambda: self._inner.allgather(outputs, inputs, opts), outputs)

    def allgather_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> LinkWork:
        """As `allgather`, of all tensors together."""
        opts = opts or dist.AllgatherOptions()
        wire = self._part * _nbytes(outputs)
        return self._carry(
            wire, lambda: self._inner.allgather_coalesced(outputs, inputs, opts), outputs
        )

    def all_gather_single(self, output: Any, input: Any, opts: Any = None) -> LinkWork:  # noqa: A002
        """As `allgather`, into one tensor."""
        opts = opts or dist.AllgatherOptions()
        wire = self._part * _nbytes(output)
        return self._carry(wire, lambda: self._inner._allgather_base(output, input, opts), [output])

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> LinkWork:
        """Ring reduce-scatter: (n-1)/n of the scattered size."""
        opts = opts or dist.ReduceScatterOptions()
        wire = self._part * _nbytes(inputs)
        return self._carry(wire, lambda: self._inner.reduce_scatter(outputs, inputs, opts), outputs)

    def reduce_scatter_single(self, output: Any, input: Any, opts: Any = None) -> LinkWork:  # noqa: A002
        """As `reduce_scatter`, from one tensor."""
        opts = opts or dist.ReduceScatterOptions()
        wire = self._part * _nbytes(input)
        return self._carry(
            wire, lambda: self._inner._reduce_scatter_base(output, input, opts), [output]
        )

    def all_to_all_single(
        self,
        output: Any,
        input: Any,
        output_sizes: Any,
        input_sizes: Any,
        opts: Any = None,  # noqa: A002
    ) -> LinkWork:
        """All-to-all: all pieces but the own one, (n-1)/n of the size where they are equal."""
        opts = opts or dist.AllToAllOptions()
        wire = self._part * _nbytes(input)
        return self._carry(
            wire,
            lambda: self._inner.alltoall_base(output, input, output_sizes, input_sizes, opts),
            [output],
        )

    def gather(self, outputs: Any, inputs: Any, opts: Any = None) -> LinkWork:
        """The root's link carries the pieces of all other ranks."""
        opts = opts or dist.GatherOptions()
        wire = (self._ranks - 1) * _nbytes(inputs)
        return self._carry(wire, lambda: self._inner.gather(outputs, inputs, opts), outputs)

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> LinkWork:
        """The root's link carries the pieces of all other ranks."""
        opts = opts or dist.ScatterOptions()
        wire = (self._ranks - 1) * _nbytes(outputs)
        return self._carry(wire, lambda: self._inner.scatter(outputs, inputs, opts), outputs)

    def barrier(self, opts: Any = None) -> LinkWork:
        """No payload: the latency alone; the agreement is the barrier."""
        return self._carry(0, None, [])

    def send(self, tensors: Any, peer: int, tag: int = 0) -> LinkWork:
        """The whole size passes the link; starts when both sides have asked."""
        move = self._with_peer(
            peer,
            (_SENDERS_TAG, _RECEIVERS_TAG),
            self._duration_ns(_nbytes(tensors)),
            lambda: self._inner.send(tensors, peer, tag),
        )
        return self._lanes["sends"].submit(Job(move, [], _nbytes(tensors)))

    def recv(self, tensors: Any, peer: int, tag: int = 0) -> LinkWork:
        """The other end of `send`."""
        move = self._with_peer(
            peer,
            (_RECEIVERS_TAG, _SENDERS_TAG),
            self._duration_ns(_nbytes(tensors)),
            lambda: self._inner.recv(tensors, peer, tag),
        )
        return self._lanes["receives"].submit(Job(move, tensors))

    def _refuse(self, *_: Any, **__: Any) -> LinkWork:
        raise NotImplementedError(
            "this operation is not emulated; gloo would carry it without the link's delay"
        )

    recv_anysource = alltoall = _refuse
    all_gather_single_coalesced = allgather_into_tensor_coalesced = _refuse
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced = _refuse
    _allgather_base = all_gather_single
    _reduce_scatter_base = reduce_scatter_single
    alltoall_base = all_to_all_single

    @property
    def _part(self) -> float:
        return (self._ranks - 1) / self._ranks

    def _carry(
        self, wire_bytes: float, begin: Callable[[], dist.Work] | None, result: Any
    ) -> LinkWork:
        """Have the ranks agree and gloo begin, then leave the end to the lane."""
        agreement = self._agree_all(time.monotonic_ns(), self._duration_ns(wire_bytes))
        work = begin() if begin else None

        def move() -> tuple[int, int]:
            agreed = agreement()
            if work:
                work.wait()
            return agreed

        return self._lanes["collectives"].submit(Job(move, result, wire_bytes))

    def _duration_ns(self, wire_bytes: float) -> int:
        rate = self._link.bandwidth_bytes_per_s
        return round((self._link.latency_s + wire_bytes / rate) * 1e9)

    def _agree_all(self, asked_ns: int, duration_ns: int) -> Move:
        """Latest demand and longest duration among all ranks."""
        agreed = torch.tensor([asked_ns, duration_ns])
        opts = dist.AllreduceOptions()
        opts.reduceOp = dist.ReduceOp.MAX
        work = self._inner.allreduce([agreed], opts)

        def wait() -> tuple[int, int]:
            work.wait()
            return int(agreed[0]), int(agreed[1])

        return wait

    def _with_peer(
        self, peer: int, tags: tuple[int, int], duration_ns: int, begin: Callable[[], dist.Work]
    ) -> Move:
        """Later demand of the two sides; `tags` of the stamps sent and received."""
        asked_ns = time.monotonic_ns()

        def move() -> tuple[int, int]:
            mine, theirs = torch.tensor([asked_ns]), torch.empty(1, dtype=torch.int64)
            stamps = (
                self._inner.send([mine], peer, tags[0]),
                self._inner.recv([theirs], peer, tags[1]),
            )
            for work in (*stamps, begin()):
                work.wait()
            return max(asked_ns, int(theirs)), duration_ns

        return move


def register(link: EmulatedLink) -> str:
    """Register the backend that emulates this link, for `init_process_group`.

    Returns:
        The backend's name.
    """

    def create(store: dist.Store, rank: int, size: int, timeout: timedelta) -> EmulatedGroup:
        return EmulatedGroup(dist.ProcessGroupGloo(store, rank, size, timeout), link)

    dist.Backend.register_backend(BACKEND, create, devices=["cpu"])
    return BACKEND
