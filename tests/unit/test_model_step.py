"""The model of a step, by hand: times in ms, so that every number can be followed."""

from dataclasses import replace

import pytest

from commwall.model.bucketed import BucketedStep
from commwall.model.step import Exchange, Timeline, run_step
from commwall.model.sweep import UNKNOWN, Contention, Sweep, SweptLink
from commwall.model.traits import Traits
from commwall.schema.errors import UnitError

STEP = Timeline(ready_s=(4, 8), backward_end_s=10, step_s=12)
SIZES = (1000, 3000)
IDEAL = SweptLink(Sweep((1000, 3000), (1, 3)), Contention((1000,), (0.0,), (1.0,)))
"""1 and 3 ms, and nothing is taken from anybody."""
NVLINK = SweptLink(Sweep((1000, 3000), (1, 3)), Contention((1000,), (0.5,), (1.0,)))
STAGED = SweptLink(Sweep((1000, 3000), (2, 6)), Contention((1000,), (0.2,), (1.25,)))
WORK = BucketedStep(STEP, SIZES, ranks=2)


def test_ideal_overlap_leaves_the_tail_of_the_last_bucket() -> None:
    found = run_step(STEP, (Exchange(1), Exchange(3)))
    # 4 to 5, 8 to 11; compute is over at 10, the optimiser takes 2
    assert found.exchanges_s == ((4, 5), (8, 11))
    assert (found.compute_end_s, found.step_s) == (10, 13)


def test_a_bucket_waits_for_the_one_before() -> None:
    found = run_step(STEP, (Exchange(5), Exchange(3)))
    assert found.exchanges_s == ((4, 9), (9, 12))
    assert found.step_s == 14


def test_compute_loses_what_the_exchange_takes() -> None:
    # bucket 0 from 4 to 5 costs half a second of compute; bucket 1 is ready at 8.5 and ends at
    # 11.5 with compute at 9.5, so compute ends at 12
    found = WORK.step(NVLINK, Traits(1.0))
    assert found.exchanges_s == ((4, 5), (8.5, 11.5))
    assert (found.compute_end_s, found.step_s) == (12, 14)


def test_the_exchange_takes_longer_beside_compute_only() -> None:
    # bucket 0 takes 2.5: 4 to 6.5, compute at 6; bucket 1 is ready at 8.5; the last 2 of compute
    # take 2.5, in which 2 of its 6 are done; the other 4 are alone: 15, and the optimiser
    found = WORK.step(STAGED, Traits(1.0))
    assert found.exchanges_s == ((4, 6.5), (8.5, 15))
    assert (found.compute_end_s, found.step_s) == (11, 17)


def test_an_exchange_that_takes_all_compute_stops_it() -> None:
    # 4 to 5 and, after 4 more of compute, 9 to 12; the last 2 of compute follow
    found = run_step(STEP, (Exchange(1, lost=1), Exchange(3, lost=1)))
    assert found.exchanges_s == ((4, 5), (9, 12))
    assert found.step_s == 16


def test_one_process_exchanges_nothing() -> None:
    alone = replace(WORK, ranks=1)
    assert alone.step(STAGED, Traits(5.0)).step_s == STEP.step_s
    assert alone.step(STAGED, Traits(5.0)).exchanges_s == ()
    assert alone.traits(STAGED, STEP.step_s + 1, 0.1) == Traits()  # so its step tells nothing


def test_an_endless_bandwidth_gives_the_packed_step() -> None:
    fast = SweptLink(Sweep((1000, 3000), (0.0, 0.0)), STAGED.beside)
    assert WORK.step(fast, Traits(1.0)).step_s == STEP.step_s


def test_no_bandwidth_gives_the_exchange_alone() -> None:
    slow = SweptLink(Sweep((1000, 3000), (1e9, 3e9)), STAGED.beside)
    assert WORK.step(slow, Traits(1.0)).step_s == pytest.approx(4e9, rel=1e-8)


def test_without_contention_sensitivity_plays_no_part() -> None:
    assert WORK.step(IDEAL, Traits(0.0)).step_s == WORK.step(IDEAL, Traits(7.0)).step_s == 13


