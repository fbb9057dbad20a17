"""Memory of one GPU in training: parameters, gradients, optimiser, activations and buffers.

Layer: model. Reads and writes no file. Not counted: the framework's own memory, buffers of NCCL,
copies of weights in 16 bits, gradients of logits, the layer that full recomputation is at, what the
allocator cannot use. What a GPU really uses is above it: `room` takes a margin.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from commwall.model.layout import Layout, micro_batch, micro_batches
from commwall.model.links import Values
from commwall.model.strategies import shared_gradient_bytes
from commwall.model.workload import Workload

LOGIT_BYTES = 4
"""Of each score of a word. Source: Korthikanti et al., arXiv:2205.05198, section 4.3."""
FEED_FORWARD_BYTES = {False: 4, True: 8}
"""Kept of a feed-forward part for each token and each of its inner width, by whether it is gated
[byte]: before and after the activation; with a gate also the other branch and the product.

Source: Korthikanti et al., section 4.1 (not gated); Shazeer, arXiv:2002.05202, equation 6 (form of
    the gated one, each value of which has 16 bits).
"""
Room = Literal["fits", "may not fit", "does not fit"]
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


@dataclass(frozen=True)
class Memory:
    """What is counted of one GPU, each a number or an array [byte]."""

    state: Values
    activations: Values
    buffers: Values

    @property
    def whole(self) -> Values:
        """Together."""
        return self.state + self.activations + self.buffers


def memory(workload: Workload, layout: Layout) -> Memory:
    """All that is counted of one GPU."""
    return Memory(
        state_bytes(workload, layout),
        activation_bytes(workload, layout),
        buffer_bytes(workload, layout),
    )


def state_bytes(workload: Workload, layout: Layout, each: StateBytes = ADAM) -> Values:
    """Parameters, gradients and optimiser of one GPU [byte].

    Source: Rajbhandari et al., ZeRO, arXiv:1910.02054, section 5; Shoeybi et al., Megatron-LM,
        arXiv:1909.08053, section 3 (tensor parallelism divides the parameters).
    """
    dense = workload.parameters - workload.expert_parameters
    experts = workload.expert_parameters / layout.expert
    parts = ((dense, layout.data), (experts, layout.data / layout.expert))
    held = sum(part * _per_parameter(layout, ranks, each) for part, ranks in parts)
    return held / (layout.tensor * layout.pipeline)


def activation_bytes(workload: Workload, layout: Layout) -> Values:
    """Activations of one GPU at their peak, on the pipeline's first or last stage [byte].

    With 1F1B the first stage holds as many micro-batches as there are stages, the last one, which
    has the logits, one; with GPipe each stage holds all of them.

    Source: Narayanan et al., Efficient large-scale language model training on GPU clusters using
        Megatron-LM, arXiv:2104.04473, section 2.2 (micro-batches in flight).
    """
    several = micro_batches(workload, layout)
    piped = np.greater(layout.pipeline, 1)
    every = layout.schedule == "gpipe"
    first = np.where(piped, several if every else np.minimum(several, layout.pipeline), 1)
    last = np.where(piped, several, 1) if every else 1
    layers = layer_bytes(workload, layout) * workload.layers / layout.pipeline
    return np.maximum(first * layers, last * (layers + logit_bytes(workload, layout)))


def layer_bytes(workload: Workload, layout: Layout) -> Values:
    """Activations that a layer keeps of one micro-batch [byte].

    For each token (7 + 8/t) h of attention and norms, e (3 h + 4 f/t) of the feed-forward part, and
    5 a s/t of scores: width h, f inside the feed-forward part (with a gate 8 f/t), e experts that
    it is sent to (1 without experts), a heads, s tokens, t ranks of tensor parallelism, values of
    16 bits, dropout as in GPT. With f = 4 h, no experts and b samples these are s b h (10 + 24/t) +
    5 a s^2 b/t. Recomputed selectively, the scores are gone; with full recomputation 2 h are left.

    Source: Korthikanti et al., arXiv:2205.05198, section 4.1, equations 1, 2 and 4, section 5.
    """
    hidden, tokens = workload.hidden, workload.sequence_length * micro_batch(workload)
    if workload.recompute == "full":
        return 2 * hidden * tokens
    inside = FEED_FORWARD_BYTES[workload.gated] * workload.widening * hidden / layout.tensor
    feed_forward = (workload.tokens_of_experts or 1) * (3 * hidden + inside)
    scores = 5 * workload.heads * workload.sequence_length / layout.tensor
    kept = scores if workload.recompute == "none" else 0.0
    return tokens * ((7 + 8 / layout.tensor) * hidden + feed_forward + kept)


def logit_bytes(workload: Workload, layout: Layout) -> Values:
    """Scores of all words for one micro-batch, divided by tensor parallelism [byte]."""
    tokens = workload.sequence_length * micro_batch(workload)
    return LOGIT_BYTES * tokens * workload.vocabulary / layout.tensor


def buffer_bytes(workload: Workload, layout: Layout) -> Values:
    """Buffers of the exchange between data-parallel ranks [byte].

    Until ZeRO's stage 1 a copy of all gradients in buckets, as DDP has it unless gradients are told
    to be views of them; in stage 3 the gathered parameters of the layer in use and of the next.
    Stage 2 empties its buckets as it goes: nothing worth counting.
    """
    if layout.zero == 3:
        held = state_bytes(workload, replace(layout, zero=0), StateBytes(ADAM.weights, 0, 0))
        return 2 * held * layout.pipeline / workload.layers * np.greater(layout.data, 1)
    if layout.zero == 2:
        return 0.0
    dense, experts = shared_gradient_bytes(workload, layout)
    return dense + experts


def room(counted: float, memory_bytes: float, margin: float) -> Room:
    """Whether a GPU holds what is counted, and also what is not.

    Args:
        counted: of one GPU [byte].
        memory_bytes: of the GPU [byte].
        margin: what is used beyond what is counted, as a share of it [1].
    """
    if counted > memory_bytes:
        return "does not fit"
    return "fits" if counted * (1 + margin) <= memory_bytes else "may not fit"


def fewest_gpus(state: float, activations: float, memory_bytes: float) -> int | None:
    """Least number of GPUs that hold a model whose state is divided evenly over all of them.

    Args:
        state: parameters, gradients and optimiser together [byte].
        activations: of one GPU [byte].
        memory_bytes: of one GPU [byte].

    Returns:
        None if the activations alone do not fit: then no number of GPUs is enough.
    """
    left = memory_bytes - activations
    return math.ceil(state / left) if left > 0 else None


def _per_parameter(layout: Layout, ranks: Values, each: StateBytes) -> Values:
    """Bytes that one of so many data-parallel ranks keeps for a parameter."""
    zero, whole = layout.zero, layout.whole_gradients
    kinds = (
        (zero >= 3, each.weights),
        (zero >= 2 and not whole, each.gradients),
        (zero >= 1, each.optimiser),
    )
    return sum(size / ranks if divided else size for divided, size in kinds)
