"""Every strategy computes what one process computes, and sends what its formula says."""

import math
import shutil
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

pytest.importorskip("torch")

import torch
from launching import LABEL, PACKAGE, emulated, failed_results, launched, request

from commwall.schema.result import CaseResult, LaunchRequest, NamedCase
from commwall.schema.strategies import StrategiesCase, Strategy
from commwall.schema.treatment import NativeLink, Treatment
from commwall.schema.volumes import sent_bytes
from commwall.workers.experts import Experts
from commwall.workers.split_steps import Moment, compared

RANKS = 2

TINY: dict[str, Any] = {
    "preset": "demo",
    "sequence_length": 16,
    "micro_batch": 2,
    "micro_batches": 2,
    "window_s": 0.05,
}
CASES = {
    **{strategy: StrategiesCase(strategy=strategy, **TINY) for strategy in get_args(Strategy)},
    "gpipe": StrategiesCase(strategy="pipeline", **(TINY | {"schedule": "gpipe"})),
    "bfloat16": StrategiesCase(strategy="tensor", **(TINY | {"precision": "bfloat16"})),
}


def wanted(folder: Path, cases: dict[str, StrategiesCase], link: Treatment) -> LaunchRequest:
    named = tuple(NamedCase(name=name, case=case) for name, case in cases.items())
    return request(folder, link).model_copy(update={"suite": "strategies", "cases": named})


def results(
    folder: Path, cases: dict[str, StrategiesCase], link: Treatment
) -> dict[str, CaseResult]:
    with launched(wanted(folder, cases, link)) as (launch, log):
        assert launch.wait(timeout=100) == 0, log.read_text()
    return {
        name: CaseResult.model_validate_json((folder / f"{name}.json").read_text())
        for name in cases
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CaseResult]:
    return results(tmp_path_factory.mktemp("strategies"), CASES, emulated(1e9, 1e-5))


@pytest.mark.parametrize("name", CASES)
def test_every_strategy_computes_what_one_process_computes(
    found: dict[str, CaseResult], name: str
) -> None:
    result = found[name]
    assert result.status == "ok"
    checks = {check.name: check.passed for check in result.checks}
    assert checks == {"steps_equal_one_process": True, "finite_after_timing": True}
    losses = [s.values for s in result.series if s.metric == "loss"]
    assert losses[0] == losses[1]
    assert losses[0][0] > losses[0][-1]  # it learns


@pytest.mark.parametrize("name", CASES)
def test_bytes_that_the_link_counts_are_those_of_the_formula(
    found: dict[str, CaseResult], name: str
) -> None:
    counted = [s.values for s in found[name].series if s.metric == "step_sent_bytes"]
    assert len(counted) == RANKS
    assert fmean(value for (value,) in counted) == sent_bytes(CASES[name], RANKS)


def test_both_schedules_of_a_pipeline_give_the_same_losses(found: dict[str, CaseResult]) -> None:
    pair = [
        next(s.values for s in found[name].series if s.metric == "loss")
        for name in ("pipeline", "gpipe")
    ]
    assert pair[0] == pytest.approx(pair[1], rel=1e-6)


def test_a_step_that_differs_from_one_process_is_caught() -> None:
    right, wrong = Moment(2.0, 0.3), Moment(2.0, 0.6)  # gradients summed instead of averaged
    assert not compared("x", [right, wrong], [right, right], "float32").passed
    assert compared("x", [right, right], [right, right], "float32").passed
    unknown = Moment(math.nan, 0.3)
    assert not compared("x", [unknown], [right], "float32").passed


def test_gradients_that_are_summed_instead_of_averaged_fail_the_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three steps of AdamW hardly notice it; the norm of the gradients does."""
    package = tmp_path / "package" / "commwall"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    module = package / "workers" / "splitting.py"
    text = module.read_text()
    assert "gradient / group.size" in text
    module.write_text(text.replace("gradient / group.size", "gradient * 1.0"))
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    asked = wanted(tmp_path, {"case": CASES["expert"]}, emulated(1e9, 1e-5))
    with launched(asked) as (launch, log):
        assert launch.wait(timeout=100) != 0, log.read_text()
    for result in failed_results(tmp_path).values():
        assert result.cause == "check_failed"
        assert [c.name for c in result.checks if not c.passed] == ["steps_equal_one_process"]
    assert failed_results(tmp_path)


def test_an_expert_leaves_out_tokens_beyond_its_capacity() -> None:
    torch.manual_seed(0)
    layer = Experts(hidden=8, widened=16, experts=2, capacity=3)
    with torch.no_grad():
        layer.router.weight.zero_()
        layer.router.weight[1] = 1.0
        torch.nn.init.ones_(layer.up)
        torch.nn.init.ones_(layer.down)
    added = layer(torch.ones(1, 5, 8))[0]  # all choose the second expert
    assert (added[:3] > 0).all()
    assert (added[3:] == 0).all()


def test_without_a_counting_link_the_bytes_are_a_gap(tmp_path: Path) -> None:
    case = StrategiesCase(strategy="accumulation", **TINY)
    odd = StrategiesCase(strategy="pipeline", **(TINY | {"micro_batches": 1}))
    found = results(tmp_path, {"plain": case, "odd": odd}, NativeLink(label=LABEL))
    assert [gap.what for gap in found["plain"].gaps] == ["step_sent_bytes"]
    assert (found["odd"].status, found["odd"].detail) == (
        "skipped",
        "1 micro-batches do not fill 2 stages",
    )
