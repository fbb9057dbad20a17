"""A training step with a mitigation: exchange in few bits, exchange more rarely, overlap.

Layer: workers. Reads and writes no file. Hooks are PyTorch's own where it has them
(torch.distributed.algorithms.ddp_comm_hooks); the quantised ones are in `quantised`.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.ddp_comm_hooks.optimizer_overlap_hooks import (
    _hook_then_optimizer,
    _OptimizerHookState,
)
from torch.nn.parallel import DistributedDataParallel

from commwall.schema.mitigation import Mitigation
from commwall.workers.legs import distributed
from commwall.workers.quantised import FORMS, ErrorFeedback, QuantisedState, quantised_hook
from commwall.workers.stepping import Step

POWERSGD_START = 3
"""Steps with a plain exchange before PowerSGD begins: DDP arranges its buckets anew after the
first one."""
NEVER = 2**31 - 1
"""Steps between two that DDP times. By itself it times every hundredth; no graph can hold that, and
a DDP that is recorded again and again would come to it."""
OUTER_RATE, OUTER_MOMENTUM = 0.7, 0.9
"""Of DiLoCo's outer optimiser.

Source: Douillard et al., "DiLoCo", arXiv:2311.08105, section 3.
"""
Hook = Callable[[Any, dist.GradBucket], torch.futures.Future[torch.Tensor]]


class Trainee(Protocol):
    """Something that is trained."""

    module: nn.Module

    def new_optimizer(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        """An optimiser of these parameters, as its own."""

    def forget_gradients(self) -> None:
        """Have the next gradients be fresh ones."""

    def add_gradients(self, model: nn.Module, share: float = 1.0) -> torch.Tensor:
        """Add gradients of a share of the next batch's loss, which is returned detached."""

    def update(self, loss: torch.Tensor) -> None:
        """Have the optimiser use the gradients, and keep the loss."""

    def keep(self, loss: torch.Tensor) -> None:
        """Keep the loss of a step whose parameters are updated already."""


def mitigated_step(
    trainee: Trainee,
    mitigation: Mitigation,
    bucket_bytes: int,
    group: dist.ProcessGroup | None = None,
) -> Step:
    """The trainee's step from one exchange to the next.

    Args:
        trainee: what is trained; a DDP that wrapped its module before must be gone.
        mitigation: options of the step.
        bucket_bytes: size of gradient buckets unless the mitigation has its own [byte].
        group: ranks that exchange; None is all of them.
    """
    if mitigation.local_steps > 1:
        return _LocalSteps(trainee, mitigation, group).step
    return _ExchangedStep(trainee, mitigation, bucket_bytes, group).step


class _ExchangedStep:
    """A step under DDP: batches are added up, gradients exchanged, weights updated."""

    def __init__(
        self,
        trainee: Trainee,
        mitigation: Mitigation,
        bucket_bytes: int,
        group: dist.ProcessGroup | None,
    ) -> None:
        self._trainee, self._batches = trainee, mitigation.accumulate
        self._overlapped = mitigation.overlap_optimizer
        self._ddp: DistributedDataParallel = distributed(
            trainee.module,
            mitigation.bucket_bytes or bucket_bytes,
            process_group=group,
            static_graph=mitigation.static_graph,
            gradient_as_bucket_view=not mitigation.copied_gradients,
        )
        self._ddp._set_ddp_runtime_logging_sample_rate(NEVER)
        state, hook = hook_of(mitigation, group)
        if self._overlapped:
            optimizer = _OptimizerHookState(_EachParameter(trainee))
            hook = _hook_then_optimizer(hook or default_hooks.allreduce_hook, optimizer)
        if hook:
            self._ddp.register_comm_hook(state, hook)

    def step(self) -> None:
        """One step."""
        share = 1 / self._batches
        self._trainee.forget_gradients()
        with ExitStack() as stack:
            if self._batches > 1:
                stack.enter_context(self._ddp.no_sync())
            for _ in range(self._batches - 1):
                self._trainee.add_gradients(self._ddp, share)
        loss = self._trainee.add_gradients(self._ddp, share)
        (self._trainee.keep if self._overlapped else self._trainee.update)(loss)


