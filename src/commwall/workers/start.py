"""`python -m commwall.workers.start REQUEST`, `--parent PID` or `--port PORT`: becomes torchrun.

Layer: workers. Reads the request; the launch's rendezvous file is made in its output folder.
Needs no torch itself. Ties its life to the supervisor's, then replaces itself by torchrun, so
that the pid the supervisor knows is torchrun's, and the workers can compare it with their
parent's. Nothing listens beyond the loopback: torchrun meets itself in a file, and gloo and
NCCL's bootstrap are told to use `lo`.

On several nodes srun starts one of these on each, tied to that node's part of Slurm. They meet on
the first node, at the address that srun was called on, by the interface that leads there.
"""

import argparse
import fcntl
import os
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

from commwall.process import die_with_parent
from commwall.schema.parsing import parse_json_model
from commwall.schema.result import LaunchRequest

LAUNCHER_VARIABLE = "COMMWALL_LAUNCHER_PID"
NODE_VARIABLE, FIRST_VARIABLE = "SLURM_NODEID", "SLURM_LAUNCH_NODE_IPADDR"
"""Number of this node within the step; address of the node that srun was called on (srun(1))."""
_SIOCGIFADDR = 0x8915
"""Asks for an interface's address (netdevice(7))."""
_INTERFACE_BYTES = 256


def read_request(path: Path) -> LaunchRequest:
    """The request a supervisor wrote.

    Raises:
        ConfigError: if the file is not a LaunchRequest.
    """
    return parse_json_model(LaunchRequest, path.read_bytes(), str(path))


def torchrun_arguments(
    request: LaunchRequest, request_path: Path, meeting: Sequence[str]
) -> list[str]:
    """The command line of torchrun for a launch.

    Args:
        request: the launch.
        request_path: where it stands.
        meeting: options that say how torchrun's processes meet.
    """
    return [
        *(sys.executable, "-m", "torch.distributed.run"),
        f"--nproc-per-node={request.platform.per_node}",
        *meeting,
        "--max-restarts=0",
        *("-m", "commwall.workers", str(request_path)),
    ]


def within_machine(request: LaunchRequest) -> list[str]:
    """How a lone torchrun meets itself: in a file, which is made anew."""
    rendezvous = Path(request.output_dir).resolve() / "rendezvous"
    for left_over in rendezvous.parent.glob("rendezvous*"):
        left_over.unlink()
    return [
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={rendezvous}",
        "--rdzv-conf=store_type=file",
        f"--rdzv-id={request.round_id}",
        "--local-addr=127.0.0.1",
    ]


def between_nodes(request: LaunchRequest, port: int) -> list[str]:
    """How the nodes' torchruns meet: the first listens, ranks are numbered node by node."""
    return [
        f"--nnodes={request.platform.nodes}",
        f"--node-rank={os.environ[NODE_VARIABLE]}",
        f"--master-addr={os.environ[FIRST_VARIABLE]}",
        f"--master-port={port}",
    ]


def interface_to(address: str) -> str | None:
    """The interface by which this machine reaches an IPv4 address; None if it cannot be told."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))  # sends nothing, only chooses the way
        own = probe.getsockname()[0]
        for _, name in socket.if_nameindex():
            asked = struct.pack(f"{_INTERFACE_BYTES}s", name.encode())
            try:
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, asked)
            except OSError:
                continue  # it has no address
            if socket.inet_ntoa(answer[20:24]) == own:
                return name
    return None


def launch_environment(request: LaunchRequest, interface: str | None) -> dict[str, str]:
    """Variables torchrun and the workers get on top of the supervisor's environment.

    Args:
        request: the launch.
        interface: by which the ranks meet; None leaves it to gloo and NCCL.
    """
    threads = str(request.threads_per_rank)
    chosen = os.environ.get("NCCL_SOCKET_IFNAME", interface)
    sockets = {"GLOO_SOCKET_IFNAME": interface, "NCCL_SOCKET_IFNAME": chosen}
    return {
        LAUNCHER_VARIABLE: str(os.getpid()),
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        **{name: value for name, value in sockets.items() if value},
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        "HF_HUB_OFFLINE": "1",
        "TORCHINDUCTOR_CACHE_DIR": os.environ.get("TORCHINDUCTOR_CACHE_DIR", request.cache_dir),
    }


def main() -> None:
    """Arm the parent watch and replace this process by torchrun."""
    parser = argparse.ArgumentParser(prog="python -m commwall.workers.start")
    parser.add_argument("request", type=Path)
    tie = parser.add_mutually_exclusive_group(required=True)
    tie.add_argument("--parent", type=int, help="pid of the supervisor, on one node")
    tie.add_argument("--port", type=int, help="where several nodes meet; srun is the parent")
    arguments = parser.parse_args()
    die_with_parent(signal.SIGKILL, arguments.parent or os.getppid())
    path = arguments.request.resolve()
    request = read_request(path)
    alone = arguments.port is None
    meeting = within_machine(request) if alone else between_nodes(request, arguments.port)
    interface = "lo" if alone else interface_to(os.environ[FIRST_VARIABLE])
    os.environ.update(launch_environment(request, interface))
    command = torchrun_arguments(request, path, meeting)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