@pytest.mark.parametrize("link", [NVLINK, STAGED])
@pytest.mark.parametrize("sensitivity", [0.25, 1.0, 1.75])
def test_traits_give_the_measured_step(link: SweptLink, sensitivity: float) -> None:
    measured_s = WORK.step(link, Traits(sensitivity)).step_s
    found = WORK.traits(link, measured_s, 1e-4)
    assert WORK.step(link, found).step_s == pytest.approx(measured_s, abs=1e-4)


def test_a_dragged_exchange_takes_longer_beside_compute() -> None:
    # a stretch of 1.25 x 1.2: bucket 0 takes 3 ms, 4 to 7 with compute at 6.4; bucket 1 from 8.6,
    # compute's last 2 ms take 2.5, in which 1.667 of its 6 are done, the rest is alone
    found = WORK.step(STAGED, Traits(1.0, 0.2))
    assert found.exchanges_s[0] == pytest.approx((4, 7))
    assert found.step_s == pytest.approx(8.6 + 2.5 + 6 - 2.5 / 1.5 + 2)


def test_an_exchange_is_never_faster_than_alone() -> None:
    assert Exchange(1, 0.2, 1.25).beside(Traits(1, -0.5)) == Exchange(1, 0.2, 1)


def test_the_step_never_gets_shorter_with_more_contention() -> None:
    for steps in (
        [WORK.step(STAGED, Traits(0.1 * tenths)).step_s for tenths in range(60)],
        [WORK.step(STAGED, Traits(1, 0.1 * tenths)).step_s for tenths in range(-10, 60)],
    ):
        assert steps == sorted(steps)
        assert steps[0] < steps[-1]


def test_times_of_a_sweep_join_its_sizes() -> None:
    sweep = Sweep((1000, 3000, 5000), (1, 3, 4))
    assert [sweep.at(size) for size in (10, 1000, 2000, 4000, 5000)] == [1, 1, 2, 3.5, 4]
    assert sweep.at(9000) == 6  # at the rate of the last two sizes


def test_noise_never_speeds_anything_up() -> None:
    noisy = Contention((1000, 3000), (-0.1, 0.3), (0.9, 1.4))
    assert noisy.at(1000) == (0.0, 1.0)
    assert noisy.at(2000) == pytest.approx((0.1, 1.15))


def test_an_unmeasured_contention_is_the_sensitivity_itself() -> None:
    (one, _) = SweptLink(STAGED.alone, UNKNOWN).exchanges(SIZES)
    assert one.beside(Traits(0.3)) == replace(one, lost=0.3, stretch=1.3)
    assert one.beside(Traits(3)) == replace(one, lost=1.0, stretch=4.0)  # no more than all is lost


def test_joined_buckets_are_ready_with_their_last_part() -> None:
    work = BucketedStep(Timeline((1, 2, 3, 5), 6, 7), (10, 10, 10, 5), ranks=2)
    joined = work.merged(20)
    assert (joined.timeline.ready_s, joined.bucket_bytes) == ((2, 5), (20, 15))
    assert work.merged(10) == work
    assert work.merged(1000).bucket_bytes == (35,)
    assert work.merged(1000).timeline.ready_s == (5,)


@pytest.mark.parametrize("times", [((4, 11), 10, 12), ((4, 8), 10, 9), ((-1, 8), 10, 12)])
def test_times_that_contradict_each_other_are_refused(times: tuple) -> None:
    with pytest.raises(UnitError, match="contradict"):
        Timeline(*times)


@pytest.mark.parametrize("wrong", [(-1, 0, 1), (1, 1.5, 1), (1, -0.1, 1), (1, 0, 0.9)])
def test_an_impossible_exchange_is_refused(wrong: tuple[float, float, float]) -> None:
    with pytest.raises(UnitError, match="cannot be"):
        Exchange(*wrong)


def test_every_bucket_needs_an_exchange() -> None:
    with pytest.raises(UnitError, match="one exchange for each bucket"):
        run_step(STEP, (Exchange(1),))
