"""`python -m commwall.host.tied PID COMMAND…`: another program, ended with the process that asked.

Layer: host. Reads and writes no file. Becomes the command, which the kernel then sends SIGTERM when
its parent, by the pid that the parent gave, ends. For programs that end others on SIGTERM: srun.
"""

import os
import signal
import sys

from commwall.process import die_with_parent


def main() -> None:
    """Arm the parent watch and replace this process by the command."""
    parent, *command = sys.argv[1:]
    die_with_parent(signal.SIGTERM, int(parent))
    os.execvp(command[0], command)  # noqa: S606 - the words are the supervisor's, no shell's


if __name__ == "__main__":
    main()
