"""ResNet and ResNeXt: bottleneck blocks, the stride of a stage in its 3x3 convolution ("v1.5").

Layer: workers. Reads and writes no file. Parameters and buffers carry the names that
torchvision gives them, so that its weights load here and outputs can be compared.

Source: He et al., "Deep Residual Learning for Image Recognition", arXiv:1512.03385, table 1 and
section 3.4. There the first 1x1 convolution of a stage has the stride; moved into the 3x3, as is
common practice, it leaves the parameters as they are. ResNeXt divides the 3x3 convolution into
groups: Xie et al., "Aggregated Residual Transformations for Deep Neural Networks",
arXiv:1611.05431, figure 3 (c).
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from commwall.workers.compilation import Region
from commwall.workers.models.images import CHANNELS, IMAGENET_CLASSES, batch_of

_EXPANSION = 4
"""Channels that leave a block, relative to those of its 3x3 convolution (table 1)."""


class Preset(NamedTuple):
    """A size of the model."""

    blocks: tuple[int, int, int, int]
    """Blocks of each stage."""
    width: int
    """Channels that leave a block of the first stage, divided by 4; each stage doubles them."""
    classes: int
    image_px: int
    """Height and width of the images [pixel]."""
    parameters: int
    """Trainable parameters."""
    groups: int = 1
    """Groups of a 3x3 convolution."""
    broader: int = 1
    """Channels of a 3x3 convolution, relative to `width`."""


PRESETS = {
    "50": Preset((3, 4, 6, 3), 64, IMAGENET_CLASSES, 224, parameters=25_557_032),
    "152": Preset((3, 8, 36, 3), 64, IMAGENET_CLASSES, 224, parameters=60_192_808),
    "next-101-32x8d": Preset(
        (3, 4, 23, 3), 64, IMAGENET_CLASSES, 224, parameters=88_791_336, groups=32, broader=4
    ),
    "demo": Preset((1, 1, 1, 1), 16, 100, 64, parameters=557_684),
    "next-demo": Preset((1, 1, 1, 1), 16, 100, 64, parameters=688_948, groups=4, broader=2),
}
"""Source: He et al. 2015, arXiv:1512.03385, table 1: sizes of ResNet-50 and 152; Mahajan et al.,
"Exploring the Limits of Weakly Supervised Pretraining", arXiv:1805.00932, table 4: ResNeXt-101 of
32 groups of 8 channels. Parameters counted by the shapes of the layers. The demos' sizes are the
project's."""


class Bottleneck(nn.Module):  # type: ignore[misc]
    """1x1, 3x3 and 1x1 convolution beside a shortcut (figure 5, right)."""

    def __init__(self, inputs: int, width: int, stride: int, groups: int, broader: int) -> None:
        super().__init__()
        inner, outputs = broader * width, _EXPANSION * width
        self.conv1 = _convolution(inputs, inner, 1)
        self.bn1 = nn.BatchNorm2d(inner)
        self.conv2 = _convolution(inner, inner, 3, stride, groups)
        self.bn2 = nn.BatchNorm2d(inner)
        self.conv3 = _convolution(inner, outputs, 1)
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
        width = preset.width
        self.conv1 = _convolution(CHANNELS, width, 7, stride=2)
        self.bn1 = nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1, self.layer2, self.layer3, self.layer4 = (
            _stage(preset, stage) for stage in range(len(preset.blocks))
        )
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


def forward_flops(preset: str, shape: tuple[int, ...]) -> float:
    """FLOPs of the forward pass of a batch: 2 k^2 inputs outputs / groups for each place that a
    convolution gives, and the classifier.

    Source: counted; He et al. 2015, arXiv:1512.03385, table 1, has 3.8e9 multiplications for
    ResNet-50, whose blocks there have the stride in their first convolution.

    Args:
        preset: which size.
        shape: samples.
    """
    size = PRESETS[preset]
    side = size.image_px // 2
    macs = 7**2 * CHANNELS * size.width * side**2
    side //= 2
    for stage in range(len(size.blocks)):
        before, side = side, side if stage == 0 else side // 2
        macs += _stage_macs(size, stage, before, side)
    classifier = _outputs(size, len(size.blocks) - 1) * size.classes
    return 2.0 * shape[0] * (macs + classifier)


def _stage_macs(size: Preset, stage: int, before: int, side: int) -> int:
    """Multiplications of a stage that images enter with one side and leave with another [pixel]."""
    inputs, outputs = _inputs(size, stage), _outputs(size, stage)
    inner = size.broader * (size.width << stage)
    middle = 9 * inner**2 // size.groups * side**2 + inner * outputs * side**2
    first = inputs * inner * before**2 + inputs * outputs * side**2
    return first + middle + (size.blocks[stage] - 1) * (outputs * inner * side**2 + middle)


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
    """Synthetic data of one step, on the CPU: what `images.batch_of` makes for the preset."""
    return batch_of(PRESETS[preset], shape, generator)


def _inputs(preset: Preset, stage: int) -> int:
    """Channels that enter a stage."""
    return _outputs(preset, stage - 1) if stage else preset.width


def _outputs(preset: Preset, stage: int) -> int:
    """Channels that leave a stage."""
    return _EXPANSION * (preset.width << stage)


def _stage(preset: Preset, stage: int) -> nn.Sequential:
    """Blocks in a row, of which the first one takes the stride."""
    width, form = preset.width << stage, (preset.groups, preset.broader)
    first = Bottleneck(_inputs(preset, stage), width, 2 if stage else 1, *form)
    outputs = _outputs(preset, stage)
    others = [Bottleneck(outputs, width, 1, *form) for _ in range(preset.blocks[stage] - 1)]
    return nn.Sequential(first, *others)


def _convolution(
    inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
) -> nn.Conv2d:
    """A convolution that keeps height and width at stride 1, initialised for ReLU.

    Source: He et al., "Delving Deep into Rectifiers", arXiv:1502.01852, section 2.2 (backward).
    """
    made = nn.Conv2d(
        inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False
    )
    nn.init.kaiming_normal_(made.weight, mode="fan_out", nonlinearity="relu")
    return made
