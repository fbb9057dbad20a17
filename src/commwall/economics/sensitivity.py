"""What moves an answer, one number at a time: by its own range, and to where it flips.

Layer: economics. Reads and writes no file. All other numbers keep their middle.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from commwall.economics.scenario import Entry
from commwall.economics.sums import Sums
from commwall.stats.roots import nearest_change

Objective = Callable[[Sums], float]
"""Above 0 where the faster link is worth it."""
_STEPS_PER_DECADE = 8
_DECADES = 1
"""How far from its middle a flip is sought, ten times in both directions: farther tells nothing."""
_FROM_ZERO = 100
"""Places at which a number that is 0 is tried, where it has a greatest value."""


@dataclass(frozen=True)
class Swing:
    """What one number, or several that move together, do to the answer over their range."""

    entries: tuple[Entry, ...]
    ends: tuple[tuple[float, float], ...]
    """Least and most of each, in its unit."""
    results: tuple[float, float]
    """The answer there."""

    @property
    def size(self) -> float:
        """How far the answer moves."""
        return abs(self.results[1] - self.results[0])


@dataclass(frozen=True)
class Flip:
    """The value of one number at which the answer turns."""

    entry: Entry
    now: float
    at: float
    rises: bool
    """Whether it has to rise to get there."""
    inside: bool
    """Whether it lies within the number's own range."""

    @property
    def distance(self) -> float:
        """How far it is, in powers of e; infinite from or to 0."""
        near = min(self.now, self.at) <= 0
        return math.inf if near else abs(math.log(self.at / self.now))


def middles(entries: Mapping[str, Entry]) -> dict[str, float]:
    """The middle of each number."""
    return {key: entry.amount.middle for key, entry in entries.items()}


def swings(
    sums: Sums, objective: Objective, entries: Mapping[str, Entry], confidence: float
) -> tuple[Swing, ...]:
    """Everything with a range that moves the answer, what moves it most first."""
    groups: dict[str, list[tuple[Entry, tuple[float, float]]]] = {}
    for entry in entries.values():
        if ends := entry.amount.ends(confidence):
            groups.setdefault(entry.group, []).append((entry, ends))
    found = [_swing(sums, objective, members) for members in groups.values()]
    moving = [swing for swing in found if swing.size > 0]
    return tuple(sorted(moving, key=lambda swing: swing.size, reverse=True))


def _swing(
    sums: Sums, objective: Objective, members: list[tuple[Entry, tuple[float, float]]]
) -> Swing:
    low, high = ({entry.key: ends[side] for entry, ends in members} for side in (0, 1))
    return Swing(
        entries=tuple(entry for entry, _ in members),
        ends=tuple(ends for _, ends in members),
        results=(objective(sums.changed(low)), objective(sums.changed(high))),
    )


def flips(
    sums: Sums, objective: Objective, entries: Mapping[str, Entry], confidence: float
) -> tuple[Flip, ...]:
    """Every number with a value that turns the answer, the nearest first."""
    found = []
    for key, entry in entries.items():
        now = entry.amount.middle
        answer = partial(_with, sums, objective, key)
        change = nearest_change(answer, now, list(_places(entry, now)))
        if change and _possible(entry, *change):
            low, high = entry.amount.ends(confidence) or (now, now)
            found.append(Flip(entry, now, *change, inside=low <= change.at <= high))
    return tuple(sorted(found, key=lambda flip: (not flip.inside, flip.distance)))


def _with(sums: Sums, objective: Objective, key: str, value: float) -> float:
    """The answer with one number changed."""
    return objective(sums.changed({key: value}))


def _possible(entry: Entry, at: float, rises: bool) -> bool:
    """Whether there is anything beyond: nothing falls below its least value."""
    return at < entry.asked.most if rises else at > entry.asked.least


def _places(entry: Entry, now: float) -> Iterator[float]:
    """Numbers that make sense for an entry, around its middle."""
    least, most = entry.asked.least, entry.asked.most
    if now > 0:
        steps = range(-_DECADES * _STEPS_PER_DECADE, _DECADES * _STEPS_PER_DECADE + 1)
        tried = (now * 10 ** (step / _STEPS_PER_DECADE) for step in steps)
    elif math.isfinite(most):
        tried = (most * step / _FROM_ZERO for step in range(1, _FROM_ZERO))
    else:
        return
    yield from (place for place in tried if least < place < most)
    if math.isfinite(most):
        yield most
    if not entry.asked.open_below:
        yield least
