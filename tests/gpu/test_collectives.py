"""Collectives on real GPUs: invariants and injected faults, never a golden speed."""

from pathlib import Path
from statistics import median

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available() or torch.cuda.device_count() < 2:
    pytest.skip("needs two CUDA devices", allow_module_level=True)

from commwall.measure.proof.nccl_log import choices_of
from commwall.measure.supervisor import LaunchOutcome
from commwall.schema.case import Case, CollectivesCase
from commwall.schema.collective import COLLECTIVES, IN_PLACE
from tests.gpu.launching import PLATFORM, launched, use_faulty_copy, values

SMALL = CollectivesCase(collective="all_reduce", max_bytes=512, window_s=0.05)
FAULT = """

_right = _moves


def _moves(collective, rank, ranks):
    import time

    def faulty(received, sent):
        {before}
        _right(collective, rank, ranks)(received, sent)
        {after}

    return faulty
"""


def with_fault(folder: Path, patch: pytest.MonkeyPatch, before: str, after: str) -> LaunchOutcome:
    """A launch of a copy of the package whose collectives do more than they should."""
    use_faulty_copy(folder, patch, "collectives.py", FAULT.format(before=before, after=after))
    return launched(folder, "collectives", {"case": SMALL})


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> LaunchOutcome:
    cases: dict[str, Case] = {
        f"{name}-{'one' if in_place else 'two'}-{dtype}".replace("_", "-"): CollectivesCase(
            collective=name, in_place=in_place, dtype=dtype, max_bytes=2**26, window_s=0.05
        )
        for name in COLLECTIVES
        for in_place in IN_PLACE[name]
        for dtype in ("float32", "bfloat16")
    }
    return launched(tmp_path_factory.mktemp("collectives"), "collectives", cases)


def test_every_form_of_every_collective_is_recorded_and_right(outcome: LaunchOutcome) -> None:
    assert outcome.cause is None, outcome.detail
    assert {result.case: result.detail for result in outcome.results if result.status != "ok"} == {}
    assert len(outcome.results) == 16
    for result in outcome.results:
        assert all(check.passed for check in result.checks)
        sizes = {s.message_bytes for s in result.series}
        for size in sizes:
            assert size is not None
            assert min(values(result, "recorded_repetitions", message_bytes=size)) >= 1
            assert min(values(result, "operation_time_s", message_bytes=size)) > 0


def test_small_messages_do_not_wait_for_the_host(outcome: LaunchOutcome) -> None:
    for result in outcome.results:
        size = min(s.message_bytes for s in result.series if s.message_bytes)
        asked = values(result, "eager_time_s", message_bytes=size)
        assert asked, f"{result.case}: eager {size} byte took over 1 ms, or was not timed"
        replayed = median(values(result, "operation_time_s", message_bytes=size))
        assert replayed < median(asked), result.case
        assert not result.marks, result.case


def test_an_exchange_and_compute_slow_each_other_down(tmp_path: Path) -> None:
    alone = CollectivesCase(collective="all_reduce", max_bytes=2**26, window_s=0.1)
    cases: dict[str, Case] = {
        "alone": alone,
        "beside": alone.model_copy(update={"beside": "matmul"}),
    }
    undisturbed, disturbed = launched(tmp_path, "collectives", cases).results
    assert (disturbed.status, disturbed.marks, disturbed.gaps) == ("ok", (), ()), disturbed.detail
    for size in alone.message_sizes(2):
        alone_s = median(values(undisturbed, "operation_time_s", message_bytes=size))
        assert median(values(disturbed, "operation_time_s", message_bytes=size)) > 0.9 * alone_s
        load_s = median(values(disturbed, "load_time_s", message_bytes=size))
        assert median(values(disturbed, "load_beside_time_s", message_bytes=size)) > 0.98 * load_s
    largest = alone.message_sizes(2)[-1]
    beside_s = median(values(disturbed, "load_beside_time_s", message_bytes=largest))
    assert beside_s > 1.01 * median(values(disturbed, "load_time_s", message_bytes=largest))


def test_nccl_tells_every_size_of_what_has_an_algorithm(outcome: LaunchOutcome) -> None:
    """Also that gathers are logged by a rank's share: else their sizes would not be found."""
    for collective in ("all_reduce", "all_gather", "reduce_scatter", "broadcast"):
        case = CollectivesCase(collective=collective, max_bytes=2**26)  # type: ignore[arg-type]
        choices, gaps = choices_of(case, PLATFORM, outcome.logged)
        assert gaps == (), collective
        assert {choice.message_bytes for choice in choices} == set(case.message_sizes(2))


def test_a_wrong_result_of_the_replay_alone_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = "if torch.cuda.is_current_stream_capturing(): received[-1] += 1"
    (result,) = with_fault(tmp_path, monkeypatch, "pass", fault).results
    assert (result.status, result.cause) == ("failed", "check_failed")
    assert result.checks[-1].name == "received_values_after_timing"
    assert result.checks[-1].found.startswith("1 of ")


def test_a_slow_kernel_is_seen_in_the_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two million clocks take a millisecond at 2 GHz, the fastest that a GPU has."""
    (result,) = with_fault(tmp_path, monkeypatch, "torch.cuda._sleep(2_000_000)", "pass").results
    assert result.status == "ok", result.detail
    assert median(values(result, "operation_time_s", message_bytes=8)) > 0.5e-3


def test_a_slow_host_is_seen_in_the_eager_time_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (result,) = with_fault(tmp_path, monkeypatch, "time.sleep(0.0005)", "pass").results
    assert result.status == "ok", result.detail
    assert median(values(result, "eager_time_s", message_bytes=8)) > 0.5e-3
    assert median(values(result, "operation_time_s", message_bytes=8)) < 0.25e-3


def test_a_collective_that_cannot_be_recorded_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (result,) = with_fault(tmp_path, monkeypatch, "pass", "torch.cuda.synchronize()").results
    assert (result.status, result.cause) == ("failed", "unsupported")
