"""The families' FLOP formulas against PyTorch's own count of the operations, without computing."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from commwall.workers.models import FAMILIES

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(
    ("family", "preset", "shape", "tolerance"),
    [
        ("bert", "large", (2, 128), 1e-3),
        ("bert", "demo", (2, 64), 1e-3),
        ("gpt", "small", (2, 64), 1e-3),
        ("resnet", "50", (2,), 1e-3),
        ("resnet", "152", (2,), 1e-3),
        ("resnet", "next-101-32x8d", (2,), 1e-3),
        ("swin", "tiny", (2,), 0.01),  # windows are filled up in the last stages
        ("swin", "demo", (2,), 0.01),
        ("transformer_xl", "large", (2, 384), 0.02),  # tokens of rare clusters are drawn
        ("transformer_xl", "base", (2, 150), 0.05),
        ("transformer_xl", "demo", (2, 64), 0.05),
        ("unet3d", "paper", (1,), 1e-3),
        ("vit", "base-16", (2,), 1e-3),
    ],
)
def test_a_formula_counts_what_the_forward_pass_computes(
    family: str, preset: str, shape: tuple[int, ...], tolerance: float
) -> None:
    own = FAMILIES[family]
    batch = own.batch(preset, shape, torch.Generator().manual_seed(1))
    with torch.device("meta"):
        model = own.build(preset)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(**{name: values.to("meta") for name, values in batch.items()})
    assert own.forward_flops(preset, shape) == pytest.approx(
        counter.get_total_flops(), rel=tolerance
    )
