"""Stands in for the workers: does with each case what the case's name says.

Called like them: `python -m worker_stand_in REQUEST --parent PID`. Needs no torch.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from commwall.process import die_with_parent

SERIES = {"metric": "step_time_s", "unit": "s", "leg": "full", "rank": 0, "values": [1.0, 2.0]}


def succeed(folder: Path, case: str) -> None:
    now = time.monotonic_ns()
    legs = ("full", "nosync")
    windows = [{"leg": leg, "start_ns": now - 1000, "end_ns": now} for leg in legs]
    result = {"case": case, "status": "ok", "series": [SERIES], "windows": windows}
    (folder / f"{case}.json").write_text(json.dumps(result), encoding="utf-8")


def succeed_without_legs(folder: Path, case: str) -> None:
    result = {"case": case, "status": "ok", "series": [SERIES]}
    (folder / f"{case}.json").write_text(json.dumps(result), encoding="utf-8")


def fail(folder: Path, case: str) -> None:
    for rank, cause in ((0, "error"), (1, "out_of_memory")):
        result = {"case": case, "status": "failed", "cause": cause, "detail": f"rank {rank}"}
        path = folder / f"{case}.rank{rank}.failed.json"
        path.write_text(json.dumps(result), encoding="utf-8")
    sys.exit(1)


def kill_itself(folder: Path, case: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hang(folder: Path, case: str) -> None:
    (folder / "pid").write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(60)


def hang_stubbornly(folder: Path, case: str) -> None:
    """With a child in a session of its own, as torchrun starts its workers."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    hang(folder, case)


def give_up_waiting(folder: Path, case: str) -> None:
    """As gloo and torchrun tell it: one rank gave up, the silent one was then killed."""
    sys.stderr.write("RuntimeError: Application timeout caused pair closure\n")
    sys.exit("  exitcode  : -9 (pid: 30341)")


def lose_a_peer(folder: Path, case: str) -> None:
    sys.stderr.write("RuntimeError: Connection closed by peer [127.0.0.1]:5432\n")
    sys.exit("  exitcode  : -9 (pid: 30341)")


def log_as_nccl(folder: Path, case: str) -> None:
    """As rank 0 does while it measures an all-reduce."""
    line = "NCCL INFO AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}\n"
    path = os.environ["NCCL_DEBUG_FILE"].replace("%p", str(os.getpid()))
    Path(path).write_text(line, encoding="utf-8")
    succeed(folder, case)


def lose_the_gpu(folder: Path, case: str) -> None:
    """As a rank that takes it for an error of the case."""
    text = "AcceleratorError: CUDA error: uncorrectable ECC error encountered"
    result = {"case": case, "status": "failed", "cause": "error", "detail": text}
    (folder / f"{case}.rank0.failed.json").write_text(json.dumps(result), encoding="utf-8")
    sys.exit(f"rank 0: {text}")


def fail_as_nccl(folder: Path, case: str) -> None:
    sys.exit(
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1, remote process "
        "exited or there was a network error\nncclRemoteError: A call failed possibly due to a "
        "network error or a remote process exiting prematurely."
    )


def stop(folder: Path, case: str) -> None:
    """As kill -STOP does it: alive, and nothing more."""
    (folder / "pid").write_text(str(os.getpid()), encoding="utf-8")
    os.kill(os.getpid(), signal.SIGSTOP)


def run_out_of_space(folder: Path, case: str) -> None:
    sys.exit("OSError: [Errno 28] No space left on device")


ACTS = {
    "ok": succeed,
    "whole": succeed_without_legs,
    "fails": fail,
    "killed": kill_itself,
    "hangs": hang,
    "stubborn": hang_stubbornly,
    "waits": give_up_waiting,
    "loses": lose_a_peer,
    "full": run_out_of_space,
    "gone": lose_the_gpu,
    "nccl": fail_as_nccl,
    "stopped": stop,
    "logs": log_as_nccl,
}


def main() -> None:
    die_with_parent(signal.SIGKILL, int(sys.argv[3]))
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for case in request["cases"]:
        name = case["name"]
        if name == "never-begins":
            time.sleep(60)
        if name == "breaks":
            raise ImportError("no module of that name")
        sys.stderr.write(f"commwall-progress {name} full\n")
        sys.stderr.flush()
        ACTS[name.partition("-")[0]](Path(request["output_dir"]), name)


if __name__ == "__main__":
    main()
