"""A real Slurm on this machine: munge, the controller and two nodes, in a folder of its own.

Needs root, as `slurmd` does, and Debian's packages `slurm-wlm` and `munge`. Nothing outside the
folder is touched: every program is told its files by an option or by SLURM_CONF.
"""

import os
import platform
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from tests.workflow.checkout import wait_until

DAEMONS = ("munged", "slurmctld", "slurmd")
CLIENTS = ("sbatch", "srun", "squeue", "scancel", "sinfo", "scontrol")
NODES = ("n1", "n2")
START_S = 30.0
END_S = 5.0
LOST_AFTER_S = 3
"""A node that is silent for longer is taken for lost [s]."""
SETTINGS = """
ClusterName=tests
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdTimeout={lost_after_s}
MessageTimeout=2
TCPTimeout=1
KillWait=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
GresTypes=gpu
{nodes}
PartitionName=tests Nodes=ALL Default=YES State=UP
"""
"""A job that has ended stays known for 300 s (MinJobAge), for `squeue` to tell of it."""
NODE = "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} Gres=gpu:1"


def why_not() -> str | None:
    """Why there can be no Slurm here; None if there can."""
    if os.geteuid() != 0:
        return "slurmd needs root"
    missing = [program for program in (*DAEMONS, *CLIENTS) if shutil.which(program) is None]
    return f"not installed: {', '.join(missing)} (Debian: slurm-wlm, munge)" if missing else None


@contextmanager
def running(folder: Path) -> Iterator["Cluster"]:
    """A cluster with both nodes idle; afterwards nothing of it is left but its folder.

    Where Slurm is installed and does not start the tests fail, as nobody would see them missing.

    Args:
        folder: an empty one.
    """
    cluster = Cluster(folder)
    try:
        try:
            cluster.start()
        except (TimeoutError, OSError) as error:
            pytest.fail(f"Slurm does not start: {error!r}; {cluster.last_words()}")
        yield cluster
    finally:
        cluster.stop()


class Cluster:
    """A Slurm that lies in a folder.

    Args:
        folder: an empty one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cpus = os.sched_getaffinity(0)
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which Slurm's programs find this one."""
        return {
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
        }

    def start(self) -> None:
        """Start all daemons and wait until the nodes are idle.

        Raises:
            TimeoutError: if they are not in time.
        """
        self._write_settings()
        self._write_clients()
        self._start_munge()
        self._start("slurmctld", "slurmctld", "-D")
        for node in NODES:
            self.start_node(node)
        self.wait_idle()

    def last_words(self) -> str:
        """The last line that each daemon wrote."""
        told = {path.stem: path.read_text(errors="replace") for path in self.folder.glob("*.out")}
        return "; ".join(f"{name}: {text.strip().splitlines()[-1:]}" for name, text in told.items())

    def wait_idle(self) -> None:
        """Wait until all nodes are there and nothing runs on them."""
        wait_until(lambda: self.states() == dict.fromkeys(NODES, "idle"), START_S)

    def start_node(self, node: str) -> None:
        """Start a node."""
        self._start(node, "slurmd", "-D", "-N", node)

    def lose_node(self, node: str) -> None:
        """End a node as a power failure would: its daemon and all that runs on it, at once."""
        daemon = self._daemons.pop(node)
        daemon.kill()
        daemon.wait()
        for pid in _processes_of(node, self.folder):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def states(self) -> dict[str, str]:
        """Node -> its state in Slurm's words; nothing while the controller does not answer."""
        lines = self.ask("sinfo", "--noheader", "--Node", "--format=%N %t").splitlines()
        return dict(line.split() for line in lines)

    def works_on(self, node: str) -> bool:
        """Whether a process of a job runs on a node."""
        return bool(_processes_of(node, self.folder))

    def runs_a_job(self) -> bool:
        """Whether a job runs, on whichever node."""
        return bool(self.ask("squeue", "--noheader", "--states=PENDING,RUNNING"))

    def ask(self, *words: str) -> str:
        """What one of Slurm's programs prints."""
        environment = os.environ | self.environment
        return subprocess.run(
            words, env=environment, capture_output=True, text=True, check=False
        ).stdout

    def stop(self) -> None:
        """End the jobs that are left, then all daemons."""
        self.ask("scancel", "--user=root", "--signal=KILL", "--full")
        for daemon in reversed(self._daemons.values()):
            daemon.terminate()
            try:
                daemon.wait(END_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for node in NODES:
            for pid in _processes_of(node, self.folder):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _write_settings(self) -> None:
        host, ports, cpus = platform.node(), _free_ports(len(NODES) + 1), os.cpu_count()
        nodes = [
            NODE.format(node=node, host=host, port=port, cpus=cpus)
            for node, port in zip(NODES, ports[1:], strict=True)
        ]
        text = SETTINGS.format(
            folder=self.folder,
            host=host,
            port=ports[0],
            lost_after_s=LOST_AFTER_S,
            nodes="\n".join(nodes),
        )
        (self.folder / "slurm.conf").write_text(text, encoding="utf-8")
        (self.folder / "gres.conf").write_text("Name=gpu File=/dev/null\n", encoding="utf-8")
        for name in ("state", *(f"spool-{node}" for node in NODES)):
            (self.folder / name).mkdir()

    def _write_clients(self) -> None:
        """Programs that find this Slurm by themselves, as those of a machine's own Slurm do.

        The workflow's executor takes all of Slurm's variables away before it starts a job's rule.
        """
        (self.folder / "bin").mkdir()
        for program in CLIENTS:
            path = self.folder / "bin" / program
            own = f'SLURM_CONF="{self.folder}/slurm.conf" exec {shutil.which(program)} "$@"'
            path.write_text(f"#!/bin/sh\n{own}\n", encoding="utf-8")
            path.chmod(0o755)

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed"}
        places = [f"--{option}={self.folder}/munge.{end}" for option, end in files.items()]
        self._start("munged", "munged", "--foreground", "--force", *places)
        wait_until((self.folder / "munge.socket").exists, START_S)

    def _start(self, name: str, *words: str) -> None:
        with (self.folder / f"{name}.out").open("ab") as output:
            self._daemons[name] = subprocess.Popen(
                words,
                env=os.environ | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=partial(os.sched_setaffinity, 0, self._cpus),
            )


def _processes_of(node: str, folder: Path) -> set[int]:
    """What a node's daemon has started for jobs: their processes, and Slurm's own above them."""
    mine = {f"SLURMD_NODENAME={node}".encode(), f"SLURM_CONF={folder}/slurm.conf".encode()}
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mine <= {*(place / "environ").read_bytes().split(b"\0")}:
                found |= {int(place.name), *_step_daemons(place)}
    return found


def _step_daemons(place: Path) -> set[int]:
    """The parent of a process, if it is Slurm's daemon of a step."""
    parent = int((place / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    name = Path(f"/proc/{parent}/comm").read_text(encoding="utf-8")
    return {parent} if name.startswith("slurmstepd") else set()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
