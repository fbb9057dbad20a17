"""Stand-in for the ranks: writes the result of each case, or does what the test wants."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from commwall.process import die_with_parent
from commwall.workers.control import BEGUN_PATH, DEFAULT_CASE_S, wishes
from commwall.workers.training import result_of

GPU_GONE = "AcceleratorError: CUDA error: uncorrectable ECC error encountered"
NCCL_FAILED = (
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1, ncclRemoteError"
)


def main() -> None:
    """Run all cases of the request."""
    die_with_parent(signal.SIGKILL, int(os.environ["COMMWALL_LAUNCHER_PID"]))
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    folder = Path(request["output_dir"])
    for case in request["cases"]:
        wanted = wishes(request)
        sys.stderr.write(f"commwall-progress {case['name']} full\n")
        BEGUN_PATH.touch()
        _sleep(wanted, request)
        _obey(wanted, case["name"], folder)
        _put(folder / f"{case['name']}.json", result_of(case["name"], request))


def _sleep(wanted: dict[str, dict[str, Any]], request: dict[str, Any]) -> None:
    """Take the time of a case, or as long as wished and until the wish is withdrawn."""
    end = time.monotonic() + wanted.get("sleep", {}).get("seconds", DEFAULT_CASE_S)
    while time.monotonic() < end and ("sleep" in wishes(request)) == ("sleep" in wanted):
        time.sleep(0.02)


def _obey(wanted: dict[str, dict[str, Any]], case: str, folder: Path) -> None:
    if "hang" in wanted or "outlive" in wanted:
        time.sleep(600)
    if "kill" in wanted:
        os.kill(os.getpid(), signal.SIGKILL)
    if "out_of_memory" in wanted:
        _fail(folder, case, "out_of_memory", "rank 0")
    if "gpu_gone" in wanted:  # a rank takes it for an error of its case
        _fail(folder, case, "error", GPU_GONE)
    if "nccl_fails" in wanted:
        sys.exit(NCCL_FAILED)


def _fail(folder: Path, case: str, cause: str, detail: str) -> None:
    outcome = {"case": case, "status": "failed", "cause": cause, "detail": detail}
    _put(folder / f"{case}.rank0.failed.json", outcome)
    sys.exit(detail)


def _put(path: Path, value: dict[str, Any]) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(value), encoding="utf-8")
    part.rename(path)


if __name__ == "__main__":
    main()
