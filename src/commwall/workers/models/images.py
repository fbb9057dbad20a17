"""What the image classifiers share: synthetic batches, stored channels-last.

Layer: workers. Reads and writes no file.
"""

from typing import Protocol

import torch

CHANNELS = 3
IMAGENET_CLASSES = 1000
"""Source: Russakovsky et al., "ImageNet Large Scale Visual Recognition Challenge",
arXiv:1409.0575, section 3.1."""


class Size(Protocol):
    """What a batch needs to know of a classifier's preset."""

    @property
    def image_px(self) -> int:
        """Height and width of the images [pixel]."""

    @property
    def classes(self) -> int:
        """Labels to draw from."""


def batch_of(
    size: Size, shape: tuple[int, ...], generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Synthetic images and labels of one step, on the CPU.

    Args:
        size: the classifier's preset.
        shape: samples.
        generator: where the randomness comes from.

    Returns:
        `images` [samples, 3, image_px, image_px], channels-last, and `labels` [samples]: keyword
        arguments of the model's call.
    """
    (samples,) = shape
    images = torch.randn((samples, CHANNELS, size.image_px, size.image_px), generator=generator)
    return {
        "images": images.contiguous(memory_format=torch.channels_last),
        "labels": torch.randint(size.classes, (samples,), generator=generator),
    }
