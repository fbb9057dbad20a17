"""A launch through torchrun: its result, and every way it can end badly."""

import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

pytest.importorskip("torch")

from launching import (
    CASE,
    HERE,
    emulated,
    failed_results,
    faulty_package,
    launched,
    processes_of,
    request,
    workers_of,
)

from commwall.measure.supervisor import Launch, run_launch
from commwall.schema.case import LEGS
from commwall.schema.config import Timeouts
from commwall.schema.result import CaseResult, NamedCase

LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> tuple[CaseResult, str, set[str]]:
    """Result, log and listening addresses of a launch of the real model."""
    folder = tmp_path_factory.mktemp("healthy")
    listening: set[str] = set()
    with launched(request(folder, emulated(200e6, 20e-6))) as (launch, log):
        while launch.poll() is None:
            listening |= listening_addresses(processes_of(folder))
            time.sleep(0.2)
        assert launch.returncode == 0, log.read_text()
    result = CaseResult.model_validate_json((folder / f"{CASE}.json").read_text())
    return result, log.read_text(), listening


def test_result_has_every_leg_of_every_rank(healthy: tuple[CaseResult, str, set[str]]) -> None:
    result, log, _ = healthy
    assert result.status == "ok"
    measured = {
        (series.leg, series.rank): series.values
        for series in result.series
        if (series.metric, series.phase) == ("step_time_s", "measured")
    }
    both = {(leg, rank) for leg in ("full", "nosync", "packed", "comm") for rank in (0, 1)}
    assert set(measured) == both | {("single", 0)}
    assert all(len(values) >= 4 for values in measured.values())
    assert sum(measured["full", 0]) >= 0.5
    assert len(measured["full", 0]) == len(measured["full", 1])
    for leg in ("full", "nosync", "packed", "comm", "single"):
        assert f"commwall-progress {CASE} {leg}\n" in log


def test_result_explains_itself(healthy: tuple[CaseResult, str, set[str]]) -> None:
    result, _, _ = healthy
    kinds = {(series.metric, series.leg, series.rank, series.phase) for series in result.series}
    for rank in (0, 1):
        assert ("loss", None, rank, "measured") in kinds
        assert ("gradient_norm", None, rank, "measured") in kinds
        assert ("link_bound_share", "comm", rank, "measured") in kinds
        assert ("step_time_s", "full", rank, "warmup") in kinds
        assert ("peak_memory_bytes", None, rank, "measured") in kinds
    assert {check.name for check in result.checks} == {
        "parameter_count",
        "finite_loss_and_gradients",
        "gradients_equal_on_all_ranks",
        "finite_after_timing",
        "gradients_equal_after_timing",
        "buckets_packed_as_exchanged",
        "exchanged_values",
        "exchanged_values_after_timing",
        "link_rate_bound",
    }
    assert all(check.passed for check in result.checks)
    assert result.runtime is not None
    assert sum(result.runtime.bucket_bytes) == 4 * result.runtime.parameters
    assert [window.leg for window in result.windows] == list(LEGS)
    assert all(window.end_ns - window.start_ns >= 0.3e9 for window in result.windows)


def test_a_launch_that_only_compiles_takes_first_steps_and_times_nothing(tmp_path: Path) -> None:
    wanted = request(tmp_path).model_copy(update={"only_compile": True})
    with launched(wanted) as (launch, log):
        assert launch.wait(timeout=60) == 0, log.read_text()
    result = CaseResult.model_validate_json((tmp_path / f"{CASE}.json").read_text())
    assert (result.status, result.series, result.windows) == ("ok", (), ())
    progress = [line for line in log.read_text().splitlines() if line.startswith("commwall-pro")]
    assert progress == [f"commwall-progress {CASE} compile"]


