"""One mean as a share of another, both of the same rounds.

Layer: stats. Reads and writes no file. A mean of the rounds' own shares would be ruled by the round
whose denominator happens to be nearest to zero; the ratio of the means is not.
"""

import math
from collections.abc import Sequence
from statistics import fmean, variance

from commwall.stats.intervals import SAME_WITHIN, Interval, t_quantile

_WITHOUT_END = Interval(-math.inf, math.inf, "fieller")


def share_interval(
    part: Sequence[float], whole: Sequence[float], *, confidence: float = 0.95
) -> Interval | None:
    """Fieller's interval of mean(part) / mean(whole).

    It holds every share q that the rounds do not refute: the mean of part - q whole lies within
    t(n - 1) of its standard errors from 0. What disturbs both alike cancels.

    Args:
        part: one value a round, shape (n,).
        whole: the values of the same rounds, shape (n,).
        confidence: level of the interval.

    Returns:
        The interval, from minus to plus infinity where the rounds do not tell the mean of `whole`
        from 0; None for rounds that all show one share, of which a single one does.

    Raises:
        ValueError: if the two differ in length, or there is none.

    Source: E. C. Fieller, Some problems in interval estimation, Journal of the Royal Statistical
        Society B 16 (1954), 175-185.
    """
    if not part or len(part) != len(whole):
        raise ValueError(f"no share of {len(part)} and {len(whole)} values")
    x, y, n = fmean(part), fmean(whole), len(part)
    if y == 0:
        return _WITHOUT_END
    left = [a - x / y * b for a, b in zip(part, whole, strict=True)]
    if max(left) - min(left) <= SAME_WITHIN * max(map(abs, (*part, *whole))):
        return None
    scale = t_quantile(confidence, n - 1) ** 2 / n
    shared = sum((a - x) * (b - y) for a, b in zip(part, whole, strict=True)) / (n - 1)
    # square q^2 - 2 cross q + rest <= 0 for every q inside
    square = y**2 - scale * variance(whole)
    cross, rest = x * y - scale * shared, x**2 - scale * variance(part)
    if square <= 0:
        return _WITHOUT_END
    half = math.sqrt(max(0.0, cross**2 - square * rest))
    return Interval((cross - half) / square, (cross + half) / square, "fieller")
