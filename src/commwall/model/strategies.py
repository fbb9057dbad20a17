"""What each strategy exchanges in a step, and how long that takes.

Layer: model. Reads and writes no file. Messages are what is given to the collective; what its
algorithm puts on the wire is `commwall.model.collectives`' business.

Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3 (tensor parallelism: two
    all-reduces a layer forward, two backward); Narayanan et al., arXiv:2104.04473, sections 2.2 and
    3.2 (pipelines: bubble, messages between stages); Huang et al., GPipe, arXiv:1811.06965;
    Lepikhin et al., GShard, arXiv:2006.16668 (experts: two all-to-alls a layer forward, two
    backward); Rajbhandari et al., ZeRO, arXiv:1910.02054, section 7 (stage 3 exchanges half as much
    again).
"""

from dataclasses import dataclass

import numpy as np

from commwall.model.collectives import all_reduce_s, all_to_all_s, send_s
from commwall.model.layout import Layout, micro_batch, micro_batches
from commwall.model.links import Fabric, Link, Values, placed
from commwall.model.workload import Workload
from commwall.schema.volumes import PASSES


@dataclass(frozen=True)
class Volumes:
    """Bytes that one GPU gives to collectives in a step, by what they are for [byte]."""

    gradients: Values
    """Of the parameters that it shares with data-parallel ranks."""
    tensor: Values
    pipeline: Values
    """To the next stage and back."""
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


def volumes(workload: Workload, layout: Layout) -> Volumes:
    """What one GPU exchanges in a step."""
    message = activation_message_bytes(workload)
    rounds, several = _rounds(workload, layout), micro_batches(workload, layout)
    chosen = workload.experts.active if workload.experts else 0
    dense, experts = _gradients(workload, layout)
    return Volumes(
        gradients=dense * np.greater(layout.data, 1)
        + experts * np.greater(layout.data, layout.expert),
        tensor=rounds * message * np.greater(layout.tensor, 1),
        pipeline=2 * several * message * np.greater(layout.pipeline, 1),
        expert=rounds * chosen * message / layout.tensor * np.greater(layout.expert, 1),
    )


def activation_message_bytes(workload: Workload) -> float:
    """Activations of one micro-batch between two layers [byte]."""
    tokens = micro_batch(workload) * workload.sequence_length
    return tokens * workload.hidden * workload.activation_bytes


def gradient_exchange_s(
    workload: Workload, layout: Layout, fabric: Fabric, bucket_bytes: float
) -> Values:
    """Gradients of a step with nothing in the way, bucket by bucket [s]."""
    dense, experts = _gradients(workload, layout)
    whole = _in_buckets(dense, layout.data, layout.tensor, fabric, bucket_bytes)
    apart = layout.data / layout.expert
    stride = layout.tensor * layout.expert
    of_experts = _in_buckets(experts, apart, stride, fabric, bucket_bytes)
    more = 1.5 if layout.zero == 3 else 1.0  # parameters are gathered once more
    return more * (whole + of_experts)


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
    sent = workload.experts.active * activation_message_bytes(workload) / layout.tensor
    each = all_to_all_s(sent, group, fabric) * np.greater(layout.expert, 1)
    return _rounds(workload, layout) * each


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
    return PASSES * workload.layers / layout.pipeline * micro_batches(workload, layout)


def _gradients(workload: Workload, layout: Layout) -> tuple[Values, Values]:
    """Gradients of one GPU: of what all data-parallel ranks share, and of its experts [byte]."""
    shared = layout.tensor * layout.pipeline
    dense = (workload.parameters - workload.expert_parameters) / shared
    experts = workload.expert_parameters / (shared * layout.expert)
    return dense * workload.gradient_bytes, experts * workload.gradient_bytes


def _in_buckets(
    gradients: Values, ranks: Values, stride: Values, fabric: Fabric, bucket_bytes: float
) -> Values:
    """All-reduce of gradients in equal buckets of at most so many bytes [s]."""
    buckets = np.ceil(gradients / bucket_bytes)
    each = gradients / np.maximum(1, buckets)
    return buckets * all_reduce_s(each, placed(ranks, stride, fabric), fabric)
