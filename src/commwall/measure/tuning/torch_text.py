"""What a program that trains with PyTorch does for the options of a step: lines of its code.

Layer: measure. Reads and writes no file. No environment variable makes DDP round its gradients, so
that options of the step are told as code. It names `model`, `batches`, `optimizer` and
`loss_of(model, batch)`, which the program has; everything else it defines.
"""

from collections.abc import Iterator
from typing import Literal

from commwall.schema.mitigation import Mitigation, StepCase

Device = Literal["cpu", "cuda"]
PYTORCH_BUCKET_BYTES = 25 * 2**20
_HOOKS = "from torch.distributed.algorithms.ddp_comm_hooks import "
_WORLD = "torch.distributed.group.WORLD"
_QUANTISED = (
    "from commwall.workers.quantised import FORMS, ErrorFeedback, QuantisedState, quantised_hook"
)
_MODES = {
    "eager": "run the step eagerly",
    "compile": "compile the model's blocks (torch.compile)",
    "captured": "record the step (torch.cuda.graph) after 11 or more warm-up steps",
    "compiled_captured": "compile the model's blocks (torch.compile), then record the step "
    "(torch.cuda.graph) after 11 or more warm-up steps",
}


def torch_lines(case: StepCase, device: Device) -> tuple[str, ...]:
    """Lines of Python for the step of a case with its mitigation.

    Args:
        case: the workload and what was found for it.
        device: of its processes.
    """
    mitigation = case.mitigation
    if mitigation.local_steps > 1:
        return (*_remarks(case), *_local_steps(mitigation))
    return (*_remarks(case), *_exchanged(case, device), *_loop(mitigation))


def start_text(mitigation: Mitigation, device: Device) -> str | None:
    """How processes are bound when they are started; None where nothing is bound."""
    if mitigation.numa is None:
        return None
    if mitigation.numa == "near":
        near = {
            "cuda": "torchrun --numa-binding node",
            "cpu": "numactl --cpunodebind=NODE before each process, the nodes in turn",
        }
        return near[device]
    return f"numactl --cpunodebind={mitigation.numa} torchrun"


def _remarks(case: StepCase) -> Iterator[str]:
    """What is said rather than coded."""
    own = case.mitigation
    if own.batch_times > 1:
        yield f"# batches of {own.batch_times * case.batch_per_gpu} samples a process"
    yield f"# {_MODES[case.mitigated_mode]}"


def _exchanged(case: StepCase, device: Device) -> Iterator[str]:
    """DDP with its options and its hook."""
    own = case.mitigation
    yield "import torch"
    yield "from torch.nn.parallel import DistributedDataParallel"
    yield f"ddp = DistributedDataParallel(model, {', '.join(_ddp_options(case))})"
    if own.exchange == "float32" and not own.overlap_optimizer:
        return
    imported, state, hook = _hook(own, device)
    yield imported
    if own.overlap_optimizer:
        yield from _overlapped(hook)
        hook = "hook"
    yield f"ddp.register_comm_hook({state}, {hook})"


def _ddp_options(case: StepCase) -> Iterator[str]:
    """Arguments of DDP as the step had them; at its own size of buckets that one is left out."""
    own = case.mitigation
    yield f"gradient_as_bucket_view={not own.copied_gradients}"
    bucket_bytes = own.bucket_bytes or case.bucket_bytes
    if bucket_bytes != PYTORCH_BUCKET_BYTES:
        yield f"bucket_cap_mb={bucket_bytes / 2**20:g}"
    if own.static_graph:
        yield "static_graph=True"


def _hook(own: Mitigation, device: Device) -> tuple[str, str, str]:
    """Import, state and hook of an exchange."""
    if own.exchange == "powersgd":
        made = f"{_WORLD}, matrix_approximation_rank={own.rank}, start_powerSGD_iter=3"
        name = "powerSGD_hook"
        return f"{_HOOKS}{name}", f"{name}.PowerSGDState({made})", f"{name}.powerSGD_hook"
    if own.exchange in ("int8", "onebit"):
        made = f"QuantisedState(ErrorFeedback(FORMS['{own.exchange}']), {_WORLD})"
        return _QUANTISED, made, "quantised_hook"
    if own.exchange == "bfloat16" and device == "cpu":  # DDP refuses its own beside gloo
        return "from commwall.workers.mitigated import bfloat16_hook", _WORLD, "bfloat16_hook"
    hooks = {"bfloat16": "bf16_compress_hook", "float16": "fp16_compress_hook"}
    name = hooks.get(own.exchange, "allreduce_hook")
    return f"{_HOOKS}default_hooks", _WORLD, f"default_hooks.{name}"


def _overlapped(hook: str) -> Iterator[str]:
    """A hook after which each bucket's parameters are updated."""
    yield f"{_HOOKS}optimizer_overlap_hooks as overlap"
    yield "optimizers = {p: torch.optim.AdamW([p], fused=True) for p in model.parameters()}"
    yield "class EachParameter:"
    yield "    def step_param(self, parameter, gradient):"
    yield "        parameter.grad = gradient"
    yield "        optimizers[parameter].step()"
    yield "state = overlap._OptimizerHookState(EachParameter())"
    yield f"hook = overlap._hook_then_optimizer({hook}, state)"


def _loop(mitigation: Mitigation) -> Iterator[str]:
    """One epoch under DDP."""
    count = mitigation.accumulate
    update = [] if mitigation.overlap_optimizer else ["optimizer.step()"]
    if count == 1:
        yield "for batch in batches:"
        for line in ("optimizer.zero_grad()", "loss_of(ddp, batch).backward()", *update):
            yield f"    {line}"
        return
    yield "from contextlib import nullcontext"
    yield "for number, batch in enumerate(batches, 1):"
    yield f"    last = number % {count} == 0"
    yield "    with nullcontext() if last else ddp.no_sync():"
    yield f"        (loss_of(ddp, batch) / {count}).backward()"
    yield "    if last:"
    for line in (*update, "optimizer.zero_grad()"):
        yield f"        {line}"


def _local_steps(mitigation: Mitigation) -> Iterator[str]:
    """One epoch without DDP, weights averaged now and then."""
    follows = mitigation.outer == "nesterov"
    yield "import torch"
    yield "from torch.distributed.algorithms.model_averaging.utils import average_parameters"
    if follows:
        yield "weights = list(model.parameters())"
        yield "anchors = [weight.detach().clone() for weight in weights]"
        yield "outer = torch.optim.SGD(anchors, lr=0.7, momentum=0.9, nesterov=True)"
    yield "for number, batch in enumerate(batches, 1):"
    yield "    optimizer.zero_grad()"
    yield "    loss_of(model, batch).backward()"
    yield "    optimizer.step()"
    yield f"    if number % {mitigation.local_steps} == 0:"
    yield f"        average_parameters(model.parameters(), {_WORLD})"
    if follows:
        yield "        for anchor, weight in zip(anchors, weights):"
        yield "            anchor.grad = anchor - weight.detach()"
        yield "        outer.step()"
        yield "        for anchor, weight in zip(anchors, weights):"
        yield "            weight.detach().copy_(anchor)"
