"""Where new rounds should lie if they are like the old ones.

Layer: stats. Reads and writes no file.
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from commwall.stats.intervals import WIDEST_LOG, is_one_value, t_quantile


class Prediction(NamedTuple):
    """What old rounds say of the geometric mean of new ones."""

    n: int
    """Old rounds."""
    mean_log: float
    """Mean of their logarithms."""
    deviation_log: float
    """Standard deviation of their logarithms."""

    def interval(self, new: int, confidence: float) -> tuple[float, float]:
        """Interval that holds the geometric mean of new rounds with that probability.

        mean +- t(n - 1) x deviation x sqrt(1 / n + 1 / m), on the scale of logarithms: the old
        mean is off by deviation / sqrt(n), the new one by deviation / sqrt(m).

        Args:
            new: number m of new rounds, at least 1.
            confidence: level between 0 and 1.

        Source: Meeker, Hahn and Escobar, Statistical Intervals, 2nd edition (2017), chapter 4,
            prediction interval for the mean of m future observations.
        """
        spread = self.deviation_log * math.sqrt(1 / self.n + 1 / new)
        half = t_quantile(confidence, self.n - 1) * spread
        return _finite_exp(self.mean_log - half), _finite_exp(self.mean_log + half)


def prediction(values: Sequence[float]) -> Prediction | None:
    """What rounds say of new ones.

    Args:
        values: one positive value a round, independent, shape (n,).

    Returns:
        The prediction, or None for a single round, and for rounds that all gave one value, as a
        coarse clock makes them: they say nothing of how far the next would lie.

    Raises:
        ValueError: if there is no value, or one is not positive.
    """
    logs = [math.log(value) for value in values]
    if not logs:
        raise ValueError("no round, no prediction")
    if is_one_value(logs):
        return None
    return Prediction(len(logs), fmean(logs), stdev(logs))


def _finite_exp(value: float) -> float:
    return math.exp(min(max(value, -WIDEST_LOG), WIDEST_LOG))
