"""Vision Transformer as an image classifier.

Layer: workers. Reads and writes no file.

Source: Dosovitskiy et al., "An Image is Worth 16x16 Words", arXiv:2010.11929, section 3.1 and
table 1.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from commwall.workers.compilation import Region
from commwall.workers.models import layers
from commwall.workers.models.images import CHANNELS, IMAGENET_CLASSES, batch_of


class Preset(NamedTuple):
    """A size of the model."""

    hidden: int
    layers: int
    heads: int
    patch_px: int
    """Height and width of a patch [pixel]."""
    classes: int
    image_px: int
    """Height and width of the images [pixel]."""
    parameters: int
    """Trainable parameters."""

    @property
    def patches(self) -> int:
        """Patches of an image; each is a token, and one more stands for the class."""
        return (self.image_px // self.patch_px) ** 2


PRESETS = {
    "base-16": Preset(768, 12, 12, 16, IMAGENET_CLASSES, 224, parameters=86_567_656),
    "large-16": Preset(1024, 24, 16, 16, IMAGENET_CLASSES, 224, parameters=304_326_632),
    "demo": Preset(128, 2, 2, 8, 100, 64, parameters=442_852),
}
"""Source: Dosovitskiy et al. 2020, arXiv:2010.11929, table 1: sizes of ViT-B and ViT-L;
parameters counted by the shapes of its layers. The demo's sizes are the project's."""


class VisionTransformer(nn.Module):  # type: ignore[misc]
    """ViT whose call returns the loss."""

    def __init__(self, preset: Preset) -> None:
        super().__init__()
        hidden = preset.hidden
        self.patches = nn.Conv2d(CHANNELS, hidden, preset.patch_px, stride=preset.patch_px)
        self.class_token = nn.Parameter(torch.zeros(1, 1, hidden))
        self.positions = nn.Parameter(torch.zeros(1, preset.patches + 1, hidden))
        self.layers = nn.ModuleList(
            layers.layer(hidden, preset.heads) for _ in range(preset.layers)
        )
        self.norm = nn.LayerNorm(hidden)
        self.classes = nn.Linear(hidden, preset.classes)
        layers.initialise(self)

    def embed(self, images: torch.Tensor) -> torch.Tensor:
        """Tokens [batch, patches + 1, hidden] of images [batch, 3, height, width]."""
        tokens = self.patches(images).flatten(2).transpose(1, 2)
        first = self.class_token.expand(len(tokens), -1, -1)
        return torch.cat((first, tokens), dim=1) + self.positions

    def loss(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy of what the first token says."""
        return functional.cross_entropy(self.classes(self.norm(tokens[:, 0])), labels)

    def forward(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy over the classes.

        Args:
            images: [batch, 3, height, width].
            labels: class numbers [batch].
        """
        tokens = self.embed(images)
        for layer in self.layers:
            tokens = layer(tokens)
        return self.loss(tokens, labels)


def forward_flops(preset: str, shape: tuple[int, ...]) -> float:
    """FLOPs of the forward pass of a batch: cutting into patches, layers, classes.

    Args:
        preset: which size.
        shape: samples.
    """
    size = PRESETS[preset]
    cutting = 2.0 * size.patches * CHANNELS * size.patch_px**2 * size.hidden
    inner = size.layers * layers.layer_flops(size.hidden, size.patches + 1)
    return shape[0] * (cutting + inner + 2.0 * size.hidden * size.classes)


def regions(model: nn.Module) -> list[Region]:
    """Patches, layers, and head with loss."""
    return [Region(model, "embed"), *map(Region, model.layers), Region(model, "loss")]


def build(preset: str) -> nn.Module:
    """The model with random weights from torch's generator, in training mode.

    Channels-last concerns its only convolution, which cuts the images into patches.
    """
    return VisionTransformer(PRESETS[preset]).to(memory_format=torch.channels_last).train()


def batch(
    preset: str, shape: tuple[int, ...], generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Synthetic data of one step, on the CPU: what `images.batch_of` makes for the preset."""
    return batch_of(PRESETS[preset], shape, generator)
