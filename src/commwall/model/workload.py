"""A transformer and one training step of it, as far as models need to know it.

Layer: model. Reads and writes no file.
"""

from dataclasses import dataclass
from typing import Literal

Recompute = Literal["none", "selective", "full"]
"""none: every activation is kept; selective: scores of the attention are not, as with fused
attention kernels; full: only what enters each layer is kept."""


@dataclass(frozen=True)
class Experts:
    """Feed-forward parts of which each token uses a few (mixture of experts)."""

    number: int
    """Experts in each layer."""
    active: int
    """Of them used by each token."""
    parameters: float
    """Of all experts of all layers together."""
    capacity: float = 1.0
    """Room for tokens in the buffers to an expert over an equal share; they are sent full."""


@dataclass(frozen=True)
class Workload:
    """One optimiser step."""

    parameters: float
    """All of them."""
    layers: int
    hidden: int
    """Width of the residual stream."""
    heads: int
    sequence_length: int
    """Tokens of a sample; patches of an image."""
    batch_per_gpu: float
    """Samples of a step, divided by the number of GPUs."""
    micro_batch: float | None = None
    """Samples that a replica of the model works on at a time; None is `batch_per_gpu`. Gradients
    are exchanged once a step, after the last of them."""
    gradient_bytes: int = 4
    """Of each gradient as it is exchanged [byte]."""
    activation_bytes: int = 2
    """Of each activation as it is exchanged [byte]."""
    widening: float = 4.0
    """Width inside a feed-forward part, or inside each expert, over `hidden` [1]."""
    gated: bool = False
    """Whether feed-forward parts have a gate beside their first matrix (SwiGLU)."""
    vocabulary: int = 0
    """Words of which each token's next is predicted; 0 is a head too small to count."""
    recompute: Recompute = "selective"
    experts: Experts | None = None

    @property
    def expert_parameters(self) -> float:
        """Of all experts together."""
        return self.experts.parameters if self.experts else 0.0

    @property
    def active_parameters(self) -> float:
        """Used by each token."""
        if self.experts is None:
            return self.parameters
        idle = 1 - self.experts.active / self.experts.number
        return self.parameters - idle * self.experts.parameters

    @property
    def tokens_of_experts(self) -> float:
        """Times that each token is sent to an expert, empty places included; 0 without experts."""
        return self.experts.active * self.experts.capacity if self.experts else 0.0

    @property
    def repeats_forward(self) -> bool:
        """Whether the forward pass is done again before the backward pass."""
        return self.recompute == "full"

    @property
    def tokens_per_gpu(self) -> float:
        """Tokens of a step, divided by the number of GPUs."""
        return self.batch_per_gpu * self.sequence_length

    @property
    def flops_per_gpu(self) -> float:
        """Forward and backward pass of a step, divided by the number of GPUs [FLOP].

        6 for each parameter and token, and 12 layers x width x length for the attention of each.
        Recomputation is work, too, but no FLOP of the model.

        Source: Chowdhery et al., PaLM, arXiv:2204.02311, appendix B.
        """
        attention = 12 * self.layers * self.hidden * self.sequence_length
        return (6 * self.active_parameters + attention) * self.tokens_per_gpu

    @property
    def work_share(self) -> float:
        """Work of a step over that of a step without recomputation [1].

        Full recomputation repeats the forward pass, one third of the step; the scores alone are
        left out of account.

        Source: Korthikanti et al., Reducing activation recomputation in large transformer models,
            arXiv:2205.05198, section 5.
        """
        return 4 / 3 if self.repeats_forward else 1.0
