"""Which readings belong to a window: made-up moments, with arithmetic one can do in one's head."""

import os
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from commwall.host.gpm import (
    OUTSIDE,
    Interval,
    Monitor,
    busy_series,
    covered_share,
    mean_rate,
)
from commwall.host.gpu_users import look_at_users, users_found
from commwall.host.link_counters import LinkReading, carried
from commwall.host.nvml_reader import AskedGpu, NvmlReader
from commwall.host.processes import MARK_VARIABLE
from tests.unit.fake_nvml import fake_nvml, sampling
from tests.unit.recorded_gpus import DIGESTS, processes

MS = 10**6
RATE = "pcie_sent_bytes_per_s"


def intervals(*rates: float, start_ms: int = 0, long_ms: int = 200) -> list[Interval]:
    """One after the other; each look takes 4 ms."""
    starts = range(start_ms, start_ms + len(rates) * long_ms, long_ms)
    return [
        Interval(start * MS, (start + long_ms + 4) * MS, long_ms * MS, {RATE: rate})
        for start, rate in zip(starts, rates, strict=True)
    ]


@pytest.mark.parametrize(
    ("start_ms", "end_ms", "values"),
    [(0, 804, (1, 2, 3, 4)), (1, 804, (2, 3, 4)), (0, 803, (1, 2, 3)), (201, 603, ())],
)
def test_only_intervals_wholly_inside_count(
    start_ms: int, end_ms: int, values: tuple[float, ...]
) -> None:
    series, absent = busy_series(0, intervals(1, 2, 3, 4), {}, start_ms * MS, end_ms * MS)
    assert [own.values for own in series] == [values] * bool(values)
    assert absent["dram_active_share"] == OUTSIDE
    assert (RATE in absent) is not bool(values)


def test_intervals_that_cover_too_little_do_not_speak_for_the_window() -> None:
    """They overlap by the 4 ms of a look, which count once; those at the ends count in part."""
    own = intervals(1, 2, 3, 4)
    assert covered_share(own, 0, 1000 * MS) == pytest.approx(0.804)
    assert covered_share(own, 100 * MS, 700 * MS) == 1
    series, absent = busy_series(0, own, {}, 0, 1000 * MS)
    assert series == []
    assert absent[RATE] == "looks cover 80% of the timed window, 90% are needed"
    assert busy_series(0, own, {}, 0, 880 * MS)[0] != []


def test_a_refused_sample_ends_no_interval_and_begins_none() -> None:
    gpu = AskedGpu(fake_nvml(nvmlGpmSampleGet=sampling(3)), 0, {})
    monitor = Monitor(gpu)
    assert [bool(monitor.look()) for _ in range(6)] == [False, True, False, False, True, True]
    assert gpu.refusals["dram_active_share"] == "NVML: Insufficient Permissions"


def test_a_short_window_has_the_rate_of_what_was_carried_in_it() -> None:
    """200 ms at 1 GB/s and 200 ms at 3 GB/s are 0.8 GB, all of it within 100 ms."""
    own = intervals(0, 1e9, 3e9, 0)
    assert mean_rate(own, RATE, 350 * MS, 450 * MS, 300 * MS) == pytest.approx(8e9)


@pytest.mark.parametrize(
    "own",
    [
        [],
        intervals(1e9, start_ms=360),
        intervals(1e9, start_ms=240),
        intervals(1e9, long_ms=1000),
        [*intervals(1e9, start_ms=200), *intervals(1e9, start_ms=410)],
        [*intervals(1e9, start_ms=200), Interval(400 * MS, 604 * MS, 200 * MS, {})],
    ],
    ids=["none", "begins late", "ends early", "reaches too far", "hole", "refused once"],
)
def test_a_window_that_is_not_covered_has_no_rate(own: list[Interval]) -> None:
    assert mean_rate(own, RATE, 350 * MS, 450 * MS, 300 * MS) is None


def counted(*moments: tuple[int, int]) -> list[LinkReading]:
    """One link at these moments [ms], with as much [KiB] sent, and thrice as much received."""
    return [
        LinkReading(at * MS, (at + 5) * MS, array("Q", (kib, 3 * kib)), narrow=False)
        for at, kib in moments
    ]


def test_counters_are_those_read_nearest_to_the_window() -> None:
    own = counted((0, 1), (200, 2), (490, 10), (498, 50), (700, 90), (801, 100), (1000, 500))
    assert carried(own, 500 * MS, 800 * MS) == (90 * 1024, 270 * 1024)


@pytest.mark.parametrize(
    ("moments", "reason"),
    [
        ((), "before"),
        (((490, 1),), "after"),
        (((99, 1), (801, 2)), "before"),
        (((490, 1), (1196, 2)), "after"),
        (((496, 1), (801, 2)), "before"),
        (((490, 1), (799, 2)), "after"),
    ],
)
def test_counters_read_outside_the_quiet_do_not_serve(
    moments: Sequence[tuple[int, int]], reason: str
) -> None:
    found = carried(counted(*moments), 500 * MS, 800 * MS)
    assert isinstance(found, str) and reason in found


class Late(NvmlReader):
    """Its second reading takes longer than its period."""

    pauses_s: list[float]

    def stopped_after(self, period_s: float) -> bool:
        self.pauses_s.append(period_s)
        return len(self.pauses_s) == 4


def test_a_late_reading_is_followed_by_a_pause_and_then_by_the_old_pace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Monitoring wants its samples apart: 100 ms at a period of 200 ms."""
    moments: Iterator[float] = iter((0.0, 0.05, 0.55, 0.7, 0.9))
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    reader = Late("late", DIGESTS, Path("unused"), 0.2)
    reader.pauses_s = []
    assert list(reader.ticks()) == [0, 1, 2, 3]
    assert reader.pauses_s == pytest.approx([0.15, 0.1, 0.15, 0.15])


def test_a_process_is_the_launchs_by_its_mark() -> None:
    """A living process with the mark, and this one, which has none."""
    environment = {**os.environ, MARK_VARIABLE: "here"}
    waiting = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    pipe = subprocess.PIPE
    with subprocess.Popen(waiting, stdin=pipe, stdout=pipe, env=environment) as own:
        assert own.stdout is not None and own.stdout.readline() == b"\n"
        listed = processes(own.pid, os.getpid())
        nvml = fake_nvml(nvmlDeviceGetComputeRunningProcesses=lambda handle: listed)
        look = look_at_users([AskedGpu(nvml, 0, {})], "here")
        unmarked = look_at_users([AskedGpu(nvml, 0, {})], None)
        own.communicate()
    assert (look.own, unmarked.own) == ({own.pid}, set())
    (mark,), gaps = users_found([look], [{}], 0, look.time_ns)
    assert mark.detail == f"GPU of rank 0 is in use by process {os.getpid()}, in 100% of the looks"
    assert gaps == ()
    assert [mark.name for mark in users_found([unmarked], [{}], 0, look.time_ns * 2)[0]] == [
        "contended"
    ], "two processes, one rank"


def test_a_window_without_looks_does_not_say_that_nobody_was_there() -> None:
    marks, (gap,) = users_found([], [{}], 0, 1)
    assert (marks, gap.what, gap.reason) == ((), "contended", "not looked at in the window")
