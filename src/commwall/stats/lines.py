"""Straight lines through values that span orders of magnitude.

Layer: stats. Reads and writes no file.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_POINTS = 3
"""Two points always lie on a line, and say nothing of how well it fits."""


@dataclass(frozen=True)
class Line:
    """y = intercept + slope x."""

    intercept: float
    slope: float

    def at(self, x: float) -> float:
        """The line's y."""
        return self.intercept + self.slope * x

    def misfits(self, x: Sequence[float], y: Sequence[float]) -> tuple[float, ...]:
        """Line over value, less 1, of each point [1]."""
        return tuple(self.at(a) / b - 1 for a, b in zip(x, y, strict=True))


def relative_line(x: Sequence[float], y: Sequence[float]) -> Line | None:
    """The line whose relative misfits have the least sum of squares.

    Plain least squares would see the largest values alone: a microsecond at the small end weighs
    nothing beside a millisecond at the large one. Dividing each misfit by its value gives all
    sizes the same say: weighted least squares with weights 1 / y^2.

    Args:
        x: at least two different values, shape (n,).
        y: positive values, shape (n,).

    Returns:
        The line, or None for fewer than LEAST_POINTS points, an x that is the same everywhere,
        or a y that is not positive.
    """
    if len(x) < LEAST_POINTS or min(y) <= 0 or min(x) == max(x):
        return None
    weights = [1 / value**2 for value in y]
    total = sum(weights)
    x_mean = sum(w * a for w, a in zip(weights, x, strict=True)) / total
    y_mean = sum(w * b for w, b in zip(weights, y, strict=True)) / total
    both = zip(weights, x, y, strict=True)
    shared = sum(w * (a - x_mean) * (b - y_mean) for w, a, b in both)
    slope = shared / sum(w * (a - x_mean) ** 2 for w, a in zip(weights, x, strict=True))
    return Line(y_mean - slope * x_mean, slope)


def between(x: Sequence[float], y: Sequence[float], at: float) -> float:
    """The y of the line from point to point; beyond the points that of the nearest one.

    Args:
        x: at least one value, ascending, shape (n,).
        y: their values, shape (n,).
        at: any x.
    """
    above = bisect_right(x, at)
    if above in (0, len(x)):
        return y[min(above, len(x) - 1)]
    share = (at - x[above - 1]) / (x[above] - x[above - 1])
    return y[above - 1] + share * (y[above] - y[above - 1])
