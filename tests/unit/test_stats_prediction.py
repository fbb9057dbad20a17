"""Prediction intervals: a value by hand, the cover that is promised, and what predicts nothing."""

import math
import random
from statistics import fmean

import pytest

from commwall.stats.prediction import prediction


def test_an_interval_by_hand() -> None:
    # logarithms ln 2 + (0, 0, 0, -d, d), d = ln 1.25: deviation d / sqrt(2); for two new rounds
    # half-width 2.7764 x 0.15779 x sqrt(1/5 + 1/2) = 0.36653
    found = prediction([2, 2, 2, 1.6, 2.5])
    assert found is not None
    assert found.n == 5
    low, high = found.interval(2, 0.95)
    assert (low, high) == pytest.approx((2 * math.exp(-0.36653), 2 * math.exp(0.36653)), rel=1e-4)


def test_more_new_rounds_narrow_it_but_never_below_the_old_ones_doubt() -> None:
    found = prediction([1.0, 1.1, 1.21])
    assert found is not None
    widths = [math.log(high / low) for low, high in (found.interval(m, 0.95) for m in (1, 2, 9))]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] > 2 * 4.30 * math.log(1.1) / math.sqrt(3)


@pytest.mark.parametrize(("n", "m"), [(3, 2), (5, 1), (5, 2)])
def test_the_cover_is_the_one_promised(n: int, m: int) -> None:
    generator, trials, inside = random.Random(n * 10 + m), 4000, 0
    for _ in range(trials):
        old = [math.exp(generator.gauss(0.3, 0.02)) for _ in range(n)]
        new = fmean(generator.gauss(0.3, 0.02) for _ in range(m))
        found = prediction(old)
        assert found is not None
        low, high = found.interval(m, 0.95)
        inside += low <= math.exp(new) <= high
    # a share of 0.95 of 4000 trials has a standard error of 0.0034
    assert inside / trials == pytest.approx(0.95, abs=0.012)


@pytest.mark.parametrize("values", [[3.0], [2.0, 2.0, 2.0]])
def test_one_round_and_rounds_without_spread_predict_nothing(values: list[float]) -> None:
    assert prediction(values) is None


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, -1.0]])
def test_what_has_no_logarithm_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError):
        prediction(values)
