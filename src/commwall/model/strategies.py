"""What each strategy exchanges in a step, and how long that takes.

Layer: model. Reads and writes no file. Messages are what is given to the collective. How often
there is one comes from `commwall.schema.volumes`; `wire_bytes` is what it says of measured steps.

Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3 (tensor parallelism: two
    all-reduces a layer forward, two backward); Narayanan et al., arXiv:2104.04473, sections 2.2 and
    3.2 (pipelines: bubble, messages between stages); Huang et al., GPipe, arXiv:1811.06965;
    Lepikhin et al., GShard, arXiv:2006.16668 (experts: two all-to-alls a layer forward, two
    backward); Rajbhandari et al., ZeRO, arXiv:1910.02054, section 7 (gathers and scatters);
    Korthikanti et al., arXiv:2205.05198, section 5 (full recomputation repeats the forward pass).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from commwall.model.collectives import all_reduce_s, all_to_all_s, gather_s, send_s
from commwall.model.layout import Layout, micro_batch, micro_batches
from commwall.model.links import Fabric, Link, Values, placed
from commwall.model.overlap import BACKWARD_SHARE
from commwall.model.workload import Workload
from commwall.schema.collective import wire_share
from commwall.schema.volumes import Sharing, layer_exchanges, sharing


@dataclass(frozen=True)
class Volumes:
    """Bytes that one GPU gives to collectives in a step, by what they are for [byte]."""

    gradients: Values
    """Of the parameters that it shares with data-parallel ranks, as all-reduces; a gather or a
    scatter of ZeRO is half of one."""
    tensor: Values
    pipeline: Values
    """To the next stage and back, of a stage between two others."""
    expert: Values

    @property
    def whole(self) -> Values:
        """All together."""
        return self.gradients + self.tensor + self.pipeline + self.expert


def bubble_share(stages: Values, micro_batches: Values) -> Values:
    """Share of a pipeline's time in which a stage waits, GPipe and 1F1B alike [1].

    Source: Huang et al., GPipe, arXiv:1811.06965, section 2.3: (p - 1)/(m + p - 1).
    """
    return (stages - 1) / (micro_batches + stages - 1)


class Hidable(NamedTuple):
    """An exchange, and what it can travel beside."""

    exchange_s: Values
    """With nothing in the way [s]."""
    window: Values
    """Share of the compute of a step beside which it can travel [1]."""


def volumes(workload: Workload, layout: Layout) -> Volumes:
    """What one GPU exchanges in a step."""
    message = activation_message_bytes(workload)
    rounds, several = _rounds(workload, layout), micro_batches(workload, layout)
    dense, experts = shared_gradient_bytes(workload, layout)
    return Volumes(
        gradients=_sharing(workload, layout).whole / 2 * (dense + experts),
        tensor=rounds * message * np.greater(layout.tensor, 1),
        pipeline=2 * several * message / layout.tensor * np.greater(layout.pipeline, 1),
        expert=rounds * _to_experts_bytes(workload, layout) * np.greater(layout.expert, 1),
    )


def wire_bytes(workload: Workload, layout: Layout) -> float:
    """Bytes that one GPU of a layout puts on its links in a step, the mean over all of them [byte].

    As rings send it: what `commwall.schema.volumes.sent_bytes` says of the suite `strategies`.
    """
    given, (dense, experts) = volumes(workload, layout), shared_gradient_bytes(workload, layout)
    halves = float(_sharing(workload, layout).whole) / 2
    data, stages = int(layout.data), int(layout.pipeline)
    copies = data // int(layout.expert)
    return float(
        halves * (wire_share("all_reduce", data) * dense)
        + halves * (wire_share("all_reduce", copies) * experts)
        + wire_share("all_reduce", int(layout.tensor)) * given.tensor
        + (stages - 1) / stages * given.pipeline
        + wire_share("all_to_all", int(layout.expert)) * given.expert
    )


def shared_gradient_bytes(workload: Workload, layout: Layout) -> tuple[Values, Values]:
    """Gradients of one GPU that it exchanges with others: of what is no expert, and of experts."""
    dense, experts = _gradients(workload, layout)
    copies = layout.data / layout.expert
    return dense * np.greater(layout.data, 1), experts * np.greater(copies, 1)


def activation_message_bytes(workload: Workload) -> float:
    """Activations of one micro-batch between two layers [byte]."""
    tokens = micro_batch(workload) * workload.sequence_length
    return tokens * workload.hidden * workload.activation_bytes


def gradient_exchanges(
    workload: Workload, layout: Layout, fabric: Fabric, bucket_bytes: float
) -> tuple[Hidable, Hidable]:
    """What data-parallel ranks exchange beside forward and beside backward passes.

    Gradients that are scattered once are whole only in the last backward pass, and parameters that
    are gathered once are needed in the first forward pass; what comes with each micro-batch has all
    of a step's passes. (Stage 3 with whole gradients has both kinds backward; all count as the
    latter.)
    """
    times, each_s = _sharing(workload, layout), _sharing_s(workload, layout, fabric, bucket_bytes)
    one = 1 / micro_batches(workload, layout)
    scatters_each = layout.zero == 2 and not layout.whole_gradients
    forward = 1.0 if layout.zero == 3 else one
    backward = 1.0 if layout.zero == 3 or scatters_each else one
    return (
        Hidable(times.forward * each_s, (1 - BACKWARD_SHARE) * forward),
        Hidable(times.backward * each_s, BACKWARD_SHARE * backward),
    )


def tensor_exchange_s(workload: Workload, layout: Layout, fabric: Fabric) -> Values:
    """All-reduces of tensor parallelism in a step, none of them hidden [s]."""
    group = placed(layout.tensor, 1, fabric)
    each = all_reduce_s(activation_message_bytes(workload), group, fabric)
    return _rounds(workload, layout) * each


def expert_exchange_s(workload: Workload, layout: Layout, fabric: Fabric) -> Values:
    """All-to-alls of expert parallelism in a step, none of them hidden [s]."""
    if workload.experts is None:
        return 0.0
    group = placed(layout.expert, layout.tensor, fabric)
    each = all_to_all_s(_to_experts_bytes(workload, layout), group, fabric)
    return _rounds(workload, layout) * each * np.greater(layout.expert, 1)


def stage_exchange_s(workload: Workload, layout: Layout, fabric: Fabric, overlap: Values) -> Values:
    """Messages between stages that the pipeline waits for [s].

    Those that fill and drain it are always waited for; of the others, one each way for every
    micro-batch, the share 1 - overlap.
    """
    across = np.greater_equal(layout.tensor * layout.data, fabric.gpus_per_node)
    link = Link(
        np.where(across, fabric.between.latency_s, fabric.inside.latency_s),
        np.where(across, fabric.between.bytes_per_s, fabric.inside.bytes_per_s),
    )
    each = send_s(activation_message_bytes(workload) / layout.tensor, link)
    waited = layout.pipeline - 1 + (1 - overlap) * micro_batches(workload, layout)
    return 2 * waited * each * np.greater(layout.pipeline, 1)


def _rounds(workload: Workload, layout: Layout) -> Values:
    """Exchanges of activations between the ranks of one GPU's layers in a step."""
    each = layer_exchanges(repeated=workload.repeats_forward)
    return each * workload.layers / layout.pipeline * micro_batches(workload, layout)


