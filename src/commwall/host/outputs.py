"""What this machine's own tools say, as a user would paste it.

Layer: host. Runs nvidia-smi, numactl, lscpu, lspci, df and cat; writes nothing.
"""

import os
import shlex
import subprocess
from collections.abc import Iterator

TIMEOUT_S = 60.0
COMMANDS = (
    "nvidia-smi -L",
    "nvidia-smi topo -m",
    "nvidia-smi topo -p2p r",
    "nvidia-smi nvlink -s",
    "nvidia-smi -q -d POWER,PERFORMANCE",
    "nvidia-smi --query-gpu=index,name,utilization.gpu,pcie.link.gen.current,pcie.link.gen.max,"
    "pcie.link.width.current,pcie.link.width.max --format=csv",
    "numactl -H",
    "lscpu",
    "lspci -vvv",
    "cat /proc/cmdline",
    "df -h /dev/shm",
)
"""They only ask. What PCIe bridges redirect, lspci tells root alone."""


def tool_outputs(commands: tuple[str, ...] = COMMANDS) -> Iterator[tuple[str, str]]:
    """Each command with what it says; of one that is not there, or hangs, nothing.

    Args:
        commands: as a user would type them.
    """
    environment = {**os.environ, "LC_ALL": "C"}
    for command in commands:
        try:
            done = subprocess.run(
                shlex.split(command),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT_S,
                env=environment,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        yield command, f"{command}\n{done.stdout}{done.stderr}"
