"""Formulas of the step model against arithmetic by hand, published tables, and their limits."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from commwall.model.collectives import (
    all_reduce_s,
    all_to_all_s,
    ring_all_reduce_s,
    switch_all_reduce_s,
    tree_all_reduce_s,
)
from commwall.model.layout import Layout, layouts, micro_batches
from commwall.model.links import Fabric, Group, Link, placed
from commwall.model.memory import activation_bytes, state_bytes
from commwall.model.overlap import BACKWARD_SHARE, TwoLinks, exposed_s, hidden_share
from commwall.model.scale import StepTime, step_time
from commwall.model.strategies import bubble_share, gradient_exchanges, volumes, wire_bytes
from commwall.model.workload import Experts, Workload
from tests.clock import cpu_seconds

NVLINK, NETWORK = Link(3e-6, 100e9), Link(14e-6, 50e9)
NODES_OF_8 = Fabric(NVLINK, NETWORK, 8)
DECODER = Workload(7e9, 32, 4096, 32, 2048, 4, micro_batch=1, gradient_bytes=2)


MIXED = dataclasses.replace(DECODER, experts=Experts(16, 2, 6e9))


def step(layout: Layout, fabric: Fabric = NODES_OF_8, overlap: float = 0.5) -> StepTime:
    model = MIXED if np.any(np.greater(layout.expert, 1)) else DECODER
    return step_time(model, layout, fabric, flops_per_s=400e12, overlap=overlap)


def busbw(time_s: object, message_bytes: float, ranks: int) -> float:
    return 2 * (ranks - 1) / ranks * message_bytes / float(np.asarray(time_s))


def test_collectives_by_hand() -> None:
    """100 GB/s, 3 µs, 8 MB on 4 ranks: 6 steps and 12 MB around the ring."""
    assert ring_all_reduce_s(8e6, 4, NVLINK) == pytest.approx(18e-6 + 120e-6)
    assert tree_all_reduce_s(8e6, 4, NVLINK) == pytest.approx(12e-6 + 160e-6)
    adding = Link(3e-6, 100e9, switch_share=0.5)
    assert switch_all_reduce_s(8e6, 4, adding) == pytest.approx(6e-6 + 10e6 / 50e9)
    assert switch_all_reduce_s(8e6, 4, NVLINK) == math.inf


def test_several_nodes_by_hand() -> None:
    """8 ranks on 2 nodes of 4: the ring inside, then a quarter of the buffer between two nodes."""
    fabric = Fabric(NVLINK, NETWORK, 4)
    group = placed(8, 1, fabric)
    assert (group.inside, group.nodes, group.ranks) == (4, 2, 8)
    between_s = 2 * 14e-6 + 2e6 / 50e9
    assert all_reduce_s(8e6, group, fabric) == pytest.approx(138e-6 + between_s)
    # An eighth for each: 3 MB stay inside, 4 MB leave the node, and the slower way counts.
    assert all_to_all_s(8e6, group, fabric) == pytest.approx(4 * 14e-6 + 4e6 / 50e9)


def test_groups_lie_on_as_few_nodes_as_they_can() -> None:
    wide = placed(np.array([2, 8, 64]), np.array([4, 4, 1]), NODES_OF_8)
    assert list(wide.inside) == [2, 2, 8] and list(wide.nodes) == [1, 4, 8]
    assert placed(4, 16, NODES_OF_8) == Group(1, 4, 1)


@pytest.mark.parametrize(
    ("gpus", "between_s"), [(8, 0.0), (9, 0.28), (10, 0.14), (12, 0.07), (16, 0.035)]
)
def test_the_last_node_has_fewer_ports(gpus: int, between_s: float) -> None:
    """14 GB at 100 GB/s in nodes of 8, at 50 GB/s a port between two: the last node's 1, 2, 4 or 8
    ports carry all of it, each 14 GB over their number."""
    fabric = Fabric(Link(0, 100e9), Link(0, 50e9), 8)
    group = placed(gpus, 1, fabric)
    assert group.ranks == gpus
    assert all_reduce_s(14e9, group, fabric) == pytest.approx(2 * 7 / 8 * 0.14 + between_s)
    if gpus == 9:  # 8 of its 9 parts leave the only GPU of the last node
        assert all_to_all_s(9e9, group, fabric) == pytest.approx(8e9 / 50e9)


@pytest.mark.parametrize(
    ("layout", "forward", "backward"),
    [
        (Layout(data=8), 0, 2),
        (Layout(data=8, zero=1), 1, 1),
        (Layout(data=8, zero=2), 1, 4),
        (Layout(data=8, zero=3), 4, 8),
        (Layout(data=8, zero=3, whole_gradients=True), 4, 5),
    ],
)
def test_zero_by_hand(layout: Layout, forward: int, backward: int) -> None:
    """14 GB on 8 GPUs at 100 GB/s, four micro-batches: 7/8 x 0.14 s a gather or scatter. FSDP that
    scatters once takes 9 of them, 1.10 s, not 3."""
    fabric = Fabric(Link(0, 100e9, switch_share=0.0), NETWORK, 8)
    found = [float(each.exchange_s) for each in gradient_exchanges(DECODER, layout, fabric, 1e12)]
    assert found == pytest.approx([forward * 0.1225, backward * 0.1225])


def test_forward_passes_hide_gathers() -> None:
    """0.3 s of compute, 0.1 forward: of 0.49 s of gathers there and 0.98 s beside 0.2 s backward
    0.39 and 0.78 s are waited for; of the all-reduce all but a quarter of the backward pass."""
    fabric, speed = Fabric(Link(0, 100e9), NETWORK, 8), DECODER.flops_per_gpu / 0.3
    waited = [
        float(step_time(DECODER, layout, fabric, flops_per_s=speed, overlap=1.0).gradients_s)
        for layout in (Layout(data=8, zero=3), Layout(data=8))
    ]
    assert waited == pytest.approx([0.39 + 0.78, 0.245 - 0.05], rel=1e-3)


def test_full_recomputation_repeats_the_exchanges_of_the_forward_pass() -> None:
    """Two all-reduces forward, two again, two backward; all-to-alls of experts likewise."""
    for model, layout in ((DECODER, Layout(tensor=8)), (MIXED, Layout(data=8, expert=8))):
        again = dataclasses.replace(model, recompute="full")
        kept, repeated = volumes(model, layout), volumes(again, layout)
        assert repeated.tensor == 1.5 * kept.tensor
        assert repeated.expert == 1.5 * kept.expert
        assert kept.tensor + kept.expert > 0
        found = [
            step_time(each, layout, NODES_OF_8, flops_per_s=400e12, overlap=0.5)
            for each in (model, again)
        ]
        waited = [float(each.tensor_s + each.expert_s) for each in found]
        assert waited[1] == pytest.approx(1.5 * waited[0])


@pytest.mark.parametrize(
    ("ring_bytes_per_s", "switch_share", "published"),
    [(367.2e9, 0.85, 479.98e9), (682.2e9, 0.74, 839.07e9)],
)
def test_sums_in_the_switch_reach_what_was_published(
    ring_bytes_per_s: float, switch_share: float, published: float
) -> None:
    """Eight H200 and eight B200, from their rings' rate and NCCL's own efficiency."""
    link = Link(3.4e-6, ring_bytes_per_s, switch_share)
    found = busbw(switch_all_reduce_s(8e9, 8, link), 8e9, 8)
    assert found == pytest.approx(published, rel=0.08)


ROWS = (
    ("resnet-50", 25.6e6, 0.104, 8.9, 0.8, 7.8, 2.4),
    ("resnext-101-32x4d", 44.2e6, 0.106, 15.5, 1.3, 13, 4),
    ("swin-tiny", 28.3e6, 0.144, 9.9, 0.9, 6.2, 1.9),
    ("nnu-net-3d", 31e6, 0.073, 10.8, 0.9, 13, 4),
    ("bert-large", 336e6, 0.441, 118, 10, 24, 7),
    ("bert-large, accumulated", 336e6, 14.124, 118, 10, 0.8, 0.2),
    ("bert-large squad", 336e6, 0.290, 118, 10, 36, 11),
    ("transformer-xl-base", 192e6, 0.102, 67, 6, 57, 18),
)
"""Model, parameters, compute [s], exchange over PCIe and NVLink [ms], gain with nothing and with
70 % hidden [%]: data parallel on eight A100, gradients in float32, 20 and 230 GB/s."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_ceiling_of_data_parallel_training_is_reproduced(row: tuple[str, float, ...]) -> None:
    _, parameters, compute_s, slow_ms, fast_ms, unhidden, hidden = row
    gradients = 4 * parameters
    slow_s, fast_s = (float(ring_all_reduce_s(gradients, 8, Link(0, r))) for r in (20e9, 230e9))
    assert 1e3 * slow_s == pytest.approx(slow_ms, abs=0.5)
    assert 1e3 * fast_s == pytest.approx(fast_ms, abs=0.5)
    links = TwoLinks(fast_s / gradients, slow_s / gradients)
    for overlap, gain in ((0.0, unhidden), (0.7, hidden)):
        found = 100 * float(links.gain(compute_s / gradients, overlap))
        assert found == pytest.approx(gain, rel=0.05, abs=0.1)