def _to_experts_bytes(workload: Workload, layout: Layout) -> Values:
    """Tokens of one micro-batch on the way to their experts [byte]."""
    return workload.tokens_of_experts * activation_message_bytes(workload) / layout.tensor


def _sharing(workload: Workload, layout: Layout) -> Sharing:
    several = micro_batches(workload, layout)
    return sharing(layout.zero, several, whole_gradients=layout.whole_gradients)


def _gradients(workload: Workload, layout: Layout) -> tuple[Values, Values]:
    """Gradients of one GPU: of what all data-parallel ranks share, and of its experts [byte]."""
    shared = layout.tensor * layout.pipeline
    dense = (workload.parameters - workload.expert_parameters) / shared
    experts = workload.expert_parameters / (shared * layout.expert)
    return dense * workload.gradient_bytes, experts * workload.gradient_bytes


def _sharing_s(workload: Workload, layout: Layout, fabric: Fabric, bucket_bytes: float) -> Values:
    """One gather or scatter of what data-parallel ranks share, or half an all-reduce of it [s].

    In equal buckets of at most so many bytes.
    """
    dense, experts = _gradients(workload, layout)
    copies, stride = layout.data / layout.expert, layout.tensor * layout.expert
    groups = (
        (dense, placed(layout.data, layout.tensor, fabric)),
        (experts, placed(copies, stride, fabric)),
    )
    whole_s: Values = 0.0
    for gradients, group in groups:
        buckets = np.ceil(gradients / bucket_bytes)
        each = gradients / np.maximum(1, buckets)
        reduced_s = all_reduce_s(each, group, fabric) / 2
        whole_s += buckets * (gather_s(each, group, fabric) if layout.zero else reduced_s)
    return whole_s
