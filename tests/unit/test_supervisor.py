"""A launch: every way it can end, and that nothing of it is left."""

import json
import time
from pathlib import Path

import pytest

from commwall.host.gpu_meter import GpuMeter
from commwall.host.processes import MARK_VARIABLE, environment_of, is_running
from commwall.measure.diagnosis import read_result
from commwall.measure.supervisor import (
    Launch,
    LaunchOutcome,
    run_launch,
    worker_environment,
)
from commwall.schema.config import Timeouts
from commwall.schema.result import LaunchRequest, NamedCase
from commwall.schema.treatment import Label, NcclVariables
from tests.clock import cpu_seconds
from tests.samples import CASE, platform

HERE = Path(__file__).parent
TIMEOUTS = Timeouts(startup_s=20, case_s=20, collective_s=5)


@pytest.fixture(autouse=True)
def _stand_in_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HERE))


def request_for(folder: Path, *cases: str) -> LaunchRequest:
    return LaunchRequest(
        campaign="demo",
        platform=platform("fast", 6e8),
        suite="training",
        round=1,
        round_id="0123456789ab",
        cases=tuple(NamedCase(name=case, case=CASE) for case in cases),
        output_dir=str(folder),
        cache_dir=str(folder / "kernels"),
        threads_per_rank=1,
        collective_timeout_s=5,
    )


def launched(tmp_path: Path, *cases: str, **settings: object) -> LaunchOutcome:
    folder = tmp_path / "launch"
    options = {"timeouts": TIMEOUTS, "module": "worker_stand_in", "grace_s": 0.5, **settings}
    launch = Launch(folder=folder, log=tmp_path / "log" / "launch.log", **options)  # type: ignore[arg-type]
    return run_launch(request_for(folder, *cases), launch)


def test_every_case_that_succeeds_has_a_result(tmp_path: Path) -> None:
    outcome = launched(tmp_path, "ok-1", "ok-2")
    assert [(r.case, r.status) for r in outcome.results] == [("ok-1", "ok"), ("ok-2", "ok")]
    assert (outcome.cause, outcome.lost, outcome.remaining) == (None, (), ())
    assert MARK_VARIABLE in outcome.variables


def test_a_failed_case_is_an_outcome_and_leaves_the_rest_for_another_launch(tmp_path: Path) -> None:
    outcome = launched(tmp_path, "ok-1", "fails", "ok-2")
    assert [r.case for r in outcome.results] == ["ok-1", "fails"]
    assert outcome.results[1].cause == "out_of_memory", "rank 1 explains rank 0"
    assert (outcome.cause, outcome.remaining) == (None, ("ok-2",))


@pytest.mark.parametrize(
    ("case", "cause", "word"),
    [
        ("killed", "killed", "signal 9"),
        ("waits", "timeout", "Application timeout"),
        ("loses", "killed", "exitcode  : -9"),
        ("full", "disk_full", "No space left"),
        ("gone", "gpu_lost", "uncorrectable ECC error"),
        ("nccl", "launch_failed", "NCCL error in"),
        ("breaks", "launch_failed", "no module of that name"),
    ],
)
def test_an_accident_is_told_by_its_cause(tmp_path: Path, case: str, cause: str, word: str) -> None:
    outcome = launched(tmp_path, case)
    assert (outcome.cause, outcome.lost, outcome.results) == (cause, (case,), ())
    assert word in outcome.detail


def test_after_an_accident_the_cases_not_begun_remain(tmp_path: Path) -> None:
    outcome = launched(tmp_path, "ok-1", "killed", "ok-2")
    assert [r.case for r in outcome.results] == ["ok-1"]
    assert (outcome.lost, outcome.remaining) == (("killed",), ("ok-2",))


def test_a_hung_case_is_given_up_and_ended(tmp_path: Path) -> None:
    timeouts = Timeouts(startup_s=20, case_s=0.5, collective_s=5)
    started: list[int] = []
    outcome = launched(tmp_path, "hangs", timeouts=timeouts, on_start=started.append)
    assert outcome.cause == "timeout"
    assert "timeouts.case_s" in outcome.detail
    assert not is_running(started[0])


def test_a_stopped_rank_is_ended_like_a_hung_one(tmp_path: Path) -> None:
    timeouts = Timeouts(startup_s=20, case_s=0.5, collective_s=5)
    started: list[int] = []
    outcome = launched(tmp_path, "stopped", "ok-1", timeouts=timeouts, on_start=started.append)
    assert (outcome.cause, outcome.lost, outcome.remaining) == ("timeout", ("stopped",), ("ok-1",))
    assert not is_running(started[0])