def test_bubble_of_eight_stages() -> None:
    """30 % is right for 16 micro-batches; it is 47 % for 8 and 18 % for 32."""
    shares = bubble_share(8, np.array([8, 16, 32]))
    assert list(np.round(100 * np.asarray(shares), 1)) == [46.7, 30.4, 17.9]
    pipeline = step(Layout(pipeline=4))
    several = micro_batches(DECODER, Layout(pipeline=4))
    busy = pipeline.compute_s + pipeline.bubble_s
    assert pipeline.bubble_s / busy == pytest.approx(bubble_share(4, several))


def test_volumes_by_hand() -> None:
    """A micro-batch of 2048 tokens is 16.8 MB; tensor parallelism over 8 takes 32 of them."""
    message = 2048 * 4096 * 2
    tensor = volumes(DECODER, Layout(tensor=8))
    assert (tensor.tensor, tensor.gradients) == (4 * 32 * 32 * message, 0)
    assert volumes(DECODER, Layout(data=8)).whole == 2 * 7e9
    assert volumes(DECODER, Layout(pipeline=4)).pipeline == 2 * 16 * message
    assert volumes(DECODER, Layout()).whole == 0


def test_tensor_parallel_traffic_of_a_text_is_weight_shaped() -> None:
    """80 layers 8192 wide, 8 samples of 4096 tokens: 512 MiB an all-reduce, 172 GB a step."""
    model = Workload(70e9, 80, 8192, 64, 4096, 1, micro_batch=8)
    found = volumes(model, Layout(tensor=8))
    assert found.tensor == 4 * 80 * 512 * 2**20
    assert found.tensor == pytest.approx(172e9, rel=0.01)


