"""How far a run is, in words, with the time that is left.

Layer: measure. Reads and writes no file.
"""

import time
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import NamedTuple

Say = Callable[[str], None]
START = ""
"""Stands among the cases of a launch for the start of its processes."""
TRUSTED_S = 10.0
"""Until parts that were expected to take so long are over, what they took corrects nothing [s]."""


class Part(NamedTuple):
    """One case on one platform in one round, or the start of its processes."""

    round: int
    platform: str
    case: str = START

    @property
    def place(self) -> tuple[int, str]:
        """Round and platform: a launch, or several where one was cut short."""
        return self.round, self.platform


class Progress:
    """Follows a run part by part and tells a listener, one line a case.

    Args:
        say: takes lines.
        rounds: how many the suite has.
        expected_s: all parts in their order, and how long each should take [s].
        clock: monotonic [s].
    """

    def __init__(
        self,
        say: Say,
        rounds: int,
        expected_s: Mapping[Part, float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._say, self._rounds, self._clock = say, rounds, clock
        self._ahead_s = dict(expected_s)
        self._cases = self._cases_ahead
        self._part: Part | None = None
        self._since_s = 0.0
        self._expected_s = self._seen_s = 0.0
        """What the parts that are over should have taken, and what they took."""

    def begin(self, round_: int, platform: str) -> None:
        """A launch begins; what earlier ones have left undone comes to nothing in this run."""
        part = Part(round_, platform)
        if any(ahead.place == part.place for ahead in self._ahead_s):
            gone = takewhile(lambda ahead: ahead.place != part.place, list(self._ahead_s))
            for each in gone:
                del self._ahead_s[each]
        self._enter(part)

    def case(self, name: str) -> None:
        """A case is under way: told when it begins."""
        if self._part is None or self._part.case == name:
            return
        self._enter(self._part._replace(case=name))
        number = self._cases - self._cases_ahead + 1
        place = f"round {self._part.round} of {self._rounds}, {self._part.platform}"
        left = left_text(self.left_s)
        self._say(f"case {number} of {self._cases} ({place}): {name}, {left} of this suite left")

    def end(self) -> None:
        """The launch has ended."""
        if self._part is not None:
            self._expected_s += self._ahead_s.pop(self._part, 0.0)
            self._seen_s += self._clock() - self._since_s
            self._part = None

    @property
    def left_s(self) -> float:
        """Expected time to the end [s]: as planned, times how the parts that are over have kept to
        their plan."""
        trusted = self._expected_s >= TRUSTED_S
        return sum(self._ahead_s.values()) * (self._seen_s / self._expected_s if trusted else 1.0)

    @property
    def _cases_ahead(self) -> int:
        return sum(part.case != START for part in self._ahead_s)

    def _enter(self, part: Part) -> None:
        self.end()
        self._part, self._since_s = part, self._clock()


def left_text(seconds: float) -> str:
    """A time that is a guess [s], in whole units."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
