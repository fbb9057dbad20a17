"""Suite memory: ranks that take turns, and what is recorded in a graph and what is not."""

from pathlib import Path

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

pytest.importorskip("torch")

import torch
from launching import launched, request

from commwall.schema.case import TRAFFIC, MemoryCase, MemoryOperation
from commwall.schema.result import CaseResult, NamedCase
from commwall.workers import memory
from commwall.workers.repetitions import LEAST_GROUPS, recorded

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
    eager = operation.endswith("pageable") or operation.startswith("peer")
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
