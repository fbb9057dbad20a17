"""Gradients quantised to 8 or 1 bit for the exchange, with error feedback.

Layer: workers. Reads and writes no file. Every rank sends its own quantised gradients to all others
and averages what came: codes and scales of a bucket travel as one all-gather. What quantising took
away is kept and added to the next gradients, so that in the long run nothing is lost.

A rank sends (n - 1) / 8 of its float32 bytes at 8 bit and 1 / 32 of them times (n - 1) at 1 bit,
where an all-reduce sends 2 (n - 1) / n: a quarter and a 32nd for two ranks, but no less than the
all-reduce for eight ranks at 8 bit.

Source: Seide et al., "1-Bit Stochastic Gradient Descent", Interspeech 2014, for error feedback and
    one scale a sign; Dettmers, "8-Bit Approximations for Parallelism in Deep Learning", ICLR 2016.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.distributed as dist

BLOCK = 1024
"""Values that share a scale."""
_LEVELS = 127
_BITS = 8


class Form(NamedTuple):
    """A way to write values in few bits."""

    encode: Callable[[torch.Tensor], torch.Tensor]
    """Float32 values of whole blocks, shape (blocks, BLOCK) -> bytes of codes, then of scales."""
    decode: Callable[[torch.Tensor, int], torch.Tensor]
    """Those bytes and the number of blocks -> float32 values, shape (blocks, BLOCK)."""


def encode_int8(blocks: torch.Tensor) -> torch.Tensor:
    """Each value as a whole multiple of 1 / 127 of the largest of its block.

    Args:
        blocks: values, float32 [blocks, BLOCK].

    Returns:
        Codes, then scales, uint8 [blocks x (BLOCK + 4)].
    """
    scales = blocks.abs().amax(dim=1, keepdim=True) / _LEVELS
    codes = torch.round(blocks / scales.clamp_min(torch.finfo(blocks.dtype).tiny)).to(torch.int8)
    return torch.cat([codes.view(torch.uint8).flatten(), scales.flatten().view(torch.uint8)])


def decode_int8(code: torch.Tensor, blocks: int) -> torch.Tensor:
    """The values of a code.

    Args:
        code: what `encode_int8` wrote, uint8 [blocks x (BLOCK + 4)].
        blocks: number of blocks in it.

    Returns:
        Values, float32 [blocks, BLOCK].
    """
    codes, scales = code[: blocks * BLOCK], code[blocks * BLOCK :]
    values = codes.view(torch.int8).view(blocks, BLOCK).to(torch.float32)
    return values * scales.view(torch.float32).view(blocks, 1)


def encode_onebit(blocks: torch.Tensor) -> torch.Tensor:
    """The sign of each value; its block's mean magnitude.

    Args:
        blocks: values, float32 [blocks, BLOCK].

    Returns:
        Signs, then magnitudes, uint8 [blocks x (BLOCK / 8 + 4)].
    """
    scales = blocks.abs().mean(dim=1)
    bits = (blocks >= 0).view(-1, _BITS).to(torch.uint8)
    codes = (bits << _places(blocks)).sum(dim=1, dtype=torch.uint8)
    return torch.cat([codes, scales.view(torch.uint8)])


def decode_onebit(code: torch.Tensor, blocks: int) -> torch.Tensor:
    """The values of a code.

    Args:
        code: what `encode_onebit` wrote, uint8 [blocks x (BLOCK / 8 + 4)].
        blocks: number of blocks in it.

    Returns:
        Values, float32 [blocks, BLOCK].
    """
    size = blocks * BLOCK // _BITS
    bits = (code[:size].unsqueeze(1) >> _places(code)) & 1
    signs = bits.view(blocks, BLOCK).to(torch.float32) * 2 - 1
    return signs * code[size:].view(torch.float32).view(blocks, 1)


def _places(like: torch.Tensor) -> torch.Tensor:
    return torch.arange(_BITS, dtype=torch.uint8, device=like.device)


FORMS = {"int8": Form(encode_int8, decode_int8), "onebit": Form(encode_onebit, decode_onebit)}


class ErrorFeedback:
    """Quantises the buckets of one rank, and keeps for each what quantising took away.

    Args:
        form: how values are written.
    """

    def __init__(self, form: Form) -> None:
        self._form = form
        self._kept: dict[int, torch.Tensor] = {}

    def encode(self, bucket: int, values: torch.Tensor) -> torch.Tensor:
        """Code of a bucket's values and of what was kept of them before.

        Args:
            bucket: which; its values must keep their number, or nothing is kept.
            values: float32, shape (n,).
        """
        blocks = _blocks_of(values)
        kept = self._kept.get(bucket)
        if kept is None or kept.shape != blocks.shape:
            kept = self._kept[bucket] = torch.zeros_like(blocks)
        blocks = blocks + kept
        code = self._form.encode(blocks)
        kept.copy_(blocks - self._form.decode(code, len(blocks)))  # at one address, for a recording
        return code

    def mean(self, codes: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        """Mean of what all ranks sent, shape (n,) as `like`.

        Args:
            codes: one rank's a row, in rank order, so that every rank adds in the same order.
            like: the bucket's values.
        """
        blocks = -(-like.numel() // BLOCK)
        total = sum(self._form.decode(code, blocks) for code in codes)
        assert isinstance(total, torch.Tensor)  # there is a rank
        return (total / len(codes)).flatten()[: like.numel()]


def _blocks_of(values: torch.Tensor) -> torch.Tensor:
    """Values in whole blocks, filled up with zeros, shape (blocks, BLOCK)."""
    missing = -values.numel() % BLOCK
    return torch.nn.functional.pad(values, (0, missing)).view(-1, BLOCK)


class QuantisedState(NamedTuple):
    """What the hook works with."""

    feedback: ErrorFeedback
    group: dist.ProcessGroup | None
    """Ranks that exchange; None is all of them."""


def quantised_hook(
    state: QuantisedState, bucket: dist.GradBucket
) -> torch.futures.Future[torch.Tensor]:
    """DDP's hook for a full bucket: exchange it quantised, and fill it with the mean."""
    # A thread of the group frees what follows, and must not be the last to mention the group.
    feedback, values = state.feedback, bucket.buffer()
    code = feedback.encode(bucket.index(), values)
    ranks = dist.get_world_size(state.group)
    codes = torch.empty((ranks, code.numel()), dtype=torch.uint8, device=code.device)
    work = dist.all_gather_into_tensor(codes.view(-1), code, group=state.group, async_op=True)

    def decoded(_: torch.futures.Future[torch.Tensor]) -> torch.Tensor:
        return values.copy_(feedback.mean(codes, values))

    future: torch.futures.Future[torch.Tensor] = work.get_future().then(decoded)
    return future
