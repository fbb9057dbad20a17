"""Peak memory of a case on one rank.

Layer: workers. Reads /proc/self/status, writes /proc/self/clear_refs. On CUDA the device
allocator's peak, on the CPU the process's peak resident set since the last reset.

Source: torch.cuda.max_memory_allocated; proc(5), VmHWM and clear_refs.
"""

import re
from pathlib import Path

import torch

from commwall.schema.result import Gap

_PROC = Path("/proc/self")


def reset_peak(device: torch.device, proc: Path = _PROC) -> Gap | None:
    """Start a new peak; a Gap says why there will be none."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return None
    try:
        (proc / "clear_refs").write_text("5")
    except OSError as error:
        return _gap(f"the process's peak cannot be reset: {error}")
    return None


def peak_bytes(device: torch.device, proc: Path = _PROC) -> float | Gap:
    """Most memory in use since the reset [byte], or a Gap with the reason."""
    if device.type == "cuda":
        return float(torch.cuda.max_memory_allocated(device))
    try:
        status = (proc / "status").read_text()
    except OSError as error:
        return _gap(f"the process's peak cannot be read: {error}")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return float(found[1]) * 1024 if found else _gap("the kernel does not tell VmHWM")


def _gap(reason: str) -> Gap:
    return Gap(what="peak_memory_bytes", reason=reason)
