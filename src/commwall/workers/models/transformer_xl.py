"""Transformer-XL: a language model whose segments remember the one before.

Layer: workers. Reads and writes no file; weights and data are random. Dropout is off, for the
reason given in `commwall.workers.models.bert`. The memory is state between steps and belongs to
the batch: a tensor of fixed shape that each call reads and then overwrites in place with its own
hidden states, cut off from their gradients. It starts as zeros, which are attended to.

Source: Dai et al., "Transformer-XL", arXiv:1901.02860, section 3. The shapes are those of the
authors' WikiText-103 scripts (github.com/kimiyoung/transformer-xl, pytorch/run_wt103_base.sh and
run_wt103_large.sh), where memory and segment are equally long: 150 and 384 tokens.
"""

import math
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from commwall.workers.compilation import Region
from commwall.workers.models.vocabulary import TiedVocabulary, sort_targets

_STANDARD_DEVIATION = 0.02
_LONGEST_WAVE = 10000.0


class Preset(NamedTuple):
    """A size of the model.

    A layer of width d and inner width f has 5 d^2 (query, key, value, distance, output),
    2 d f + f + d (feed-forward) and 4 d (two normalisations) parameters; u and v, shared by all
    layers, have d each. `commwall.workers.models.vocabulary` counts the words.
    """

    layers: int
    hidden: int
    """Width d of the hidden states."""
    heads: int
    inner: int
    """Width f inside the feed-forward layers."""
    cluster_ends: tuple[int, ...]
    """Word numbers at which the clusters end; the last is the size of the vocabulary."""
    division: int
    """How much narrower each cluster's vectors are than those of the one before."""
    parameters: int
    """Trainable parameters."""


_WIKITEXT_103 = (20_000, 40_000, 200_000, 267_735)

PRESETS = {
    "base": Preset(16, 410, 10, 2100, _WIKITEXT_103, division=1, parameters=151_107_538),
    "large": Preset(18, 1024, 16, 4096, _WIKITEXT_103, division=4, parameters=284_121_930),
    "demo": Preset(2, 128, 4, 512, (512, 1024, 2048), division=2, parameters=590_594),
}
"""Table 1 of the paper gives 151 M and 257 M. The formula gives 151.1 M for base. For large it
gives 284.1 M with the 18 layers of the script; with 16 it would give the paper's 256.8 M.

Source: Dai et al. 2019, arXiv:1901.02860, table 1 and the scripts beside it; parameters counted by
the shapes of its layers. The demo's sizes are the project's."""


