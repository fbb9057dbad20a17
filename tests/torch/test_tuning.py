"""The tuner with real launches: two combinations on a slow emulated link."""

import json
from pathlib import Path

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")

from launching import emulated, request
from torch import nn

from commwall.measure.supervisor import Launch
from commwall.measure.tuning import tuner as tuning
from commwall.measure.tuning.candidates import Candidate, Choice
from commwall.measure.tuning.outcome import Evidence, write_found
from commwall.measure.tuning.torch_text import torch_lines
from commwall.measure.tuning.tuner import Tuner
from commwall.schema.case import Windows
from commwall.schema.config import Timeouts
from commwall.schema.mitigation import Mitigation, StepCase
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import LaunchRequest, NamedCase

RARE = Mitigation(accumulate=8)
PLAIN = Mitigation(static_graph=True)


def test_what_exchanges_rarely_wins_on_a_slow_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "LEAST_WINDOW_S", 0.1)
    base = request(tmp_path, emulated(20e6, 20e-6))
    workload = StepCase(
        model="bert", preset="demo", batch_per_gpu=2, sequence_length=16, dataset_samples=1,
        windows=Windows(full_s=1, other_s=1, min_steps=6, warmup_max_s=0.1), mitigation=PLAIN,
    )  # fmt: skip

    def asked(
        platform: PlannedPlatform, cases: tuple[NamedCase, ...], folder: Path
    ) -> LaunchRequest:
        changes = {"platform": platform, "cases": cases, "output_dir": str(folder)}
        return base.model_copy(update={"suite": "mitigations", **changes})

    def launch(name: str) -> Launch:
        return Launch(tmp_path / name, tmp_path / f"{name}.log", Timeouts())

    choice = Choice((Candidate(PLAIN), Candidate(RARE)), ())
    found = Tuner(workload, base.platform, asked, launch, print, lambda own: "not priced").tune(
        choice, 22
    )
    assert found.best == Candidate(RARE)
    assert found.evidence.gain is not None and found.evidence.gain > 1.2
    settings, evidence = write_found(found, tmp_path / "out", "tuned")
    assert "#       last = number % 8 == 0\n" in settings.read_text()
    kept = Evidence.model_validate(json.loads(evidence.read_text()))
    assert {tried.mitigation for tried in kept.tried} == {PLAIN, RARE}
    assert all(tried.result.status == "ok" and tried.result.series for tried in kept.tried)


TEXTS = [
    Mitigation(bucket_bytes=2**20, static_graph=True),
    Mitigation(copied_gradients=True),
    Mitigation(overlap_optimizer=True),
    Mitigation(overlap_optimizer=True, exchange="float16"),
    Mitigation(exchange="float16"),
    Mitigation(exchange="bfloat16"),
    Mitigation(exchange="int8"),
    Mitigation(exchange="onebit"),
    Mitigation(exchange="powersgd", rank=2),
    Mitigation(accumulate=2),
    Mitigation(local_steps=2, outer="nesterov"),
    Mitigation(batch_times=2),
    Mitigation(step_mode="compile"),
]


@pytest.mark.usefixtures("lone_group")
@pytest.mark.parametrize("mitigation", TEXTS, ids=lambda own: own.words)
def test_the_code_that_is_told_trains(mitigation: Mitigation) -> None:
    case = StepCase(
        model="bert", preset="demo", batch_per_gpu=2, sequence_length=16, dataset_samples=1,
        windows=Windows(full_s=1, other_s=1, min_steps=6, warmup_max_s=0.1), mitigation=mitigation,
    )  # fmt: skip
    torch.manual_seed(1)
    model = nn.Linear(8, 8)
    before, batch = model.weight.detach().clone(), torch.randn(4, 8)
    known = {
        "model": model,
        "batches": [batch] * 4,
        "optimizer": torch.optim.AdamW(model.parameters()),
        "loss_of": lambda own, batch: (own(batch) - batch).square().mean(),
    }
    first = float(known["loss_of"](model, batch))
    exec("\n".join(torch_lines(case, "cpu")), known)
    assert not torch.equal(model.weight, before)
    assert float(known["loss_of"](model, batch)) < first
