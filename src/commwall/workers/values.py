"""Known values with which buffers are filled before a result is judged.

Layer: workers. Reads and writes no file.
"""

import torch

POISON = -1.0
"""Fills what a result must overwrite; no known value is negative."""
_PERIODS = {torch.float32: 1021, torch.bfloat16: 7}
"""Prime, so that no two parts of a buffer hold the same values. Sums over ranks stay exact:
in float32 always, in bfloat16 (whole numbers up to 256) for up to 15 ranks."""


def ramp(like: torch.Tensor) -> torch.Tensor:
    """Values that count from 1 to a prime over and over, in the tensor's shape, type and place."""
    period = _PERIODS[like.dtype]
    once = torch.arange(1, period + 1, device=like.device).to(like.dtype)
    return once.repeat(like.numel() // period + 1)[: like.numel()].view_as(like)


def counted(at: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The whole numbers that `ramp` has at some positions.

    Args:
        at: positions, from 0.
        dtype: type of the buffer, which decides the period.

    Returns:
        New int64 tensor of the same shape.
    """
    return at.remainder(_PERIODS[dtype]).add_(1)
