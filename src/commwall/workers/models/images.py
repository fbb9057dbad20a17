"""What the image classifiers share: synthetic batches, stored channels-last.

Layer: workers. Reads and writes no file.
"""

import torch

CHANNELS = 3
IMAGENET_CLASSES = 1000
"""Source: Russakovsky et al., "ImageNet Large Scale Visual Recognition Challenge",
arXiv:1409.0575, section 3.1."""


def random_batch(
    samples: int, image_px: int, classes: int, generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Synthetic images and labels of one step, on the CPU.

    Args:
        samples: size of the batch.
        image_px: height and width [pixel].
        classes: number of labels to draw from.
        generator: where the randomness comes from.

    Returns:
        `images` [samples, 3, image_px, image_px], channels-last, and `labels` [samples].
    """
    images = torch.randn((samples, CHANNELS, image_px, image_px), generator=generator)
    return {
        "images": images.contiguous(memory_format=torch.channels_last),
        "labels": torch.randint(classes, (samples,), generator=generator),
    }
