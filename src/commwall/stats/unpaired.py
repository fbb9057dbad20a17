"""The ratio of values that were measured at different times, so that no rounds belong together.

Layer: stats. Reads and writes no file. Nothing cancels here: what changed between the two times
beside the thing asked about, a neighbour or the temperature of the room, is in the ratio.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from commwall.stats.intervals import WIDEST_LOG, Interval, is_one_value, t_quantile


@dataclass(frozen=True)
class UnpairedRatio:
    """The ratio of the geometric means of two sets of rounds."""

    centre: float
    interval: Interval | None
    """None where a side has one round, or neither has any spread."""


def unpaired_ratio(
    after: Sequence[float], before: Sequence[float], *, confidence: float = 0.95
) -> UnpairedRatio:
    """Ratio after / before with Welch's interval, on the scale of logarithms.

    The two may spread differently. Degrees of freedom are rounded down, which widens the interval.

    Args:
        after: one positive value a round, shape (m,).
        before: the same of the earlier rounds, shape (n,).
        confidence: level of the interval.

    Raises:
        ValueError: if a side is empty, or a value is not positive.

    Source: B. L. Welch, The generalization of Student's problem when several different population
        variances are involved, Biometrika 34 (1947), 28-35.
    """
    if not after or not before:
        raise ValueError("a ratio needs values on both sides")
    logs = [[math.log(value) for value in side] for side in (after, before)]
    centre = fmean(logs[0]) - fmean(logs[1])
    return UnpairedRatio(math.exp(centre), _welch(centre, logs, confidence))


def _welch(centre: float, logs: list[list[float]], confidence: float) -> Interval | None:
    """Interval around a difference of means; None where the spread of a side is not known."""
    if min(map(len, logs)) < 2 or all(map(is_one_value, logs)):
        return None
    errors = [variance(side) / len(side) for side in logs]
    degrees = sum(errors) ** 2 / sum(
        error**2 / (len(side) - 1) for error, side in zip(errors, logs, strict=True)
    )
    half = t_quantile(confidence, max(1, math.floor(degrees))) * math.sqrt(sum(errors))
    if abs(centre) + half > WIDEST_LOG:
        return None
    return Interval(math.exp(centre - half), math.exp(centre + half), "student-t")
