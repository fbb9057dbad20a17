"""Paired ratios: head arithmetic, and properties by simulation."""

import math

import numpy as np
import pytest

from commwall.schema.errors import UnitError
from commwall.stats.paired import paired_ratio, relative_spread, rounds_needed


def test_disturbances_of_a_whole_round_cancel() -> None:
    ratio = paired_ratio([200.0, 400.0, 20.0], [100.0, 200.0, 10.0])
    assert ratio.ratios == (2.0, 2.0, 2.0)
    assert ratio.centre == pytest.approx(2)


@pytest.mark.parametrize("b", [[0.1, 0.1], [0.2, 0.2], [0.1000001, 0.1000001]])
def test_rounds_without_spread_have_no_interval_and_no_winner(b: list[float]) -> None:
    ratio = paired_ratio([0.1, 0.1], b)
    assert ratio.interval is None
    assert not ratio.excludes_one
    assert ratio.rounds_needed is None


def test_centre_is_the_geometric_mean() -> None:
    ratio = paired_ratio([1.6, 2.5], [1.0, 1.0])
    assert ratio.centre == pytest.approx(2)
    assert ratio.median == pytest.approx(2.05)


def test_turning_a_ratio_over_turns_its_interval_over() -> None:
    a, b = [1.0, 1.2, 0.9, 1.1], [2.0, 2.1, 2.2, 1.9]
    ratio, inverse = paired_ratio(a, b), paired_ratio(b, a)
    assert ratio.interval is not None and inverse.interval is not None
    assert inverse.centre == pytest.approx(1 / ratio.centre)
    assert inverse.interval.low == pytest.approx(1 / ratio.interval.high)


def test_one_round_has_a_ratio_but_no_interval() -> None:
    ratio = paired_ratio([3.0], [2.0])
    assert (ratio.centre, ratio.interval) == (1.5, None)
    assert not ratio.excludes_one
    assert ratio.rounds_needed is None


@pytest.mark.parametrize(
    ("a", "b"), [([], []), ([1.0], [1.0, 2.0]), ([1.0], [0.0]), ([-1.0], [1.0])]
)
def test_what_has_no_ratio_is_an_error(a: list[float], b: list[float]) -> None:
    with pytest.raises(UnitError, match="positive"):
        paired_ratio(a, b)


def test_rounds_needed_is_the_least_number_that_tells() -> None:
    # effect = deviation / 2: t(m - 1) / sqrt(m) < 1/2 holds first for m = 18 (2.110 / 4.243)
    assert rounds_needed(0.05, 0.1) == 18
    assert rounds_needed(-0.05, 0.1) == 18
    assert rounds_needed(0.05, 0.1, more_than=30) == 31


def test_no_number_is_named_for_no_effect_or_too_many_rounds() -> None:
    assert rounds_needed(0.0, 0.1) is None
    assert rounds_needed(1e-6, 0.1) is None


def test_about_half_of_the_experiments_tell_at_the_number_named() -> None:
    generator, rounds = np.random.default_rng(5), rounds_needed(0.05, 0.1)
    assert rounds is not None
    told = 0
    for _ in range(600):
        a = np.exp(generator.normal(0.05, 0.1, size=rounds))
        told += paired_ratio(a.tolist(), [1.0] * rounds).excludes_one
    assert 0.4 < told / 600 < 0.7


def test_equal_sides_are_told_apart_in_one_of_twenty_experiments() -> None:
    generator = np.random.default_rng(6)
    wrong = 0
    for _ in range(2000):
        a, b = np.exp(generator.normal(0, 0.02, size=(2, 5))).tolist()
        wrong += paired_ratio(a, b).excludes_one
    assert 0.035 < wrong / 2000 < 0.065


def test_undecided_ratio_names_more_rounds_than_it_had() -> None:
    ratio = paired_ratio([1.0, 1.1, 0.95, 1.08], [1.0] * 4)
    assert not ratio.excludes_one
    assert ratio.rounds_needed is not None and ratio.rounds_needed > 4
    many = paired_ratio([math.exp(0.01 * (k % 5 - 1.8)) for k in range(20)], [1.0] * 20)
    assert many.interval is not None and many.interval.method == "bootstrap-t"


def test_spread_is_relative_to_the_median() -> None:
    assert relative_spread([9.0, 10.0, 12.0]) == pytest.approx(0.3)
    assert relative_spread([10.0]) is None
    assert relative_spread([-1.0, 0.0, 1.0]) is None
