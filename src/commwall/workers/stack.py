"""The transformer stack that strategies split: pre-norm layers, causal attention, no embedding.

Layer: workers. Reads and writes no file. The layers are the project's own, because a strategy must
reach each matrix by its name. The outputs of `qkv` are ordered by head, so that cutting them in
equal parts deals out whole heads; a layer computes with as many heads as its part holds.
"""

import torch
from torch import nn
from torch.nn import functional

from commwall.schema.strategies import StrategiesCase
from commwall.workers.experts import Experts

WIDENING = 4
"""Width of the feed-forward half, relative to the layer's."""
_STANDARD_DEVIATION = 0.02
"""Source: Radford et al. 2019, released code of GPT-2."""
MicroBatch = tuple[torch.Tensor, torch.Tensor]
"""States and the states to be predicted, each [samples, tokens, hidden]."""


class Attention(nn.Module):  # type: ignore[misc]
    """Causal self-attention of states [batch, length, hidden].

    Args:
        hidden: width.
        heads: of the whole layer.
    """

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self._head = hidden // heads
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.out = nn.Linear(hidden, hidden)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """New states of the same shape."""
        parts = self.qkv(states).unflatten(-1, (-1, 3, self._head))  # [batch, length, heads, 3, d]
        query, key, value = parts.permute(3, 0, 2, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        mixed: torch.Tensor = self.out(seen.transpose(1, 2).flatten(2))
        return mixed


class FeedForward(nn.Module):  # type: ignore[misc]
    """The dense half of a layer, of states [batch, length, hidden]."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.up = nn.Linear(hidden, WIDENING * hidden)
        self.down = nn.Linear(WIDENING * hidden, hidden)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """New states of the same shape."""
        widened: torch.Tensor = self.down(functional.gelu(self.up(states)))
        return widened


class Layer(nn.Module):  # type: ignore[misc]
    """Attention, then the feed-forward half, each added to its input."""

    def __init__(self, hidden: int, heads: int, feed_forward: nn.Module) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(hidden)
        self.attention = Attention(hidden, heads)
        self.feed_forward_norm = nn.LayerNorm(hidden)
        self.feed_forward = feed_forward

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """New states [batch, length, hidden]."""
        states = states + self.attention(self.attention_norm(states))
        added: torch.Tensor = states + self.feed_forward(self.feed_forward_norm(states))
        return added


def build(case: StrategiesCase, ranks: int, device: torch.device) -> nn.Sequential:
    """The whole stack with the case's random weights, the same on every rank of a platform.

    Args:
        case: which stack, and of which type.
        ranks: as many experts a layer has, if it has any.
        device: where the weights are drawn.
    """
    torch.manual_seed(case.seed)
    size = case.stack

    def feed_forward() -> nn.Module:
        if case.strategy == "expert":
            return Experts(size.hidden, WIDENING * size.hidden, ranks, case.capacity(ranks))
        return FeedForward(size.hidden)

    with device:
        layers = (Layer(size.hidden, size.heads, feed_forward()) for _ in range(size.layers))
        stack = nn.Sequential(*layers)
        for parameter in stack.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=_STANDARD_DEVIATION)
    return stack.to(getattr(torch, case.precision))


def batch(case: StrategiesCase, rank: int, device: torch.device) -> list[MicroBatch]:
    """Random data of each micro-batch of a step.

    Args:
        case: sizes.
        rank: whose batch; strategies that work on one batch take that of rank 0.
        device: where they are to be.
    """
    generator = torch.Generator().manual_seed(case.seed * 1009 + rank + 1)
    shape = (2, case.micro_batch, case.sequence_length, case.stack.hidden)
    dtype: torch.dtype = getattr(torch, case.precision)
    drawn = (torch.randn(shape, generator=generator) for _ in range(case.micro_batches))
    return [(pair[0].to(device, dtype), pair[1].to(device, dtype)) for pair in drawn]


def loss_of(found: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Mean squared difference of states, in float32."""
    return functional.mse_loss(found.float(), wanted.float())
