"""Values drawn to what they have in common, and intervals from the misfits of others."""

import math

import pytest

from commwall.stats.lines import between
from commwall.stats.misfit import misfit_interval
from commwall.stats.pooling import pool


def test_values_alike_within_their_errors_become_one() -> None:
    found = pool([1.0, 1.1, 0.9], [0.2, 0.2, 0.2])
    assert found.centre == pytest.approx(1.0)
    assert found.kept == (0, 0, 0)
    assert found.shrunk(1, 1.1) == pytest.approx(1.0)


def test_values_that_really_differ_keep_their_own() -> None:
    found = pool([1.0, 2.0, 3.0], [0.01, 0.01, 0.01])
    assert found.centre == pytest.approx(2.0)
    # scatter 1 less the errors' 0.0001, of scatter 1
    assert found.kept == pytest.approx([0.9999] * 3, abs=1e-6)


def test_a_badly_known_value_is_drawn_the_most() -> None:
    found = pool([1.0, 2.0, 9.0], [0.1, 0.1, 20.0])
    assert found.kept[2] < 0.01 < 0.9 < found.kept[0]
    assert 1 < found.shrunk(2, 9.0) < 2


def test_a_value_that_says_nothing_takes_what_the_others_have() -> None:
    found = pool([1.0, 2.0, 0.0], [0.1, 0.1, math.inf])
    assert found.shrunk(2, 0.0) == pytest.approx(1.5)


def test_a_single_value_stays() -> None:
    assert pool([0.7], [0.1]).shrunk(0, 0.7) == 0.7
    assert pool([0.7, 5.0], [0.1, math.inf]).centre == 0.7
    assert pool([0.7], [math.inf]).shrunk(0, 0.7) == 0.7


def test_errors_of_nothing_weigh_alike() -> None:
    assert pool([1.0, 3.0], [0.0, 0.0]).centre == pytest.approx(2.0)


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
