"""The legs of a training case: what one step of each does, and what it must get right.

Layer: workers. Reads and writes no file.
"""

import inspect
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from commwall.schema.case import CAPTURING, COMPILING
from commwall.schema.result import Check
from commwall.schema.workload import Workload as WorkloadCase
from commwall.workers.compilation import compile_regions
from commwall.workers.group import Group
from commwall.workers.models import FAMILIES
from commwall.workers.outcomes import Unsupported
from commwall.workers.stepping import Step
from commwall.workers.values import POISON, ramp

_BUFFER_SWITCH = next(
    name
    for name in ("forward_sync_buffers", "broadcast_buffers")
    if name in inspect.signature(DistributedDataParallel).parameters
)
"""DDP's argument for copying rank 0's buffers in every step; torch has renamed it."""
FIRST_STEPS = 3
"""Steps after seeding whose loss and gradients are recorded and compared."""
RECORDED_TOLERANCE = 1e-3
"""Relative. A step sums in another order when it runs again, where kernels use atomic additions."""
_PYTORCH_BUCKET_BYTES = 25 * 2**20
_BITS = 2**52


class Workload:
    """A model, its optimiser and one batch on this rank's device.

    Weights are the same on all ranks (seed), the batch is the rank's own (seed and rank) and
    serves every step. State that a model keeps between steps is part of the batch.
    """

    def __init__(self, case: WorkloadCase, device: torch.device, rank: int) -> None:
        family = FAMILIES[case.model]
        torch.manual_seed(case.seed)
        self._case, self._rank = case, rank
        self.device = device
        with device:  # weights are drawn where they will be: on a CPU that takes seconds
            self.module = family.build(case.preset)
        self.module.to(device)
        if case.step_mode in COMPILING:
            compile_regions(family.regions(self.module))
        self.draw(case.batch_shape)
        recorded = case.step_mode in CAPTURING
        self._optimizer = self.new_optimizer(list(self.module.parameters()))
        self._precision = torch.autocast(
            device.type,
            dtype=torch.bfloat16,
            enabled=case.precision == "bfloat16",
            cache_enabled=not recorded,  # a graph must not read what a step before it has cached
        )
        self.loss = torch.zeros((), device=device)
        """Loss of the last step, always at the same address."""
        self.parameters = sum(p.numel() for p in self.module.parameters() if p.requires_grad)
        self.parameters_expected = family.PRESETS[case.preset].parameters

    def new_optimizer(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        """An optimiser of these parameters, as the workload's own."""
        recorded = self._case.step_mode in CAPTURING
        return torch.optim.AdamW(parameters, fused=True, capturable=recorded)

    def draw(self, shape: tuple[int, ...]) -> None:
        """Take a fresh batch of that shape from now on."""
        generator = torch.Generator().manual_seed(self._case.seed * 1009 + self._rank + 1)
        family = FAMILIES[self._case.model]
        self._first_batch = family.batch(self._case.preset, shape, generator)
        self._batch = {
            name: values.to(self.device, copy=True) for name, values in self._first_batch.items()
        }

    def restart(self) -> None:
        """Forget the state that steps have left in the batch."""
        for name, values in self._first_batch.items():
            self._batch[name].copy_(values)

    def state(self) -> list[torch.Tensor]:
        """Copies of the weights and the batch, on which a step's loss and gradients depend."""
        return [tensor.clone() for tensor in self._state()]

    def go_back(self, state: list[torch.Tensor]) -> None:
        """Take weights and batch from a copy."""
        for tensor, kept in zip(self._state(), state, strict=True):
            tensor.copy_(kept)

    def _state(self) -> list[torch.Tensor]:
        return [*(p.detach() for p in self.module.parameters()), *self._batch.values()]

    def forward_backward(self, model: nn.Module) -> torch.Tensor:
        """Fresh gradients of the batch's loss, which is returned detached."""
        self.forget_gradients()
        return self.add_gradients(model)

    def forget_gradients(self) -> None:
        """Have the next gradients be fresh ones."""
        self._optimizer.zero_grad(set_to_none=True)

    def add_gradients(self, model: nn.Module, share: float = 1.0) -> torch.Tensor:
        """Add gradients of a share of the batch's loss, which is returned whole and detached."""
        with self._precision:
            loss: torch.Tensor = model(**self._batch)
        (loss if share == 1.0 else loss * share).backward()
        return loss.detach()

    def step(self, model: nn.Module) -> None:
        """One optimisation step."""
        self.update(self.forward_backward(model))

    def update(self, loss: torch.Tensor) -> None:
        """Have the optimiser use the gradients, and keep the loss they belong to."""
        self._optimizer.step()
        self.keep(loss)

    def keep(self, loss: torch.Tensor) -> None:
        """Keep the loss of a step."""
        self.loss.copy_(loss)

    def gradients(self) -> list[torch.Tensor]:
        """Gradients of all parameters, in the model's order."""
        return [p.grad for p in self.module.parameters() if p.grad is not None]

    def gradient_norm(self) -> float:
        """Euclidean norm of all gradients; waits for the device."""
        return float(nn.utils.get_total_norm(self.gradients()))


class CheckedSteps(NamedTuple):
    """What steps gave whose loss and gradients were looked at on this rank."""

    losses: tuple[float, ...]
    gradient_norms: tuple[float, ...]
    duration_s: tuple[float, ...]
    """What each took, looking included [s]; in the first one kernels are compiled or loaded."""
    checks: tuple[Check, ...]


def step_flops(case: WorkloadCase) -> float:
    """FLOPs of forward and backward of one process's batch.

    The backward pass takes twice the forward pass: gradients of inputs and of weights.

    Source: Chowdhery et al., "PaLM", arXiv:2204.02311, appendix B.
    """
    return 3 * FAMILIES[case.model].forward_flops(case.preset, case.batch_shape)


def require_precision(case: WorkloadCase, device: torch.device) -> None:
    """Raise Unsupported where the device cannot compute in the precision asked for."""
    if case.precision == "bfloat16" and device.type == "cuda":
        capability = torch.cuda.get_device_capability(device)
        if capability < (8, 0):
            raise Unsupported(
                "the device cannot compute in bfloat16",
                where=torch.cuda.get_device_name(device),
                found=f"compute capability {capability[0]}.{capability[1]}",
                expected="8.0 or later",
                next_step="ask for float32",
            )


def distribute(workload: Workload, case: WorkloadCase) -> DistributedDataParallel:
    """The model under DDP with the case's bucket size.

    At PyTorch's own size the argument is left out, so that its smaller first bucket is kept.
    Buffers are not broadcast in every step: they are constants of the model, or running
    statistics that training does not read.
    """
    return distributed(workload.module, case.bucket_bytes)


def distributed(module: nn.Module, bucket_bytes: int, **options: Any) -> DistributedDataParallel:
    """A module under DDP, as `distribute` has it but for further options.

    Args:
        module: the module.
        bucket_bytes: size of its gradient buckets [byte].
        options: arguments of DDP.
    """
    own = bucket_bytes == _PYTORCH_BUCKET_BYTES
    usual = {
        "bucket_cap_mb": None if own else bucket_bytes / 2**20,
        "gradient_as_bucket_view": True,  # gradients are not copied back out of the buckets
        _BUFFER_SWITCH: False,
    }
    return DistributedDataParallel(module, **(usual | options))


def bucket_bytes(ddp: DistributedDataParallel) -> tuple[int, ...]:
    """Bytes of DDP's gradient buckets in the order of exchange [byte]; ask after a step."""
    told = ddp._get_ddp_logging_data()
    sizes = told.get("rebuilt_bucket_sizes") or told["bucket_sizes"]
    return tuple(int(size) for size in str(sizes).split(","))


def same_buckets(exchanged: tuple[int, ...], packed: tuple[int, ...]) -> Check:
    """Times at which buckets were ready belong to the buckets that were exchanged [byte]."""
    return Check(
        name="buckets_packed_as_exchanged",
        passed=packed == exchanged,
        found=", ".join(map(str, packed)),
        expected=", ".join(map(str, exchanged)),
    )


def first_steps(workload: Workload, step: Step, group: Group) -> CheckedSteps:
    """Take the first steps after seeding; gradients must be the same bits on all ranks."""
    names = ("finite_loss_and_gradients", "gradients_equal_on_all_ranks")
    return _checked_steps(workload, step, group, FIRST_STEPS, names)


def checks_after_timing(workload: Workload, step: Step, group: Group) -> tuple[Check, ...]:
    """Take one more step: what was timed must have computed rightly to its end."""
    names = ("finite_after_timing", "gradients_equal_after_timing")
    return _checked_steps(workload, step, group, 1, names).checks


def recorded_check(workload: Workload, recorded: Step, plain: Step) -> Check:
    """From the same state, a recorded step must give what the plain one gives."""
    before = workload.state()
    plain()
    expected = float(workload.loss), workload.gradient_norm()
    workload.go_back(before)
    workload.loss.fill_(POISON)
    recorded()
    found = float(workload.loss), workload.gradient_norm()
    pairs = zip(found, expected, strict=True)
    return Check(
        name="recorded_step_equals_plain",
        passed=all(abs(a - b) <= RECORDED_TOLERANCE * abs(b) for a, b in pairs),
        found="loss {:.6g}, gradient norm {:.6g}".format(*found),
        expected="loss {:.6g}, gradient norm {:.6g}, within {:g}".format(
            *expected, RECORDED_TOLERANCE
        ),
    )


def _checked_steps(
    workload: Workload, step: Step, group: Group, count: int, names: tuple[str, str]
) -> CheckedSteps:
    losses, norms, fingerprints, duration_s = [], [], [], []
    for _ in range(count):
        begin_s = time.perf_counter()
        step()
        losses.append(float(workload.loss))
        norms.append(workload.gradient_norm())
        duration_s.append(time.perf_counter() - begin_s)
        fingerprints.append(group.all(fingerprint(workload.gradients())))
    finite = all(abs(value) < float("inf") for value in (*losses, *norms))
    equal = all(len(set(ranks)) == 1 for ranks in fingerprints)
    words = "; ".join(", ".join(f"{rank:.0f}" for rank in ranks) for ranks in fingerprints)
    checks = (
        Check(
            name=names[0],
            passed=finite,
            found=f"losses {losses}, gradient norms {norms}",
            expected="finite numbers",
        ),
        Check(
            name=names[1],
            passed=equal,
            found=f"sums of the gradients' bits per step and rank: {words}",
            expected="one sum per step after the exchange",
        ),
    )
    return CheckedSteps(tuple(losses), tuple(norms), tuple(duration_s), checks)


def parameter_check(workload: Workload) -> Check:
    """The model is the one it is called."""
    return Check(
        name="parameter_count",
        passed=workload.parameters == workload.parameters_expected,
        found=str(workload.parameters),
        expected=str(workload.parameters_expected),
    )


class Exchange:
    """Leg `comm`: buckets of DDP's sizes, exchanged as DDP does, without compute.

    `run` exchanges them; it is `step`, until a recording of it takes its place.
    """

    def __init__(self, buckets: tuple[int, ...], group: Group) -> None:
        self._group = group
        self._buffers = [torch.zeros(size // 4, device=group.device) for size in buckets]
        self.run: Step = self.step

    def step(self) -> None:
        """Exchange all buckets; the works are waited for in order, as DDP does."""
        works = [dist.all_reduce(buffer, async_op=True) for buffer in self._buffers]
        for work in works:
            work.wait()

    def check(self, name: str) -> Check:
        """Exchange known values: x + r on rank r must become n x + n(n-1)/2.

        The exchange is in place, so the input is the poison: x counts up from 1, which makes
        it differ from the result everywhere. The buffers are zero afterwards.
        """
        ranks, rank, wrong = self._group.size, self._group.rank, 0
        ramps = [ramp(buffer) for buffer in self._buffers]
        for buffer, values in zip(self._buffers, ramps, strict=True):
            torch.add(values, rank, out=buffer)
        self.run()
        for buffer, values in zip(self._buffers, ramps, strict=True):
            wrong += int((buffer != ranks * values + ranks * (ranks - 1) / 2).sum())
            buffer.zero_()
        return Check(
            name=name,
            passed=wrong == 0,
            found=f"{wrong} of {sum(buffer.numel() for buffer in self._buffers)} values wrong",
            expected="0 wrong",
        )


def without_exchange(ddp: DistributedDataParallel, step: Callable[[nn.Module], None]) -> None:
    """Leg `nosync`: the same step under DDP, gradients not exchanged."""
    with ddp.no_sync():
        step(ddp)


def fingerprint(tensors: list[torch.Tensor]) -> float:
    """Sum of the bit patterns of float32 tensors, small enough for a float64 to hold exactly."""
    total = sum(int(each.view(torch.int32).sum(dtype=torch.int64)) for each in tensors)
    return float(total % _BITS)
