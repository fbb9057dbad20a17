"""Another batch and larger buckets, by hand; times in ms."""

from dataclasses import replace

import pytest

from commwall.analysis.steps.fits import FittedStep, fit_steps
from commwall.analysis.steps.inputs import MeasuredStep, StepInputs
from commwall.analysis.steps.links import PlatformLink
from commwall.analysis.steps.transfers import Transfer, transfers
from commwall.model.bucketed import BucketedStep
from commwall.model.step import Timeline
from commwall.model.sweep import Contention, Sweep
from tests.samples import CASE

SWEEP = Sweep((1000, 3000, 4000), (1, 3, 4))
LINK = PlatformLink("sweep", (SWEEP,), (Contention((1000,), (0.5,), (1.0,)),))
SMALL = BucketedStep(Timeline((4, 8), 10, 12), (1000, 3000), ranks=2)
"""With that link and a sensitivity of 1 it takes 14 ms."""
LARGE = BucketedStep(Timeline((8, 16), 20, 22), (1000, 3000), ranks=2)
"""The last bucket goes from 16.5 to 19.5, compute is at 17.5 then, over at 22, the step at 24."""
CASES = {
    "b4": CASE,
    "b8": CASE.model_copy(update={"batch_per_gpu": 8}),
    "one-bucket": CASE.model_copy(update={"bucket_bytes": 2 * CASE.bucket_bytes}),
    "other-seed": CASE.model_copy(update={"seed": 1}),
    "both": CASE.model_copy(update={"batch_per_gpu": 8, "bucket_bytes": 2 * CASE.bucket_bytes}),
}


def fits_of(**steps: MeasuredStep) -> dict[str, tuple[FittedStep, ...]]:
    named = {("here", name.replace("_", "-")): (step,) for name, step in steps.items()}
    return fit_steps(StepInputs(named, {"here": LINK}, {}), "here")


def only(**steps: MeasuredStep) -> dict[tuple[str, str], Transfer]:
    return {(own.source, own.target): own for own in transfers(CASES, fits_of(**steps))}


def test_another_batch_has_its_own_compute_and_the_firsts_traits() -> None:
    # in truth it takes a millisecond more than the first batch would make one think
    found = only(b4=MeasuredStep(SMALL, 14, 4), b8=MeasuredStep(LARGE, 25, 4))
    assert set(found) == {("b4", "b8"), ("b8", "b4")}
    own = found["b4", "b8"]
    assert own.kind == "batch"
    assert (own.packed_s, own.measured_packed_s) == pytest.approx((22, 22))
    assert (own.step_s, own.measured_s) == pytest.approx((24, 25), rel=1e-5)


def test_larger_buckets_are_joined_and_nothing_else_of_them_is_taken() -> None:
    one = BucketedStep(Timeline((9,), 11, 13), (4000,), ranks=2)
    found = only(b4=MeasuredStep(SMALL, 14, 4), one_bucket=MeasuredStep(one, 16, 5))
    assert set(found) == {("b4", "one-bucket")}
    own = found["b4", "one-bucket"]
    assert own.kind == "buckets"
    assert (own.packed_s, own.measured_packed_s) == pytest.approx((12, 13))
    # closed from 128 MiB on, all of it is one bucket, which ends with compute
    assert (own.step_s, own.measured_s) == pytest.approx((14, 16), rel=1e-5)


def test_joined_buckets_by_hand() -> None:
    fits = fits_of(b4=MeasuredStep(SMALL, 14, 4))["b4"]
    # one bucket of 4 ms from 8 on: compute's last 2 ms take 4, so both are over at 12
    assert fits[0].joined(4000) == pytest.approx(14, abs=1e-4)
    assert fits[0].joined(1000) == pytest.approx(14, abs=1e-4)
    later = replace(fits[0], rest_s=0.5)
    assert later.joined(4000) == pytest.approx(14.5, abs=1e-4)


def test_a_round_that_noise_leaves_no_time_predicts_nothing() -> None:
    # an exchange of 40 ms would make it a step of 50 and more: the rest is -36 ms
    noisy = MeasuredStep(SMALL, 14, 40)
    assert set(only(b4=noisy, b8=MeasuredStep(LARGE, 25, 4))) == {("b8", "b4")}
    fit = fits_of(b4=noisy)["b4"][0]
    assert fit.over(fit.link) == pytest.approx(14)
    assert fit.over(fits_of(b8=MeasuredStep(LARGE, 25, 4))["b8"][0].link) is None


def test_a_step_may_be_shorter_than_its_packed_one_by_what_legs_differ() -> None:
    # over such a link an exchange costs hardly anything; 12 ms are those of the packed step
    fit = fits_of(b4=MeasuredStep(SMALL, 14, 4))["b4"][0]
    for left, known in ((11.9, True), (11.5, True), (11.3, False)):
        own = replace(fit, rest_s=left - 14)
        assert (own.over(own.link) is not None) is known


def test_cases_that_differ_otherwise_predict_nothing() -> None:
    step = MeasuredStep(SMALL, 14, 4)
    assert only(b4=step, other_seed=step) == {}
    assert only(b4=step, both=step) == {}
