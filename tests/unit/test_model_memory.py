"""Memory of a GPU by formula, against arithmetic by hand and published tables."""

import dataclasses

import pytest

from commwall.model.layout import Layout
from commwall.model.memory import (
    activation_bytes,
    buffer_bytes,
    fewest_gpus,
    layer_bytes,
    logit_bytes,
    memory,
    room,
    state_bytes,
)
from commwall.model.workload import Experts, Workload

DECODER = Workload(7e9, 32, 4096, 32, 2048, 4, micro_batch=1, gradient_bytes=2)
MIXED = dataclasses.replace(DECODER, experts=Experts(16, 2, 6e9))


def test_gpus_that_hold_70_billion_parameters() -> None:
    """16 or 18 byte a parameter, not one: parameters over 0.8 of the memory would say one GPU."""
    assert fewest_gpus(16 * 70e9, 0, 80e9) == 14
    assert fewest_gpus(18 * 70e9, 0, 80e9) == 16
    assert round(70e9 / (0.8 * 80e9)) == 1
    assert fewest_gpus(16 * 70e9, 40e9, 80e9) == 28
    assert fewest_gpus(1e9, 80e9, 80e9) is None


def test_state_is_divided_as_zero_says() -> None:
    """ZeRO, figure 1: 7.5 billion parameters on 64 GPUs take 120, 31.4, 16.6 and 1.88 GB."""
    model = Workload(7.5e9, 32, 4096, 32, 2048, 1)
    held = [float(state_bytes(model, Layout(data=64, zero=stage))) for stage in range(4)]
    assert held == pytest.approx([120e9, 31.4e9, 16.6e9, 1.88e9], rel=0.01)
    assert state_bytes(model, Layout(tensor=4, pipeline=2)) == pytest.approx(15e9)


def test_activations_by_hand() -> None:
    """Of GPT-3 the scores are 5 a s/h = 80 of 114 times s b h byte a layer."""
    model = Workload(175e9, 96, 12288, 96, 2048, 1, recompute="none")
    token_bytes = 2048 * 12288
    assert activation_bytes(model, Layout()) == pytest.approx(96 * 114 * token_bytes)
    fused = Workload(175e9, 96, 12288, 96, 2048, 1)
    assert activation_bytes(fused, Layout()) == pytest.approx(96 * 34 * token_bytes)
    assert activation_bytes(fused, Layout(tensor=8)) == pytest.approx(96 * 13 * token_bytes)
    full = Workload(175e9, 96, 12288, 96, 2048, 1, recompute="full")
    assert activation_bytes(full, Layout()) == pytest.approx(96 * 2 * token_bytes)


def test_activations_of_experts_and_gates_by_hand() -> None:
    """A token and layer 4096 wide keeps 15 x 4096 byte of attention and norms, 3 x 4096 + 4 x 16384
    of a feed-forward part; with a gate 11008 wide 3 x 4096 + 8 x 11008; of two experts with gates
    14336 wide twice 3 x 4096 + 8 x 14336: 315,392 byte, 2.3 times the first."""
    tokens, attention = 2048, 15 * 4096
    gated = dataclasses.replace(DECODER, widening=11008 / 4096, gated=True)
    experts = dataclasses.replace(MIXED, widening=3.5, gated=True)
    expected = (3 * 4096 + 4 * 16384, 3 * 4096 + 8 * 11008, 2 * (3 * 4096 + 8 * 14336))
    for model, feed_forward in zip((DECODER, gated, experts), expected, strict=True):
        assert layer_bytes(model, Layout()) == pytest.approx(tokens * (attention + feed_forward))
    assert attention + expected[2] == 315_392


def test_logits_lie_on_the_last_stage() -> None:
    """2048 tokens x 32,000 words x 4 byte: 262 MB beside all layers, or a quarter of them."""
    wordy = dataclasses.replace(DECODER, vocabulary=32_000)
    assert logit_bytes(wordy, Layout()) == 2048 * 32_000 * 4
    layers = float(activation_bytes(DECODER, Layout()))
    assert activation_bytes(wordy, Layout()) == pytest.approx(layers + 2048 * 32_000 * 4)
    assert activation_bytes(wordy, Layout(tensor=8)) == pytest.approx(
        float(activation_bytes(DECODER, Layout(tensor=8))) + 256 * 32_000 * 4
    )
    assert activation_bytes(wordy, Layout(pipeline=4)) == pytest.approx(layers)


def test_buffers_of_the_exchange() -> None:
    """DDP has a copy of 14 GB of gradients; FSDP 2 of 32 layers' parameters, 0.875 GB."""
    assert buffer_bytes(DECODER, Layout(data=8)) == pytest.approx(14e9)
    assert buffer_bytes(DECODER, Layout(data=4, tensor=2)) == pytest.approx(7e9)
    assert buffer_bytes(DECODER, Layout(tensor=8)) == 0
    assert buffer_bytes(DECODER, Layout(data=8, zero=3)) == pytest.approx(2 * 14e9 / 32)
    counted = memory(DECODER, Layout(data=8))
    assert counted.whole == pytest.approx(112e9 + 14e9 + activation_bytes(DECODER, Layout()))


def test_whole_gradients_are_not_divided() -> None:
    """Stage 3 on 8 GPUs keeps 2 and 14 of 16 byte a parameter: 14 GB, and whole gradients 26.25."""
    assert state_bytes(DECODER, Layout(data=8, zero=3)) == pytest.approx(14e9)
    whole = Layout(data=8, zero=3, whole_gradients=True)
    assert state_bytes(DECODER, whole) == pytest.approx(14 / 8 * 7e9 + 14e9)


def test_three_verdicts_on_memory() -> None:
    """100 counted, and a quarter more in use: 125 are enough, 124 may not be, 99 are too few."""
    found = [room(100, size, 0.25) for size in (125, 124, 100, 99)]
    assert found == ["fits", "may not fit", "may not fit", "does not fit"]


def test_pipelines_hold_as_many_micro_batches_as_their_schedule() -> None:
    """16 micro-batches on 4 stages: 4 at a time of a quarter of the layers, or all of them."""
    alone = float(activation_bytes(DECODER, Layout()))
    assert activation_bytes(DECODER, Layout(pipeline=4)) == pytest.approx(alone)
    every = activation_bytes(DECODER, Layout(pipeline=4, schedule="gpipe"))
    assert every == pytest.approx(16 / 4 * alone)
