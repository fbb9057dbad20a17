"""BERT with its masked-language-model head, as transformers implements it.

Layer: workers. Reads and writes no file; nothing is downloaded: weights and data are random.
Dropout is off, so that the loss is a function of seed, rank and exchange alone and can be
compared between platforms; the step therefore lacks the dropout kernels of a real training.

Source: Devlin et al., "BERT", arXiv:1810.04805, section 3 (sizes, 15 % masked positions).
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional
from transformers.models.bert.configuration_bert import BertConfig
from transformers.models.bert.modeling_bert import BertForMaskedLM

from commwall.workers.compilation import Region

_MASKED_SHARE = 0.15
_NOT_PREDICTED = -100
_MASK_TOKEN = 4
_FIRST_WORD = 5


class Preset(NamedTuple):
    """A size of the model."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    parameters: int
    """Trainable parameters, with the decoder tied to the word embedding."""


PRESETS = {
    "large": Preset(30522, 1024, 24, 16, parameters=335_174_458),
    "demo": Preset(1024, 128, 2, 2, parameters=611_456),
}
"""Source: Devlin et al. 2018, arXiv:1810.04805, section 3: sizes of BERT-Large; parameters counted
by the shapes of its layers. The demo's sizes are the project's."""


class MaskedLanguageModel(nn.Module):  # type: ignore[misc]
    """BERT whose call returns the loss."""

    def __init__(self, preset: Preset) -> None:
        super().__init__()
        config = BertConfig(
            vocab_size=preset.vocabulary,
            hidden_size=preset.hidden,
            num_hidden_layers=preset.layers,
            num_attention_heads=preset.heads,
            intermediate_size=4 * preset.hidden,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        self.bert = BertForMaskedLM(config)

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy over the masked positions.

        Args:
            input_ids: token numbers [batch, sequence].
            labels: token numbers to predict, -100 elsewhere [batch, sequence].
        """
        inner = self.bert.bert
        # Past BertModel: all tokens are real, and it may make a mask of ones to say so.
        states = inner.encoder(inner.embeddings(input_ids=input_ids)).last_hidden_state
        return self.loss(states, labels)

    def loss(self, hidden: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy of predictions from the last hidden states, as in `forward`."""
        scores = self.bert.cls(hidden).flatten(0, 1).float()
        return functional.cross_entropy(scores, labels.flatten(), ignore_index=_NOT_PREDICTED)


def forward_flops(preset: str, shape: tuple[int, ...]) -> float:
    """FLOPs of the forward pass of a batch.

    A token and layer take 24 h^2 + 4 s h (projections, feed-forward, attention over s tokens of
    width h), its prediction 2 h^2 + 2 h V (transformation, vocabulary of V words).

    Source: Narayanan et al., arXiv:2104.04473, appendix "Floating-point operations"; the head is
    that of transformers' BertForMaskedLM.

    Args:
        preset: which size.
        shape: samples, tokens per sample.
    """
    size, (samples, length) = PRESETS[preset], shape
    hidden = size.hidden
    layer = 24 * hidden**2 + 4 * length * hidden
    head = 2 * hidden**2 + 2 * hidden * size.vocabulary
    return float(samples * length * (size.layers * layer + head))


def regions(model: nn.Module) -> list[Region]:
    """Embedding, layers, and head with loss."""
    inner = model.bert.bert
    return [Region(inner.embeddings), *map(Region, inner.encoder.layer), Region(model, "loss")]


def build(preset: str) -> nn.Module:
    """The model with random weights drawn from torch's global generator, in training mode."""
    return MaskedLanguageModel(PRESETS[preset]).train()


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
    words = torch.randint(_FIRST_WORD, PRESETS[preset].vocabulary, shape, generator=generator)
    masked = torch.rand(shape, generator=generator) < _MASKED_SHARE
    masked[:, 0] = True  # no sample is without a prediction
    return {
        "input_ids": words.masked_fill(masked, _MASK_TOKEN),
        "labels": words.masked_fill(~masked, _NOT_PREDICTED),
    }