@pytest.mark.parametrize(
    "text",
    [
        "Unable to determine the device handle for GPU0: 0000:18:00.0: GPU is lost. Reboot",
        "NVRM: Xid (PCI:0000:18:00): 79, pid=1, GPU has fallen off the bus.",
        "RuntimeError: CUDA error: unknown error",
        "AcceleratorError: CUDA error: uncorrectable NVLink error detected during the execution",
    ],
)
def test_a_gpu_that_went_away_is_no_outcome_of_the_case(tmp_path: Path, text: str) -> None:
    for detail, lost in ((text, True), ("CUDA error: an illegal memory access", False)):
        failed = {"case": "a", "status": "failed", "cause": "error", "detail": detail}
        (tmp_path / "a.rank1.failed.json").write_text(json.dumps(failed), encoding="utf-8")
        assert (read_result(tmp_path, "a") is None) is lost


def test_a_launch_that_never_begins_is_given_up(tmp_path: Path) -> None:
    timeouts = Timeouts(startup_s=0.5, case_s=20, collective_s=5)
    outcome = launched(tmp_path, "never-begins", "ok-1", timeouts=timeouts)
    assert (outcome.cause, outcome.lost) == ("timeout", ("never-begins", "ok-1"))
    assert "timeouts.startup_s" in outcome.detail


def test_processes_that_ignore_sigterm_are_killed_in_every_session(tmp_path: Path) -> None:
    timeouts = Timeouts(startup_s=20, case_s=0.5, collective_s=5)
    marks: list[str] = []
    outcome = launched(
        tmp_path,
        "stubborn",
        timeouts=timeouts,
        on_leg=lambda case, leg: marks.append(leg),
    )
    assert outcome.cause == "timeout"
    mark = outcome.variables[MARK_VARIABLE]
    left = [p for p in _all_pids() if environment_of(p).get(MARK_VARIABLE) == mark]
    assert marks == ["full"]
    assert not [pid for pid in left if is_running(pid)]


def test_a_result_cut_short_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "ok-1.json").write_text('{"case": "ok-1", "sta', encoding="utf-8")
    assert read_result(tmp_path, "ok-1") is None


def test_nccl_variables_come_from_the_treatment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_P2P_LEVEL", "NVL")
    label = Label(title="staged", stands_for="a bound", does_not_cover="plain PCIe")
    treatment = NcclVariables(label=label, variables={"NCCL_P2P_DISABLE": "1"})
    request = request_for(Path("unused"), "ok-1")
    staged = request.platform.model_copy(update={"treatment": treatment})
    found = worker_environment(request.model_copy(update={"platform": staged}), "mark")
    assert {n: v for n, v in found.items() if n.startswith("NCCL_")} == {"NCCL_P2P_DISABLE": "1"}


def _all_pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def test_a_poll_costs_little(tmp_path: Path) -> None:
    """The supervisor shares the machine with what it measures."""
    timeouts = Timeouts(startup_s=20, case_s=2, collective_s=5)
    assert cpu_seconds(lambda: launched(tmp_path, "hangs", timeouts=timeouts)) < 0.5


def test_the_meter_knows_the_launchs_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the mark that the workers carry; only so can it tell strangers on the GPUs."""
    marks = []

    def meter(gpus: tuple[str, ...], mark: str) -> GpuMeter:
        marks.append(mark)
        return GpuMeter(gpus, tmp_path, mark)

    monkeypatch.setattr("commwall.measure.supervisor.GpuMeter", meter)
    outcome = launched(tmp_path, "ok-1", gpus=("digest",))
    assert marks == [outcome.variables[MARK_VARIABLE]]
    assert isinstance(outcome.energy, GpuMeter)


def test_cases_are_told_apart_in_time(tmp_path: Path) -> None:
    before_ns = time.monotonic_ns()
    spans = launched(tmp_path, "ok-1", "hangs", timeouts=Timeouts(case_s=1)).spans
    assert list(spans) == ["ok-1", "hangs"]
    assert before_ns < spans["ok-1"][0] <= spans["ok-1"][1] == spans["hangs"][0]
    hung_s = (spans["hangs"][1] - spans["hangs"][0]) / 1e9
    assert 0.8 < hung_s < (time.monotonic_ns() - before_ns) / 1e9
