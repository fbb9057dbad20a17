"""Stand-in for the launcher: starts one rank as its child and ends as that ends."""

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from commwall.process import die_with_parent
from commwall.workers.control import wishes

PR_SET_PDEATHSIG = 1


def main() -> int:
    """Tie this process to the supervisor, unless the test wants an orphan, and run the rank."""
    parser = argparse.ArgumentParser()
    parser.add_argument("request", type=Path)
    parser.add_argument("--parent", type=int, required=True)
    arguments = parser.parse_args()
    die_with_parent(signal.SIGKILL, arguments.parent)
    request = json.loads(arguments.request.read_text(encoding="utf-8"))
    if "outlive" in wishes(request):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)
    os.environ["COMMWALL_LAUNCHER_PID"] = str(os.getpid())
    rank = [sys.executable, "-m", "commwall.workers", str(arguments.request)]
    code = subprocess.run(rank, check=False).returncode
    if code < 0:
        sys.stderr.write(f"exitcode  : {code}\n")
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main())
