"""A decoder that predicts the next token, of GPT-2's form and sizes.

Layer: workers. Reads and writes no file. The activation is the exact GELU, of which GPT-2's code
computes an approximation.

Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.3
and table 2.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from commwall.workers.compilation import Region
from commwall.workers.models import layers


class Preset(NamedTuple):
    """A size of the model."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    positions: int
    """Tokens of the longest sequence."""
    parameters: int
    """Trainable parameters, with the prediction tied to the word embedding."""


_GPT2_VOCABULARY, _GPT2_POSITIONS = 50_257, 1024

PRESETS = {
    "small": Preset(_GPT2_VOCABULARY, 768, 12, 12, _GPT2_POSITIONS, parameters=124_439_808),
    "medium": Preset(_GPT2_VOCABULARY, 1024, 24, 16, _GPT2_POSITIONS, parameters=354_823_168),
    "demo": Preset(1024, 128, 2, 2, _GPT2_POSITIONS, parameters=658_944),
}
"""Source: Radford et al. 2019, section 2.2 (vocabulary), table 2 (layers, widths) and section 2.3
(positions); parameters counted by the shapes of its layers, which gives the 124 and 355 million of
the released models. The demo's sizes are the project's."""


class Decoder(nn.Module):  # type: ignore[misc]
    """GPT whose call returns the loss."""

    def __init__(self, preset: Preset) -> None:
        super().__init__()
        self.words = nn.Embedding(preset.vocabulary, preset.hidden)
        self.positions = nn.Embedding(preset.positions, preset.hidden)
        self.layers = nn.ModuleList(
            layers.layer(preset.hidden, preset.heads) for _ in range(preset.layers)
        )
        self.norm = nn.LayerNorm(preset.hidden)
        layers.initialise(self)

    def embed(self, input_ids: torch.Tensor) -> torch.Tensor:
        """States [batch, length, hidden] of token numbers [batch, length]."""
        places = torch.arange(input_ids.shape[1], device=input_ids.device)
        return self.words(input_ids) + self.positions(places)

    def hide_later(self, states: torch.Tensor) -> torch.Tensor:
        """What a token must not see: minus infinity above the diagonal [length, length]."""
        length = states.shape[1]
        hidden = torch.full((length, length), float("-inf"), device=states.device)
        return hidden.triu(diagonal=1)

    def loss(self, states: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy of the predictions, by the transposed word embedding."""
        scores = functional.linear(self.norm(states), self.words.weight)
        return functional.cross_entropy(scores.flatten(0, 1).float(), labels.flatten())

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy of the next tokens.

        Args:
            input_ids: token numbers [batch, sequence].
            labels: the token that follows each [batch, sequence].
        """
        states = self.embed(input_ids)
        later = self.hide_later(states)
        for layer in self.layers:
            states = layer(states, src_mask=later, is_causal=True)
        return self.loss(states, labels)


def forward_flops(preset: str, shape: tuple[int, ...]) -> float:
    """FLOPs of the forward pass of a batch: layers, and 2 h V for the prediction of each token.

    Args:
        preset: which size.
        shape: samples, tokens per sample.
    """
    size, (samples, length) = PRESETS[preset], shape
    prediction = 2.0 * length * size.hidden * size.vocabulary
    return samples * (size.layers * layers.layer_flops(size.hidden, length) + prediction)


def regions(model: nn.Module) -> list[Region]:
    """Embedding, layers, and head with loss."""
    return [Region(model, "embed"), *map(Region, model.layers), Region(model, "loss")]


def build(preset: str) -> nn.Module:
    """The model with random weights from torch's generator, in training mode."""
    return Decoder(PRESETS[preset]).train()


def batch(
    preset: str, shape: tuple[int, ...], generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Synthetic data of one step, on the CPU.

    Args:
        preset: whose vocabulary to draw from.
        shape: samples, tokens per sample.
        generator: where the randomness comes from.

    Returns:
        Keyword arguments of the model's call, each [samples, tokens].
    """
    samples, length = shape
    text = torch.randint(PRESETS[preset].vocabulary, (samples, length + 1), generator=generator)
    return {"input_ids": text[:, :-1].contiguous(), "labels": text[:, 1:].contiguous()}
