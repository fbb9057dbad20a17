"""3D U-Net, which tells for each voxel of a volume what it belongs to.

Layer: workers. Reads and writes no file. Convolutions keep the volume's size here, where the
paper's crop it; the parameters are the same.

Source: Çiçek et al., "3D U-Net", arXiv:1606.06650, section 2 and figure 2.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from commwall.workers.compilation import Region


class Preset(NamedTuple):
    """A size of the model."""

    channels: int
    """Channels that the first convolution gives; each level gives twice what it is given."""
    levels: int
    """Resolutions."""
    inputs: int
    """Channels of a volume."""
    classes: int
    volume_vox: int
    """Depth, height and width of the volumes [voxel]."""
    parameters: int
    """Trainable parameters."""


PRESETS = {
    "paper": Preset(32, 4, 3, 3, 128, parameters=19_072_291),
    "demo": Preset(8, 2, 1, 3, 16, parameters=60_507),
}
"""Source: Çiçek et al. 2016, arXiv:1606.06650, section 2. Its 19,069,955 parameters count one
number for each channel that a convolution gives; a batch norm has two, which makes 2,336 more. The
volume's size and the demo are the project's."""


class Level(nn.Sequential):  # type: ignore[misc]
    """Two 3 x 3 x 3 convolutions, each with batch norm and ReLU."""

    def __init__(self, inputs: int, inner: int, outputs: int) -> None:
        super().__init__(*_convolution(inputs, inner), *_convolution(inner, outputs))


class UNet(nn.Module):  # type: ignore[misc]
    """3D U-Net whose call returns the loss."""

    def __init__(self, preset: Preset) -> None:
        super().__init__()
        widths = [preset.channels * 2**level for level in range(preset.levels)]
        inputs = [preset.inputs, *(2 * width for width in widths)]
        self.down = nn.ModuleList(
            Level(before, width, 2 * width) for before, width in zip(inputs, widths, strict=False)
        )
        self.widen = nn.ModuleList(
            nn.ConvTranspose3d(4 * width, 4 * width, 2, stride=2, bias=False)
            for width in reversed(widths[:-1])
        )
        self.up = nn.ModuleList(
            Level(6 * width, 2 * width, 2 * width) for width in reversed(widths[:-1])
        )
        self.classes = nn.Conv3d(2 * widths[0], preset.classes, 1)

    def scores(self, volumes: torch.Tensor) -> torch.Tensor:
        """Scores [batch, classes, depth, height, width] of volumes [batch, inputs, …]."""
        kept = []
        features = self.down[0](volumes)
        for level in self.down[1:]:
            kept.append(features)
            features = level(functional.max_pool3d(features, 2))
        for widen, level in zip(self.widen, self.up, strict=True):
            features = level(torch.cat((kept.pop(), widen(features)), dim=1))
        scores: torch.Tensor = self.classes(features)
        return scores

    def forward(self, volumes: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy over the voxels.

        Args:
            volumes: [batch, inputs, depth, height, width].
            labels: class numbers [batch, depth, height, width].
        """
        return functional.cross_entropy(self.scores(volumes).float(), labels)


def forward_flops(preset: str, shape: tuple[int, ...]) -> float:
    """FLOPs of the forward pass of a batch: 2 k^3 inputs outputs for each voxel of a convolution.

    Args:
        preset: which size.
        shape: samples.
    """
    size = PRESETS[preset]
    total, inputs = 0.0, size.inputs
    for level in range(size.levels):
        voxels, width = (size.volume_vox >> level) ** 3, size.channels << level
        total += 27.0 * voxels * (inputs * width + 2 * width**2)
        inputs = 2 * width
        if level < size.levels - 1:  # on the way up: widened from below, then the level
            total += voxels * (4 * width) ** 2 + 27.0 * voxels * (12 + 4) * width**2
    last = size.volume_vox**3 * 2 * size.channels * size.classes
    return 2 * shape[0] * (total + last)


def regions(model: nn.Module) -> list[Region]:
    """The levels on the way down and up."""
    return [*map(Region, model.down), *map(Region, model.up)]


def build(preset: str) -> nn.Module:
    """The model with random weights from torch's generator, in training mode."""
    return UNet(PRESETS[preset]).to(memory_format=torch.channels_last_3d).train()


def batch(
    preset: str, shape: tuple[int, ...], generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Synthetic data of one step, on the CPU.

    Args:
        preset: whose volume and classes to use.
        shape: samples.
        generator: where the randomness comes from.

    Returns:
        `volumes` [samples, inputs, depth, height, width] and `labels` [samples, depth, height,
        width].
    """
    (samples,) = shape
    size = PRESETS[preset]
    edges = (size.volume_vox,) * 3
    volumes = torch.randn((samples, size.inputs, *edges), generator=generator)
    return {
        "volumes": volumes.contiguous(memory_format=torch.channels_last_3d),
        "labels": torch.randint(size.classes, (samples, *edges), generator=generator),
    }


def _convolution(inputs: int, outputs: int) -> tuple[nn.Module, ...]:
    """A 3 x 3 x 3 convolution that keeps the size, its batch norm and ReLU."""
    made = nn.Conv3d(inputs, outputs, 3, padding=1, bias=False)
    nn.init.kaiming_normal_(made.weight, mode="fan_out", nonlinearity="relu")
    return made, nn.BatchNorm3d(outputs), nn.ReLU(inplace=True)
