"""A cut decoder answers as a whole one does, and sends what the formula says."""

from statistics import fmean
from typing import Any

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

pytest.importorskip("torch")

import torch
from launching import emulated, launched, request

from commwall.schema.inference import DECODERS, InferenceCase
from commwall.schema.result import CaseResult, NamedCase
from commwall.schema.volumes import token_sent_bytes
from commwall.workers.llama import WHOLE, Llama, Part

RANKS = 2
TINY: dict[str, Any] = {
    "preset": "demo",
    "batch": 3,
    "prompt_tokens": 6,
    "generated_tokens": 8,
    "window_s": 0.05,
}
CASES = {
    "bfloat16": InferenceCase(**TINY),
    "float32": InferenceCase(precision="float32", **TINY),
    "huge": InferenceCase(**(TINY | {"preset": "70b", "batch": 2**16, "prompt_tokens": 2**16})),
}
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CaseResult]:
    folder = tmp_path_factory.mktemp("inference")
    named = tuple(NamedCase(name=name, case=case) for name, case in CASES.items())
    asked = request(folder, emulated(1e9, 1e-5)).model_copy(
        update={"suite": "inference", "cases": named}
    )
    with launched(asked) as (launch, log):
        assert launch.wait(timeout=100) == 0, log.read_text()
    return {
        name: CaseResult.model_validate_json((folder / f"{name}.json").read_text())
        for name in CASES
    }


@pytest.mark.parametrize("name", ["bfloat16", "float32"])
def test_cut_decoder_answers_as_the_whole_one(found: dict[str, CaseResult], name: str) -> None:
    checks = {check.name: check.passed for check in found[name].checks}
    assert checks == {
        "scores_equal_one_process": True,
        "parameter_count": True,
        "finite_after_timing": True,
    }
    timed = {(s.metric, s.rank) for s in found[name].series if s.phase == "measured"}
    assert {(m, r) for m in ("prefill_time_s", "token_time_s") for r in range(RANKS)} <= timed


@pytest.mark.parametrize("name", ["bfloat16", "float32"])
def test_bytes_of_a_token_are_those_of_the_formula(found: dict[str, CaseResult], name: str) -> None:
    counted = [s.values for s in found[name].series if s.metric == "step_sent_bytes"]
    assert fmean(value for (value,) in counted) == token_sent_bytes(CASES[name], RANKS)


def test_what_does_not_fit_is_skipped_with_both_sizes(found: dict[str, CaseResult]) -> None:
    assert found["huge"].status == "skipped"
    assert "on each rank" in (found["huge"].detail or "")


def test_a_token_follows_from_the_cache_as_from_the_whole_text() -> None:
    """Generating after a prompt gives what reading prompt and answer in one go gives."""
    case = InferenceCase(precision="float32", **TINY)
    answering = Llama(case, WHOLE, CPU)
    answering.read_prompts()
    answers = []
    for _ in range(4):
        answers.append(answering.tokens.clone())
        answering.next_tokens()
    longer = Llama(case.model_copy(update={"prompt_tokens": 10}), WHOLE, CPU)
    longer._prompts = torch.cat((answering._prompts, *answers), dim=1)
    longer.read_prompts()
    assert torch.allclose(longer.scores, answering.scores, atol=1e-4)


def test_after_the_last_token_the_answers_begin_anew() -> None:
    case = InferenceCase(precision="float32", **TINY)
    decoder = Llama(case, WHOLE, CPU)
    decoder.read_prompts()
    first = decoder.tokens.clone()
    decoder.next_tokens()
    expected = decoder.scores.clone()
    for _ in range(case.generated_tokens - 1):
        decoder.next_tokens()
    assert int(decoder.at) == case.prompt_tokens
    decoder.tokens.copy_(first)
    decoder.next_tokens()
    assert torch.allclose(decoder.scores, expected, atol=1e-5)


def test_another_place_gives_another_answer() -> None:
    """Rotary positions matter: the same token one place later scores otherwise."""
    decoder = Llama(InferenceCase(precision="float32", **TINY), WHOLE, CPU)
    decoder.read_prompts()
    decoder.tokens.zero_()
    decoder.next_tokens()
    before = decoder.scores.clone()
    decoder.tokens.zero_()
    decoder.next_tokens()
    assert not torch.allclose(decoder.scores, before, atol=1e-4)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_ranks_together_have_all_parameters(ranks: int) -> None:
    case = InferenceCase(**TINY)
    parts = [Llama(case, Part(rank, ranks), CPU).weights for rank in range(ranks)]
    assert sum(p.cut for p in parts) + parts[0].whole == DECODERS["demo"].parameters
    assert {p.whole for p in parts} == {DECODERS["demo"].whole_parameters}
