"""Parts of the workers that need torch but no launch."""

import time
from collections.abc import Callable
from pathlib import Path

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")

from commwall.schema.case import TrainingCase, Windows
from commwall.schema.result import CaseResult, Check, Gap, Mark, Series
from commwall.schema.treatment import EmulatedLink, Label
from commwall.workers import bounds, legs, peak
from commwall.workers.compilation import anew_mark
from commwall.workers.findings import Findings, merge
from commwall.workers.launch import failed_result
from commwall.workers.outcomes import CheckFailed, Unsupported, cause_of, is_accident
from commwall.workers.timing import (
    LEAD,
    SETTLING_STEPS,
    Alone,
    CudaClock,
    HostClock,
    Pace,
    has_settled,
    time_leg,
)

CPU = torch.device("cpu")


def pace(window_s: float, min_steps: int = 1, warmup_max_s: float = 5.0) -> Pace:
    return Pace(window_s=window_s, min_steps=min_steps, warmup_max_s=warmup_max_s)


def test_a_slow_step_is_seen_as_slow_where_it_was() -> None:
    taken: list[float] = []

    def step() -> None:
        taken.append(0.05 if len(taken) == SETTLING_STEPS + 3 else 0.005)
        time.sleep(taken[-1])

    timed = time_leg(step, pace(0.15, min_steps=8), HostClock(), Alone())
    assert len(timed.warmup_s) + len(timed.step_s) == len(taken)
    slowest = max(range(len(taken)), key=[*timed.warmup_s, *timed.step_s].__getitem__)
    assert slowest == SETTLING_STEPS + 3
    assert timed.step_s[slowest - len(timed.warmup_s)] >= 0.05


def test_window_lasts_and_holds_all_its_steps() -> None:
    timed = time_leg(lambda: time.sleep(0.002), pace(0.1), HostClock(), Alone())
    window_s = (timed.end_ns - timed.start_ns) / 1e9
    assert window_s >= 0.1
    assert 0.9 * window_s <= sum(timed.step_s) <= window_s


def test_least_number_of_steps_outlasts_the_window() -> None:
    timed = time_leg(lambda: time.sleep(0.002), pace(0.001, min_steps=20), HostClock(), Alone())
    assert len(timed.step_s) >= 20


def test_warmup_that_does_not_settle_is_given_up_and_marked() -> None:
    steps = iter(range(10_000))
    restless = lambda: time.sleep(0.001 if next(steps) % 2 else 0.01)  # noqa: E731
    timed = time_leg(restless, pace(0.01, warmup_max_s=0.2), HostClock(), Alone())
    assert not timed.settled
    assert sum(timed.warmup_s) >= 0.15
    findings = Findings("case", 0)
    findings.timed("full", timed)
    (mark,) = findings.result().marks
    assert (mark.name, mark.leg) == ("warmup_not_settled", "full")


def test_the_host_is_a_few_steps_ahead_of_a_gpu_and_no_more() -> None:
    waited: list[int] = []

    class Event:
        def __init__(self) -> None:
            self.number = next(numbers)

        def record(self) -> None: ...

        def synchronize(self) -> None:
            waited.append(self.number)

    numbers = iter(range(100))
    clock = CudaClock(Event)  # type: ignore[arg-type]
    clock.mark()
    for step in range(1, 10):
        clock.mark()
        assert waited == list(range(step - LEAD + 1)), f"in step {step}"


def test_what_was_compiled_in_this_launch_is_marked() -> None:
    assert anew_mark(0) is None
    mark = anew_mark(2)
    assert mark is not None and mark.name == "compiled_anew" and mark.detail.startswith("2 graphs")


def test_ranks_that_disagree_go_on_together() -> None:
    class OneIsRestless(Alone):
        asked = 0

        def least(self, value: float) -> float:
            self.asked += 1
            return 0.0 if self.asked < 15 else value

    timed = time_leg(lambda: time.sleep(0.002), pace(0.01), HostClock(), OneIsRestless())
    assert len(timed.warmup_s) >= 15


@pytest.mark.parametrize(
    ("step_s", "settled"),
    [
        ([1.0] * (SETTLING_STEPS - 1), False),
        ([1.0] * SETTLING_STEPS, True),
        ([9.0] * 5 + [1.0] * SETTLING_STEPS, True),
        ([1.0, 1.3] * SETTLING_STEPS, False),
        ([1.0] * (SETTLING_STEPS - 1) + [9.0], True),
    ],
)
def test_settled_means_a_small_interquartile_range(step_s: list[float], settled: bool) -> None:
    assert has_settled(step_s) is settled


def test_link_rate_check_prints_its_equation() -> None:
    check = bounds.link_rate_check(
        collective="all_gather",
        message_bytes=4_000_000,
        ranks=2,
        fastest_s=0.02,
        bound_bytes_per_s=90e6,
    )
    assert not check.passed
    assert check.found == "0.5 x 4000000 byte / 0.02 s = 1e+08 byte/s"
    assert check.expected.startswith("<= 9e+07 byte/s")
    at_the_bound = bounds.link_rate_check(
        collective="all_reduce",
        message_bytes=4_000_000,
        ranks=4,
        fastest_s=0.06,  # 1.5 x 4 MB / 0.06 s
        bound_bytes_per_s=100e6,
    )
    assert at_the_bound.passed


def test_link_bound_share_is_the_links_part_of_the_typical_time() -> None:
    label = Label(title="test", stands_for="a test", does_not_cover="anything else")
    link = EmulatedLink(label=label, bandwidth_bytes_per_s=1e6, latency_s=0.01)
    share = bounds.link_bound_share(
        collective="all_gather",
        message_bytes=40_000,  # 20 kB on the link: 20 ms, and 10 ms of latency
        ranks=2,
        times_s=(0.05, 0.04, 0.9),
        link=link,
    )
    assert share == pytest.approx(0.03 / 0.05)


