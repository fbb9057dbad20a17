"""What a rank puts on the wire: in a training step by each strategy, and for a generated token.

Layer: schema. Reads and writes no file.

Source: Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3 (tensor); Huang et al., "GPipe",
    arXiv:1811.06965 (pipeline); Rajbhandari et al., "ZeRO", arXiv:1910.02054, section 7 (sharded
    parameters); Lepikhin et al., "GShard", arXiv:2006.16668, section 3.2 (experts).
"""

from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from commwall.schema.collective import DTYPE_BYTES, wire_share
from commwall.schema.inference import InferenceCase
from commwall.schema.strategies import StrategiesCase

Count: TypeAlias = float | NDArray[Any]
"""A number, or an array of numbers."""


class Sharing(NamedTuple):
    """How often a step gathers or scatters what data-parallel ranks share.

    Each time a rank sends (n - 1)/n of it; an all-reduce is a scatter and a gather.
    """

    forward: Count
    """Beside forward passes."""
    backward: Count
    """Beside backward passes."""

    @property
    def whole(self) -> Count:
        """Together."""
        return self.forward + self.backward


def layer_exchanges(*, repeated: bool = False) -> int:
    """Exchanges of a layer and micro-batch, of tensor parallelism and of experts alike.

    Two in the forward pass (all-reduces after attention and feed-forward part; all-to-alls to the
    experts and back), two in the backward pass.

    Args:
        repeated: whether the forward pass is done again before the backward pass (recomputation).
    """
    return 6 if repeated else 4


def sharing(stage: int, micro_batches: Count, *, whole_gradients: bool = False) -> Sharing:
    """How often data-parallel ranks gather parameters and scatter gradients in a step.

    What a rank keeps a part of only is gathered whenever it is used (parameters, stage 3), and
    scattered whenever it was computed (gradients, stages 2 and 3).

    Args:
        stage: of ZeRO; 0 is an all-reduce after the last micro-batch.
        micro_batches: of a step.
        whole_gradients: gradients are kept whole between micro-batches, and scattered once.

    Source: Rajbhandari et al., ZeRO, arXiv:1910.02054, section 7; for several micro-batches
        https://github.com/deepspeedai/DeepSpeed/pull/338 (stage 2 exchanges in each of them), and
        PyTorch, FSDP2, `set_requires_gradient_sync` (scattered once, whole until then).
    """
    if stage == 0:
        return Sharing(0, 2)
    scatters = micro_batches if stage > 1 and not whole_gradients else 1
    if stage < 3:
        return Sharing(1, scatters)
    return Sharing(micro_batches, micro_batches + scatters)


def sent_bytes(case: StrategiesCase, ranks: int) -> float:
    """What a rank puts on its link in one step, the mean over the ranks [byte].

    Args:
        case: the strategy and the stack.
        ranks: number of processes n.
    """
    formulas = {
        "tensor": _tensor,
        "pipeline": _pipeline,
        "fsdp": _sharded,
        "expert": _expert,
        "accumulation": _accumulation,
    }
    return formulas[case.strategy](case, ranks)


def token_sent_bytes(case: InferenceCase, ranks: int) -> float:
    """What a rank puts on its link for one token of each answer [byte].

    Two all-reduces a layer, and an all-gather of the scores of all words.

    Args:
        case: the decoder and its batch.
        ranks: number of processes n.
    """
    size, value_bytes = case.decoder, DTYPE_BYTES[case.precision]
    states = 2 * size.layers * wire_share("all_reduce", ranks) * size.hidden
    return case.batch * value_bytes * (states + wire_share("all_gather", ranks) * size.vocabulary)


def _message_bytes(case: StrategiesCase) -> int:
    """States of one micro-batch between two layers [byte]."""
    tokens = case.micro_batch * case.sequence_length
    return tokens * case.stack.hidden * DTYPE_BYTES[case.precision]


def _tensor(case: StrategiesCase, ranks: int) -> float:
    rounds = layer_exchanges() * case.stack.layers * case.micro_batches
    return rounds * wire_share("all_reduce", ranks) * _message_bytes(case)


def _pipeline(case: StrategiesCase, ranks: int) -> float:
    """States go to the next stage, their gradients back; the ends send one way only."""
    return 2 * (ranks - 1) / ranks * case.micro_batches * _message_bytes(case)


def _sharded(case: StrategiesCase, ranks: int) -> float:
    """Parameters are gathered in each pass of each micro-batch, gradients scattered once."""
    times = float(sharing(3, case.micro_batches, whole_gradients=True).whole)
    whole_bytes = case.stack.parameters * DTYPE_BYTES[case.precision]
    return times * wire_share("all_gather", ranks) * whole_bytes


def _expert(case: StrategiesCase, ranks: int) -> float:
    """Tokens go to their experts and back; gradients of what is no expert are exchanged."""
    stack, value_bytes = case.stack, DTYPE_BYTES[case.precision]
    buffer_bytes = ranks * case.capacity(ranks) * stack.hidden * value_bytes
    rounds = layer_exchanges() * stack.layers * case.micro_batches
    router = stack.hidden * ranks
    shared = stack.layers * (stack.layer_parameters - stack.feed_forward_parameters + router)
    return (
        rounds * wire_share("all_to_all", ranks) * buffer_bytes
        + wire_share("all_reduce", ranks) * shared * value_bytes
    )


def _accumulation(case: StrategiesCase, ranks: int) -> float:
    whole_bytes = case.stack.parameters * DTYPE_BYTES[case.precision]
    return wire_share("all_reduce", ranks) * whole_bytes
