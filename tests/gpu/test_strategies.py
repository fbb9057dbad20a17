"""Strategies on two real GPUs: invariants and injected faults, never a golden speed."""

from pathlib import Path
from typing import get_args

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available() or torch.cuda.device_count() < 2:
    pytest.skip("needs two CUDA devices", allow_module_level=True)

from commwall.measure.supervisor import LaunchOutcome
from commwall.schema.case import Case
from commwall.schema.strategies import RECORDABLE, StrategiesCase, Strategy
from tests.gpu.launching import launched, use_faulty_copy, values

SLOW_HOST = """

_swift = Graph.replay


def _slow(self):
    import time

    time.sleep(0.05)
    _swift(self)


Graph.replay = _slow
"""
UNSHARED = """

_right = _tensor


def _tensor(case, stack, data, group):
    split = _right(case, stack, data, group)
    for layer in split.module:
        bias = layer.attention_norm.bias
        bias.register_hook(lambda gradient: gradient * 100)
    return split


_WAYS["tensor"] = _tensor
"""


def step(strategy: Strategy, *, precision: str = "float32", captured: bool = False) -> Case:
    """A small case of a strategy, large enough that small messages are not all of it."""
    return StrategiesCase(
        strategy=strategy,
        preset="demo",
        sequence_length=256,
        micro_batch=16,
        micro_batches=4,
        precision=precision,  # type: ignore[arg-type]
        step_mode="captured" if captured else "eager",
        window_s=0.5,
    )


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> LaunchOutcome:
    eager = {f"{name}-eager": step(name) for name in get_args(Strategy)}
    recorded = {f"{name}-captured": step(name, captured=True) for name in sorted(RECORDABLE)}
    narrow = {f"{name}-bf16": step(name, precision="bfloat16") for name in get_args(Strategy)}
    cases = eager | recorded | narrow
    return launched(tmp_path_factory.mktemp("strategies"), "strategies", cases)


def test_every_strategy_runs_and_computes_rightly(outcome: LaunchOutcome) -> None:
    assert outcome.cause is None, outcome.detail
    assert {result.case: result.detail for result in outcome.results if result.status != "ok"} == {}
    assert len(outcome.results) == 2 * len(get_args(Strategy)) + len(RECORDABLE)
    for result in outcome.results:
        assert all(check.passed for check in result.checks)
        assert min(values(result, "step_time_s")) > 0


def test_recorded_steps_are_compared_with_one_process(outcome: LaunchOutcome) -> None:
    for result in outcome.results:
        names = {check.name for check in result.checks}
        recorded = "recorded_step_equals_one_process" in names
        assert recorded == result.case.endswith("captured"), result.case


def test_steps_are_counted_with_quiet_around_them(outcome: LaunchOutcome) -> None:
    for result in outcome.results:
        assert result.counted is not None, result.case
        assert result.counted.end_ns > result.counted.start_ns


def test_a_slow_host_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_faulty_copy(tmp_path, monkeypatch, "graphs.py", SLOW_HOST)
    (result,) = launched(
        tmp_path, "strategies", {"case": step("accumulation", captured=True)}
    ).results
    assert "host_bound" in {mark.name for mark in result.marks}


def test_wrong_gradients_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_faulty_copy(tmp_path, monkeypatch, "splitting.py", UNSHARED)
    (result,) = launched(tmp_path, "strategies", {"case": step("tensor")}).results
    assert (result.status, result.cause) == ("failed", "check_failed")
    assert [c.name for c in result.checks if not c.passed] == ["steps_equal_one_process"]
