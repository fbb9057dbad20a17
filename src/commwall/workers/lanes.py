"""Lanes of an emulated link: each carries its operations in order and tells how late they end.

Layer: workers. Reads and writes no file. `links` says which operations there are and how long
each holds its lane.
"""

import ctypes
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import Any

import torch.distributed as dist
from torch.futures import Future

EXIT_LINK = 5
"""Exit code of a process whose emulated link lost gloo underneath."""
_PR_SET_TIMERSLACK = 29


@dataclass
class LinkCounters:
    """What a link carried since the last reset."""

    operations: int = 0
    link_ns: int = 0
    """Time the emulated link takes for them [ns]."""
    late_ns: int = 0
    """Time from the link's end until the caller went on, summed over the operations [ns]."""
    sent_bytes: float = 0.0
    """What this rank put on the link for them [byte]."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()  # the lanes and the caller count at once

    def count(self, link_ns: int, late_ns: int, sent_bytes: float = 0.0) -> None:
        """Enter an operation that is complete."""
        with self._lock:
            self.sent_bytes += sent_bytes
            self.operations += 1
            self.link_ns += link_ns
            self.late_ns += late_ns

    def count_waking(self, late_ns: int) -> None:
        """Enter how long after its completion an operation's caller went on."""
        with self._lock:
            self.late_ns += late_ns

    def reset(self) -> None:
        """Forget everything carried so far."""
        with self._lock:
            self.operations = self.link_ns = self.late_ns = 0
            self.sent_bytes = 0.0

    @property
    def bound_share(self) -> float | None:
        """Link's time over the operations' time, or None if it carried none."""
        taken_ns = self.link_ns + self.late_ns
        return self.link_ns / taken_ns if taken_ns else None


Move = Callable[[], tuple[int, int]]
"""Waits until gloo has moved the data on all ranks' demand; returns when the last of them asked
and the duration [ns]."""


@dataclass
class Job:
    """An operation on its way."""

    move: Move
    result: Any
    """Its tensors."""
    sent_bytes: float = 0.0
    """What this rank puts on the link [byte]."""
    done: Future = field(default_factory=Future)
    completed_ns: int = 0
    """When it was completed; set before `done` is."""


class LinkWork(dist.Work):  # type: ignore[misc]
    """Handle of an operation on its way; DDP waits on its future."""

    def __init__(self, job: Job, counters: LinkCounters) -> None:
        super().__init__()
        self._job = job
        self._counters = counters

    def wait(self, timeout: timedelta | None = None) -> bool:  # noqa: ARG002 - gloo keeps it
        """Block until the link has carried the operation; a hung one ends the process.

        A caller that comes later than the end waits for nothing, so only the waking of one that
        was there before is counted as lateness.
        """
        asleep = not self._job.done.done()
        self._job.done.wait()
        if asleep:
            self._counters.count_waking(time.monotonic_ns() - self._job.completed_ns)
        return True

    def get_future(self) -> Future:
        """Future of the operation's tensors; who waits on it wakes uncounted."""
        return self._job.done

    def is_completed(self) -> bool:
        """Whether the link has carried the operation."""
        return bool(self._job.done.done())

    def result(self) -> Any:
        """The operation's tensors."""
        self.wait()
        return self._job.result


class _FatalErrors:
    """Ends the process when an error leaves its block: a Future cannot carry it to the waiter."""

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            traceback.print_exception(kind, error, trace)
            sys.stderr.write("commwall: gloo failed under the emulated link; this rank ends\n")
            sys.stderr.flush()
            os._exit(EXIT_LINK)


class Lane:
    """One direction of the link, and the thread that ends its operations in order."""

    def __init__(self, name: str, counters: LinkCounters) -> None:
        self._counters = counters
        self._free_at_ns = 0
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=f"link-{name}", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> LinkWork:
        """Have the operation carried after those before it."""
        self._jobs.put(job)
        return LinkWork(job, self._counters)

    def close(self) -> None:
        """Carry what is under way and end the thread."""
        self._jobs.put(None)
        self._thread.join()

    def _serve(self) -> None:
        with _FatalErrors():
            _wake_precisely()
            while (job := self._jobs.get()) is not None:
                self._end(job)
                del job

    def _end(self, job: Job) -> None:
        """Complete an operation when both gloo and the link are through with it."""
        asked_ns, duration_ns = job.move()
        self._free_at_ns = max(asked_ns, self._free_at_ns) + duration_ns
        _sleep_until(self._free_at_ns)
        job.completed_ns = time.monotonic_ns()
        late_ns = job.completed_ns - self._free_at_ns
        self._counters.count(duration_ns, late_ns, job.sent_bytes)
        job.done.set_result(job.result)


def _wake_precisely() -> None:
    """Have the kernel wake this thread without the usual 50 µs of slack (prctl(2))."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)


def _sleep_until(deadline_ns: int) -> None:
    while (left_ns := deadline_ns - time.monotonic_ns()) > 0:
        time.sleep(left_ns / 1e9)
