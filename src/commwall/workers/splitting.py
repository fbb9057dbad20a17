"""How each strategy splits a stack over the ranks, with torch's own means.

Layer: workers. Reads and writes no file.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from commwall.schema.strategies import CUTTING, StrategiesCase, Strategy
from commwall.workers.experts import Experts
from commwall.workers.group import Group
from commwall.workers.stack import MicroBatch, batch, build, loss_of


@dataclass(frozen=True)
class Split:
    """One rank's part of a stack."""

    module: nn.Module
    """What the rank has of the stack."""
    passes: Callable[[], torch.Tensor]
    """Forward and backward passes of a step, gradients exchanged; returns the loss."""
    own: frozenset[nn.Parameter] = frozenset()
    """Parameters that no other rank has, beside those that torch itself has cut."""
    loss_at_the_end: bool = False
    """Whether only the last rank knows the loss; else the mean over the ranks is the whole's."""
    whole_parameters: int = 0
    """Of the stack before it was split."""

    def gradients(self) -> Iterable[tuple[torch.Tensor, bool]]:
        """What the rank has of each gradient, and whether all others have the same."""
        for parameter in self.module.parameters():
            gradient = parameter.grad
            if isinstance(gradient, DTensor):
                same = all(placement.is_replicate() for placement in gradient.placements)
                yield gradient.to_local(), same
            elif gradient is not None:
                yield gradient, parameter not in self.own


def split(case: StrategiesCase, group: Group) -> Split:
    """The rank's part of the case's stack, and its passes on the rank's batch; all must ask."""
    stack = build(case, group.size, group.device)
    count = sum(parameter.numel() for parameter in stack.parameters())
    rank = 0 if case.strategy in CUTTING else group.rank
    parts = _WAYS[case.strategy](case, stack, batch(case, rank, group.device), group)
    return replace(parts, whole_parameters=count)


def in_turn(
    module: nn.Module,
    micro_batches: list[MicroBatch],
    around: Callable[[bool], AbstractContextManager[object]] = lambda _: nullcontext(),
) -> torch.Tensor:
    """Passes of one micro-batch after another, whose gradients add up to those of the mean loss.

    Args:
        module: gives states for states.
        micro_batches: of the step.
        around: what surrounds the passes of a micro-batch, given whether it is the last.

    Returns:
        The mean loss, detached.
    """
    losses = []
    for number, (states, wanted) in enumerate(micro_batches, start=1):
        with around(number == len(micro_batches)):
            loss = loss_of(module(states), wanted) / len(micro_batches)
            loss.backward()
        losses.append(loss.detach())
    return torch.stack(losses).sum()


def _tensor(_: StrategiesCase, stack: nn.Sequential, data: list[MicroBatch], group: Group) -> Split:
    """Each layer's matrices in two cuts: first by output, then by input."""
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    plan = {
        "attention.qkv": ColwiseParallel(),
        "attention.out": RowwiseParallel(),
        "feed_forward.up": ColwiseParallel(),
        "feed_forward.down": RowwiseParallel(),
    }
    for layer in stack:
        parallelize_module(layer, _mesh(group), plan)
    return Split(stack, partial(in_turn, stack, data))


def _pipeline(
    case: StrategiesCase, stack: nn.Sequential, data: list[MicroBatch], group: Group
) -> Split:
    """Equal runs of layers; micro-batches pass from rank to rank."""
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

    count = len(stack) // group.size
    stage = stack[group.rank * count : (group.rank + 1) * count]
    place = PipelineStage(stage, group.rank, group.size, group.device, group=dist.group.WORLD)
    kind = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}[case.schedule or "1f1b"]
    schedule = kind(place, case.micro_batches, loss_fn=loss_of)
    states, wanted = (torch.cat(parts) for parts in zip(*data, strict=True))
    first, last = group.rank == 0, group.rank == group.size - 1

    def passes() -> torch.Tensor:
        losses: list[torch.Tensor] = []
        given = (states,) if first else ()
        schedule.step(*given, **({"target": wanted, "losses": losses} if last else {}))
        return torch.stack(losses).mean().detach() if last else torch.zeros(())

    return Split(stage, passes, own=frozenset(stage.parameters()), loss_at_the_end=True)


def _fsdp(_: StrategiesCase, stack: nn.Sequential, data: list[MicroBatch], group: Group) -> Split:
    """Each layer's parameters cut, gathered for each pass, their gradients scattered."""
    from torch.distributed.fsdp import fully_shard

    mesh = _mesh(group)
    for layer in stack:
        fully_shard(layer, mesh=mesh)
    fully_shard(stack, mesh=mesh)

    def around(last: bool) -> AbstractContextManager[object]:
        stack.set_requires_gradient_sync(last)
        return nullcontext()

    return Split(stack, partial(in_turn, stack, data, around))


def _expert(_: StrategiesCase, stack: nn.Sequential, data: list[MicroBatch], group: Group) -> Split:
    """One expert of each layer a rank; all else is the same on all ranks, under DDP."""
    own: dict[str, nn.Parameter] = {}
    for name, module in stack.named_modules():
        if isinstance(module, Experts):
            module.keep(group.rank)
            own |= {f"{name}.{part}": parameter for part, parameter in module.own().items()}
    for parameter in own.values():
        # Tokens of all ranks add to it, and the loss is the mean over the ranks.
        parameter.register_hook(lambda gradient: gradient / group.size)
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(stack, list(own))
    return _distributed(stack, data, frozenset(own.values()))


def _accumulation(
    _: StrategiesCase, stack: nn.Sequential, data: list[MicroBatch], __: Group
) -> Split:
    """The whole stack on every rank; gradients are exchanged in the last passes of a step."""
    return _distributed(stack, data, frozenset())


def _distributed(
    stack: nn.Sequential, data: list[MicroBatch], own: frozenset[nn.Parameter]
) -> Split:
    ddp = DistributedDataParallel(stack, gradient_as_bucket_view=True)

    def around(last: bool) -> AbstractContextManager[object]:
        return nullcontext() if last else ddp.no_sync()

    return Split(stack, partial(in_turn, ddp, data, around), own)


_WAYS: dict[Strategy, Callable[[StrategiesCase, nn.Sequential, list[MicroBatch], Group], Split]] = {
    "tensor": _tensor,
    "pipeline": _pipeline,
    "fsdp": _fsdp,
    "expert": _expert,
    "accumulation": _accumulation,
}


def _mesh(group: Group) -> DeviceMesh:
    """All ranks in a row, on the launch's own process group."""
    return DeviceMesh.from_group(dist.group.WORLD, group.device.type)
