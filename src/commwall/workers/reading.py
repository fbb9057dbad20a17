"""A small real task: the next character of English prose, learnt in seconds on a CPU.

Layer: workers. Reads no file but a module of Python's standard library, whose own documentation of
the language is the text: it is wherever Python is, and needs no download.
"""

from functools import cache
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from commwall.workers.outcomes import Unsupported

CONTEXT = 12
"""Characters from which the next one is guessed."""
BATCH = 32
"""Samples of a batch of one process."""
RATE = 3e-3
"""Learning rate of AdamW."""
_WIDTH, _EMBEDDED = 128, 16
_HELD_OUT = 0.1
_HELD_OUT_SAMPLES = 4096


class Prose(NamedTuple):
    """The text as numbers."""

    symbols: int
    """Different characters."""
    learnt: torch.Tensor
    """Characters to learn from, shape (n,)."""
    held_out: torch.Tensor
    """Characters to be judged by, shape (m,)."""


@cache
def prose() -> Prose:
    """The text.

    Raises:
        Unsupported: if this Python comes without it.
    """
    try:
        from pydoc_data.topics import topics
    except ImportError as error:
        raise Unsupported(
            "there is no text to learn from",
            where="pydoc_data.topics, of Python's standard library",
            found="no such module",
            next_step="use a Python with its whole standard library",
        ) from error
    text = "\n".join(topics[name] for name in sorted(topics))
    places = {symbol: place for place, symbol in enumerate(sorted(set(text)))}
    numbers = torch.tensor([places[symbol] for symbol in text])
    cut = int(len(numbers) * (1 - _HELD_OUT))
    return Prose(len(places), numbers[:cut], numbers[cut:])


class Reader(nn.Module):  # type: ignore[misc]
    """Guesses the next character by a net of two hidden layers."""

    def __init__(self, symbols: int) -> None:
        super().__init__()
        self._layers = nn.Sequential(
            nn.Embedding(symbols, _EMBEDDED),
            nn.Flatten(),
            nn.Linear(CONTEXT * _EMBEDDED, _WIDTH),
            nn.ReLU(),
            nn.Linear(_WIDTH, _WIDTH),
            nn.ReLU(),
            nn.Linear(_WIDTH, symbols),
        )

    def forward(self, characters: torch.Tensor) -> torch.Tensor:
        """Mean loss [nat] of samples, shape (batch, CONTEXT + 1): the last is to be guessed."""
        guessed = self._layers(characters[:, :-1])
        return cross_entropy(guessed, characters[:, -1])


class Reading:
    """A reader's training on one rank: same weights on all ranks, batches of its own.

    Args:
        seed: of weights and batches.
        rank: number of the process.
        batches: that it will train on.
        batch_times: how many of them make one batch.
    """

    def __init__(self, seed: int, rank: int, batches: int, batch_times: int = 1) -> None:
        text = prose()
        torch.manual_seed(seed)
        self.module = Reader(text.symbols)
        generator = torch.Generator().manual_seed(seed * 1009 + rank + 1)
        starts = torch.randint(len(text.learnt) - CONTEXT, (batches, BATCH), generator=generator)
        self._samples = _samples(text.learnt, starts.view(-1, BATCH * batch_times))
        self._next = 0
        self._optimizer = self.new_optimizer(list(self.module.parameters()))

    def new_optimizer(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        """An optimiser of these parameters."""
        return torch.optim.AdamW(parameters, lr=RATE, fused=True)

    def forget_gradients(self) -> None:
        """Have the next gradients be fresh ones."""
        self._optimizer.zero_grad(set_to_none=True)

    def add_gradients(self, model: nn.Module, share: float = 1.0) -> torch.Tensor:
        """Add gradients of a share of the next batch's loss, which is returned detached."""
        loss: torch.Tensor = model(self._samples[self._next])
        self._next += 1
        (loss * share).backward()
        return loss.detach()

    def update(self, loss: torch.Tensor) -> None:
        """Have the optimiser use the gradients."""
        self._optimizer.step()

    def keep(self, loss: torch.Tensor) -> None:
        """Nothing: losses on what is learnt are not looked at."""

    def local_gradient(self, batches: int) -> torch.Tensor:
        """Mean gradient of the next batches on this rank, which are not used up, shape (n,)."""
        ahead = self._samples[self._next : self._next + batches]
        loss = torch.stack([self.module(samples) for samples in ahead]).mean()
        # Past DDP's hooks, which wait for gradients that are accumulated.
        gradients = torch.autograd.grad(loss, list(self.module.parameters()))
        return _flat(gradients)

    def gradient(self) -> torch.Tensor:
        """The gradient that the last step used, shape (n,)."""
        return _flat([p.grad for p in self.module.parameters() if p.grad is not None])

    def held_out_loss(self) -> float:
        """Mean loss on text that was not learnt [nat]."""
        text = prose().held_out
        starts = torch.linspace(0, len(text) - CONTEXT - 1, _HELD_OUT_SAMPLES).long()
        with torch.no_grad():
            return float(self.module(_samples(text, starts)))


def _samples(text: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
    """CONTEXT + 1 characters from each start on, shape (*starts.shape, CONTEXT + 1)."""
    return text[starts.unsqueeze(-1) + torch.arange(CONTEXT + 1)]


def _flat(tensors: list[torch.Tensor] | tuple[torch.Tensor, ...]) -> torch.Tensor:
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).double()
