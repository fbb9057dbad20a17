"""How far a model's prediction may be off, by how far its others were.

Layer: stats. Reads and writes no file.
"""

import math
from collections.abc import Sequence
from statistics import fmean, variance

from commwall.stats.intervals import t_quantile

LEAST_GROUPS = 3
"""Fewer others say too little of how far the next may be off."""


def misfit_interval(
    predictions: Sequence[float], others: Sequence[Sequence[float]], confidence: float
) -> tuple[float, float] | None:
    """Interval for what will be measured where a model predicts.

    centre x exp(+- t(m) x root of (mean square misfit of the others + variance of the centre)),
    with the m groups as degrees of freedom: misfits count from 0, not from their mean, so that a
    model that is always off to one side gets no narrow interval. Misfits of one group are no
    independent evidence; each group counts once.

    Args:
        predictions: of several rounds, positive, shape (n,); the centre is their geometric mean.
        others: log(predicted / measured) of other predictions, in groups that depend on each other.
        confidence: level between 0 and 1.

    Returns:
        The ends; None for a single round, or fewer than LEAST_GROUPS groups.
    """
    if len(predictions) < 2 or len(others) < LEAST_GROUPS:
        return None
    logs = [math.log(value) for value in predictions]
    misfit = fmean(fmean(error**2 for error in group) for group in others)
    half = t_quantile(confidence, len(others)) * math.sqrt(misfit + variance(logs) / len(logs))
    return math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)