class RelativeAttention(nn.Module):  # type: ignore[misc]
    """Attention over memory and segment, by content and by distance (section 3.3)."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self._heads = heads
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key_value = nn.Linear(hidden, 2 * hidden, bias=False)
        self.distance = nn.Linear(hidden, hidden, bias=False)
        self.output = nn.Linear(hidden, hidden, bias=False)

    def forward(
        self,
        states: torch.Tensor,
        memory: torch.Tensor,
        waves: torch.Tensor,
        biases: torch.Tensor,
    ) -> torch.Tensor:
        """What each token of the segment gathers, [batch, length, hidden].

        Args:
            states: hidden states of the segment [batch, length, hidden].
            memory: those of the segment before [batch, memory, hidden].
            waves: encoding of the distances, the farthest first [memory + length, hidden].
            biases: the paper's u and v [2, heads, 1, hidden / heads].
        """
        query = self._split(self.query(states))
        context = self.key_value(torch.cat((memory, states), dim=1))
        key, value = map(self._split, context.chunk(2, dim=-1))
        distance = self._split(self.distance(waves).unsqueeze(0))
        by_content, by_distance = (query + bias for bias in biases)
        bias = shift(by_distance @ distance.transpose(-2, -1)) / math.sqrt(query.shape[-1])
        bias = bias.masked_fill(_future(bias), -math.inf)
        gathered = functional.scaled_dot_product_attention(by_content, key, value, attn_mask=bias)
        return self.output(gathered.transpose(1, 2).flatten(2))

    def _split(self, states: torch.Tensor) -> torch.Tensor:
        """[batch, length, hidden] -> [batch, heads, length, hidden / heads]."""
        return states.unflatten(-1, (self._heads, -1)).transpose(1, 2)


class Layer(nn.Module):  # type: ignore[misc]
    """Attention and feed-forward, each added to its input and normalised."""

    def __init__(self, preset: Preset) -> None:
        super().__init__()
        self.attention = RelativeAttention(preset.hidden, preset.heads)
        self.attention_norm = nn.LayerNorm(preset.hidden)
        self.feed_forward = nn.Sequential(
            nn.Linear(preset.hidden, preset.inner),
            nn.ReLU(),
            nn.Linear(preset.inner, preset.hidden),
        )
        self.feed_forward_norm = nn.LayerNorm(preset.hidden)

    def forward(
        self,
        states: torch.Tensor,
        memory: torch.Tensor,
        waves: torch.Tensor,
        biases: torch.Tensor,
    ) -> torch.Tensor:
        """Hidden states of the next layer; shapes as in `RelativeAttention`."""
        states = self.attention_norm(states + self.attention(states, memory, waves, biases))
        after: torch.Tensor = self.feed_forward_norm(states + self.feed_forward(states))
        return after


class TransformerXL(nn.Module):  # type: ignore[misc]
    """Transformer-XL whose call returns the loss and refreshes the memory."""

    def __init__(self, preset: Preset) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(preset) for _ in range(preset.layers))
        self.biases = nn.Parameter(torch.empty(2, preset.heads, 1, preset.hidden // preset.heads))
        for weight in (self.biases, *(p for p in self.layers.parameters() if p.dim() > 1)):
            nn.init.normal_(weight, std=_STANDARD_DEVIATION)
        self.vocabulary = TiedVocabulary(preset.hidden, preset.cluster_ends, preset.division)

    def states(self, words: torch.Tensor, memory: torch.Tensor) -> list[torch.Tensor]:
        """What enters each layer, and what leaves the last one, each [batch, length, hidden].

        Args:
            words: the segment [batch, length].
            memory: what entered each layer for the segment before [layer, batch, memory, hidden].
        """
        waves = _waves(memory.shape[2] + words.shape[1], memory)
        states = [self.vocabulary.embed(words) * math.sqrt(memory.shape[-1])]
        for layer, kept in zip(self.layers, memory, strict=True):
            states.append(layer(states[-1], kept, waves, self.biases))
        return states

    def forward(
        self,
        words: torch.Tensor,
        memory: torch.Tensor,
        first: torch.Tensor,
        **rare: torch.Tensor,
    ) -> torch.Tensor:
        """Mean cross-entropy of the words that follow.

        Args:
            words: the segment [batch, length].
            memory: as in `states`; overwritten.
            first: as in `commwall.workers.models.vocabulary.sort_targets`, with the tokens in
                the order of the flattened segment.
            rare: the same.
        """
        *entered, last = self.states(words, memory)
        for kept, state in zip(memory, entered, strict=True):
            kept.copy_(torch.cat((kept, state.detach()), dim=1)[:, words.shape[1] :])
        return self.vocabulary.loss(last.flatten(0, 1), first, list(rare.values()))


def shift(scores: torch.Tensor) -> torch.Tensor:
    """From scores by distance to scores by key.

    Column c of row i stands for distance n - 1 - c and is to move to key c - (length - 1 - i).
    Every row moves one column less than the one above, as it does when the rows, one column
    longer, are laid end to end and cut again at their old length. Keys in the future of a row
    get values of no meaning.

    Args:
        scores: [..., length, n], the farthest distance first; n is memory + length.

    Returns:
        [..., length, n], where column j is key j of memory and segment.
    """
    length, n = scores.shape[-2:]
    laid_out = functional.pad(scores, (0, 1)).flatten(-2)
    return laid_out[..., length - 1 : -1].unflatten(-1, (length, n))


def forward_flops(preset: str, shape: tuple[int, ...]) -> float:
    """FLOPs of the forward pass of a batch, with a memory as long as a segment.

    A token and layer take 6 d^2 + 2 d f multiplications (query and output; key and value of the
    token and of one remembered; feed-forward) and 3 n d for n = 2 x length keys: by content, by
    distance, and gathering. A segment's n distances are projected once a layer. Words are taken
    in and given out with all clusters' projections where they are narrower; the common words'
    scores are computed for every token, a rare cluster's for its share of the tokens.

    Source: Dai et al., "Transformer-XL", arXiv:1901.02860, section 3.3, and the shapes here;
    `batch` for the shares.

    Args:
        preset: which size.
        shape: samples, tokens per sample.
    """
    size, (samples, length) = PRESETS[preset], shape
    hidden, keys, tokens = size.hidden, 2 * length, samples * length
    layer = tokens * (6 * hidden**2 + 2 * hidden * size.inner + 3 * keys * hidden)
    layer += keys * hidden**2
    macs = size.layers * layer
    ends = (0, *size.cluster_ends)
    widths = [hidden // size.division**cluster for cluster in range(len(size.cluster_ends))]
    for cluster, (width, begin, end) in enumerate(zip(widths, ends, ends[1:], strict=False)):
        share = math.log((end + 1) / (begin + 1)) / math.log(ends[-1] + 1) if cluster else 1.0
        narrow = hidden * width if size.division > 1 else 0
        macs += tokens * (narrow + share * (narrow + width * (end - begin)))
    return 2.0 * macs


def regions(model: nn.Module) -> list[Region]:
    """Layers, and the vocabulary at both ends."""
    words = model.vocabulary
    return [*map(Region, model.layers), Region(words, "embed"), Region(words, "loss")]


def build(preset: str) -> nn.Module:
    """The model with random weights drawn from torch's global generator, in training mode."""
    return TransformerXL(PRESETS[preset]).train()


