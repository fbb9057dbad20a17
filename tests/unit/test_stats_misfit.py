"""Intervals from the misfits of others, and points that are joined."""

import math

import pytest

from commwall.stats.lines import between
from commwall.stats.misfit import misfit_interval


def test_misfits_count_from_zero() -> None:
    low, high = misfit_interval([1.0, 1.0], [[0.1], [0.1], [0.1]], 0.95) or (0, 0)
    assert math.log(high) == pytest.approx(3.1824 * 0.1, rel=1e-3)  # t with 3 degrees of freedom
    assert math.log(low) == pytest.approx(-math.log(high))


def test_the_rounds_own_spread_counts_too() -> None:
    low, high = misfit_interval([math.exp(-0.1), math.exp(0.1)], [[0.0]] * 3, 0.95) or (0, 0)
    assert math.log(high) == pytest.approx(3.1824 * 0.1, rel=1e-3)  # variance 0.02 / 2
    assert low * high == pytest.approx(1)


def test_a_case_counts_once_however_often_it_was_predicted() -> None:
    often = misfit_interval([1.0, 1.0], [[0.1] * 9, [0.0], [0.0]], 0.95)
    once = misfit_interval([1.0, 1.0], [[0.1], [0.0], [0.0]], 0.95)
    assert often == pytest.approx(once)


@pytest.mark.parametrize(("rounds", "cases"), [(1, 5), (5, 2)])
def test_too_little_gives_no_interval(rounds: int, cases: int) -> None:
    assert misfit_interval([1.0] * rounds, [[0.1]] * cases, 0.95) is None


def test_points_are_joined() -> None:
    x, y = (1, 3, 7), (10, 20, 0)
    assert [between(x, y, at) for at in (0, 1, 2, 3, 5, 7, 9)] == [10, 10, 15, 20, 10, 0, 0]
    assert between((4,), (2,), 4) == between((4,), (2,), 1) == 2
