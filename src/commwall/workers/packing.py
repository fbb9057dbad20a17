"""Leg `packed`: DDP fills its gradient buckets, nobody exchanges them, and their times are noted.

Layer: workers. Reads and writes no file. What the leg takes longer than `nosync` is the packing;
what `full` takes longer than it is the exchange's doing. When a bucket is ready is when its
exchange could begin.
"""

import time
from collections.abc import Callable, Hashable
from typing import Protocol

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from commwall.workers.legs import Workload
from commwall.workers.stepping import Step

NOTED_STEPS = 8
"""Steps whose moments are read one by one."""
_START, _BACKWARD_END = "start", "backward end"
Note = Callable[[Hashable], object]
"""Notes that a step gets to a place."""


def _not_noted(place: Hashable) -> None:
    """Leave a place unnoted."""


class Moments(Protocol):
    """Notes when a device gets to a place in a step."""

    def note(self, place: Hashable) -> None:
        """Note that the device gets here."""

    def since_s(self, start: Hashable) -> dict[Hashable, float]:
        """Wait for the device; time from one place to each in the last step [s]."""


class HostMoments:
    """Moments as the host sees them, exact where the host itself computes."""

    def __init__(self) -> None:
        self._at_s: dict[Hashable, float] = {}

    def note(self, place: Hashable) -> None:
        """Note that the host gets here."""
        self._at_s[place] = time.perf_counter()

    def since_s(self, start: Hashable) -> dict[Hashable, float]:
        """Time from one place to each [s]."""
        return {place: at_s - self._at_s[start] for place, at_s in self._at_s.items()}


class CudaMoments:
    """Moments as events on the current stream, which a CUDA graph records anew in every replay."""

    def __init__(self) -> None:
        self._events: dict[Hashable, torch.cuda.Event] = {}

    def note(self, place: Hashable) -> None:
        """Record the place's event."""
        if place not in self._events:
            self._events[place] = torch.cuda.Event(enable_timing=True, external=True)
        self._events[place].record()

    def since_s(self, start: Hashable) -> dict[Hashable, float]:
        """Time from one place to each [s], after a synchronisation."""
        torch.cuda.synchronize()
        began = self._events[start]
        return {place: began.elapsed_time(at) / 1e3 for place, at in self._events.items()}


class Packing:
    """The step of a workload under a DDP of its own that exchanges nothing.

    Ranks drift apart, since each keeps its own gradients. A DDP that wrapped the same model before
    must be gone.

    Args:
        workload: what to step.
        ddp: the model under DDP, before its first step.
    """

    def __init__(self, workload: Workload, ddp: DistributedDataParallel) -> None:
        self._workload, self._ddp = workload, ddp
        on_gpu = workload.device.type == "cuda"
        self._moments: Moments = CudaMoments() if on_gpu else HostMoments()
        self._note: Note = _not_noted
        self._devices = [workload.device] if on_gpu else None
        ddp.register_comm_hook(None, self._keep)

    def step(self) -> None:
        """One optimisation step on the rank's own gradients."""
        self._step(_not_noted)

    def noted_step(self) -> None:
        """The same step, its moments noted, which takes the device a little longer."""
        self._step(self._moments.note)

    def _step(self, note: Note) -> None:
        self._note = note
        note(_START)
        loss = self._workload.forward_backward(self._ddp)
        note(_BACKWARD_END)
        self._workload.update(loss)

    def moments(self, run: Step) -> tuple[list[tuple[float, ...]], tuple[float, ...]]:
        """Moments of some steps, each counted from the step's start [s].

        Args:
            run: runs `noted_step`, or what was recorded of it.

        Returns:
            For each bucket in the order of exchange when it was ready, shape (NOTED_STEPS,), and
            when the backward pass was over, shape (NOTED_STEPS,).
        """
        steps = []
        for _ in range(NOTED_STEPS):
            run()
            steps.append(self._moments.since_s(_START))
        buckets = sorted(place for place in steps[0] if isinstance(place, int))
        ready_s = [tuple(step[bucket] for step in steps) for bucket in buckets]
        return ready_s, tuple(step[_BACKWARD_END] for step in steps)

    def _keep(self, _: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """DDP's hook for a full bucket: note it, and hand back what is in it."""
        self._note(bucket.index())
        future = torch.futures.Future[torch.Tensor](devices=self._devices)
        future.set_result(bucket.buffer())
        return future