def test_first_steps_are_those_of_one_seed(healthy: tuple[CaseResult, str, set[str]]) -> None:
    result, _, _ = healthy
    norms = [series.values for series in result.series if series.metric == "gradient_norm"]
    losses = [series.values for series in result.series if series.metric == "loss"]
    assert norms[0] == norms[1]
    assert losses[0] != losses[1]  # each rank has its own data
    chance = math.log(2048)  # nothing learnt yet: all words are equally likely
    assert all(values[0] == pytest.approx(chance, rel=0.15) for values in losses)


def test_buckets_are_ready_in_the_order_of_exchange_within_the_step(
    healthy: tuple[CaseResult, str, set[str]],
) -> None:
    result, _, _ = healthy
    assert result.runtime is not None
    for rank in (0, 1):
        own = [series for series in result.series if series.rank == rank and series.leg == "packed"]
        ready = {s.bucket: s.values for s in own if s.metric == "bucket_ready_time_s"}
        (over,) = (s.values for s in own if s.metric == "backward_end_time_s")
        assert sorted(ready) == list(range(len(result.runtime.bucket_bytes)))
        for step in zip(*(ready[bucket] for bucket in sorted(ready)), over, strict=True):
            assert step[0] > 0 and list(step) == sorted(step)


def test_exchange_is_no_faster_than_the_link(
    healthy: tuple[CaseResult, str, set[str]],
) -> None:
    result, _, _ = healthy
    assert result.runtime is not None
    link_s = sum(size / 200e6 + 20e-6 for size in result.runtime.bucket_bytes)
    for series in result.series:
        if (series.metric, series.leg, series.phase) == ("step_time_s", "comm", "measured"):
            assert link_s <= min(series.values) < 1.5 * link_s


def test_nothing_listens_beyond_the_loopback(
    healthy: tuple[CaseResult, str, set[str]],
) -> None:
    _, _, listening = healthy
    assert listening  # the store and gloo do listen
    assert listening <= LOOPBACK


def test_memory_exhausted_on_one_rank_is_recorded_by_that_rank_alone(tmp_path: Path) -> None:
    code, log = run_faulty(tmp_path, "memory:1")
    assert code != 0
    failed = failed_results(tmp_path)
    assert list(failed) == [f"{CASE}.rank1.failed.json"], log
    result = failed[f"{CASE}.rank1.failed.json"]
    assert (result.status, result.cause) == ("failed", "out_of_memory")
    assert result.detail is not None
    assert result.detail.startswith("rank 1: RuntimeError:")
    assert not (tmp_path / f"{CASE}.json").exists()


@pytest.mark.parametrize(
    ("fault", "name"),
    [("nan:1", "finite_loss_and_gradients"), ("late_nan:1", "finite_after_timing")],
)
def test_numbers_lost_at_any_time_are_a_failed_check(tmp_path: Path, fault: str, name: str) -> None:
    code, log = run_faulty(tmp_path, fault)
    assert code != 0
    failed = failed_results(tmp_path)
    assert failed, log
    assert {result.cause for result in failed.values()} == {"check_failed"}
    assert {result.checks[-1].name for result in failed.values()} == {name}
    assert "nan" in next(iter(failed.values())).checks[-1].found


def test_ranks_that_disagree_on_a_shape_are_named_by_the_rank_that_sees_it(tmp_path: Path) -> None:
    code, log = run_faulty(tmp_path, "shape:1")
    assert code != 0
    failed = failed_results(tmp_path)
    assert list(failed) == [f"{CASE}.rank1.failed.json"], log
    result = failed[f"{CASE}.rank1.failed.json"]
    assert result.cause == "error" and result.detail is not None
    assert "with sizes [1, 64]" in result.detail and "not to match sizes" in result.detail


