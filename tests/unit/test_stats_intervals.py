"""Intervals: against scipy, and by simulation with a fixed seed."""

import math

import numpy as np
import pytest
from scipy.special import stdtrit

from commwall.stats.intervals import BOOTSTRAP_FROM, geometric_interval, mean_interval, t_quantile


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 14, 29, 300, 301, 5000])
def test_t_quantile_is_scipys(confidence: float, degrees: int) -> None:
    expected = stdtrit(degrees, (1 + confidence) / 2)
    assert t_quantile(confidence, degrees) == pytest.approx(expected, rel=1e-8)


def test_interval_by_hand() -> None:
    # mean 2, deviation 1, t(0.95, 2) = 4.302653: half-width 4.302653 / sqrt(3) = 2.484138
    interval = mean_interval([1.0, 2.0, 3.0])
    assert interval is not None
    assert interval.low == pytest.approx(2 - 2.484138, abs=1e-5)
    assert interval.high == pytest.approx(2 + 2.484138, abs=1e-5)


def test_one_value_has_no_interval_and_none_is_an_error() -> None:
    assert mean_interval([3.0]) is None
    with pytest.raises(ValueError, match="0 values"):
        mean_interval([])
    with pytest.raises(ValueError, match="level"):
        mean_interval([1.0, 2.0], confidence=1.0)


@pytest.mark.parametrize(("n", "method"), [(BOOTSTRAP_FROM - 1, "student-t"), (15, "bootstrap-t")])
def test_method_changes_at_fifteen(n: int, method: str) -> None:
    interval = mean_interval([float(k % 4) for k in range(n)])
    assert interval is not None
    assert interval.method == method


def test_bootstrap_depends_on_its_seed_only() -> None:
    values = np.random.default_rng(3).exponential(size=20).tolist()
    assert mean_interval(values, seed=1) == mean_interval(values, seed=1)
    assert mean_interval(values, seed=1) != mean_interval(values, seed=2)


@pytest.mark.parametrize("values", [[0.5] * 20, [0.1 + 0.2, 0.3, 0.3], [0.0, 0.0]])
def test_values_without_spread_have_no_interval(values: list[float]) -> None:
    assert mean_interval(values) is None
    assert geometric_interval([value + 1 for value in values]) is None


@pytest.mark.parametrize(
    ("values", "method"),
    [
        ([0.0] * 14 + [0.05], "student-t"),
        ([math.log(1.1)] * 14 + [math.log(1.155)], "student-t"),  # rounding leaves no exact zero
        ([0.0] * 12 + [0.05] * 3, "student-t"),  # (12 / 15)^15 = 3.5 % of all resamples are alike
        ([0.0] * 11 + [0.05] * 4, "bootstrap-t"),  # 1.0 %
    ],
)
def test_few_distinct_values_have_students_interval(values: list[float], method: str) -> None:
    interval = mean_interval(values)
    assert interval is not None and interval.method == method
    assert interval.high - interval.low < 0.1


def test_cover_of_values_that_a_coarse_clock_rounds() -> None:
    generator, hits = np.random.default_rng(5), 0
    for seed in range(800):
        interval = mean_interval(np.round(generator.normal(0, 0.35, size=15)).tolist(), seed=seed)
        hits += interval is None or interval.low <= 0 <= interval.high
    assert hits / 800 >= 0.94


@pytest.mark.parametrize(
    ("n", "simulations", "draw", "least", "most"),
    [
        (5, 4000, "normal", 0.94, 0.96),
        (15, 800, "normal", 0.93, 0.97),
        (15, 800, "exponential", 0.92, 0.97),
    ],
)
def test_cover_of_the_95_percent_interval(
    n: int, simulations: int, draw: str, least: float, most: float
) -> None:
    generator = np.random.default_rng(20)
    mean = {"normal": 0.0, "exponential": 1.0}[draw]
    hits = 0
    for seed in range(simulations):
        interval = mean_interval(getattr(generator, draw)(size=n).tolist(), seed=seed)
        assert interval is not None
        hits += interval.low <= mean <= interval.high
    assert least <= hits / simulations <= most


def test_geometric_interval_by_hand_and_above_zero() -> None:
    # logarithms -1, 0, 1: mean 0, deviation 1, half-width 2.484138 as above
    interval = geometric_interval([np.exp(-1), 1.0, np.exp(1)])
    assert interval is not None
    assert interval.high == pytest.approx(np.exp(2.484138), rel=1e-5)
    assert interval.low == pytest.approx(1 / interval.high)
    wide = geometric_interval([1.0, 20.0])
    arithmetic = mean_interval([1.0, 20.0])
    assert wide is not None and arithmetic is not None
    assert arithmetic.low < 0 < wide.low


def test_wider_for_more_confidence_and_shifted_with_the_values() -> None:
    values = [0.1, 0.4, 0.2, 0.9, 0.3]
    narrow, wide = (mean_interval(values, confidence=c) for c in (0.8, 0.99))
    moved = mean_interval([value + 10 for value in values], confidence=0.8)
    assert narrow is not None and wide is not None and moved is not None
    assert wide.low < narrow.low < narrow.high < wide.high
    assert moved.low == pytest.approx(narrow.low + 10)


def test_values_too_far_apart_have_no_interval() -> None:
    # ln of the ratio is 180, the deviation 127; half-width 12.706 x 127 / sqrt(2) = 1140 > 700
    assert geometric_interval((1e-60, 1e18)) is None
    assert geometric_interval((1.0, 4.0)) is not None
