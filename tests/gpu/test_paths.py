"""Each way between two real GPUs is taken and proven; one that is not taken is not."""

import sys
from dataclasses import replace
from pathlib import Path

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available() or torch.cuda.device_count() < 2:
    pytest.skip("needs two CUDA devices", allow_module_level=True)

from commwall.host.machine import probe_machine
from commwall.measure.planning.configuration import load_campaigns
from commwall.measure.planning.fitting import fit
from commwall.measure.proof.launch import Proof, Sources, prove
from commwall.measure.supervisor import Launch, run_launch
from commwall.schema.case import CollectivesCase
from commwall.schema.config import Timeouts
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import LaunchRequest, NamedCase

ROOT = Path(__file__).parents[2]
MACHINE = probe_machine().facts
CASE = CollectivesCase(collective="all_reduce", max_bytes=512, window_s=0.05)
PLATFORMS = fit(load_campaigns(ROOT, ["paths"])[0], MACHINE).platforms


def proof(folder: Path, platform: PlannedPlatform, claims: PlannedPlatform) -> Proof:
    """What a launch on one platform proves of what another claims."""
    request = LaunchRequest(
        campaign="test",
        platform=platform,
        suite="collectives",
        round=1,
        round_id="0123456789ab",
        cases=(NamedCase(name="all-reduce", case=CASE),),
        output_dir=str(folder / "launch"),
        cache_dir=str(folder / "kernels"),
        threads_per_rank=1,
        collective_timeout_s=60,
    )
    gpus = tuple(gpu.uuid_digest for gpu in MACHINE.gpus[: platform.world_size])
    launch = replace(Launch(folder / "launch", folder / "log.txt", Timeouts()), gpus=gpus)
    outcome = run_launch(request, launch)
    assert outcome.cause is None, outcome.detail
    sources = Sources(outcome.energy, outcome.loopback, outcome.logged, outcome.variables)
    judged = request.model_copy(update={"platform": claims})
    return prove(judged, outcome.results[0], MACHINE, sources)


@pytest.mark.parametrize("name", list(PLATFORMS))
def test_a_treatment_is_taken_and_its_way_is_proven(name: str, tmp_path: Path) -> None:
    found = proof(tmp_path, PLATFORMS[name], PLATFORMS[name])
    sys.stdout.write(f"\nfigure: {name}: {found.traffic}; {found.checks}\n")
    assert {check.name for check in found.checks} == {"treatment_taken", "path_taken"}, found.gaps
    assert [check for check in found.checks if not check.passed] == []
    assert found.traffic is not None and found.traffic.duration_s > 0.2


def test_a_way_that_is_not_taken_is_seen(tmp_path: Path) -> None:
    found = proof(tmp_path, PLATFORMS["socket"], PLATFORMS["hoststaged"])
    assert {check.name: check.passed for check in found.checks} == {
        "treatment_taken": False,
        "path_taken": False,
    }