CUBLAS = "CUDA error: CUBLAS_STATUS_ALLOC_FAILED"


def nccl_error(kind: str, last: str) -> Exception:
    """As torch words what NCCL returned."""
    text = (
        f"NCCL error in: NCCLUtils.cpp:94, NCCL version 2.28.9\nnccl{kind}: \nLast error:\n{last}"
    )
    return torch.distributed.DistBackendError(text)


def raised(action: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:
        action()
    return caught.value


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (raised(lambda: torch.empty(2**50)), "out_of_memory"),
        (MemoryError(), "out_of_memory"),
        (torch.OutOfMemoryError("CUDA out of memory"), "out_of_memory"),
        (torch.AcceleratorError("CUDA error: out of memory"), "out_of_memory"),
        (RuntimeError(f"{CUBLAS} when calling `cublasCreate(handle)`"), "out_of_memory"),
        (RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), "out_of_memory"),
        (nccl_error("UnhandledCudaError", "Cuda failure 2 'out of memory'"), "out_of_memory"),
        (nccl_error("UnhandledCudaError", "Cuda failure 'out of memory'"), "out_of_memory"),
        (nccl_error("InvalidUsage", "Duplicate GPU detected : rank 0 and rank 1"), "error"),
        (Unsupported("no device"), "unsupported"),
        (CheckFailed("wrong", ()), "check_failed"),
        (ValueError("a defect"), "error"),
    ],
)
def test_cause_of_a_failed_case(error: Exception, cause: str) -> None:
    assert not is_accident(error)
    result = failed_result("case", 1, error)
    assert (result.status, result.cause) == ("failed", cause)
    assert result.detail is not None
    assert result.detail.startswith(f"rank 1: {type(error).__name__}")
    assert cause_of(error) == cause


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("[/build/gloo/gloo/transport/tcp/pair.cc:537] Connection closed by peer"),
        torch.distributed.DistBackendError("NCCL error"),
        nccl_error("UnhandledCudaError", "Cuda failure 'unspecified launch failure'"),
        nccl_error("RemoteError", "socket progress: connection closed by remote peer"),
        OSError(28, "No space left on device"),
    ],
)
def test_accidents_are_no_outcomes(error: Exception) -> None:
    assert is_accident(error)


def test_failed_check_stops_the_case_and_carries_all_checks() -> None:
    findings = Findings("case", 0)
    findings.check(Check(name="first", passed=True, found="1", expected="1"))
    with pytest.raises(CheckFailed) as caught:
        findings.check(Check(name="second", passed=False, found="2", expected="3"))
    result = failed_result("case", 0, caught.value)
    assert result.cause == "check_failed"
    assert [(check.name, check.passed) for check in result.checks] == [
        ("first", True),
        ("second", False),
    ]
    assert "found     2" in (result.detail or "")


def test_merged_result_has_all_series_and_each_doubt_once() -> None:
    def rank_result(rank: int) -> CaseResult:
        findings = Findings("case", rank)
        findings.values("loss", (float(rank),))
        findings.mark(Mark(name="emulation_not_binding", leg="full", detail=f"rank {rank}"))
        findings.peak(Gap(what="peak_memory_bytes", reason=f"rank {rank}"))
        return findings.result()

    merged = merge([rank_result(0), rank_result(1)])
    assert merged.series == (
        Series(metric="loss", unit="1", rank=0, values=(0.0,)),
        Series(metric="loss", unit="1", rank=1, values=(1.0,)),
    )
    assert [mark.detail for mark in merged.marks] == ["rank 0"]
    assert [gap.reason for gap in merged.gaps] == ["rank 0"]


def test_peak_memory_follows_an_allocation() -> None:
    assert peak.reset_peak(CPU) is None
    before = peak.peak_bytes(CPU)
    block = torch.ones(16 * 2**20)  # 64 MiB
    del block
    after = peak.peak_bytes(CPU)
    assert isinstance(before, float)
    assert isinstance(after, float)
    assert 60 * 2**20 <= after - before <= 100 * 2**20
    assert peak.reset_peak(CPU) is None
    assert peak.peak_bytes(CPU) < after - 32 * 2**20  # type: ignore[operator]


def test_unreadable_peak_is_a_gap_with_its_reason(tmp_path: Path) -> None:
    gaps = peak.reset_peak(CPU, tmp_path / "none"), peak.peak_bytes(CPU, tmp_path / "none")
    (tmp_path / "status").write_text("Name:\tpython\n")
    for gap in (*gaps, peak.peak_bytes(CPU, tmp_path)):
        assert isinstance(gap, Gap)
        assert gap.what == "peak_memory_bytes"
        assert gap.reason


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_workload_learns_its_batch_in_either_precision(precision: str) -> None:
    case = TrainingCase.model_validate(
        {
            "model": "bert",
            "preset": "demo",
            "batch_per_gpu": 2,
            "sequence_length": 16,
            "precision": precision,
            "dataset_samples": 1,
            "windows": Windows(full_s=1, other_s=1, min_steps=1, warmup_max_s=1),
        }
    )
    workload = legs.Workload(case, CPU, rank=0)
    losses = []
    for _ in range(3):
        workload.step(workload.module)
        losses.append(float(workload.loss))
    assert losses == sorted(losses, reverse=True)
    assert {gradient.dtype for gradient in workload.gradients()} == {torch.float32}
    again = legs.Workload(case, CPU, rank=0)
    assert float(again.forward_backward(again.module)) == losses[0]
    other = legs.Workload(case, CPU, rank=1)
    assert float(other.forward_backward(other.module)) != losses[0]
