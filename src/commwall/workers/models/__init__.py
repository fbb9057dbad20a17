"""The measured models, one module a family; all offer what `Family` names.

Layer: workers. Reads and writes no file.
"""

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import nn

from commwall.workers.compilation import Region
from commwall.workers.models import bert, gpt, resnet, swin, transformer_xl, unet3d, vit


class Preset(Protocol):
    """A size that a family offers."""

    @property
    def parameters(self) -> int:
        """Trainable parameters that the model must have."""


class Family(Protocol):
    """A module that builds the models of one family."""

    @property
    def PRESETS(self) -> Mapping[str, Preset]:  # noqa: N802 - a constant of the module
        """Its sizes by name."""

    def forward_flops(self, preset: str, shape: tuple[int, ...]) -> float:
        """FLOPs of the forward pass of a batch; a multiplication and an addition are two.

        Counted are the matrix products and convolutions, as papers do.
        """

    def regions(self, model: nn.Module) -> list[Region]:
        """Parts of a model that this family built, to be compiled one by one: its blocks, so that
        the gradients of each are ready for exchange before the backward pass is through.
        """

    def build(self, preset: str) -> nn.Module:
        """The model with random weights, in training mode; its call returns the loss."""

    def batch(
        self, preset: str, shape: tuple[int, ...], generator: torch.Generator
    ) -> dict[str, torch.Tensor]:
        """Synthetic data of one step, on the CPU: keyword arguments of the model's call.

        State that a model keeps between steps is among them; the model overwrites it in place.
        """


FAMILIES: dict[str, Family] = {
    "bert": bert,
    "gpt": gpt,
    "resnet": resnet,
    "swin": swin,
    "transformer_xl": transformer_xl,
    "unet3d": unet3d,
    "vit": vit,
}
"""Family -> the module that builds it; kept in step with `commwall.schema.case.MODELS`."""
