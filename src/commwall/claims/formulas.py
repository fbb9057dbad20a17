"""Formulas of the field that claims may use by name.

Layer: claims. Reads and writes no file. Pure functions over plain numbers in SI units; each entry
of `FORMULAS` names the units of arguments and result.
"""

from collections.abc import Callable
from dataclasses import dataclass

from commwall.schema.collective import wire_share


@dataclass(frozen=True)
class NamedFormula:
    """A function with the units of its arguments and of its result."""

    compute: Callable[..., float]
    takes: tuple[str, ...]
    gives: str

    @property
    def summary(self) -> str:
        """First line of its docstring."""
        return (self.compute.__doc__ or "").strip().partition("\n")[0]


def all_reduce_time(message_bytes: float, ranks: float, busbw_bytes_per_s: float) -> float:
    """Time of an all-reduce of `message` among `ranks` at a bus bandwidth [s].

    Source: NVIDIA nccl-tests, doc/PERFORMANCE.md, section "Bandwidth".
    """
    return wire_share("all_reduce", int(ranks)) * message_bytes / busbw_bytes_per_s


def all_reduce_busbw(message_bytes: float, ranks: float, time_s: float) -> float:
    """Bus bandwidth of an all-reduce of `message` among `ranks` that takes `time` [byte/s].

    Source: NVIDIA nccl-tests, doc/PERFORMANCE.md, section "Bandwidth".
    """
    return wire_share("all_reduce", int(ranks)) * message_bytes / time_s


def ring_steps(ranks: float) -> float:
    """Steps of a ring all-reduce among `ranks`: reduce-scatter, then all-gather [1].

    Source: Patarasu and Yuan 2009, Bandwidth optimal all-reduce algorithms, section 3.
    """
    return 2 * (ranks - 1)


def bubble(stages: float, micro_batches: float) -> float:
    """Share of a pipeline's time in which a stage waits [1].

    Source: Huang et al. 2018, GPipe, arXiv:1811.06965, section 2.3: (K-1)/(M+K-1).
    """
    return (stages - 1) / (micro_batches + stages - 1)


def tensor_parallel_bytes(tokens: float, hidden: float, layers: float, element: float) -> float:
    """Payload of the all-reduces of a training step with tensor parallel layers [byte].

    Two all-reduces a layer in the forward pass and two in the backward pass, each of
    tokens x hidden values.

    Source: Shoeybi et al. 2019, Megatron-LM, arXiv:1909.08053, section 3.
    """
    return 4 * tokens * hidden * element * layers


def prefill_bytes(tokens: float, hidden: float, layers: float, element: float) -> float:
    """Payload of the all-reduces with which tensor parallel layers read a prompt [byte].

    Source: as `tensor_parallel_bytes`, forward pass only.
    """
    return 2 * tokens * hidden * element * layers


def header_share(payload_bytes: float, header_bytes: float) -> float:
    """Share of a link's rate that headers take [1].

    Source: PCI-SIG, PCI Express Base Specification: every packet carries its header.
    """
    return header_bytes / (header_bytes + payload_bytes)


def training_flops(parameters: float, tokens: float) -> float:
    """Floating point operations of a training step over `tokens` [FLOP].

    Source: Kaplan et al. 2020, Scaling laws for neural language models, arXiv:2001.08361,
        section 2.1: six a parameter and token.
    """
    return 6 * parameters * tokens


FORMULAS = {
    "all_reduce_time": NamedFormula(all_reduce_time, ("byte", "1", "byte/s"), "s"),
    "all_reduce_busbw": NamedFormula(all_reduce_busbw, ("byte", "1", "s"), "byte/s"),
    "ring_steps": NamedFormula(ring_steps, ("1",), "1"),
    "bubble": NamedFormula(bubble, ("1", "1"), "1"),
    "tensor_parallel_bytes": NamedFormula(
        tensor_parallel_bytes, ("token", "1", "1", "byte"), "byte"
    ),
    "prefill_bytes": NamedFormula(prefill_bytes, ("token", "1", "1", "byte"), "byte"),
    "header_share": NamedFormula(header_share, ("byte", "byte"), "1"),
    "training_flops": NamedFormula(training_flops, ("parameter", "token"), "FLOP"),
}
"""Name in expressions -> formula."""