def batch(
    preset: str, shape: tuple[int, ...], generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Synthetic data of one step, on the CPU, with an empty memory as long as a segment.

    Word number w comes about as often as 1 / (w + 1), after Zipf's law, so that each cluster
    has about the share of the work that it has in a text.

    Args:
        preset: whose vocabulary and memory to use.
        shape: samples, tokens per sample.
        generator: where the randomness comes from.

    Returns:
        Keyword arguments of the model's call.
    """
    samples, length = shape
    size = PRESETS[preset]
    drawn = torch.rand((samples, length + 1), generator=generator, dtype=torch.float64)
    text = (size.cluster_ends[-1] ** drawn).long() - 1
    return {
        "words": text[:, :-1].contiguous(),
        "memory": torch.zeros(size.layers, samples, length, size.hidden),
        **sort_targets(text[:, 1:].flatten(), size.cluster_ends),
    }


def _waves(count: int, like: torch.Tensor) -> torch.Tensor:
    """Sinusoids of the distances count - 1 to 0, [count, width]; kind and width as `like`'s.

    Source: Vaswani et al., "Attention Is All You Need", arXiv:1706.03762, section 3.5.
    """
    width = like.shape[-1]
    distances = torch.arange(count - 1, -1, -1, device=like.device, dtype=like.dtype)
    exponents = torch.arange(0, width, 2, device=like.device, dtype=like.dtype) / width
    angles = torch.outer(distances, _LONGEST_WAVE**-exponents)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


def _future(scores: torch.Tensor) -> torch.Tensor:
    """True where a key [..., length, memory + length] comes after the row's own token."""
    length, keys = scores.shape[-2:]
    ones = torch.ones((length, keys), dtype=torch.bool, device=scores.device)
    return ones.triu(keys - length + 1)
