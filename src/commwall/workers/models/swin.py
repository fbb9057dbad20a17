"""Swin Transformer as an image classifier, as transformers implements it.

Layer: workers. Reads and writes no file; nothing is downloaded: weights and data are random.
Dropout and stochastic depth are off, for the reason given in `commwall.workers.models.bert`.

Source: Liu et al., "Swin Transformer", arXiv:2103.14030, section 3.3 (Swin-T: 96 channels,
2, 2, 6 and 2 layers; heads of 32 channels, windows of 7 x 7 patches).
"""

from typing import NamedTuple

import torch
from torch import nn
from transformers.models.swin.configuration_swin import SwinConfig
from transformers.models.swin.modeling_swin import SwinForImageClassification

from commwall.workers.compilation import Region
from commwall.workers.models.images import CHANNELS, IMAGENET_CLASSES, batch_of


class Preset(NamedTuple):
    """A size of the model."""

    channels: int
    """Channels of the first stage; each stage doubles them."""
    layers: tuple[int, ...]
    """Layers of each stage; every second one shifts its windows."""
    heads: tuple[int, ...]
    """Attention heads of each stage."""
    window: int
    """Height and width of an attention window [patch of 4 x 4 pixels]."""
    classes: int
    image_px: int
    """Height and width of the images [pixel]."""
    parameters: int
    """Trainable parameters."""


PRESETS = {
    "tiny": Preset(
        96, (2, 2, 6, 2), (3, 6, 12, 24), 7, IMAGENET_CLASSES, 224, parameters=28_288_354
    ),
    "demo": Preset(32, (2, 2, 2), (2, 4, 8), 4, 100, 64, parameters=579_808),
}
"""Source: Liu et al. 2021, arXiv:2103.14030, section 3.3: sizes of Swin-T; parameters counted by
the shapes of its layers. The demo's sizes are the project's."""


class WindowClassifier(nn.Module):  # type: ignore[misc]
    """Swin whose call returns the loss."""

    def __init__(self, preset: Preset) -> None:
        super().__init__()
        config = SwinConfig(
            image_size=preset.image_px,
            embed_dim=preset.channels,
            depths=preset.layers,
            num_heads=preset.heads,
            window_size=preset.window,
            num_labels=preset.classes,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            drop_path_rate=0.0,
        )
        self.swin = SwinForImageClassification(config)

    def forward(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy over the classes.

        Args:
            images: [batch, 3, height, width].
            labels: class numbers [batch].
        """
        loss: torch.Tensor = self.swin(pixel_values=images, labels=labels).loss
        return loss


_PATCH_PX = 4


def forward_flops(preset: str, shape: tuple[int, ...]) -> float:
    """FLOPs of the forward pass of a batch.

    A layer takes 12 t C^2 + 2 M^2 t C multiplications for t tokens of C channels in windows of
    M x M; between stages 8 C^2 for each token that is left. Tokens that fill a window up to its
    size are not counted.

    Source: Liu et al., "Swin Transformer", arXiv:2103.14030, section 3.1 and equation 2.

    Args:
        preset: which size.
        shape: samples.
    """
    size = PRESETS[preset]
    side, channels = size.image_px // _PATCH_PX, size.channels
    macs = side**2 * channels * CHANNELS * _PATCH_PX**2
    for stage, layers in enumerate(size.layers):
        if stage:
            side, channels = side // 2, 2 * channels
            macs += side**2 * 2 * channels**2
        window = min(size.window, side)
        macs += layers * side**2 * channels * (12 * channels + 2 * window**2)
    return 2.0 * shape[0] * (macs + channels * size.classes)


def regions(model: nn.Module) -> list[Region]:
    """Patch embedding, blocks, and the merging of patches between stages."""
    inner = model.swin.swin
    stages = inner.encoder.layers
    merging = [stage.downsample for stage in stages if stage.downsample is not None]
    blocks = [block for stage in stages for block in stage.blocks]
    return [Region(inner.embeddings), *map(Region, blocks), *map(Region, merging)]


def build(preset: str) -> nn.Module:
    """The model with random weights from torch's generator, in training mode.

    Channels-last concerns its only convolution, which cuts the images into patches.
    """
    return WindowClassifier(PRESETS[preset]).to(memory_format=torch.channels_last).train()


def batch(
    preset: str, shape: tuple[int, ...], generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Synthetic data of one step, on the CPU: what `images.batch_of` makes for the preset."""
    return batch_of(PRESETS[preset], shape, generator)