def test_a_case_that_cannot_be_compiled_is_an_outcome_and_leaves_the_next_to_another_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in faulty("none:0", tmp_path).items():
        monkeypatch.setenv(name, value)
    asked = request(tmp_path / "launch", legs=("full",))
    (named,) = asked.cases
    fickle = NamedCase(name="fickle", case=named.case.model_copy(update={"step_mode": "compile"}))
    cases = (named, fickle, named.model_copy(update={"name": "next"}))
    launch = Launch(tmp_path / "launch", tmp_path / "log.txt", Timeouts())
    outcome = run_launch(asked.model_copy(update={"cases": cases}), launch)
    assert [(result.case, result.status) for result in outcome.results] == [
        (CASE, "ok"), ("fickle", "failed")
    ]  # fmt: skip
    refused = outcome.results[1]
    assert refused.cause == "unsupported" and refused.detail is not None
    assert "cannot be compiled in one piece" in refused.detail
    assert (outcome.cause, outcome.lost, outcome.remaining) == (None, (), ("next",))


def test_missing_device_is_unsupported(tmp_path: Path) -> None:
    import torch

    if torch.cuda.device_count() >= 2:
        pytest.skip("this machine has the devices")
    code, log = run_faulty(tmp_path, "none:0", device="cuda")
    assert code != 0
    causes = {result.cause for result in failed_results(tmp_path).values()}
    assert causes == {"unsupported"}, log


def test_hung_rank_ends_the_launch_by_the_collectives_timeout(tmp_path: Path) -> None:
    start = time.monotonic()
    code, log = run_faulty(tmp_path, "hang:1", collective_timeout_s=4.0)
    assert code != 0
    assert time.monotonic() - start < 60
    assert "Timed out" in log
    assert not list(tmp_path.glob("*.failed.json"))
    assert eventually(lambda: not processes_of(tmp_path))


def test_killed_worker_takes_the_launch_with_it(tmp_path: Path) -> None:
    wanted = request(tmp_path)
    with launched(wanted, faulty("hang:1", tmp_path)) as (launch, log):
        assert eventually(lambda: "rank 1 hangs" in log.read_text(), 60), log.read_text()
        os.kill(workers_of(tmp_path)[1], signal.SIGKILL)
        assert launch.wait(timeout=60) != 0
        assert eventually(lambda: not processes_of(tmp_path))
    assert not list(tmp_path.glob("*.failed.json"))


def test_supervisors_end_leaves_no_orphan(tmp_path: Path) -> None:
    """The supervisor is killed while the ranks wait for each other."""
    code = f"""
        import sys, time
        sys.path.insert(0, {str(HERE)!r})
        from pathlib import Path
        from launching import launched, request
        with launched(request(Path({str(tmp_path)!r})), {faulty("hang:1", tmp_path)!r}) as (run, _):
            run.wait()
    """
    (tmp_path / "log").touch()
    supervisor = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])
    assert eventually(lambda: "rank 1 hangs" in (tmp_path / "log").read_text(), 60)
    assert len(workers_of(tmp_path)) == 2
    supervisor.kill()
    supervisor.wait()
    assert eventually(lambda: not processes_of(tmp_path))


def faulty(fault: str, folder: Path) -> dict[str, str]:
    """Environment in which the model has a fault; the copy of the package lies in the folder."""
    return faulty_package(folder / "package") | {"COMMWALL_TEST_FAULT": fault}


def run_faulty(folder: Path, fault: str, **changes: object) -> tuple[int, str]:
    """Exit code and log of a launch with a fault."""
    with launched(request(folder, **changes), faulty(fault, folder)) as (launch, log):
        code = launch.wait(timeout=90)
    return code, log.read_text()


def eventually(holds: Callable[[], bool], within_s: float = 10.0) -> bool:
    """Whether it holds within that time."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.05)
    return holds()


def listening_addresses(pids: dict[int, str]) -> set[str]:
    """Local addresses, as the kernel writes them, on which these processes listen."""
    sockets = {link for pid in pids for link in open_files(pid) if link.startswith("socket:")}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found.add(fields[1].partition(":")[0])
    return found


def open_files(pid: int) -> set[str]:
    """What the descriptors of a process point to."""
    links = set()
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            links.add(str(entry.readlink()))
    except OSError:
        pass  # the process or the descriptor has gone meanwhile
    return links
