"""What one step tells of a workload, by hand: times in ms."""

import pytest

from commwall.model.bucketed import BucketedStep
from commwall.model.step import Timeline
from commwall.model.sweep import UNKNOWN, Contention, Sweep, SweptLink
from commwall.model.traits import LIKE_A_LOAD, Prior, Traits, most_probable

PRIOR = Prior(Traits(1.0, 0.0), Traits(0.2, 0.5))
LOADED = Contention((1000,), (0.5,), (1.0,))
"""Half of compute is lost beside an exchange, which does not notice."""


def linear(own: Traits) -> float:
    """One spread of sensitivity makes 2 ms of it, one of drag 1 ms."""
    return 100 + 10 * (own.sensitivity - 1) + 2 * own.drag


def of_one_bucket(
    exchange_ms: float, beside: Contention = LOADED
) -> tuple[BucketedStep, SweptLink]:
    """Ready after 2 ms, backward pass over after 6, no optimiser; and a link."""
    step = BucketedStep(Timeline((2,), 6, 6), (1000,), ranks=2)
    return step, SweptLink(Sweep((1000, 2000), (exchange_ms, 2 * exchange_ms)), beside)


def test_each_trait_takes_the_part_that_the_step_owes_to_it() -> None:
    # 9 ms too long; spreads make 2 and 1 ms, doubt is 2 ms: by (2, 1) x 9 / (4 + 1 + 4) spreads
    found = most_probable(PRIOR, linear, 109, 2)
    assert (found.sensitivity, found.drag) == pytest.approx((1.4, 0.5))


def test_no_other_traits_are_more_probable() -> None:
    def unlikely(own: Traits) -> float:
        off = (own.sensitivity - 1) / 0.2, own.drag / 0.5, (109 - linear(own)) / 2
        return sum(each**2 for each in off)

    best = unlikely(most_probable(PRIOR, linear, 109, 2))
    assert best == pytest.approx(4 + 1 + 4)
    for sensitivity, drag in ((1.41, 0.5), (1.39, 0.5), (1.4, 0.52), (1.4, 0.48)):
        assert unlikely(Traits(sensitivity, drag)) > best


def test_a_trusted_step_is_explained_whole() -> None:
    assert linear(most_probable(PRIOR, linear, 109, 1e-3)) == pytest.approx(109, abs=1e-5)
    assert linear(most_probable(PRIOR, linear, 96, 1e-3)) == pytest.approx(96, abs=1e-5)


def test_a_doubtful_step_tells_nothing() -> None:
    found = most_probable(PRIOR, linear, 109, 1e6)
    assert (found.sensitivity, found.drag) == pytest.approx((1, 0), abs=1e-9)


def test_a_step_without_surprise_leaves_the_usual() -> None:
    assert most_probable(PRIOR, linear, 100, 1) == PRIOR.usual


def test_a_step_that_waits_for_its_exchange_tells_drag_alone() -> None:
    # from 2 to 22 ms; what compute loses is hidden: it is over at 10. With a drag of 0.2 its
    # 8 ms beside the exchange carry 8 / 1.2 of the 20, so the step takes 2 + 8 + 13.333
    step, link = of_one_bucket(20)
    assert [step.step(link, Traits(s, 0)).step_s for s in (0.8, 1, 1.2)] == [22, 22, 22]
    assert step.step(link, Traits(1, 0.2)).step_s == pytest.approx(23 + 1 / 3)
    found = step.traits(link, 23 + 1 / 3, 1e-3)
    assert (found.sensitivity, found.drag) == (1, pytest.approx(0.2, abs=1e-5))


def test_a_step_that_hides_its_exchange_tells_both_alike() -> None:
    # 6 ms and the half of what the exchange of 1 ms takes: 6 + 0.5 sensitivity (1 + drag), as
    # much of a fifth of the one as of the other
    step, link = of_one_bucket(1)
    assert step.step(link, Traits(1.2, 0)).step_s == pytest.approx(6.6)
    assert step.step(link, Traits(1, 0.2)).step_s == pytest.approx(6.6)
    found = step.traits(link, 6.605, 1e-4)
    # 0.5 x 1.1 x 1.1
    assert (found.sensitivity, found.drag) == pytest.approx((1.1, 0.1), abs=1e-4)


def test_a_stretch_tells_sensitivity_better_than_drag() -> None:
    # beside a load that the exchange notices, sensitivity moves loss and stretch both
    step, link = of_one_bucket(1, Contention((1000,), (0.5,), (1.5,)))
    found = step.traits(link, 7, 1e-3)
    assert found.sensitivity - 1 > 1.3 * found.drag > 0


def test_a_short_exchange_tells_little() -> None:
    # 0.04 ms of 6 make 0.004 ms of one spread: a surprise of 0.05 ms is the doubt, not the trait
    step, link = of_one_bucket(0.04)
    found = step.traits(link, 6.07, 0.03)
    assert found.sensitivity == pytest.approx(1 + 0.2 * 0.004 * 0.05 / 0.03**2, rel=0.01)


def test_sensitivity_never_falls_below_nothing() -> None:
    step, link = of_one_bucket(1)
    assert step.traits(link, 1.0, 0.01).sensitivity == 0


def test_without_a_load_sensitivity_stands_for_both() -> None:
    # the exchange takes 1 + k ms and k of each: 6 + k (1 + k) is 6.24 at 0.2
    step, link = of_one_bucket(1, UNKNOWN)
    assert step.traits(link, 6, 0.01) == Traits(0, 0)
    assert step.traits(link, 6.24, 1e-4) == Traits(pytest.approx(0.2, abs=1e-4), 0)


def test_a_load_is_what_workloads_are_usually_like() -> None:
    assert LOADED.prior is LIKE_A_LOAD
    assert LIKE_A_LOAD.usual == Traits(1, 0)


def test_traits_stay_usual_where_the_way_leads_to_no_such_step() -> None:
    """Dragged, the first bucket lets compute come past the second, beside which it would lose 0.69
    of each second: the step gets shorter, and much drag makes it long again."""
    uneven = Contention((524288, 2097152), (0.1, 0.69), (1.8, 2.0))
    link = SweptLink(Sweep((524288, 2097152), (3.9, 11.7)), uneven)
    work = BucketedStep(Timeline((5.8, 11.6), 13.16, 16.63), (524288, 2097152), ranks=2)
    usual_s = work.step(link, Traits()).step_s
    assert work.step(link, Traits(1.0, 0.2)).step_s < usual_s
    assert work.traits(link, usual_s - 1.87, 0.139) == Traits()
