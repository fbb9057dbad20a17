"""A process that must not outlive its parent.

Layer: bottom, beside schema; uses nothing of the package. Reads and writes no file.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1
EXIT_ORPHANED = 86
"""Exit code of a process whose parent had gone before it could be watched."""


def die_with_parent(signal_number: int, parent_pid: int) -> str | None:
    """Have the kernel send this process a signal when its parent ends.

    The parent may have ended before the kernel was asked, so its identity is compared
    afterwards, with the pid that the parent itself passed: a process that has been handed to
    another parent exits at once with `EXIT_ORPHANED`. The setting survives `exec`.
    The kernel watches the *thread* that started this process: start it from a thread that
    lives as long as the parent does.

    Args:
        signal_number: signal to be sent, SIGKILL say.
        parent_pid: pid of the parent, as the parent gave it.

    Returns:
        None if the parent is watched, else the reason why it cannot be.

    Raises:
        OSError: if the kernel refuses.

    Source: prctl(2), PR_SET_PDEATHSIG.
    """
    if sys.platform != "linux":
        return f"the parent's end cannot be watched on {sys.platform}: prctl is Linux's"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl(PR_SET_PDEATHSIG, {signal_number}): {os.strerror(code)}")
    if os.getppid() != parent_pid:
        os.write(2, f"commwall: parent {parent_pid} is gone, so this process ends\n".encode())
        os._exit(EXIT_ORPHANED)
    return None
