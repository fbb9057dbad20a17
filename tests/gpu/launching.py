"""Launches on real GPUs, of the package as it is or of a copy with a fault in it.

On two where the machine has two; a lone GPU exchanges with nobody, but compiles, records and
counts like any other.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

import commwall
from commwall.measure.supervisor import Launch, LaunchOutcome, run_launch
from commwall.schema.case import Case, SuiteName
from commwall.schema.config import Timeouts
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import CaseResult, LaunchRequest, NamedCase
from commwall.schema.treatment import Label, NativeLink

RANKS = min(2, torch.cuda.device_count())
PLATFORM = PlannedPlatform(
    name="gpus",
    device="cuda",
    world_size=RANKS,
    treatment=NativeLink(
        label=Label(title="test", stands_for="a test", does_not_cover="anything else")
    ),
)


def launched(folder: Path, suite: SuiteName, cases: Mapping[str, Case]) -> LaunchOutcome:
    """What a launch of these cases gave."""
    request = LaunchRequest(
        campaign="test",
        platform=PLATFORM,
        suite=suite,
        round=1,
        round_id="0123456789ab",
        cases=tuple(NamedCase(name=name, case=case) for name, case in cases.items()),
        output_dir=str(folder / "launch"),
        cache_dir=str(folder.parent / "kernels"),
        threads_per_rank=1,
        collective_timeout_s=60,
    )
    return run_launch(request, Launch(folder / "launch", folder / "log.txt", Timeouts()))


def values(
    result: CaseResult, metric: str, *, leg: str | None = None, message_bytes: int | None = None
) -> list[float]:
    """Measured values of all ranks, of one leg or at one size where the metric has these."""
    key = (metric, leg, message_bytes, "measured")
    return [
        value
        for series in result.series
        if (series.metric, series.leg, series.message_bytes, series.phase) == key
        for value in series.values
    ]


def use_faulty_copy(folder: Path, patch: pytest.MonkeyPatch, module: str, fault: str) -> None:
    """Have workers use a copy of the package, one of whose modules ends with more code."""
    package = folder / "package/commwall"
    source = Path(commwall.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    path = package / "workers" / module
    path.write_text(path.read_text() + fault)
    patch.setenv("PYTHONPATH", str(package.parent))
