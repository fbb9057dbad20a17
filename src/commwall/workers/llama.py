"""A decoder of Llama's form, cut for tensor parallelism: prompts are read, tokens are generated.

Layer: workers. Reads and writes no file. The cut is Megatron's: queries, keys, values and the gated
half by output, what follows each by input, so that a layer has one all-reduce after attention and
one after the gated half. Every matrix is drawn whole from its own seed before it is cut, so that
any number of ranks has the same model.

Source: Grattafiori et al., "The Llama 3 Herd of Models", arXiv:2407.21783, section 3.2; Shoeybi et
al., "Megatron-LM", arXiv:1909.08053, section 3; Su et al., "RoFormer", arXiv:2104.09864, section 3
(rotary positions).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from commwall.schema.inference import Decoder, InferenceCase
from commwall.schema.workload import COMPILING
from commwall.workers.compilation import Region, compile_regions

ROTARY_BASE = 500_000.0
NORM_EPSILON = 1e-5
"""Source of both: arXiv:2407.21783, table 3, and config.json of the released models."""
_STANDARD_DEVIATION = 0.02


class Part(NamedTuple):
    """Which part of a decoder is here."""

    rank: int
    ranks: int


WHOLE = Part(0, 1)


class Weights:
    """Draws the matrices of a decoder one after another, and keeps this rank's part of each."""

    def __init__(self, case: InferenceCase, part: Part, device: torch.device) -> None:
        self._seed, self._part, self._device = case.seed, part, device
        self._dtype: torch.dtype = getattr(torch, case.precision)
        self._drawn = 0
        self.cut = self.whole = 0
        """Values kept of cut matrices, and of those that every rank has."""

    def matrix(self, rows: int, columns: int, cut: int | None = None) -> torch.Tensor:
        """The next matrix, or this rank's equal share of its rows (0) or columns (1)."""
        self._drawn += 1
        generator = torch.Generator(self._device).manual_seed(self._seed * 10_007 + self._drawn)
        drawn = torch.empty(rows, columns, dtype=self._dtype, device=self._device)
        drawn.normal_(std=_STANDARD_DEVIATION, generator=generator)
        if cut is None:
            self.whole += drawn.numel()
            return drawn
        kept = drawn.chunk(self._part.ranks, dim=cut)[self._part.rank].clone()
        self.cut += kept.numel()
        return kept

    def ones(self, count: int) -> torch.Tensor:
        """The weight of a norm."""
        self.whole += count
        return torch.ones(count, dtype=self._dtype, device=self._device)