def test_experts_are_divided_and_exchanged() -> None:
    """4 of 5 billion parameters are experts, 2 of 8 used: 2 billion work, the rest is exchanged."""
    model = Workload(5e9, 16, 2048, 16, 1024, 1, experts=Experts(8, 2, 4e9), gradient_bytes=2)
    assert model.active_parameters == pytest.approx(2e9)
    layout = Layout(data=16, expert=8)
    found = volumes(model, layout)
    assert found.gradients == pytest.approx(2 * (1e9 + 4e9 / 8))
    assert found.expert == pytest.approx(4 * 16 * 2 * 1024 * 2048 * 2)
    assert state_bytes(model, layout) == pytest.approx(16 * 1.5e9)


EVERY_STRATEGY = (
    Layout(data=16), Layout(tensor=16), Layout(pipeline=16),
    Layout(data=4, tensor=2, pipeline=2), Layout(data=16, zero=1), Layout(data=16, zero=2),
    Layout(data=16, zero=3), Layout(data=16, zero=3, whole_gradients=True), Layout(data=12),
    Layout(data=16, expert=16), Layout(data=8, tensor=2, expert=4), Layout(data=9, expert=9),
)  # fmt: skip


@pytest.mark.parametrize("layout", EVERY_STRATEGY, ids=str)
def test_unbounded_bandwidth_leaves_compute_and_bubble(layout: Layout) -> None:
    found = step(layout, Fabric(Link(0, 1e30), Link(0, 1e30), 8))
    assert found.whole_s == pytest.approx(found.compute_s + found.bubble_s, rel=1e-9)


@pytest.mark.parametrize("layout", EVERY_STRATEGY, ids=str)
@pytest.mark.parametrize("overlap", [0.0, 1.0])
def test_no_bandwidth_leaves_communication_alone(layout: Layout, overlap: float) -> None:
    """A millionth of the bandwidth, a million times the step; nothing is left to hide it behind."""
    slow, slower = (
        float(step(layout, Fabric(Link(0, rate), Link(0, rate), 8), overlap).whole_s)
        for rate in (1e3, 1e-3)
    )
    assert slower / slow == pytest.approx(1e6, rel=1e-3)


