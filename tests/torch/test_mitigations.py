"""Suite mitigations: one launch of two processes with every kind of hook, and the parts of it."""

import math
import os
from pathlib import Path

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")

from launching import emulated, launched, request

from commwall.schema.case import Case, Windows
from commwall.schema.mitigation import Mitigation, PriceCase, StepCase
from commwall.schema.result import CaseResult, NamedCase
from commwall.workers import binding
from commwall.workers.mitigations import ONE_NODE
from commwall.workers.outcomes import Unsupported
from commwall.workers.reading import BATCH, CONTEXT, Reading, prose

WINDOWS = Windows(full_s=0.1, other_s=0.1, min_steps=6, warmup_max_s=0.1)
STEPS = {
    "int8": Mitigation(exchange="int8"),
    "overlap": Mitigation(overlap_optimizer=True, exchange="bfloat16"),
    "static": Mitigation(static_graph=True),
    "local": Mitigation(local_steps=2, outer="nesterov"),
    "near": Mitigation(numa="near"),
}
PRICES = {
    "bfloat16": Mitigation(exchange="bfloat16"),
    "onebit": Mitigation(exchange="onebit"),
    "powersgd": Mitigation(exchange="powersgd", rank=2),
    "accumulate": Mitigation(accumulate=2),
    "batch": Mitigation(batch_times=2),
    "average": Mitigation(local_steps=2),
}
BATCHES = 16


def step(mitigation: Mitigation) -> StepCase:
    return StepCase(
        model="bert", preset="demo", batch_per_gpu=2, sequence_length=16, dataset_samples=1,
        bucket_bytes=2**20, windows=WINDOWS, mitigation=mitigation,
    )  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CaseResult]:
    folder = tmp_path_factory.mktemp("mitigations")
    cases: dict[str, Case] = {name: step(mitigation) for name, mitigation in STEPS.items()}
    cases |= {
        f"price-{name}": PriceCase(mitigation=mitigation, seeds=1, batches=BATCHES)
        for name, mitigation in PRICES.items()
    }
    named = tuple(NamedCase(name=name, case=case) for name, case in cases.items())
    changes = {"suite": "mitigations", "cases": named}
    wanted = request(folder, emulated(200e6, 20e-6)).model_copy(update=changes)
    with launched(wanted) as (launch, log):
        assert launch.wait(timeout=120) == 0, log.read_text()
    return {
        name: CaseResult.model_validate_json((folder / f"{name}.json").read_text())
        for name in cases
    }


def of(result: CaseResult, metric: str, leg: str, rank: int = 0) -> tuple[float, ...]:
    own = [
        series.values
        for series in result.series
        if (series.metric, series.leg, series.rank) == (metric, leg, rank)
        and series.phase == "measured"
    ]
    assert len(own) == 1, f"{len(own)} series of {metric}, {leg}"
    return own[0]


@pytest.mark.parametrize("name", ["int8", "overlap", "static", "local"])
def test_both_steps_are_timed_in_turns(results: dict[str, CaseResult], name: str) -> None:
    found = results[name]
    assert found.status == "ok"
    assert all(check.passed for check in found.checks)
    windows = sorted(found.windows, key=lambda window: window.start_ns)
    assert [window.leg for window in windows] == ["full", "mitigated", "mitigated", "full"]
    assert all(a.end_ns <= b.start_ns for a, b in zip(windows, windows[1:], strict=False))
    for leg in ("full", "mitigated"):
        assert len(of(found, "step_time_s", leg, 0)) == len(of(found, "step_time_s", leg, 1)) >= 6


def test_weights_agree_on_all_ranks_also_after_local_steps(results: dict[str, CaseResult]) -> None:
    for name in ("int8", "local"):
        checks = {check.name for check in results[name].checks}
        assert {"mitigated_step_sound", "mitigated_sound_after_timing"} <= checks


def test_what_changes_no_arithmetic_is_held_against_the_plain_losses(
    results: dict[str, CaseResult],
) -> None:
    told = {name: {check.name for check in results[name].checks} for name in STEPS}
    assert "losses_as_unmitigated" in told["static"]
    assert "losses_as_unmitigated" not in told["int8"]


