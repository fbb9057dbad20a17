"""The nodes of a Slurm job: how many there are, what each is, and how a program starts on each.

Layer: host. Reads and writes no file; runs `squeue` and `srun`. The measuring verb runs on the
job's first node. `srun` starts one process on each node, hands down signals and output, and ends
all of them when one fails.

Source: Slurm, manual pages srun(1) and squeue(1).
"""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence

from commwall.host.machine import Machine
from commwall.schema.errors import ConfigError, LaunchError
from commwall.schema.parsing import parse_json_model

JOB_VARIABLE = "SLURM_JOB_ID"
ASK_TIMEOUT_S = 60.0


def allocated_nodes() -> int:
    """Nodes of the job that this process runs in; 1 outside of Slurm.

    Asked of the controller: whoever starts this process may have taken away the variable that
    tells it.

    Raises:
        LaunchError: if Slurm does not answer.
    """
    job = os.environ.get(JOB_VARIABLE)
    if job is None:
        return 1
    return int(_asked(["squeue", f"--jobs={job}", "--noheader", "--format=%D"]))


def on_each_node(nodes: int, command: Sequence[str], *options: str) -> list[str]:
    """The command that starts another one once on each node, the first being this one.

    Args:
        nodes: how many.
        command: what to start.
        options: of `srun`, besides.
    """
    spread = [f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", "--cpu-bind=none"]
    alike = ["--export=ALL", "--mpi=none", "--kill-on-bad-exit=1"]
    return ["srun", *spread, *alike, *options, *command]


def free_port() -> int:
    """A port of this node that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def probe_nodes(nodes: int) -> tuple[Machine, ...]:
    """What each node of the job is, the first being this one.

    Args:
        nodes: how many.

    Raises:
        LaunchError: if a node does not answer as it should.
    """
    probe = [sys.executable, "-m", "commwall", "probe"]
    told = _asked(on_each_node(nodes, probe, "--label"))
    by_node = dict(line.split(": ", 1) for line in told.splitlines() if ": " in line)
    try:
        return tuple(
            parse_json_model(Machine, by_node.get(str(node), ""), f"node {node + 1}")
            for node in range(nodes)
        )
    except ConfigError as error:
        raise _silent("commwall probe", str(error)) from error


def _asked(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=ASK_TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise _silent(command[0], (getattr(error, "stderr", None) or str(error)).strip()) from error
    return done.stdout


def _silent(program: str, said: str) -> LaunchError:
    return LaunchError(
        "the nodes of this job cannot be asked what they are",
        where=program,
        found=said,
        next_step="see `sinfo` and run again; the environment must lie where all nodes see it",
    )
