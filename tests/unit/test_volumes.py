"""What each strategy sends, against sums done by hand for four ranks."""

from typing import Any, get_args

import pytest
from pydantic import ValidationError

from commwall.model.layout import Layout
from commwall.model.strategies import wire_bytes
from commwall.model.workload import Experts, Workload
from commwall.schema.strategies import STACKS, StrategiesCase, Strategy, why_indivisible
from commwall.schema.volumes import sent_bytes, sharing

RANKS = 4
SIZES: dict[str, Any] = {
    "preset": "demo",  # 2 layers of width 64, 4 heads
    "sequence_length": 10,
    "micro_batch": 3,
    "micro_batches": 5,
}
MESSAGE = 30 * 64 * 4
PARAMETERS = 2 * (12 * 64**2 + 13 * 64)


def case(strategy: str, **changes: Any) -> StrategiesCase:
    return StrategiesCase(strategy=strategy, **(SIZES | changes))


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("tensor", 4 * 2 * 5 * 1.5 * MESSAGE),
        ("pipeline", 1.5 * 5 * MESSAGE),
        ("fsdp", 11 * 0.75 * PARAMETERS * 4),
        ("accumulation", 1.5 * PARAMETERS * 4),
    ],
)
def test_bytes_of_a_step(strategy: str, expected: float) -> None:
    assert sent_bytes(case(strategy), RANKS) == expected


def test_experts_send_tokens_and_gradients_of_what_is_shared() -> None:
    # Each of 4 experts takes 8 of a rank's 30 tokens: 30 / 4 = 7.5, rounded up.
    tokens = 4 * 2 * 5 * 0.75 * (4 * 8 * 64 * 4)
    dense = 2 * (4 * 64**2 + 4 * 64 + 4 * 64)  # attention with biases, two norms
    router = 2 * 64 * 4
    expected = tokens + 1.5 * (dense + router) * 4
    assert sent_bytes(case("expert", capacity_factor=1.0), RANKS) == expected


def test_half_as_many_bytes_in_bfloat16() -> None:
    assert 2 * sent_bytes(case("fsdp", precision="bfloat16"), RANKS) == sent_bytes(
        case("fsdp"), RANKS
    )


def test_stacks_have_the_parameters_of_their_layers() -> None:
    # BERT-Large has 335 million with embeddings and head; GPT-3 2.7B has 2.65 billion with them.
    assert STACKS["bert-large"].parameters == 302_309_376
    assert STACKS["gpt3-2.7b"].parameters == 2_517_647_360


@pytest.mark.parametrize(
    ("strategy", "changes", "ranks", "part"),
    [
        ("tensor", {}, 3, "4 heads"),
        ("pipeline", {}, 4, "2 layers"),
        ("pipeline", {"micro_batches": 1}, 2, "1 micro-batches"),
    ],
)
def test_what_ranks_cannot_split(
    strategy: str, changes: dict[str, Any], ranks: int, part: str
) -> None:
    assert part in (why_indivisible(case(strategy, **changes), ranks) or "")
    assert why_indivisible(case(strategy), 2) is None


@pytest.mark.parametrize(
    ("strategy", "changes"),
    [
        ("tensor", {"schedule": "gpipe"}),
        ("fsdp", {"capacity_factor": 2.0}),
        ("pipeline", {"step_mode": "captured"}),
        ("fsdp", {"step_mode": "captured"}),
    ],
)
def test_a_case_has_only_what_its_strategy_has(strategy: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        case(strategy, **changes)


def test_what_a_case_leaves_out_is_resolved() -> None:
    assert case("pipeline").schedule == "1f1b"
    assert case("expert").capacity_factor == 1.25
    assert case("tensor").schedule is None


def as_modelled(whole: StrategiesCase) -> tuple[Workload, Layout]:
    """The same step as models of larger machines see it."""
    stack = whole.stack
    of_experts = stack.layers * RANKS * stack.feed_forward_parameters
    routers = stack.layers * stack.hidden * RANKS
    without = stack.parameters - stack.layers * stack.feed_forward_parameters
    experts = Experts(RANKS, active=1, parameters=of_experts, capacity=whole.capacity_factor or 1)
    expert = whole.strategy == "expert"
    workload = Workload(
        parameters=without + routers + of_experts if expert else stack.parameters,
        layers=stack.layers,
        hidden=stack.hidden,
        heads=stack.heads,
        sequence_length=whole.sequence_length,
        batch_per_gpu=whole.step_samples(RANKS) / RANKS,
        micro_batch=whole.micro_batch,
        activation_bytes=4,
        experts=experts if expert else None,
    )
    return workload, LAYOUTS[whole.strategy]


LAYOUTS = {
    "tensor": Layout(tensor=RANKS),
    "pipeline": Layout(pipeline=RANKS),
    "fsdp": Layout(data=RANKS, zero=3, whole_gradients=True),
    "expert": Layout(data=RANKS, expert=RANKS),
    "accumulation": Layout(data=RANKS),
}


@pytest.mark.parametrize("strategy", get_args(Strategy))
@pytest.mark.parametrize("micro_batches", [1, 5])
def test_what_is_measured_and_what_is_modelled_are_the_same_bytes(
    strategy: str, micro_batches: int
) -> None:
    """Counters are held against one, machines that nobody measured are modelled by the other."""
    # 32 tokens of a micro-batch: experts with a quarter more room take 10 of each rank, evenly.
    whole = case(strategy, micro_batches=micro_batches, micro_batch=4, sequence_length=8)
    assert wire_bytes(*as_modelled(whole)) == pytest.approx(sent_bytes(whole, RANKS), rel=1e-12)


@pytest.mark.parametrize(
    ("stage", "whole_gradients", "forward", "backward"),
    [(0, False, 0, 2), (1, False, 1, 1), (2, False, 1, 5), (2, True, 1, 1), (3, False, 5, 10),
     (3, True, 5, 6)],
)  # fmt: skip
def test_gathers_and_scatters_of_five_micro_batches(
    stage: int, whole_gradients: bool, forward: int, backward: int
) -> None:
    assert sharing(stage, 5, whole_gradients=whole_gradients) == (forward, backward)
