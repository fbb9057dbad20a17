"""How far a run is, in words, with the time that is left.

Layer: measure. Reads and writes no file.
"""

import statistics
import time
from collections.abc import Callable

from commwall.schema.units import time_text

Say = Callable[[str], None]


class Progress:
    """Counts launches and tells a listener.

    Args:
        say: takes lines.
        launches: how many are expected.
        expected_s: expected duration of one, until one has been timed [s].
    """

    def __init__(self, say: Say, launches: int, expected_s: float) -> None:
        self._say = say
        self._launches = launches
        self._expected_s = expected_s
        self._durations_s: list[float] = []
        self._started_s = 0.0

    def begin(self, what: str) -> None:
        """A launch begins."""
        number = len(self._durations_s) + 1
        left = time_text(self.left_s) if self.left_s >= 1 else "less than a second"
        self._say(f"{what} (launch {number} of {max(number, self._launches)}), about {left} left")
        self._started_s = time.monotonic()

    def end(self, what: str) -> None:
        """The launch has ended."""
        self._durations_s.append(time.monotonic() - self._started_s)
        self._say(f"  {what}, {time_text(self._durations_s[-1])}")

    @property
    def left_s(self) -> float:
        """Expected time to the end [s]: launches left times the median launch so far."""
        typical_s = statistics.median(self._durations_s or [self._expected_s])
        return typical_s * max(1, self._launches - len(self._durations_s))
