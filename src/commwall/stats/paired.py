"""Ratios of values that were measured side by side, round by round.

Layer: stats. Reads and writes no file. Only the two values of one round are divided, so what
disturbs a whole round (temperature, clocks, neighbours) cancels.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from commwall.schema.errors import UnitError
from commwall.stats.intervals import Interval, geometric_interval, t_quantile

MOST_ROUNDS = 100_000
"""Beyond this many rounds no number is sought."""


@dataclass(frozen=True)
class PairedRatio:
    """The ratio a / b over n rounds."""

    ratios: tuple[float, ...]
    """Ratio of each round, in the order given, shape (n,)."""
    confidence: float
    interval: Interval | None
    """Interval of `centre`; None for one round, and for rounds without spread."""

    @property
    def n(self) -> int:
        """Number of rounds."""
        return len(self.ratios)

    @property
    def centre(self) -> float:
        """Geometric mean: the mean of the log-ratios, which the interval belongs to."""
        return math.exp(fmean(math.log(ratio) for ratio in self.ratios))

    @property
    def median(self) -> float:
        """Median of the rounds."""
        return median(self.ratios)

    @property
    def excludes_one(self) -> bool:
        """True if the interval lies on one side of 1, so that a direction may be named."""
        return self.interval is not None and not self.interval.low <= 1 <= self.interval.high

    @property
    def rounds_needed(self) -> int | None:
        """About how many rounds would tell; None if decided, or if no number can be named."""
        if self.interval is None or self.excludes_one:
            return None
        logs = [math.log(ratio) for ratio in self.ratios]
        return rounds_needed(fmean(logs), stdev(logs), more_than=self.n, confidence=self.confidence)


def paired_ratio(
    a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95, seed: int = 0
) -> PairedRatio:
    """Ratio a / b with its interval, from log-ratios of paired rounds.

    Rounds that all give one ratio, as a coarse clock makes them, say nothing of how far the next
    would lie: they have no interval.

    Args:
        a: one value a round, positive, shape (n,).
        b: the values of the same rounds, positive, shape (n,).
        confidence: level of the interval.
        seed: of the bootstrap's generator.

    Raises:
        UnitError: if a value is not positive, or the two differ in length, or there is none.
    """
    if not a or len(a) != len(b) or min(*a, *b) <= 0:
        raise UnitError(
            "a ratio of rounds needs one positive value of each side in each round",
            found=f"{list(a)} and {list(b)}",
        )
    ratios = tuple(x / y for x, y in zip(a, b, strict=True))
    interval = geometric_interval(ratios, confidence=confidence, seed=seed)
    return PairedRatio(ratios, confidence, interval)


def rounds_needed(
    effect: float, deviation: float, *, more_than: int = 1, confidence: float = 0.95
) -> int | None:
    """Least number of rounds m whose Student interval would exclude zero.

    Solves t(m - 1) x deviation / sqrt(m) < |effect|, taking mean and deviation as seen so far;
    an interval of m rounds then excludes zero about every second time, hence "about".

    Args:
        effect: mean of the log-ratios.
        deviation: their standard deviation.
        more_than: rounds that were not enough.
        confidence: level of the interval.

    Returns:
        The number, or None if the effect is zero or more than MOST_ROUNDS would be needed.
    """

    def tells(m: int) -> bool:
        return t_quantile(confidence, m - 1) * deviation < abs(effect) * math.sqrt(m)

    if effect == 0 or not tells(MOST_ROUNDS):
        return None
    low, high = max(1, more_than), MOST_ROUNDS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tells(middle) else (middle, high)
    return high


def relative_spread(values: Sequence[float]) -> float | None:
    """(largest - smallest) / |median|: how far the rounds of one treatment lie apart [1].

    Returns:
        None for a single value or a median of zero.
    """
    centre = median(values)
    if len(values) < 2 or centre == 0:
        return None
    return (max(values) - min(values)) / abs(centre)
