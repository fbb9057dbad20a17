"""How short operations are timed: groups of repetitions all ranks agree on.

Layer: workers. Reads and writes no file. An operation may be shorter than reading a clock
takes, so a group of repetitions is timed and divided by their number. Ranks never decide alone
how many there are.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from commwall.workers.timing import Clock, Crew, run_steps

LEAST_GROUPS = 3
MOST_GROUPS = 10
WARMUP_SHARE = 0.25
"""Share of the window that the warm-up takes at least."""
_SHORTEST_S = 1e-9


class Repeated(NamedTuple):
    """What the timing of an operation gave on this rank."""

    warmup_s: tuple[float, ...]
    """Time of one repetition in each group of the warm-up, whose groups double [s]."""
    repetitions: int
    """Repetitions in each timed group."""
    time_s: tuple[float, ...]
    """Time of one repetition in each timed group [s]."""


def time_repetitions(
    operation: Callable[[], object],
    window_s: float,
    clock: Clock,
    crew: Crew,
    at_window: Callable[[], None] = lambda: None,
) -> Repeated:
    """Warm an operation up and time it.

    Args:
        operation: what to repeat.
        window_s: about how long; at least LEAST_GROUPS repetitions are timed [s].
        clock: of the device the operation runs on.
        crew: all that take part.
        at_window: called once between warm-up and window.
    """
    warmup_s, typical_s = _warm_up(operation, WARMUP_SHARE * window_s, clock, crew)
    groups = min(MOST_GROUPS, max(LEAST_GROUPS, math.ceil(window_s / typical_s)))
    repetitions = max(1, round(window_s / typical_s / groups))
    at_window()
    group_s = run_steps(partial(_repeat, operation, repetitions), groups, clock)
    return Repeated(warmup_s, repetitions, tuple(taken / repetitions for taken in group_s))


def _warm_up(
    operation: Callable[[], object], budget_s: float, clock: Clock, crew: Crew
) -> tuple[tuple[float, ...], float]:
    """Groups of 1, 2, 4, … repetitions until the budget is spent; the last one is typical."""
    spent_s, count, own_s = 0.0, 1, []
    while True:
        (taken_s,) = run_steps(partial(_repeat, operation, count), 1, clock)
        own_s.append(taken_s / count)
        slowest_s = max(crew.most(taken_s), _SHORTEST_S)
        spent_s += slowest_s
        if spent_s >= budget_s:
            return tuple(own_s), slowest_s / count
        count *= 2


def _repeat(operation: Callable[[], object], count: int) -> None:
    for _ in range(count):
        operation()