def test_the_plain_step_is_kept_for_the_next_case_and_begins_anew(
    results: dict[str, CaseResult],
) -> None:
    told = {
        name: [c for c in results[name].checks if c.name == "plain_step_begun_anew"]
        for name in ("int8", "overlap", "static", "local")
    }
    assert {name: len(checks) for name, checks in told.items()} == {
        "int8": 0, "overlap": 1, "static": 1, "local": 1,
    }  # fmt: skip
    # Not a bit differs from the losses that it had when it was built.
    assert all(", 0 apart from " in check.found for checks in told.values() for check in checks)


def test_one_node_has_nothing_to_bind_to(results: dict[str, CaseResult]) -> None:
    found = results["near"]
    if len(binding.node_cpus()) < 2:
        assert (found.status, found.detail) == ("skipped", ONE_NODE)
    else:
        assert of(found, "bound_node", "mitigated")


def test_prices_have_finite_losses_from_the_same_start(results: dict[str, CaseResult]) -> None:
    plain = {of(results[f"price-{name}"], "held_out_loss", "full") for name in PRICES}
    assert len(plain) == 1  # the same training without any of them
    for name in PRICES:
        (loss,) = of(results[f"price-{name}"], "held_out_loss", "mitigated")
        assert 1 < loss < math.log(prose().symbols), f"{name} learnt nothing"


def test_adding_up_two_batches_is_a_batch_of_twice_the_size(results: dict[str, CaseResult]) -> None:
    both = [
        of(results[f"price-{n}"], "held_out_loss", "mitigated")[0] for n in ("accumulate", "batch")
    ]
    assert both[0] == pytest.approx(both[1], rel=1e-5)


def test_gradient_errors_are_those_of_the_exchange(results: dict[str, CaseResult]) -> None:
    errors = {
        name: of(results[f"price-{name}"], "gradient_error", "mitigated")
        for name in PRICES
        if name != "average"
    }
    assert len(errors["bfloat16"]) == BATCHES and len(errors["accumulate"]) == BATCHES // 2
    assert max(errors["accumulate"]) < 1e-6 and max(errors["batch"]) < 1e-6
    assert 1e-4 < max(errors["bfloat16"]) < 2**-7  # 8 bits of mantissa, rounded to nearest
    assert errors["powersgd"][0] < 1e-6 < 0.1 < errors["powersgd"][-1]  # begins after some steps
    assert 0.1 < errors["onebit"][0] < 1.5


def test_averaged_weights_have_no_gradient_to_be_wrong(results: dict[str, CaseResult]) -> None:
    (gap,) = results["price-average"].gaps
    assert gap.what == "gradient_error" and "not exchanged" in gap.reason


def test_the_text_is_real_and_what_is_held_out_is_not_learnt() -> None:
    text = prose()
    assert len(text.learnt) > 300_000 and 50 < text.symbols < 200
    assert len(text.held_out) == pytest.approx(len(text.learnt) / 9, rel=0.01)


def test_a_look_at_the_gradient_uses_no_batch_up() -> None:
    reading, again = (Reading(1, 0, batches=4) for _ in range(2))
    ahead = reading.local_gradient(2)
    losses = []
    for each in (reading, again):
        each.forget_gradients()
        losses.append([float(each.add_gradients(each.module, 0.5)) for _ in range(2)])
    assert losses[0] == losses[1]
    torch.testing.assert_close(reading.gradient(), ahead, rtol=1e-5, atol=1e-7)
    assert reading._samples.shape == (4, BATCH, CONTEXT + 1)


def test_lists_of_cpus_and_nodes(tmp_path: Path) -> None:
    assert list(binding.listed("0-2,8\n")) == [0, 1, 2, 8]
    for node, cpus in ((0, "0-1"), (1, "2-3"), (2, "")):
        (tmp_path / f"node{node}").mkdir()
        (tmp_path / f"node{node}" / "cpulist").write_text(cpus)
    assert binding.node_cpus(tmp_path) == {0: {0, 1}, 1: {2, 3}}
    cpu = torch.device("cpu")
    assert [binding.chosen_node("near", cpu, rank, [0, 1]) for rank in range(3)] == [0, 1, 0]
    with pytest.raises(Unsupported, match="node 7"):
        binding.chosen_node(7, cpu, 0, [0, 1])


def test_a_binding_ends_with_its_block() -> None:
    before = os.sched_getaffinity(0)
    one = frozenset({min(before)})
    with binding.bound_to(one):
        assert os.sched_getaffinity(0) == one
    assert os.sched_getaffinity(0) == before
