"""`python -m commwall.workers REQUEST`: one rank of a launch, started by torchrun.

Layer: workers. Reads the request. Ties its life to torchrun's before it loads torch.
"""

import gc
import os
import signal
import sys
from pathlib import Path

from commwall.process import die_with_parent
from commwall.workers.start import LAUNCHER_VARIABLE, read_request


def main() -> None:
    """Run all cases of the request given as the only argument."""
    die_with_parent(signal.SIGKILL, int(os.environ[LAUNCHER_VARIABLE]))
    request = read_request(Path(sys.argv[1]))
    gc.disable()  # what loading makes, stays; looking for garbage there takes a quarter of it
    from commwall.workers.launch import run_cases  # torch takes seconds; the parent is watched

    run_cases(request)
    sys.stderr.flush()
    os._exit(0)  # everything is written; tearing torch down would take a second of each launch


if __name__ == "__main__":
    main()
