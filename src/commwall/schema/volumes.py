"""What a rank puts on the wire: in a training step by each strategy, and for a generated token.

Layer: schema. Reads and writes no file.

Source: Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3 (tensor); Huang et al., "GPipe",
    arXiv:1811.06965 (pipeline); Rajbhandari et al., "ZeRO", arXiv:1910.02054, section 7 (sharded
    parameters); Lepikhin et al., "GShard", arXiv:2006.16668, section 3.2 (experts).
"""

from commwall.schema.collective import DTYPE_BYTES, wire_share
from commwall.schema.inference import InferenceCase
from commwall.schema.strategies import StrategiesCase

PASSES = 4
"""Exchanges of a layer and micro-batch, all-reduces of tensor parallelism and all-to-alls of
experts alike: two in the forward pass, two in the backward pass."""


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
    rounds = PASSES * case.stack.layers * case.micro_batches
    return rounds * wire_share("all_reduce", ranks) * _message_bytes(case)


def _pipeline(case: StrategiesCase, ranks: int) -> float:
    """States go to the next stage, their gradients back; the ends send one way only."""
    return 2 * (ranks - 1) / ranks * case.micro_batches * _message_bytes(case)


def _sharded(case: StrategiesCase, ranks: int) -> float:
    """Parameters are gathered in each pass of each micro-batch, gradients scattered once."""
    passes = 2 * case.micro_batches + 1
    whole_bytes = case.stack.parameters * DTYPE_BYTES[case.precision]
    return passes * wire_share("all_gather", ranks) * whole_bytes


def _expert(case: StrategiesCase, ranks: int) -> float:
    """Tokens go to their experts and back; gradients of what is no expert are exchanged."""
    stack, value_bytes = case.stack, DTYPE_BYTES[case.precision]
    buffer_bytes = ranks * case.capacity(ranks) * stack.hidden * value_bytes
    rounds = PASSES * stack.layers * case.micro_batches
    router = stack.hidden * ranks
    shared = stack.layers * (stack.layer_parameters - stack.feed_forward_parameters + router)
    return (
        rounds * wire_share("all_to_all", ranks) * buffer_bytes
        + wire_share("all_reduce", ranks) * shared * value_bytes
    )


def _accumulation(case: StrategiesCase, ranks: int) -> float:
    whole_bytes = case.stack.parameters * DTYPE_BYTES[case.precision]
    return wire_share("all_reduce", ranks) * whole_bytes
