"""How short operations are timed: groups of repetitions all ranks agree on.

Layer: workers. Reads and writes no file. An operation may be shorter than reading a clock
takes, so a group of repetitions is timed and divided by their number. On a GPU it may be shorter
than the host needs to ask for it, so repetitions are recorded in a CUDA graph, and replays are
timed that the device finds enqueued: even the start of a graph takes the host a time that grows
with its length. What the host's own calls take is kept beside it. Ranks never decide alone how many
there are.
"""

import math
import statistics
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch

from commwall.workers.graphs import Graph
from commwall.workers.hosting import Hold, hold_cuda, queued_steps
from commwall.workers.timing import Clock, Crew, run_steps

LEAST_GROUPS = 3
MOST_GROUPS = 10
WARMUP_SHARE = 0.25
"""Share of the window that the warm-up takes at least."""
REPLAY_S = 5e-3
"""About how long a replay would take if the host asked for each repetition; even ten times faster
it is long compared to the few us between two recorded events [s]."""
MOST_RECORDED = 128
"""Most repetitions in a graph; recording takes the host about as long as asking for them."""
EAGER_BELOW_S = 1e-3
"""Above this time of one repetition the host's part, some 10 us, is not looked at [s]."""
EAGER_SHARE = 0.25
"""Window of the host's own calls, relative to that of the replays."""
_SHORTEST_S = 1e-9

Operation = Callable[[], object]
Recorder = Callable[[Operation, int], Operation]
"""Makes so many repetitions of an operation one that can be carried out by one call."""


class Repeated(NamedTuple):
    """What the timing of an operation gave on this rank."""

    warmup_s: tuple[float, ...]
    """Time of one repetition in each group of the warm-up, whose groups double [s]."""
    repetitions: int
    """Repetitions in each timed group."""
    time_s: tuple[float, ...]
    """Time of one repetition in each timed group [s]."""
    again: Operation
    """Carries out once more what was timed: one replay, or the operation itself."""
    recorded: int | None = None
    """Repetitions in the graph that was replayed; None where the host asked for each."""
    host_bound: bool = False
    """True if the host could not enqueue the work before the device was free for it."""
    eager_s: tuple[float, ...] = ()
    """Time of one repetition in groups that the host asked for one by one [s]; empty where
    `time_s` is that, and where an operation takes so long that the host plays no part."""


def recorder_of(device: torch.device) -> Recorder | None:
    """How work of the device is recorded; None where it cannot be."""
    return recorded if device.type == "cuda" else None


def recorded(operation: Operation, repetitions: int) -> Operation:
    """Record repetitions of an operation that has run before.

    Args:
        operation: enqueues work on the current stream of a CUDA device.
        repetitions: how many one replay carries out.

    Returns:
        The replay, which keeps the graph alive.

    Raises:
        Unsupported: if the operation cannot be recorded.
    """
    return Graph(partial(_repeat, operation, repetitions), warmups=0).replay


def recorded_repetitions(typical_s: float) -> int:
    """Repetitions to record in one graph.

    Args:
        typical_s: time of one repetition that the host asks for, as the slowest rank sees it [s].
    """
    return min(MOST_RECORDED, max(1, math.ceil(REPLAY_S / max(typical_s, _SHORTEST_S))))


def time_repetitions(
    operation: Operation,
    window_s: float,
    clock: Clock,
    crew: Crew,
    at_window: Callable[[], None] = lambda: None,
    record: Recorder | None = None,
    hold: Hold = hold_cuda,
) -> Repeated:
    """Warm an operation up and time it.

    Args:
        operation: what to repeat.
        window_s: about how long; at least LEAST_GROUPS repetitions are timed [s].
        clock: of the device the operation runs on.
        crew: all that take part.
        at_window: called once between warm-up and window.
        record: records the repetitions (`recorder_of`); None has the host ask for each.
        hold: keeps the device busy while the host enqueues a replay.

    Raises:
        Unsupported: if the operation cannot be recorded.
    """
    if record is None:
        return _time(operation, window_s, clock, crew, at_window)
    eager_s, typical_s = _time_eager(operation, EAGER_SHARE * window_s, clock, crew)
    count = recorded_repetitions(typical_s)
    replay = record(operation, count)
    warmup_s, replay_s = warm_up(replay, WARMUP_SHARE * window_s, clock, crew)
    groups = _groups(window_s, replay_s)
    at_window()
    queued_s = queued_steps(replay, clock, crew, hold, groups)
    time_s = queued_s or run_steps(replay, groups, clock)
    return Repeated(
        warmup_s=tuple(taken / count for taken in warmup_s),
        repetitions=count,
        time_s=tuple(taken / count for taken in time_s),
        again=replay,
        recorded=count,
        host_bound=queued_s is None,
        eager_s=eager_s,
    )


def _time_eager(
    operation: Operation, window_s: float, clock: Clock, crew: Crew
) -> tuple[tuple[float, ...], float]:
    """Times of what the host asks for, where they matter, and the typical one [s]."""
    _, typical_s = warm_up(operation, WARMUP_SHARE * window_s, clock, crew)
    if typical_s > EAGER_BELOW_S:
        return (), typical_s
    eager_s = _time(operation, window_s, clock, crew).time_s
    return eager_s, crew.most(statistics.median(eager_s))


def _time(
    operation: Operation,
    window_s: float,
    clock: Clock,
    crew: Crew,
    at_window: Callable[[], None] = lambda: None,
) -> Repeated:
    warmup_s, typical_s = warm_up(operation, WARMUP_SHARE * window_s, clock, crew)
    groups = _groups(window_s, typical_s)
    repetitions = max(1, round(window_s / typical_s / groups))
    at_window()
    group_s = run_steps(partial(_repeat, operation, repetitions), groups, clock)
    return Repeated(
        warmup_s, repetitions, tuple(taken / repetitions for taken in group_s), operation
    )


def _groups(window_s: float, typical_s: float) -> int:
    """Timed groups, where one lasts at least so long [s]."""
    return min(MOST_GROUPS, max(LEAST_GROUPS, math.ceil(window_s / typical_s)))


def warm_up(
    operation: Operation, budget_s: float, clock: Clock, crew: Crew
) -> tuple[tuple[float, ...], float]:
    """Groups of 1, 2, 4, … repetitions until the budget is spent; the last one is typical.

    One repetition goes before them: it may hold the wait for a rank that comes late.
    """
    run_steps(operation, 1, clock)
    spent_s, count, own_s = 0.0, 1, []
    while True:
        (taken_s,) = run_steps(partial(_repeat, operation, count), 1, clock)
        own_s.append(taken_s / count)
        slowest_s = max(crew.most(taken_s), _SHORTEST_S)
        spent_s += slowest_s
        if spent_s >= budget_s:
            return tuple(own_s), slowest_s / count
        count *= 2


def _repeat(operation: Operation, count: int) -> None:
    for _ in range(count):
        operation()
