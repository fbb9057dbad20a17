"""Shares of a mean: head arithmetic, limits, and cover by simulation."""

import math

import numpy as np
import pytest

from commwall.stats.intervals import mean_interval
from commwall.stats.shares import share_interval


def test_of_a_steady_whole_it_is_students_interval() -> None:
    part = [0.25, 0.3, 0.2]
    found, alone = share_interval(part, [0.5] * 3), mean_interval([2 * own for own in part])
    assert found is not None and alone is not None
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))


def test_ends_are_where_the_difference_is_just_told_from_zero() -> None:
    part, whole = [0.5, 0.7, 0.4, 0.6], [1.1, 0.9, 1.2, 0.8]
    found = share_interval(part, whole, confidence=0.9)
    assert found is not None
    for q in (found.low, found.high):
        rest = [a - q * b for a, b in zip(part, whole, strict=True)]
        around = mean_interval(rest, confidence=0.9)
        assert around is not None
        assert min(abs(around.low), abs(around.high)) == pytest.approx(0, abs=1e-12)


def test_what_moves_both_alike_cancels() -> None:
    assert share_interval([0.5, 1.0, 2.0], [1.0, 2.0, 4.0]) is None
    assert share_interval([0.3], [0.6]) is None


@pytest.mark.parametrize("whole", [[0.1, -0.1, 0.06], [0.1, -0.1, 0.0]])
def test_a_whole_that_may_be_nothing_has_no_end(whole: list[float]) -> None:
    found = share_interval([0.1, 0.2, 0.3], whole)
    assert found is not None and (found.low, found.high) == (-math.inf, math.inf)


@pytest.mark.parametrize(("part", "whole"), [([], []), ([1.0], [1.0, 2.0])])
def test_what_has_no_share_is_an_error(part: list[float], whole: list[float]) -> None:
    with pytest.raises(ValueError, match="no share"):
        share_interval(part, whole)


@pytest.mark.parametrize("rounds", [3, 5, 20])
def test_cover_where_the_whole_is_uncertain(rounds: int) -> None:
    """A whole of 0.1 with rounds 0.05 apart, and half of it as part, with noise that both share."""
    generator, hits, simulations = np.random.default_rng(11), 0, 3000
    for _ in range(simulations):
        common, *own = generator.normal(0, 0.03, size=(3, rounds))
        found = share_interval((0.05 + common + own[0]).tolist(), (0.1 + common + own[1]).tolist())
        assert found is not None
        hits += found.low <= 0.5 <= found.high
    assert 0.93 <= hits / simulations <= 0.985  # an interval without end always covers
