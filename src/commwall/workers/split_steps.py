"""A training step of a stack, whole or split, and how two such steps are compared.

Layer: workers. Reads and writes no file.
"""

import math
from collections.abc import Generator, Sequence
from typing import NamedTuple

import torch
from torch import nn
from torch.distributed.tensor import DTensor

from commwall.schema.result import Check
from commwall.schema.strategies import CUTTING, StrategiesCase
from commwall.workers.splitting import Split, in_turn
from commwall.workers.stack import batch, build

TOLERANCES = {"float32": 1e-3, "bfloat16": 3e-2}
"""Relative; by how much loss and gradient norm may differ, which are summed in another order."""
RATE = 1e-4
"""Learning rate: small, so that differences of rounding do not grow from step to step."""


class Moment(NamedTuple):
    """What a step gave, as all ranks together see it."""

    loss: float
    gradient_norm: float


class Step:
    """One training step: passes and optimiser, as they follow on the device.

    Args:
        parts: what the rank has.
        device: of the rank.
        recorded: whether a CUDA graph will hold it.
    """

    def __init__(self, parts: Split, device: torch.device, *, recorded: bool) -> None:
        self._passes = parts.passes
        # Fused AdamW takes tensors of one kind at a time.
        kinds: dict[bool, list[nn.Parameter]] = {}
        for parameter in parts.module.parameters():
            kinds.setdefault(isinstance(parameter, DTensor), []).append(parameter)
        groups = [{"params": own} for own in kinds.values()]
        self._optimizer = torch.optim.AdamW(groups, lr=RATE, fused=True, capturable=recorded)
        self.loss = torch.zeros((), device=device)
        """Loss of the last step, always at the same address."""

    def __call__(self) -> None:
        """Fresh gradients, and the parameters after them."""
        self._optimizer.zero_grad(set_to_none=True)
        self.loss.copy_(self._passes())
        self._optimizer.step()


def one_process(case: StrategiesCase, ranks: int, device: torch.device) -> Generator[Moment]:
    """Steps of the whole stack with the whole batch, without end.

    Args:
        case: which stack.
        ranks: whose batches make the whole.
        device: to compute on.
    """
    stack = build(case, ranks, device)
    batches = 1 if case.strategy in CUTTING else ranks
    data = [pair for rank in range(batches) for pair in batch(case, rank, device)]
    step = Step(Split(stack, lambda: in_turn(stack, data)), device, recorded=False)
    while True:
        step()
        gradients = (p.grad for p in stack.parameters() if p.grad is not None)
        yield Moment(float(step.loss), math.sqrt(sum(map(squares, gradients))))


def squares(gradient: torch.Tensor) -> float:
    """Sum of the squares of all values."""
    return float(gradient.float().square().sum())


def compared(
    name: str, found: Sequence[Moment], expected: Sequence[Moment], precision: str
) -> Check:
    """Loss and gradient norm of steps against those of one process."""
    tolerance = TOLERANCES[precision]
    pairs = [
        pair
        for ours, theirs in zip(found, expected, strict=True)
        for pair in zip(ours, theirs, strict=True)
    ]
    return Check(
        name=name,
        passed=all(abs(ours - theirs) <= tolerance * abs(theirs) for ours, theirs in pairs),
        found=_words(found),
        expected=f"{_words(expected)}, within {tolerance:g}",
    )


def _words(moments: Sequence[Moment]) -> str:
    return "; ".join(f"loss {loss:.7g}, gradient norm {norm:.7g}" for loss, norm in moments)