class Layer(nn.Module):  # type: ignore[misc]
    """One layer's part on this rank, with its cache [batch, heads of keys, positions, head]."""

    def __init__(self, size: Decoder, weights: Weights, cache: torch.Tensor) -> None:
        super().__init__()
        self._head = size.head
        self._attention_norm = weights.ones(size.hidden)
        widths = (size.heads, size.key_heads, size.key_heads)
        parts = [weights.matrix(count * size.head, size.hidden, 0) for count in widths]
        self._rows = [len(part) for part in parts]
        self._qkv = torch.cat(parts)
        self._out = weights.matrix(size.hidden, size.hidden, 1)
        self._gated_norm = weights.ones(size.hidden)
        gates = [weights.matrix(size.widened, size.hidden, 0) for _ in range(2)]
        self._gate_up = torch.cat(gates)
        self._down = weights.matrix(size.hidden, size.widened, 1)
        self._keys, self._values = cache

    def regions(self) -> Iterator[Region]:
        """What lies between two all-reduces is compiled in one piece."""
        yield Region(self, "attention")
        yield Region(self, "gated")

    def attention(self, states: torch.Tensor, turn: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        """This rank's part of what attention adds to states [batch, tokens, hidden].

        Args:
            states: of a whole prompt, or of one token.
            turn: cosine and sine of each token's rotation [2, tokens, head / 2].
            at: positions of the tokens, where the cache takes their keys and values.
        """
        projected = functional.linear(_normed(states, self._attention_norm), self._qkv)
        query, key, value = (
            part.unflatten(-1, (-1, self._head)).transpose(1, 2)
            for part in projected.split(self._rows, dim=-1)
        )
        query, key = _turned(query, turn), _turned(key, turn)
        self._keys.index_copy_(2, at, key)
        self._values.index_copy_(2, at, value)
        if states.shape[1] > 1:
            seen = functional.scaled_dot_product_attention(
                query, key, value, is_causal=True, enable_gqa=True
            )
        else:
            seen = self._seen_by_one(query, at)
        return functional.linear(seen.transpose(1, 2).flatten(2), self._out)

    def _seen_by_one(self, query: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        """What one token sees of the cache; queries that share keys are rows of one product."""
        grouped = query.unflatten(1, (self._keys.shape[1], -1))[:, :, :, 0]
        scores = grouped @ self._keys.transpose(-1, -2) * self._head**-0.5
        later = torch.arange(self._keys.shape[2], device=at.device) > at
        shares = scores.float().masked_fill(later, float("-inf")).softmax(-1).to(query.dtype)
        return (shares @ self._values).flatten(1, 2)[:, :, None]

    def gated(self, states: torch.Tensor) -> torch.Tensor:
        """This rank's part of what the gated half adds to states [batch, tokens, hidden]."""
        widened = functional.linear(_normed(states, self._gated_norm), self._gate_up)
        gate, up = widened.chunk(2, dim=-1)
        return functional.linear(functional.silu(gate) * up, self._down)


class Llama:
    """A decoder's part on this rank, and the state of the answers that it generates.

    Args:
        case: shapes, batch and lengths.
        part: which part.
        device: of this rank.
    """

    def __init__(self, case: InferenceCase, part: Part, device: torch.device) -> None:
        size, self._case, self._part = case.decoder, case, part
        self.weights = weights = Weights(case, part, device)
        heads = size.key_heads // part.ranks
        shape = (size.layers, 2, case.batch, heads, case.positions, size.head)
        cache = torch.zeros(shape, dtype=getattr(torch, case.precision), device=device)
        self._embedding = weights.matrix(size.vocabulary, size.hidden)
        self._layers = [Layer(size, weights, cache[number]) for number in range(size.layers)]
        if case.step_mode in COMPILING:
            compile_regions(region for layer in self._layers for region in layer.regions())
        self._norm = weights.ones(size.hidden)
        self._head = weights.matrix(size.vocabulary, size.hidden, 0)
        self._turns = _turns(size.head, case.positions, device)
        generator = torch.Generator().manual_seed(case.seed)
        prompts = torch.randint(
            size.vocabulary, (case.batch, case.prompt_tokens), generator=generator
        )
        self._prompts = prompts.to(device)
        self._first = torch.arange(case.prompt_tokens, device=device)
        self.at = torch.full((1,), case.prompt_tokens, device=device)
        """Position of the next token."""
        self.tokens = torch.zeros(case.batch, 1, dtype=torch.int64, device=device)
        """Last token of each answer, which is the next one's input."""
        self.scores = torch.zeros(case.batch, size.vocabulary, device=device)
        """Of every word to come next [batch, words], always at the same address."""

    def read_prompts(self) -> None:
        """Fill the cache, and generate the first token of each answer."""
        self._answer(self._prompts, self._first)
        self.at.fill_(self._case.prompt_tokens)

    def next_tokens(self) -> None:
        """Generate one token of each answer; after the last one the answers begin anew."""
        self._answer(self.tokens, self.at)
        first, count = self._case.prompt_tokens, self._case.generated_tokens
        self.at.add_(1 - first).remainder_(count).add_(first)

    def _answer(self, tokens: torch.Tensor, at: torch.Tensor) -> None:
        """Scores after the last of the tokens [batch, tokens] at these positions."""
        states, turn = self._embedding[tokens], self._turns[:, at]
        for layer in self._layers:
            states = states + self._summed(layer.attention(states, turn, at))
            states = states + self._summed(layer.gated(states))
        last = _normed(states[:, -1], self._norm)
        self.scores.copy_(self._gathered(functional.linear(last, self._head)))
        self.tokens.copy_(self.scores.argmax(-1, keepdim=True))

    def _summed(self, part: torch.Tensor) -> torch.Tensor:
        """The sum over the ranks."""
        if self._part.ranks > 1:
            dist.all_reduce(part)
        return part

    def _gathered(self, part: torch.Tensor) -> torch.Tensor:
        """Scores of all words [batch, words] from each rank's share of them."""
        if self._part.ranks == 1:
            return part
        answers, words = part.shape
        parts = part.new_empty(self._part.ranks * answers, words)
        dist.all_gather_into_tensor(parts, part.contiguous())
        return parts.view(-1, answers, words).transpose(0, 1).flatten(1)


def _normed(states: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(states, weight.shape, weight, NORM_EPSILON)


def _turns(head: int, positions: int, device: torch.device) -> torch.Tensor:
    """Cosine and sine of every position's angles [2, positions, head / 2]."""
    exponents = torch.arange(0, head, 2, device=device) / head
    angles = torch.outer(torch.arange(positions, device=device), ROTARY_BASE**-exponents)
    return torch.stack((angles.cos(), angles.sin()))


def _turned(states: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
    """States [batch, heads, tokens, head] turned: each value with its mate in the other half."""
    cosine, sine = turn
    first, second = states.float().chunk(2, dim=-1)
    turned = (first * cosine - second * sine, first * sine + second * cosine)
    return torch.cat(turned, dim=-1).to(states.dtype)


Run = Callable[[], object]
"""Reads the prompts, or generates a token of each answer."""
