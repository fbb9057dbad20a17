"""What a program that trains with PyTorch does for the options of a step: lines of its code.

Layer: measure. Reads and writes no file. No environment variable makes DDP round its gradients, so
that options of the step are told as code. It names `model`, `batches`, `optimizer` and
`loss_of(model, batch)`, which the program has; everything else it defines.
"""

from collections.abc import Iterator
from typing import Literal

from commwall.schema.mitigation import Exchange, Mitigation, StepCase

_HOOKS = "from torch.distributed.algorithms.ddp_comm_hooks import "
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


def torch_lines(case: StepCase) -> tuple[str, ...]:
    """Lines of Python for the step of a case with its mitigation.

    Args:
        case: the workload and what was found for it.
    """
    mitigation = case.mitigation
    if mitigation.local_steps > 1:
        return (*_remarks(case), *_local_steps(mitigation))
    return (*_remarks(case), *_exchanged(case), *_loop(mitigation))


def start_text(mitigation: Mitigation, device: Literal["cpu", "cuda"]) -> str | None:
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


def _exchanged(case: StepCase) -> Iterator[str]:
    """DDP with its options and its hook."""
    own = case.mitigation
    yield "import torch"
    yield "from torch.nn.parallel import DistributedDataParallel"
    megabytes = (own.bucket_bytes or case.bucket_bytes) / 2**20
    options = [f"bucket_cap_mb={megabytes:g}"]
    options.append(f"gradient_as_bucket_view={not own.copied_gradients}")
    options += ["static_graph=True"] if own.static_graph else []
    yield f"ddp = DistributedDataParallel(model, {', '.join(options)})"
    hook = "default_hooks.allreduce_hook"
    state = "torch.distributed.group.WORLD"
    if own.exchange != "float32":
        imported, state, hook = _hook(own.exchange, own.rank)
        yield imported
    elif own.overlap_optimizer:
        yield f"{_HOOKS}default_hooks"
    if own.overlap_optimizer:
        yield from _overlapped(hook)
        hook = "hook"
    if own.exchange != "float32" or own.overlap_optimizer:
        yield f"ddp.register_comm_hook({state}, {hook})"


def _hook(exchange: Exchange, rank: int | None) -> tuple[str, str, str]:
    """Import, state and hook of an exchange that is not DDP's own."""
    world = "torch.distributed.group.WORLD"
    if exchange == "powersgd":
        made = f"{world}, matrix_approximation_rank={rank}, start_powerSGD_iter=3"
        name = "powerSGD_hook"
        return f"{_HOOKS}{name}", f"{name}.PowerSGDState({made})", f"{name}.powerSGD_hook"
    if exchange in ("int8", "onebit"):
        made = f"QuantisedState(ErrorFeedback(FORMS['{exchange}']), {world})"
        return _QUANTISED, made, "quantised_hook"
    name = "bf16_compress_hook" if exchange == "bfloat16" else "fp16_compress_hook"
    return f"{_HOOKS}default_hooks", world, f"default_hooks.{name}"


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
    yield "        average_parameters(model.parameters(), torch.distributed.group.WORLD)"
    if follows:
        yield "        for anchor, weight in zip(anchors, weights):"
        yield "            anchor.grad = anchor - weight.detach()"
        yield "        outer.step()"
        yield "        for anchor, weight in zip(anchors, weights):"
        yield "            weight.detach().copy_(anchor)"
