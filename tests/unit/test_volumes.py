"""What each strategy sends, against sums done by hand for four ranks."""

from typing import Any

import pytest
from pydantic import ValidationError

from commwall.model.layout import Layout
from commwall.model.strategies import volumes
from commwall.model.workload import Experts, Workload
from commwall.schema.strategies import STACKS, StrategiesCase, why_indivisible
from commwall.schema.volumes import sent_bytes

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


def workload(whole: StrategiesCase, gpus: int, experts: Experts | None = None) -> Workload:
    """The same step as models of larger machines see it."""
    stack = whole.stack
    return Workload(
        parameters=stack.parameters,
        layers=stack.layers,
        hidden=stack.hidden,
        heads=stack.heads,
        sequence_length=whole.sequence_length,
        batch_per_gpu=whole.step_samples(gpus) / gpus,
        micro_batch=whole.micro_batch,
        activation_bytes=4,
        experts=experts,
    )


def test_what_is_measured_and_what_is_modelled_have_one_volume() -> None:
    """Models state what is given to a collective, of a stage between two others."""
    tensor, pipeline, replicas = case("tensor"), case("pipeline"), case("accumulation")
    of_tensor = volumes(workload(tensor, RANKS), Layout(tensor=RANKS)).tensor
    assert sent_bytes(tensor, RANKS) == 1.5 * of_tensor
    of_pipeline = volumes(workload(pipeline, RANKS), Layout(pipeline=RANKS)).pipeline
    assert sent_bytes(pipeline, RANKS) == 0.75 * of_pipeline
    of_replicas = volumes(workload(replicas, RANKS), Layout(data=RANKS)).gradients
    assert sent_bytes(replicas, RANKS) == 1.5 * of_replicas


def test_tokens_of_experts_are_modelled_without_room_to_spare() -> None:
    alike = case("expert", capacity_factor=1.0, micro_batch=4)  # 40 tokens, 10 for each expert
    every = Experts(number=RANKS, active=1, parameters=0)
    layout = Layout(data=RANKS, expert=RANKS)
    tokens = volumes(workload(alike, RANKS, every), layout).expert
    gradients = 1.5 * 2 * (4 * 64**2 + 4 * 64 + 4 * 64 + 64 * 4) * 4
    assert sent_bytes(alike, RANKS) == 0.75 * tokens + gradients
