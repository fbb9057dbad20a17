"""Training steps on real GPUs, in every step mode: invariants and injected faults."""

from pathlib import Path
from statistics import median
from typing import get_args

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

from commwall.measure.supervisor import LaunchOutcome
from commwall.schema.case import CAPTURING, LEGS, MODELS, StepMode, TrainingCase, Windows
from tests.gpu.launching import RANKS, launched, use_faulty_copy, values

MODES: tuple[StepMode, ...] = get_args(StepMode)
IN_ALL_MODES = ("bert", "resnet")
"""Compiling takes seconds a case: the other families step in the default mode alone."""
SLOW_HOST = """

_swift = Graph.replay


def _slow(self):
    import time

    time.sleep(0.05)
    _swift(self)


Graph.replay = _slow
"""
IN_STEP = """

_right = Workload.step


def _faulty(self, model):
    _right(self, model)
    {fault}


Workload.step = _faulty
"""


def case(model: str = "bert", mode: StepMode = "compiled_captured") -> TrainingCase:
    """A small case of a model."""
    of_tokens = MODELS[model].samples == "sequence"  # type: ignore[index]
    return TrainingCase(
        model=model,  # type: ignore[arg-type]
        preset="demo",
        batch_per_gpu=4,
        sequence_length=64 if of_tokens else None,
        precision="bfloat16",
        step_mode=mode,
        dataset_samples=1,
        windows=Windows(full_s=0.5, other_s=0.2, min_steps=5, warmup_max_s=1),
    )


def case_name(model: str, mode: StepMode) -> str:
    """Name of the case in the launch."""
    return f"{model}-in-{mode}".replace("_", "-")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> LaunchOutcome:
    cases = {
        case_name(model, mode): case(model, mode)
        for model in MODELS
        for mode in (MODES if model in IN_ALL_MODES else MODES[-1:])
    }
    return launched(tmp_path_factory.mktemp("training"), "training", cases)


def test_every_model_steps(outcome: LaunchOutcome) -> None:
    assert outcome.cause is None, outcome.detail
    assert {result.case: result.detail for result in outcome.results if result.status != "ok"} == {}
    modes_more = len(IN_ALL_MODES) * (len(MODES) - 1)
    assert len(outcome.results) == len(MODELS) + modes_more


def test_modes_compute_the_same(outcome: LaunchOutcome) -> None:
    for model in IN_ALL_MODES:
        names = [case_name(model, mode) for mode in MODES]
        losses = [values(r, "loss") for r in outcome.results if r.case in names]
        assert len(losses) == len(MODES)
        for other in losses[1:]:
            assert other == pytest.approx(losses[0], rel=0.02), model  # bfloat16 has 8 bits


def test_recorded_steps_are_checked_and_their_host_gap_is_measured(outcome: LaunchOutcome) -> None:
    results = {result.case: result for result in outcome.results}
    for model in IN_ALL_MODES:
        for mode in MODES:
            result, recorded = results[case_name(model, mode)], mode in CAPTURING
            checks = {check.name for check in result.checks if check.passed}
            assert ("recorded_step_equals_plain" in checks) is recorded, result.case
            for leg in LEGS:
                assert bool(values(result, "queued_step_time_s", leg=leg)) is recorded, result.case


def test_buckets_are_ready_within_the_step_in_every_mode(outcome: LaunchOutcome) -> None:
    for result in outcome.results:
        ready = {
            (series.rank, series.bucket): median(series.values)
            for series in result.series
            if series.metric == "bucket_ready_time_s"
        }
        assert result.runtime is not None
        assert {bucket for _, bucket in ready} == set(range(len(result.runtime.bucket_bytes)))
        for rank in range(RANKS):
            in_order = [at_s for (of_rank, _), at_s in sorted(ready.items()) if of_rank == rank]
            assert in_order[0] > 0 and in_order == sorted(in_order), result.case
        over_s = median(values(result, "backward_end_time_s", leg="packed"))
        assert max(ready.values()) <= 1.02 * over_s, result.case
        if not values(result, "queued_step_time_s", leg="packed"):
            continue  # with the host in the way, steps that are waited for are longer
        assert over_s < 1.1 * median(values(result, "step_time_s", leg="packed")), result.case


def test_a_slow_host_is_seen_in_recorded_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_faulty_copy(tmp_path, monkeypatch, "graphs.py", SLOW_HOST)
    (result,) = launched(tmp_path, "training", {"case": case()}).results
    assert result.status == "ok", result.detail
    assert median(values(result, "step_time_s", leg="full")) > 0.05
    assert median(values(result, "queued_step_time_s", leg="full")) < 0.05
    assert ("host_bound", "full") in {(mark.name, mark.leg) for mark in result.marks}


def test_a_wrong_recording_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = "if torch.cuda.is_current_stream_capturing(): self.gradients()[0].mul_(2)"
    use_faulty_copy(tmp_path, monkeypatch, "legs.py", IN_STEP.format(fault=fault))
    (result,) = launched(tmp_path, "training", {"case": case()}).results
    assert (result.status, result.cause) == ("failed", "check_failed")
    assert result.checks[-1].name == "recorded_step_equals_plain"


def test_a_step_that_waits_for_the_device_cannot_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_faulty_copy(tmp_path, monkeypatch, "legs.py", IN_STEP.format(fault="self.loss.item()"))
    (result,) = launched(tmp_path, "training", {"case": case()}).results
    assert (result.status, result.cause) == ("failed", "unsupported")
    assert "cannot be recorded in a CUDA graph" in (result.detail or "")
