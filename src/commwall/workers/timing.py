"""How a leg is timed: warm up until settled, then a window of steps all ranks agree on.

Layer: workers. Reads and writes no file. A step lasts from the end of the step before to its
own end. Ranks never decide alone: whether the warm-up has settled and how many steps follow
are agreed among all ranks that take part.
"""

import math
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch

from commwall.schema.base import Model

SETTLING_STEPS = 6
"""Steps whose spread tells whether a leg has settled."""
SETTLED_SPREAD = 0.10
"""Largest interquartile range of those steps, relative to their median."""
LEAD = 2
"""Boundaries that the host is ahead of a GPU at most. While a host enqueued without end, steps of
two H200 GPUs whose exchange goes through host memory took up to 3 % longer than once it had nothing
left to enqueue."""
_MARGIN = 1.05


class Crew(Protocol):
    """Those who take part in a leg."""

    def most(self, value: float) -> float:
        """The largest of their values."""

    def least(self, value: float) -> float:
        """The smallest of their values."""

    def meet(self) -> None:
        """Have their devices go on together; the host does not wait for it."""


class Alone:
    """A crew of one."""

    def most(self, value: float) -> float:
        """The value itself."""
        return value

    def least(self, value: float) -> float:
        """The value itself."""
        return value

    def meet(self) -> None:
        """Nobody to wait for."""


class Clock(Protocol):
    """Times the boundaries between steps on a device."""

    def mark(self) -> None:
        """Note a boundary."""

    def intervals_s(self) -> list[float]:
        """Wait for the device; durations between the marks, which are forgotten [s]."""


class HostClock:
    """Boundaries as the host sees them, exact where the host itself computes."""

    def __init__(self) -> None:
        self._marks: list[float] = []

    def mark(self) -> None:
        """Note a boundary."""
        self._marks.append(time.perf_counter())

    def intervals_s(self) -> list[float]:
        """Durations between the marks [s]."""
        marks, self._marks = self._marks, []
        return [after - before for before, after in zip(marks, marks[1:], strict=False)]


def _sleeping_event() -> torch.cuda.Event:
    """An event for which the host waits asleep."""
    return torch.cuda.Event(enable_timing=True, blocking=True)


class CudaClock:
    """Boundaries as events on the current stream, of which the host is a few ahead.

    Args:
        new_event: makes an event.
    """

    def __init__(self, new_event: Callable[[], torch.cuda.Event] = _sleeping_event) -> None:
        self._new_event = new_event
        self._marks: list[torch.cuda.Event] = []

    def mark(self) -> None:
        """Record an event, and wait for an earlier one if the host is far ahead."""
        event = self._new_event()
        event.record()
        self._marks.append(event)
        if len(self._marks) > LEAD:
            self._marks[-1 - LEAD].synchronize()

    def intervals_s(self) -> list[float]:
        """Durations between the events [s], after a synchronisation."""
        torch.cuda.synchronize()
        marks, self._marks = self._marks, []
        pairs = zip(marks, marks[1:], strict=False)
        return [before.elapsed_time(after) / 1e3 for before, after in pairs]


def clock_of(device: torch.device) -> Clock:
    """The clock that fits the device."""
    return CudaClock() if device.type == "cuda" else HostClock()


class Pace(Model):
    """How long a leg is to be timed."""

    window_s: float
    """Least duration of the timed window [s]."""
    min_steps: int
    """Least number of timed steps."""
    warmup_max_s: float
    """Longest warm-up [s]."""


class Timed(NamedTuple):
    """What the timing of a leg gave on this rank."""

    warmup_s: tuple[float, ...]
    """Step times until the leg had settled, or the warm-up was given up [s]."""
    settled: bool
    step_s: tuple[float, ...]
    """Step times of the window [s]."""
    start_ns: int
    end_ns: int
    """The window on CLOCK_MONOTONIC."""


def time_leg(
    step: Callable[[], object],
    pace: Pace,
    clock: Clock,
    crew: Crew,
    at_window: Callable[[], None] = lambda: None,
) -> Timed:
    """Warm a step up and time it.

    Args:
        step: one step of the leg.
        pace: how long.
        clock: of the device the step runs on.
        crew: all that take part in the leg.
        at_window: called once between warm-up and window.
    """
    warmup_s, settled = _warm_up(step, pace, clock, crew)
    at_window()
    start_ns = time.monotonic_ns()
    step_s: list[float] = []
    typical_s = statistics.median(warmup_s[-SETTLING_STEPS:])
    while True:
        missing_s = pace.window_s - _since_s(start_ns)
        wanted = max(pace.min_steps - len(step_s), math.ceil(_MARGIN * missing_s / typical_s), 1)
        step_s += run_steps(step, int(crew.most(wanted)), clock)
        if crew.least(_since_s(start_ns)) >= pace.window_s and len(step_s) >= pace.min_steps:
            return Timed(warmup_s, settled, tuple(step_s), start_ns, time.monotonic_ns())


def run_steps(step: Callable[[], object], count: int, clock: Clock) -> list[float]:
    """Times of so many steps in a row [s]."""
    clock.mark()
    for _ in range(count):
        step()
        clock.mark()
    return clock.intervals_s()


def has_settled(step_s: list[float]) -> bool:
    """Whether the interquartile range of the last steps is small against their median.

    Args:
        step_s: step times in order [s].
    """
    if len(step_s) < SETTLING_STEPS:
        return False
    lower, middle, upper = statistics.quantiles(step_s[-SETTLING_STEPS:], n=4, method="inclusive")
    return upper - lower <= SETTLED_SPREAD * middle


def _warm_up(
    step: Callable[[], object], pace: Pace, clock: Clock, crew: Crew
) -> tuple[tuple[float, ...], bool]:
    start_ns = time.monotonic_ns()
    step_s: list[float] = []
    while True:
        step_s += run_steps(step, 1, clock)
        if crew.least(has_settled(step_s)):
            return tuple(step_s), True
        if crew.most(_since_s(start_ns)) >= pace.warmup_max_s:
            return tuple(step_s), False


def _since_s(start_ns: int) -> float:
    return (time.monotonic_ns() - start_ns) / 1e9
