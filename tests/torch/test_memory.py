"""Suite memory: ranks that take turns, and what is recorded in a graph and what is not."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import cast

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

pytest.importorskip("torch")

import torch
from launching import launched, request

from commwall.schema.case import TRAFFIC, MemoryCase, MemoryOperation
from commwall.schema.result import CaseResult, NamedCase
from commwall.workers import memory, repetitions
from commwall.workers.findings import Findings
from commwall.workers.group import Group
from commwall.workers.hosting import Hold
from commwall.workers.outcomes import CheckFailed
from commwall.workers.repetitions import LEAST_GROUPS, Operation, Recorder, recorded
from commwall.workers.timing import Alone, Clock, Crew, run_steps

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)
SIZES = (2**16, 2**20)


def test_ranks_take_turns_and_each_tells_its_times(tmp_path: Path) -> None:
    case = MemoryCase(
        operation="copy", buffer_bytes=SIZES, ranks="one_at_a_time", window_s=0.05
    )  # fmt: skip
    wanted = request(tmp_path).model_copy(
        update={"suite": "memory", "cases": (NamedCase(name="copy", case=case),)}
    )
    with launched(wanted) as (launch, log):
        assert launch.wait(timeout=90) == 0, log.read_text()
    result = CaseResult.model_validate_json((tmp_path / "copy.json").read_text())
    assert result.status == "ok"
    timed = {
        (series.rank, series.message_bytes): series.values
        for series in result.series
        if (series.metric, series.phase) == ("operation_time_s", "measured")
    }
    assert set(timed) == {(rank, size) for rank in (0, 1) for size in SIZES}
    assert all(len(times_s) >= LEAST_GROUPS and min(times_s) > 0 for times_s in timed.values())
    assert not result.gaps  # a CPU records nothing, and misses nothing


@pytest.mark.parametrize("operation", TRAFFIC)
def test_what_is_not_recorded_says_why(operation: MemoryOperation) -> None:
    gap = memory.why_eager(operation, CUDA)
    eager = operation == "copy" or operation.endswith("pageable") or operation.startswith("peer")
    assert (memory.recorder(operation, CUDA) is None) is eager
    assert (gap is not None) is eager
    assert memory.recorder(operation, CUDA) is (None if eager else recorded)
    assert memory.recorder(operation, CPU) is None
    assert memory.why_eager(operation, CPU) is None
    if gap:
        assert gap.what == "recorded_repetitions"
        assert "the host asks for each repetition" in gap.reason


def test_what_was_timed_is_checked_not_what_was_asked_for() -> None:
    """A replay that copies from elsewhere is seen, though the operation itself is right."""
    transfer = memory.own_transfer("copy", 4096, CPU)
    assert transfer.check("copied_values").passed
    elsewhere = memory.own_transfer("copy", 4096, CPU)
    found = transfer.check("copied_values_after_timing", elsewhere.run)
    assert not found.passed
    assert found.found == "1024 of 1024 values wrong at 4096 byte"


@pytest.mark.parametrize("right", [True, False])
def test_a_replay_that_leaves_a_value_out_fails_the_case(
    monkeypatch: pytest.MonkeyPatch, right: bool
) -> None:
    """By injection: what a graph replays is checked after it was timed."""
    transfer = memory.own_transfer("copy", 4096, CPU)
    spoilt = torch.zeros(1024), torch.zeros(1024)

    def recorder(operation: MemoryOperation, device: torch.device) -> Recorder:
        replay = transfer.run if right else lambda: spoilt[1].copy_(spoilt[0])
        return lambda operation, count: replay

    def queued(
        step: Operation, clock: Clock, crew: Crew, hold: Hold, count: int
    ) -> list[float] | None:
        return run_steps(step, count, clock)  # the CPU has no queue

    monkeypatch.setattr(memory, "recorder", recorder)
    monkeypatch.setattr(repetitions, "queued_steps", queued)
    findings = Findings("copy", 0)
    case = MemoryCase(operation="copy", buffer_bytes=(4096,), window_s=0.01)
    group = cast(Group, SimpleNamespace(device=CPU))
    with nullcontext() if right else pytest.raises(CheckFailed) as failed:
        memory._measure(transfer, case, group, findings, Alone())
    if failed:
        assert failed.value.checks[-1].name == "copied_values_after_timing"
    else:
        series = {one.metric for one in findings.result().series}
        assert {"operation_time_s", "recorded_repetitions"} <= series
