"""One launch through torchrun runs a case of every model family with all its legs."""

import math
from pathlib import Path

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

pytest.importorskip("torch")

from launching import launched, request

from commwall.schema.case import LEGS, MODELS, ModelName, TrainingCase, Windows
from commwall.schema.result import CaseResult, NamedCase

CHANCE = {
    "bert": 1024,
    "gpt": 1024,
    "resnet": 100,
    "swin": 100,
    "transformer_xl": 2048,
    "unet3d": 3,
    "vit": 100,
}
"""Equally likely answers of the demo presets."""


def case_name(model: ModelName) -> str:
    return f"{model}-demo".replace("_", "-")


def named(model: ModelName) -> NamedCase:
    case = TrainingCase(
        model=model,
        preset="demo",
        batch_per_gpu=4,
        sequence_length=16 if MODELS[model].samples == "sequence" else None,
        dataset_samples=1000,
        windows=Windows(full_s=0.2, other_s=0.1, min_steps=2, warmup_max_s=0.3),
    )
    return NamedCase(name=case_name(model), case=case)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the launch has written."""
    folder = tmp_path_factory.mktemp("families")
    cases = tuple(named(model) for model in MODELS)
    wanted = request(folder).model_copy(update={"cases": cases})
    with launched(wanted) as (process, log):
        assert process.wait(timeout=120) == 0, log.read_text()
    return folder


@pytest.mark.parametrize("model", MODELS)
def test_a_family_is_measured_whole(folder: Path, model: ModelName) -> None:
    result = CaseResult.model_validate_json((folder / f"{case_name(model)}.json").read_text())
    assert result.status == "ok"
    assert [check.name for check in result.checks if not check.passed] == []
    assert [window.leg for window in result.windows] == list(LEGS)
    assert result.runtime is not None
    assert sum(result.runtime.bucket_bytes) == 4 * result.runtime.parameters
    losses = [series.values for series in result.series if series.metric == "loss"]
    norms = [series.values for series in result.series if series.metric == "gradient_norm"]
    assert norms[0] == norms[1]
    assert losses[0] != losses[1]  # each rank has its own data
    assert all(v[0] == pytest.approx(math.log(CHANCE[model]), rel=0.25) for v in losses)
