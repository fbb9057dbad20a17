"""ResNet with bottleneck blocks, the stride of a stage in its 3x3 convolution ("v1.5").

Layer: workers. Reads and writes no file. Parameters and buffers carry the names that
torchvision gives them, so that its weights load here and outputs can be compared.

Source: He et al., "Deep Residual Learning for Image Recognition", arXiv:1512.03385, table 1 and
section 3.4. There the first 1x1 convolution of a stage has the stride; moved into the 3x3, as is
common practice, it leaves the parameters as they are.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from commwall.workers.compilation import Region
from commwall.workers.models.images import CHANNELS, IMAGENET_CLASSES, random_batch

_EXPANSION = 4
"""Channels that leave a block, relative to those of its 3x3 convolution (table 1)."""


class Preset(NamedTuple):
    """A size of the model."""

    blocks: tuple[int, int, int, int]
    """Blocks of each stage."""
    width: int
    """Channels of the 3x3 convolutions of the first stage; each stage doubles them."""
    classes: int
    image_px: int
    """Height and width of the images [pixel]."""
    parameters: int
    """Trainable parameters."""


PRESETS = {
    "50": Preset((3, 4, 6, 3), 64, IMAGENET_CLASSES, 224, parameters=25_557_032),
    "demo": Preset((1, 1, 1, 1), 16, 100, 64, parameters=557_684),
}
"""Source: He et al. 2015, arXiv:1512.03385, table 1: sizes of ResNet-50; parameters counted by
the shapes of its layers. The demo's sizes are the project's."""


class Bottleneck(nn.Module):  # type: ignore[misc]
    """1x1, 3x3 and 1x1 convolution beside a shortcut (figure 5, right)."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = _EXPANSION * width
        self.conv1 = _convolution(inputs, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _convolution(width, width, 3, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = _convolution(width, outputs, 1)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample: nn.Module = nn.Identity()
        if inputs != outputs:  # a stage's first block: the only one with a stride, too
            projection = _convolution(inputs, outputs, 1, stride)
            self.downsample = nn.Sequential(projection, nn.BatchNorm2d(outputs))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Features [batch, channels, height, width] of the next block."""
        inner = functional.relu(self.bn1(self.conv1(features)), inplace=True)
        inner = functional.relu(self.bn2(self.conv2(inner)), inplace=True)
        residual = self.bn3(self.conv3(inner))
        return functional.relu(residual + self.downsample(features), inplace=True)


class ResNet(nn.Module):  # type: ignore[misc]
    """ResNet whose call returns the loss."""

    def __init__(self, preset: Preset) -> None:
        super().__init__()
        width, blocks = preset.width, preset.blocks
        self.conv1 = _convolution(CHANNELS, width, 7, stride=2)
        self.bn1 = nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = _stage(width, width, blocks[0], stride=1)
        self.layer2 = _stage(4 * width, 2 * width, blocks[1], stride=2)
        self.layer3 = _stage(8 * width, 4 * width, blocks[2], stride=2)
        self.layer4 = _stage(16 * width, 8 * width, blocks[3], stride=2)
        self.fc = nn.Linear(32 * width, preset.classes)

    def logits(self, images: torch.Tensor) -> torch.Tensor:
        """Scores [batch, classes] of images [batch, 3, height, width]."""
        features = self.stem(images)
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            features = stage(features)
        return self.head(features)

    def head(self, features: torch.Tensor) -> torch.Tensor:
        """Scores [batch, classes] of the last stage's features."""
        scores: torch.Tensor = self.fc(features.mean(dim=(2, 3)))
        return scores

    def stem(self, images: torch.Tensor) -> torch.Tensor:
        """Features [batch, channels, height / 4, width / 4] of images, for the first stage."""
        features: torch.Tensor = self.maxpool(
            functional.relu(self.bn1(self.conv1(images)), inplace=True)
        )
        return features

    def forward(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy over the classes.

        Args:
            images: [batch, 3, height, width].
            labels: class numbers [batch].
        """
        return functional.cross_entropy(self.logits(images), labels)


def parameters_expected(preset: str) -> int:
    """Trainable parameters that a preset must have."""
    return PRESETS[preset].parameters


_FORWARD_MACS = {"50": 4_089_184_256}
"""Multiplications of an image: sum over convolutions of k^2 inputs outputs height width, and the
classifier.

Source: counted; He et al. 2015, table 1, has 3.8e9 with the stride in the first convolution of a
block."""


def forward_flops(preset: str, shape: tuple[int, ...]) -> float | None:
    """FLOPs of the forward pass of a batch.

    Source: He et al., "Deep Residual Learning", arXiv:1512.03385, table 1.

    Args:
        preset: which size.
        shape: samples.
    """
    macs = _FORWARD_MACS.get(preset)
    return None if macs is None else 2.0 * macs * shape[0]


def regions(model: nn.Module) -> list[Region]:
    """Stem, stages and head."""
    stages = (model.layer1, model.layer2, model.layer3, model.layer4)
    return [Region(model, "stem"), *map(Region, stages), Region(model, "head")]


def build(preset: str) -> nn.Module:
    """The model, channels-last, with random weights from torch's generator, in training mode."""
    return ResNet(PRESETS[preset]).to(memory_format=torch.channels_last).train()


def batch(
    preset: str, shape: tuple[int, ...], generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Synthetic data of one step, on the CPU.

    Args:
        preset: whose image size and classes to use.
        shape: samples.
        generator: where the randomness comes from.

    Returns:
        Keyword arguments of the model's call.
    """
    (samples,) = shape
    size = PRESETS[preset]
    return random_batch(samples, size.image_px, size.classes, generator)


def _stage(inputs: int, width: int, blocks: int, stride: int) -> nn.Sequential:
    """Blocks in a row, of which the first one takes the stride."""
    first = Bottleneck(inputs, width, stride)
    others = [Bottleneck(_EXPANSION * width, width, stride=1) for _ in range(blocks - 1)]
    return nn.Sequential(first, *others)


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    """A convolution that keeps height and width at stride 1, initialised for ReLU.

    Source: He et al., "Delving Deep into Rectifiers", arXiv:1502.01852, section 2.2 (backward).
    """
    made = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    nn.init.kaiming_normal_(made.weight, mode="fan_out", nonlinearity="relu")
    return made
