"""`python -m commwall.report.kernel -f FILE`: a Jupyter kernel that ends with its parent.

Layer: report. Reads FILE, the kernel's connection. A kernel looks itself, in a thread, whether its
parent is there; one whose cell never lets another thread run would stay, so the system is asked.
"""

import os
import signal

from commwall.process import die_with_parent


def main() -> None:
    """Become a kernel, tied to the process that jupyter_client says has started it."""
    die_with_parent(signal.SIGKILL, int(os.environ["JPY_PARENT_PID"]))
    from ipykernel.kernelapp import launch_new_instance  # takes a second; the parent is watched

    launch_new_instance()


if __name__ == "__main__":
    main()
