"""`python -m commwall.workers.start REQUEST --parent PID`: becomes torchrun.

Layer: workers. Reads the request; the launch's rendezvous file is made in its output folder.
Needs no torch itself. Ties its life to the supervisor's, then replaces itself by torchrun, so
that the pid the supervisor knows is torchrun's, and the workers can compare it with their
parent's. Nothing listens beyond the loopback: torchrun meets itself in a file, and gloo and
NCCL's bootstrap are told to use `lo`.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

from commwall.process import die_with_parent
from commwall.schema.parsing import parse_json_model
from commwall.schema.result import LaunchRequest

LAUNCHER_VARIABLE = "COMMWALL_LAUNCHER_PID"


def read_request(path: Path) -> LaunchRequest:
    """The request a supervisor wrote.

    Raises:
        ConfigError: if the file is not a LaunchRequest.
    """
    return parse_json_model(LaunchRequest, path.read_bytes(), str(path))


def torchrun_arguments(request: LaunchRequest, request_path: Path, rendezvous: Path) -> list[str]:
    """The command line of torchrun for a launch."""
    return [
        *(sys.executable, "-m", "torch.distributed.run"),
        f"--nproc-per-node={request.platform.world_size}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={rendezvous}",
        "--rdzv-conf=store_type=file",
        f"--rdzv-id={request.round_id}",
        "--local-addr=127.0.0.1",
        "--max-restarts=0",
        *("-m", "commwall.workers", str(request_path)),
    ]


def launch_environment(request: LaunchRequest) -> dict[str, str]:
    """Variables torchrun and the workers get on top of the supervisor's environment."""
    threads = str(request.threads_per_rank)
    return {
        LAUNCHER_VARIABLE: str(os.getpid()),
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "GLOO_SOCKET_IFNAME": "lo",
        "NCCL_SOCKET_IFNAME": os.environ.get("NCCL_SOCKET_IFNAME", "lo"),
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        "HF_HUB_OFFLINE": "1",
        "TORCHINDUCTOR_CACHE_DIR": os.environ.get("TORCHINDUCTOR_CACHE_DIR", request.cache_dir),
    }


def main() -> None:
    """Arm the parent watch and replace this process by torchrun."""
    parser = argparse.ArgumentParser(prog="python -m commwall.workers.start")
    parser.add_argument("request", type=Path)
    parser.add_argument("--parent", type=int, required=True, help="pid of the supervisor")
    arguments = parser.parse_args()
    die_with_parent(signal.SIGKILL, arguments.parent)
    path = arguments.request.resolve()
    request = read_request(path)
    rendezvous = Path(request.output_dir).resolve() / "rendezvous"
    for left_over in rendezvous.parent.glob("rendezvous*"):
        left_over.unlink()
    os.environ.update(launch_environment(request))
    command = torchrun_arguments(request, path, rendezvous)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