class _EachParameter:
    """The functional optimiser that PyTorch's hook wants: one optimiser a parameter."""

    def __init__(self, trainee: Trainee) -> None:
        self._optimizers = {p: trainee.new_optimizer([p]) for p in trainee.module.parameters()}

    def step_param(self, parameter: nn.Parameter, gradient: torch.Tensor) -> None:
        """Update a parameter with its exchanged gradient."""
        parameter.grad = gradient
        self._optimizers[parameter].step()


class _LocalSteps:
    """Steps without exchange, then an average of the weights over all ranks."""

    def __init__(
        self, trainee: Trainee, mitigation: Mitigation, group: dist.ProcessGroup | None
    ) -> None:
        self._trainee, self._count = trainee, mitigation.local_steps
        self._group = group or dist.group.WORLD
        self._weights = list(trainee.module.parameters())
        follows = mitigation.outer == "nesterov"
        self._outer = _OuterOptimizer(self._weights) if follows else None

    def step(self) -> None:
        """All steps up to the next average."""
        for _ in range(self._count):
            self._trainee.forget_gradients()
            self._trainee.update(self._trainee.add_gradients(self._trainee.module))
        average(self._weights, self._group)
        if self._outer:
            self._outer.follow()


def average(weights: Sequence[nn.Parameter], group: dist.ProcessGroup) -> None:
    """Have every rank take the mean of all ranks' weights, by one exchange.

    PyTorch's `average_parameters` waits for the device before its exchange; no graph can hold that.

    Args:
        weights: of this rank; the same shapes on all.
        group: the ranks.
    """
    flat = torch.cat([weight.detach().flatten() for weight in weights]) / group.size()
    dist.all_reduce(flat, group=group)
    means = flat.split([weight.numel() for weight in weights])
    for weight, mean in zip(weights, means, strict=True):
        weight.detach().copy_(mean.view_as(weight))


class _OuterOptimizer:
    """DiLoCo: what the ranks moved since the last average is the gradient of an outer optimiser."""

    def __init__(self, weights: Iterable[nn.Parameter]) -> None:
        self._weights = list(weights)
        self._anchors = [weight.detach().clone() for weight in self._weights]
        self._optimizer = torch.optim.SGD(
            self._anchors, lr=OUTER_RATE, momentum=OUTER_MOMENTUM, nesterov=True
        )

    def follow(self) -> None:
        """Move the anchors by the averaged weights, and the weights to the anchors."""
        for anchor, weight in zip(self._anchors, self._weights, strict=True):
            anchor.grad = anchor - weight.detach()
        self._optimizer.step()
        for anchor, weight in zip(self._anchors, self._weights, strict=True):
            weight.detach().copy_(anchor)


def hook_of(mitigation: Mitigation, group: dist.ProcessGroup | None) -> tuple[Any, Hook | None]:
    """DDP's communication hook for an exchange, and its state; no hook for the plain exchange."""
    if mitigation.exchange == "bfloat16":
        return group, bfloat16_hook
    if mitigation.exchange == "float16":
        return group, default_hooks.fp16_compress_hook
    if mitigation.exchange == "powersgd":
        state = powerSGD_hook.PowerSGDState(
            process_group=group,
            matrix_approximation_rank=mitigation.rank,
            start_powerSGD_iter=POWERSGD_START,
        )
        return state, powerSGD_hook.powerSGD_hook
    if mitigation.exchange in FORMS:
        feedback = ErrorFeedback(FORMS[mitigation.exchange])
        return QuantisedState(feedback, group), quantised_hook
    return None, None


def bfloat16_hook(
    group: dist.ProcessGroup | None, bucket: dist.GradBucket
) -> torch.futures.Future[torch.Tensor]:
    """PyTorch's own hook under another name: DDP refuses that one by name beside gloo, which can
    add bfloat16 as NCCL does.
    """
    return default_hooks.bf16_compress_hook(group, bucket)
