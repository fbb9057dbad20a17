"""Memory of one GPU in training: parameters, gradients, optimiser and activations.

Layer: model. Reads and writes no file. Not counted: the framework's own memory, buffers of NCCL,
copies of gradients in buckets, logits. What a GPU really uses is above it.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from commwall.model.layout import Layout, micro_batch, micro_batches
from commwall.model.links import Values
from commwall.model.workload import Workload

Zero = Literal[0, 1, 2, 3]
"""What data-parallel ranks divide: 1 the optimiser, 2 gradients too, 3 parameters too."""


@dataclass(frozen=True)
class StateBytes:
    """What is kept for each parameter [byte]."""

    weights: float = 2
    gradients: float = 2
    optimiser: float = 12
    """Weights and two moments in 32 bits.

    Source: Rajbhandari et al., ZeRO, arXiv:1910.02054, section 3.1: 2 + 2 + 12. Weights and
        gradients in 32 bits with two moments are 4 + 4 + 8, also 16.
    """

    @property
    def whole(self) -> float:
        """Without dividing anything [byte]."""
        return self.weights + self.gradients + self.optimiser


ADAM = StateBytes()


def state_bytes(workload: Workload, layout: Layout, each: StateBytes = ADAM) -> Values:
    """Parameters, gradients and optimiser of one GPU [byte].

    Source: Rajbhandari et al., ZeRO, arXiv:1910.02054, section 5; Shoeybi et al., Megatron-LM,
        arXiv:1909.08053, section 3 (tensor parallelism divides the parameters).
    """
    dense = workload.parameters - workload.expert_parameters
    experts = workload.expert_parameters / layout.expert
    parts = ((dense, layout.data), (experts, layout.data / layout.expert))
    held = sum(part * _per_parameter(layout.zero, ranks, each) for part, ranks in parts)
    return held / (layout.tensor * layout.pipeline)


def activation_bytes(workload: Workload, layout: Layout) -> Values:
    """Activations of one GPU at their peak, on the pipeline's first stage [byte].

    A layer keeps s b h (10 + 24/t) + 5 a s^2 b/t byte of a micro-batch (s tokens, b samples, width
    h, a heads, t ranks of tensor parallelism, values of 16 bits); without scores the last term is
    gone; with full recomputation 2 s b h are left. With 1F1B the first stage holds as many
    micro-batches as there are stages, with GPipe all of them.

    Source: Korthikanti et al., arXiv:2205.05198, equations 1, 2 and 4, section 5; Narayanan et al.,
        Efficient large-scale language model training on GPU clusters using Megatron-LM,
        arXiv:2104.04473, section 2.2 (micro-batches in flight).
    """
    tokens = workload.sequence_length * micro_batch(workload)
    scores = 5 * workload.heads * workload.sequence_length * tokens / layout.tensor
    layer = {
        "none": tokens * workload.hidden * (10 + 24 / layout.tensor) + scores,
        "selective": tokens * workload.hidden * (10 + 24 / layout.tensor),
        "full": 2 * tokens * workload.hidden,
    }[workload.recompute]
    several = micro_batches(workload, layout)
    in_flight = several if layout.schedule == "gpipe" else np.minimum(several, layout.pipeline)
    in_flight = np.where(np.greater(layout.pipeline, 1), in_flight, 1)
    return layer * workload.layers / layout.pipeline * in_flight


def fewest_gpus(state: float, activations: float, memory_bytes: float) -> int | None:
    """Least number of GPUs that hold a model whose state is divided evenly over all of them.

    Args:
        state: parameters, gradients and optimiser together [byte].
        activations: of one GPU [byte].
        memory_bytes: of one GPU [byte].

    Returns:
        None if the activations alone do not fit: then no number of GPUs is enough.
    """
    room = memory_bytes - activations
    return math.ceil(state / room) if room > 0 else None


def _per_parameter(zero: int, ranks: Values, each: StateBytes) -> Values:
    """Bytes that one of so many data-parallel ranks keeps for a parameter."""
    kinds = ((3, each.weights), (2, each.gradients), (1, each.optimiser))
    return sum(size / ranks if zero >= stage else size for stage, size in kinds)
