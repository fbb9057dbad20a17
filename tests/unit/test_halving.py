"""Successive halving on made-up objectives whose best candidate is known."""

import random

import pytest

from commwall.measure.tuning.halving import (
    Costs,
    Halving,
    Schedule,
    least_time_s,
    rung_sizes,
    schedule_within,
)

GAINS = {"a": 0.0, "b": 0.05, "c": 0.12, "d": 0.30, "e": 0.24, "f": -0.1, "g": 0.2, "h": 0.1}
"""Logarithms of true gains; d is the best, e is 6 % behind."""
NOISE, WINDOW_S, LEAST_S = 0.03, 0.5, 0.2
FREE = Costs(rung_s=0, candidate_s=0, windows=1)


class Noisy:
    """Measures a gain with noise that falls with the root of the window, and counts its time."""

    def __init__(self, seed: int) -> None:
        self._random, self.spent_s = random.Random(seed), 0.0

    def __call__(self, candidates: tuple[str, ...], window_s: float) -> dict[str, float]:
        self.spent_s += len(candidates) * window_s
        deviation = NOISE * (WINDOW_S / window_s) ** 0.5
        return {c: self._random.gauss(GAINS[c], deviation) for c in candidates}


@pytest.mark.parametrize(("costs", "within_s"), [(FREE, 16.0), (Costs(2, 3, 1), 55.0)])
def test_the_best_is_found_within_the_time_in_19_of_20_searches(
    costs: Costs, within_s: float
) -> None:
    schedule, found = schedule_within(len(GAINS), within_s, costs, LEAST_S), []
    assert schedule is not None
    sizes = rung_sizes(len(GAINS), schedule.factor)
    besides_s = len(sizes) * costs.rung_s + sum(sizes) * costs.candidate_s
    for seed in range(400):
        noisy = Noisy(seed)
        found.append(Halving(noisy).search(tuple(GAINS), schedule))
        assert noisy.spent_s + besides_s == pytest.approx(within_s)
    assert found.count("d") > 0.95 * len(found)


def test_a_first_look_alone_would_not_find_it() -> None:
    """Or the test above would show nothing."""
    found = []
    for seed in range(400):
        seen = Noisy(seed)(tuple(GAINS), 0.05)
        found.append(max(seen, key=lambda c: seen[c]))
    assert found.count("d") < 0.9 * len(found)


def test_what_cannot_be_measured_is_dropped() -> None:
    halving = Halving(lambda left, _: {c: GAINS[c] for c in left if c != "d"})
    assert halving.search(tuple(GAINS), Schedule(2, 1.0)) == "e"
    nothing = Halving[str](lambda left, _: {})
    assert nothing.search(("a",), Schedule(2, 1.0)) is None


def test_earlier_rungs_still_count() -> None:
    scores = iter([{"a": 0.1, "b": 0.4}, {"b": 0.1}])
    halving = Halving[str](lambda left, _: next(scores))
    assert halving.search(("a", "b"), Schedule(2, 1.0)) == "b"
    assert halving.score("b") == pytest.approx((1 * 0.4 + 2 * 0.1) / 3)


def test_the_best_is_measured_once_more_alone() -> None:
    halving = Halving(lambda left, _: {c: GAINS[c] for c in left})
    halving.search(tuple(GAINS), Schedule(2, 1.0))
    assert [rung.window_s for rung in halving.rungs] == [1, 2, 4, 8]
    assert [len(rung.scores) for rung in halving.rungs] == [8, 4, 2, 1]


@pytest.mark.parametrize(
    ("count", "factor", "sizes"), [(1, 2, (1,)), (5, 2, (5, 3, 2, 1)), (8, 4, (8, 2, 1))]
)
def test_each_rung_keeps_the_best(count: int, factor: int, sizes: tuple[int, ...]) -> None:
    assert rung_sizes(count, factor) == sizes


def test_the_gentlest_schedule_that_the_time_allows_is_taken() -> None:
    costs = Costs(rung_s=5, candidate_s=2, windows=2)
    # By 2: rungs of 8, 4, 2, 1 take 20 + 30 s, windows 2 x 32. By 3: 8, 3, 1 take 15 + 24 s.
    assert schedule_within(8, 82.0, costs, 0.5) == (2, 0.5)
    by_3 = schedule_within(8, 81.0, costs, 0.5)
    assert by_3 is not None and by_3.factor == 3
    least_s = least_time_s(8, costs, 0.5)
    assert schedule_within(8, least_s, costs, 0.5) is not None
    assert schedule_within(8, least_s - 0.1, costs, 0.5) is None


def test_without_time_for_another_rung_the_best_so_far_is_taken() -> None:
    halving = Halving(lambda left, _: {c: GAINS[c] for c in left})
    best = halving.search(tuple(GAINS), Schedule(2, 1.0), lambda count, window_s: count > 2)
    assert (best, [len(rung.scores) for rung in halving.rungs]) == ("d", [8, 4])
    assert not halving.confirmed
