"""Ratios of rounds that do not belong together."""

import math
import random
from statistics import fmean

import pytest

from commwall.stats.intervals import t_quantile
from commwall.stats.unpaired import unpaired_ratio


def test_equal_spreads_give_the_interval_of_student_for_two_samples() -> None:
    """Logs -1, 0, 1 and 2, 3, 4: variance 1, error sqrt(2 / 3), Welch's degrees 4."""
    before = [math.exp(x) for x in (-1, 0, 1)]
    after = [math.exp(x) for x in (2, 3, 4)]
    found = unpaired_ratio(after, before, confidence=0.9)
    half = t_quantile(0.9, 4) * math.sqrt(2 / 3)
    assert found.centre == pytest.approx(math.exp(3))
    assert found.interval is not None
    assert math.log(found.interval.low) == pytest.approx(3 - half)
    assert math.log(found.interval.high) == pytest.approx(3 + half)


def test_turning_the_ratio_round_turns_the_interval_round() -> None:
    a, b = (1.0, 1.1, 1.3), (2.0, 2.5, 2.1, 2.2)
    there, back = unpaired_ratio(a, b).interval, unpaired_ratio(b, a).interval
    assert there and back
    assert there.low == pytest.approx(1 / back.high)


@pytest.mark.parametrize(("after", "before"), [((1.0,), (1.0, 2.0)), ((1.0, 1.0), (2.0, 2.0))])
def test_what_does_not_spread_has_no_interval(
    after: tuple[float, ...], before: tuple[float, ...]
) -> None:
    assert unpaired_ratio(after, before).interval is None


def test_one_side_without_spread_counts_the_other_one_s() -> None:
    found = unpaired_ratio((1.0, 1.0, 1.0), (1.0, 1.1)).interval
    assert found is not None
    assert found.low < 1 < found.high


@pytest.mark.parametrize(("after", "before"), [((), (1.0,)), ((1.0,), ()), ((0.0,), (1.0,))])
def test_nothing_to_compare_is_an_error(
    after: tuple[float, ...], before: tuple[float, ...]
) -> None:
    with pytest.raises(ValueError):
        unpaired_ratio(after, before)


@pytest.mark.parametrize("rounds", [(3, 5, 0.03), (5, 5, 0.01), (2, 10, 0.02)])
def test_the_interval_covers_what_it_promises(rounds: tuple[int, int, float]) -> None:
    """Rounds of unequal number and spread; 95 % promised, rounded-down degrees make it wider."""
    n, m, deviation = rounds
    source = random.Random(1)

    def covered() -> bool:
        before = [math.exp(source.gauss(0, 0.01)) for _ in range(n)]
        after = [math.exp(source.gauss(0.1, deviation)) for _ in range(m)]
        found = unpaired_ratio(after, before).interval
        return found is not None and found.low <= math.exp(0.1) <= found.high

    assert 0.935 < fmean(covered() for _ in range(2000)) <= 1
