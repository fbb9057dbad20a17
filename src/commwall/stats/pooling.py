"""Values of several kinds that have something in common, some known well and some badly.

Layer: stats. Reads and writes no file.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple


class Pool(NamedTuple):
    """What values have in common, and how much each keeps of its own."""

    centre: float
    """Weighted mean of all."""
    kept: tuple[float, ...]
    """Share of each value's distance from the centre that is its own, 0 to 1, shape (n,)."""

    def shrunk(self, index: int, value: float) -> float:
        """A value of that kind, drawn towards the centre as far as it is badly known."""
        return self.centre + self.kept[index] * (value - self.centre)


def pool(values: Sequence[float], errors: Sequence[float]) -> Pool:
    """Weigh values by how well each is known and by how far they really differ.

    How far they differ beyond their errors is estimated from their own scatter. A value that is
    known far better than that keeps its distance from the centre, one that is known far worse gives
    it up. A single value keeps all.

    Args:
        values: one of each kind, shape (n,).
        errors: standard error of each, at least 0; infinite for a value that says nothing.

    Source: DerSimonian and Laird, "Meta-analysis in clinical trials", 1986, for the scatter; Efron
        and Morris, "Data analysis using Stein's estimator and its generalizations", 1975, for what
        is kept.
    """
    known = [i for i, error in enumerate(errors) if math.isfinite(error)]
    if len(known) < 2:
        return Pool(values[known[0]] if known else values[0], tuple(1.0 for _ in values))
    least = min((errors[i] for i in known if errors[i] > 0), default=1.0)
    squares = [max(errors[i], least) ** 2 for i in known]
    weights = [1 / square for square in squares]
    mean = _mean(values, known, weights)
    scatter = sum(w * (values[i] - mean) ** 2 for i, w in zip(known, weights, strict=True))
    scale = sum(weights) - sum(w**2 for w in weights) / sum(weights)
    between = max(0.0, (scatter - len(known) + 1) / scale)
    centre = _mean(values, known, [1 / (between + square) for square in squares])
    return Pool(centre, tuple(between / (between + max(e, least) ** 2) for e in errors))


def _mean(values: Sequence[float], known: Sequence[int], weights: Sequence[float]) -> float:
    total = sum(w * values[i] for i, w in zip(known, weights, strict=True))
    return total / sum(weights)
