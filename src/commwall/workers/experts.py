"""An expert-parallel feed-forward half: each rank has one expert, tokens travel to theirs and back.

Layer: workers. Reads and writes no file. Every token goes to one expert, the likeliest; an expert
takes a fixed number of each rank's tokens, so that all messages have one size whatever the routing,
and what is beyond goes on unchanged. torch has no such layer.

Source: Fedus et al., "Switch Transformers", arXiv:2101.03961, section 2 (one expert a token, fixed
capacity, output weighed by the router); Lepikhin et al., "GShard", arXiv:2006.16668, section 3.2
(two all-to-alls).
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

Exchange = Callable[[torch.Tensor], torch.Tensor]
"""Gives part i of a tensor's first dimension to rank i."""


class Experts(nn.Module):  # type: ignore[misc]
    """Experts behind a router; all of them here until `keep` leaves one.

    Args:
        hidden: width of the states.
        widened: width inside an expert.
        experts: how many, one for each rank.
        capacity: tokens that an expert takes of each rank.
    """

    def __init__(self, hidden: int, widened: int, experts: int, capacity: int) -> None:
        super().__init__()
        self._experts, self._capacity = experts, capacity
        self._exchange: Exchange = lambda buffers: buffers
        self.router = nn.Linear(hidden, experts, bias=False)
        self.up = nn.Parameter(torch.empty(experts, hidden, widened))
        self.up_bias = nn.Parameter(torch.zeros(experts, 1, widened))
        self.down = nn.Parameter(torch.empty(experts, widened, hidden))
        self.down_bias = nn.Parameter(torch.zeros(experts, 1, hidden))

    def own(self) -> dict[str, nn.Parameter]:
        """Parameters of the experts here."""
        names = ("up", "up_bias", "down", "down_bias")
        return {name: getattr(self, name) for name in names}

    def keep(self, rank: int) -> None:
        """Leave the rank's expert only; from now on tokens are exchanged with the others."""
        for name, parameter in self.own().items():
            setattr(self, name, nn.Parameter(parameter.detach()[rank : rank + 1].clone()))
        self._exchange = _AllToAll.apply

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """What the experts add to states [batch, length, hidden]."""
        tokens = states.flatten(0, 1)
        weight, place = self._places(tokens)
        slots = self._experts * self._capacity
        # One row more than there are slots takes the tokens for which there is no room.
        filled = tokens.new_zeros(slots + 1, tokens.shape[1]).index_copy(0, place, tokens)[:slots]
        arrived = self._exchange(filled.view(self._experts, self._capacity, -1))
        worked = self._work(arrived.reshape(len(self.up), -1, tokens.shape[1]))
        back = self._exchange(worked.view_as(arrived)).flatten(0, 1)
        added = functional.pad(back, (0, 0, 0, 1))[place] * weight[:, None]
        return added.view_as(states)

    def _places(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Weight of each token's expert, and its slot among those of all experts [tokens]."""
        chances = functional.softmax(self.router(tokens).float(), dim=-1)
        weight, chosen = chances.max(dim=-1)
        among = functional.one_hot(chosen, self._experts).cumsum(0)
        turn = among.gather(1, chosen[:, None])[:, 0] - 1
        beyond = torch.full_like(turn, self._experts * self._capacity)
        place = torch.where(turn < self._capacity, chosen * self._capacity + turn, beyond)
        return weight.to(tokens.dtype), place

    def _work(self, tokens: torch.Tensor) -> torch.Tensor:
        """Each expert on its tokens [experts here, tokens, hidden]."""
        widened = functional.gelu(torch.baddbmm(self.up_bias, tokens, self.up))
        return torch.baddbmm(self.down_bias, widened, self.down)


class _AllToAll(torch.autograd.Function):  # type: ignore[misc]
    """An exchange whose gradients take the same way back."""

    @staticmethod
    def forward(_: Any, sent: torch.Tensor) -> torch.Tensor:
        """Part i goes to rank i."""
        return _exchanged(sent)

    @staticmethod
    def backward(_: Any, sent: torch.Tensor) -> torch.Tensor:
        """Part i came from rank i."""
        return _exchanged(sent)


def _exchanged(sent: torch.Tensor) -> torch.Tensor:
    received = torch.empty_like(sent)
    dist.all_to_all_single(received, sent.contiguous())
    return received
