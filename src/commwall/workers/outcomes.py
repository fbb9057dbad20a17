"""How a case can end, and what each end is called.

Layer: workers. Reads and writes no file. An outcome would come again and is recorded; an
accident (a peer that vanished, a collective that hung) leaves no result file, only an exit code.
"""

import errno
import re

from torch.distributed import DistError

from commwall.schema.errors import CommwallError
from commwall.schema.result import Cause, Check

EXIT_FAILED_CASE = 3
"""A case failed for a reason that would come again; its file says which."""
EXIT_ACCIDENT = 4
"""A collective failed or ran into its timeout, or the disk is full; no file."""


OUT_OF_MEMORY = re.compile(
    r"OutOfMemoryError|MemoryError|DefaultCPUAllocator: can't allocate memory"
    r"|CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS\w*_ALLOC\w*_FAILED"
    r"|Cuda failure (?:\d+ )?'out of memory'"
)
"""What torch, CUDA's runtime, its libraries and NCCL say of exhausted memory.

Source: torch.OutOfMemoryError, c10's CPU allocator; CUDA Runtime API, cudaError_t; cuBLAS and
cuDNN, their status types; NCCL, src/include/checks.h.
"""
MISUSED = "ncclInvalidUsage"
"""NCCL was asked for what it cannot do, such as one GPU for two ranks: it would answer so again.

Source: NCCL API, ncclResult_t.
"""


class Unsupported(CommwallError):
    """This machine cannot run the case at all."""


class CheckFailed(CommwallError):
    """A correctness check failed, so the numbers mean nothing.

    Args:
        checks: every check made until then, the failed one among them.
    """

    def __init__(self, what: str, checks: tuple[Check, ...], **parts: str) -> None:
        super().__init__(what, **parts)
        self.checks = checks


def require(check: Check, before: tuple[Check, ...] = ()) -> Check:
    """The check, if it passed.

    Raises:
        CheckFailed: if it did not, with the checks made before it.
    """
    if not check.passed:
        raise CheckFailed(
            f"check {check.name} failed",
            (*before, check),
            found=check.found,
            expected=check.expected,
            next_step="the numbers of this case are not used; find out what computed wrongly",
        )
    return check


def is_accident(error: BaseException) -> bool:
    """Whether something broke down that says nothing about the case: communication, the disk.

    gloo reports a peer that vanished or a timeout as a RuntimeError that carries the place in
    its own source. What NCCL says may be of the case, too: exhausted memory, and a wrong use.
    """
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    if OUT_OF_MEMORY.search(str(error)) or MISUSED in str(error):
        return False
    return isinstance(error, DistError) or (
        isinstance(error, RuntimeError) and "gloo/" in str(error)
    )


def cause_of(error: BaseException) -> Cause:
    """The cause under which a failed case is recorded; exhausted memory may stand in the type."""
    if isinstance(error, Unsupported):
        return "unsupported"
    if isinstance(error, CheckFailed):
        return "check_failed"
    text = f"{type(error).__name__}: {error}"
    return "out_of_memory" if OUT_OF_MEMORY.search(text) else "error"