def test_one_gpu_exchanges_nothing() -> None:
    for model, zero in itertools.product((DECODER, MIXED), range(4)):
        layout = Layout(zero=zero)
        found = step_time(model, layout, NODES_OF_8, flops_per_s=400e12, overlap=0.5)
        assert found.exchange_s == found.expert_s == 0
        assert found.whole_s == pytest.approx(model.flops_per_gpu / 400e12)
        assert wire_bytes(model, layout) == 0


@pytest.mark.parametrize("overlap", [0.0, 0.4, 1.0])
def test_steps_grow_with_compute_and_exchange_and_shrink_with_overlap(overlap: float) -> None:
    compute, exchange = np.meshgrid(np.geomspace(1, 100, 30), np.geomspace(1, 100, 30))
    whole = compute + exposed_s(compute, exchange, overlap)
    assert (np.diff(whole, axis=1) > 0).all()
    assert (np.diff(whole, axis=0) >= 0).all()
    assert (exposed_s(compute, exchange, overlap) >= exposed_s(compute, exchange, 1.0)).all()
    assert (exposed_s(compute, exchange, overlap) >= 0).all()


def test_hidden_share_turns_the_formula_round() -> None:
    for compute, exchange in ((9.0, 2.0), (3.0, 20.0)):
        for overlap in (-0.5, 0.0, 0.3, 1.0):
            exposed = float(exposed_s(compute, exchange, overlap))
            assert hidden_share(compute, exchange, exposed) == pytest.approx(overlap)
    assert hidden_share(0.0, 1.0, 1.0) is None


def test_crossings_are_where_the_gain_is() -> None:
    """On all three branches, for pairs of links that differ by little and by much."""
    shares, gains = (0.0, 0.25, 0.5, 0.9, 1.0), (0.001, 0.01, 0.05, 0.2, 0.9, 3.0)
    for ratio, overlap, gain in itertools.product((1.02, 1.5, 9.0), shares, gains):
        links = TwoLinks(4e-12, 4e-12 * ratio)
        found = links.crossing(gain, overlap)
        if gain >= links.highest_gain:
            assert found is None
        else:
            assert found is not None and found > 0
            assert float(links.gain(found, overlap)) == pytest.approx(gain, rel=1e-9)


def test_crossings_by_hand() -> None:
    """1 and 4 s a byte. Nothing hidden: (x + 4)/(x + 1) = 1.5 at 5. All: 1 + 4/x - 2/3 at 24/7."""
    links = TwoLinks(1.0, 4.0)
    assert links.crossing(0.5, 0.0) == pytest.approx(5)
    assert links.crossing(0.5, 1.0) == pytest.approx(4 / (0.5 + BACKWARD_SHARE))
    assert links.crossing(3.0, 0.0) is None


def test_whole_sweeps_are_what_single_layouts_are() -> None:
    """64 GPUs, tensor and pipeline up to 32: of 6 x 6 powers of two 10 have a product above 64."""
    every = layouts(64, DECODER.layers, DECODER.heads)
    whole = np.asarray(step(every).whole_s)
    memory = np.asarray(state_bytes(DECODER, every) + activation_bytes(DECODER, every))
    ways = list(zip(every.data, every.tensor, every.pipeline, strict=True))
    assert len(set(ways)) == len(ways) == 26
    for index, (data, tensor, pipeline) in enumerate(ways):
        one = Layout(int(data), int(tensor), int(pipeline))
        assert one.gpus == 64
        assert step(one).whole_s == pytest.approx(whole[index])
        single = state_bytes(DECODER, one) + activation_bytes(DECODER, one)
        assert single == pytest.approx(memory[index])


def test_a_sweep_to_1024_gpus_takes_no_time() -> None:
    """Every layout, 40 inside links x 40 networks at once: 57,600 steps."""
    rates = np.geomspace(10e9, 1e12, 40)
    every = layouts(1024, DECODER.layers, DECODER.heads)
    degrees = (every.data, every.tensor, every.pipeline)
    shaped = Layout(*(np.reshape(each, (-1, 1, 1)) for each in degrees))
    fabric = Fabric(Link(3e-6, rates[:, None]), Link(14e-6, rates[None, :]), 8)
    found: list[StepTime] = []
    assert cpu_seconds(lambda: found.append(step(shaped, fabric))) < 5
    assert np.shape(found[0].whole_s) == (len(every.data), 40, 40)
