"""Mitigations on two real GPUs: every hook, recorded and not; invariants, never speeds."""

from pathlib import Path
from statistics import median

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available() or torch.cuda.device_count() < 2:
    pytest.skip("needs two CUDA devices", allow_module_level=True)

from commwall.measure.supervisor import LaunchOutcome
from commwall.schema.case import Windows
from commwall.schema.mitigation import Mitigation, PriceCase, StepCase
from tests.gpu.launching import launched, values

RECORDED = {
    "bfloat16": Mitigation(exchange="bfloat16"),
    "float16": Mitigation(exchange="float16"),
    "int8": Mitigation(exchange="int8"),
    "onebit": Mitigation(exchange="onebit"),
    "buckets": Mitigation(bucket_bytes=2**20),
    "static": Mitigation(static_graph=True),
    "copied": Mitigation(copied_gradients=True),
    "overlap": Mitigation(overlap_optimizer=True),
    "both": Mitigation(overlap_optimizer=True, exchange="bfloat16"),
    "accumulate": Mitigation(accumulate=2),
    "local": Mitigation(local_steps=2, outer="nesterov"),
    "batch": Mitigation(batch_times=2),
    "eager": Mitigation(step_mode="eager"),
    "powersgd": Mitigation(exchange="powersgd", rank=2, step_mode="eager"),
}


def step(mitigation: Mitigation) -> StepCase:
    """A small step, recorded where the mitigation has no mode of its own."""
    return StepCase(
        model="bert", preset="demo", batch_per_gpu=4, sequence_length=64, precision="bfloat16",
        step_mode="captured", dataset_samples=1, bucket_bytes=2**18, mitigation=mitigation,
        windows=Windows(full_s=0.4, other_s=0.2, min_steps=6, warmup_max_s=1),
    )  # fmt: skip


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> LaunchOutcome:
    cases = {name: step(mitigation) for name, mitigation in RECORDED.items()}
    return launched(tmp_path_factory.mktemp("mitigations"), "mitigations", cases)


def test_every_hook_can_be_recorded(outcome: LaunchOutcome) -> None:
    assert outcome.cause is None, outcome.detail
    assert {r.case: r.detail for r in outcome.results if r.status != "ok"} == {}
    assert len(outcome.results) == len(RECORDED)


def test_weights_agree_after_replays_and_a_replay_is_the_plain_step(
    outcome: LaunchOutcome,
) -> None:
    for result in outcome.results:
        checks = {check.name: check.passed for check in result.checks}
        assert checks["mitigated_sound_after_timing"] and all(checks.values())
    (bfloat16,) = [r for r in outcome.results if r.case == "bfloat16"]
    named = [check.name for check in bfloat16.checks]
    assert named.count("recorded_step_equals_plain") == 2


def test_one_plain_step_is_recorded_case_after_case(outcome: LaunchOutcome) -> None:
    begun_anew = {
        result.case
        for result in outcome.results
        if "plain_step_begun_anew" in {check.name for check in result.checks}
    }
    assert begun_anew == RECORDED.keys() - {next(iter(RECORDED))}


def test_two_batches_take_longer_than_one_and_less_than_two_steps(outcome: LaunchOutcome) -> None:
    (found,) = [r for r in outcome.results if r.case == "accumulate"]
    plain, own = (median(values(found, "step_time_s", leg=leg)) for leg in ("full", "mitigated"))
    assert plain < own < 2.1 * plain


def test_the_price_does_not_need_the_gpus(tmp_path: Path) -> None:
    case = PriceCase(mitigation=Mitigation(exchange="bfloat16"), seeds=1, batches=16)
    outcome = launched(tmp_path, "mitigations", {"price": case})
    (result,) = outcome.results
    assert result.status == "ok", result.detail
    errors = values(result, "gradient_error", leg="mitigated")
    assert errors and max(errors) < 2**-7
