"""Starts launches and plain rank programs for the tests, and looks after what they leave."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from commwall.schema.case import TrainingCase, Windows
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import CaseResult, LaunchRequest, NamedCase
from commwall.schema.treatment import EmulatedLink, Label, NativeLink, Treatment

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "src" / "commwall"
LABEL = Label(title="test", stands_for="a test", does_not_cover="anything else")
CASE = "bert-demo-b2"


def emulated(bandwidth_bytes_per_s: float, latency_s: float) -> EmulatedLink:
    return EmulatedLink(
        label=LABEL, bandwidth_bytes_per_s=bandwidth_bytes_per_s, latency_s=latency_s
    )


def request(folder: Path, treatment: Treatment | None = None, **changes: Any) -> LaunchRequest:
    """A small launch on two CPU ranks; `changes` go to request, platform or case by name."""
    windows = Windows(full_s=0.6, other_s=0.3, min_steps=4, warmup_max_s=1.0)
    case: dict[str, Any] = {
        "model": "bert",
        "preset": "demo",
        "batch_per_gpu": 2,
        "sequence_length": 16,
        "bucket_bytes": 4 * 2**20,
        "dataset_samples": 1000,
        "windows": windows,
    }
    device = changes.pop("device", "cpu")
    timeout_s = changes.pop("collective_timeout_s", 30.0)
    platform = PlannedPlatform(
        name="test-platform",
        device=device,
        world_size=2,
        treatment=treatment or NativeLink(label=LABEL),
    )
    return LaunchRequest(
        campaign="test",
        platform=platform,
        suite="training",
        round=1,
        round_id="0123456789ab",
        cases=(NamedCase(name=CASE, case=TrainingCase(**(case | changes))),),
        output_dir=str(folder),
        cache_dir=str(folder / "kernels"),
        threads_per_rank=1,
        collective_timeout_s=timeout_s,
    )


def faulty_package(folder: Path) -> dict[str, str]:
    """A copy of the package whose model does what COMMWALL_TEST_FAULT says.

    Returns:
        Environment in which the copy is found first.
    """
    shutil.copytree(PACKAGE, folder / "commwall", ignore=shutil.ignore_patterns("__pycache__"))
    models = folder / "commwall" / "workers" / "models"
    shutil.copy(HERE / "faulty_model.py", models / "bert.py")
    only = 'from commwall.workers.models import bert\n\nFAMILIES = {"bert": bert}\n'
    (models / "__init__.py").write_text(only)  # the real models take seconds to import
    return {"PYTHONPATH": str(folder)}


@contextmanager
def launched(
    wanted: LaunchRequest, environment: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A launch under way, and its log; whatever is left of it afterwards is killed."""
    folder = Path(wanted.output_dir)
    path = folder / "request.json"
    path.write_text(wanted.model_dump_json())
    log = folder / "log"
    command = [sys.executable, "-m", "commwall.workers.start", str(path)]
    with log.open("w") as output:
        launch = subprocess.Popen(
            [*command, "--parent", str(os.getpid())],
            stdout=output,
            stderr=output,
            text=True,
            start_new_session=True,
            env=os.environ | (environment or {}),
        )
    try:
        yield launch, log
    finally:
        launch.kill()
        launch.wait()


def processes_of(folder: Path) -> dict[int, str]:
    """Living processes that have the folder's request as an argument: pid -> command line."""
    mark = str(folder / "request.json")
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark in words and state != "Z" and int(entry.name) != os.getpid():
                found[int(entry.name)] = words
    return found


def workers_of(folder: Path) -> list[int]:
    """Pids of the launch's ranks."""
    found = processes_of(folder).items()
    return [pid for pid, words in found if "commwall.workers" in words and "distrib" not in words]


def failed_results(folder: Path) -> dict[str, CaseResult]:
    """Results of ranks that failed, by file name."""
    return {
        path.name: CaseResult.model_validate_json(path.read_text())
        for path in folder.glob("*.failed.json")
    }


def run_ranks(program: str, folder: Path, *prefix: str) -> list[int]:
    """Run a program of rank_programs.py on two ranks; returns their exit codes."""
    script = str(HERE / "rank_programs.py")
    ranks = [
        subprocess.Popen([*prefix, sys.executable, script, program, str(rank), str(folder)])
        for rank in range(2)
    ]
    return [rank.wait(timeout=90) for rank in ranks]
