"""What one process has: its own leg, and a step with one sample that shows the host's part."""

from pathlib import Path

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")

from launching import CASE, launched, request

from commwall.schema.case import MODELS, ModelName
from commwall.schema.result import CaseResult
from commwall.workers.hosting import one_sample_mark
from commwall.workers.legs import Workload


def test_one_process_measures_leg_single_alone(tmp_path: Path) -> None:
    wanted = request(tmp_path, legs=("single",))
    platform = wanted.platform.model_copy(update={"world_size": 1})
    with launched(wanted.model_copy(update={"platform": platform})) as (process, log):
        assert process.wait(timeout=90) == 0, log.read_text()
    result = CaseResult.model_validate_json((tmp_path / f"{CASE}.json").read_text())
    assert [window.leg for window in result.windows] == ["single"]
    assert {s.leg for s in result.series if s.metric == "step_time_s"} == {"single"}
    assert result.runtime is not None and result.runtime.step_flops is not None


@pytest.mark.parametrize(("one_sample_s", "doubted"), [(0.088, True), (0.076, False)])
def test_a_step_that_one_sample_hardly_shortens_is_the_hosts(
    one_sample_s: float, doubted: bool
) -> None:
    doubt = one_sample_mark(one_sample_s, 0.095, samples=32)
    assert (doubt is not None) == doubted
    if doubt:
        assert doubt.name == "host_bound"
        assert "1 sample takes 0.088 s, with 32 samples 0.095 s" in doubt.detail


@pytest.mark.parametrize("model", MODELS)
def test_every_family_steps_with_one_sample(tmp_path: Path, model: ModelName) -> None:
    length = {} if MODELS[model].samples == "sequence" else {"sequence_length": None}
    case = request(tmp_path, model=model, **length).cases[0].case
    workload = Workload(case, torch.device("cpu"), rank=0)
    before = float(workload.forward_backward(workload.module))
    workload.draw((1, *case.batch_shape[1:]))
    assert float(workload.forward_backward(workload.module)) != before
    workload.draw(case.batch_shape)
    assert float(workload.forward_backward(workload.module)) == before
