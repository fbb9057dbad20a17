"""A tiny model in place of BERT, with the fault that COMMWALL_TEST_FAULT names, `KIND:RANK`.

`memory:1` exhausts memory on rank 1, `hang:1` never comes back, `nan:1` loses its numbers at
once and `late_nan:1` after the first steps, `shape:1` gives rank 1 a parameter of another shape;
any other kind does nothing. Its control flow depends on data, which no compiler takes in one piece.
"""

import os
import sys
import time
from typing import NamedTuple

import torch
from torch import nn

from commwall.workers.compilation import Region


def fault(kind: str) -> bool:
    wanted, _, rank = os.environ["COMMWALL_TEST_FAULT"].partition(":")
    return wanted == kind and os.environ["RANK"] == rank


class FaultyModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 64)
        if fault("shape"):
            self.layer.bias = nn.Parameter(torch.zeros(1, 64))
        self.calls = 0

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        if fault("memory"):
            torch.empty(2**50)
        if fault("hang"):
            sys.stderr.write(f"rank {os.environ['RANK']} hangs\n")
            sys.stderr.flush()
            time.sleep(600)
        self.calls += 1
        loss = self.layer(values).square().mean()
        if loss > 1e9:
            loss = loss / 2
        if fault("nan") or (fault("late_nan") and self.calls > 5):
            return loss * float("nan")
        return loss


class Preset(NamedTuple):
    parameters: int


PRESETS = {"demo": Preset(64 * 64 + 64)}


def forward_flops(preset: str, shape: tuple[int, ...]) -> float:
    return 2.0 * 64 * 64 * shape[0]


def build(preset: str) -> nn.Module:
    return FaultyModel()


def regions(model: nn.Module) -> list[Region]:
    return [Region(model)]


def batch(
    preset: str, shape: tuple[int, ...], generator: torch.Generator
) -> dict[str, torch.Tensor]:
    return {"values": torch.rand(shape[0], 64, generator=generator)}
