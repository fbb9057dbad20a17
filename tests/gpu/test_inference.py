"""A decoder on real GPUs: its recorded steps are its plain ones; never a golden speed."""

from pathlib import Path
from typing import get_args

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

from commwall.schema.case import CAPTURING, StepMode
from commwall.schema.inference import InferenceCase
from tests.gpu.launching import launched, values


@pytest.mark.parametrize("mode", get_args(StepMode))
def test_a_decoder_answers(tmp_path: Path, mode: StepMode) -> None:
    case = InferenceCase(
        preset="demo",
        batch=4,
        prompt_tokens=64,
        generated_tokens=64,
        step_mode=mode,
        window_s=0.3,
    )
    (result,) = launched(tmp_path, "inference", {"case": case}).results
    assert result.status == "ok", result.detail
    assert all(check.passed for check in result.checks)
    assert min(values(result, "token_time_s")) > 0
    assert {f"recorded_{what}_equal_plain" for what in ("prompts", "tokens")} <= {
        check.name for check in result.checks
    } or mode not in CAPTURING
