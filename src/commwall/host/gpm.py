"""How busy parts of a GPU are and what its links carry: NVML's performance monitoring (GPM).

Layer: host. Reads and writes no file. Hopper and later: the GPU counts, a sample copies its
counters, and NVML tells what happened between two samples.
"""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from commwall.host.nvml_reader import LEAST_ANSWERED, NOT_LOOKED_AT, AskedGpu
from commwall.schema.metrics import METRICS
from commwall.schema.result import Series

QUERY_VERSION = 1
PERCENT = 0.01
MIB = 2**20
QUESTIONS = {
    "sm_active_share": (2, PERCENT),
    "tensor_active_share": (5, PERCENT),
    "dram_active_share": (10, PERCENT),
    "pcie_sent_bytes_per_s": (20, MIB),
    "pcie_received_bytes_per_s": (21, MIB),
    "nvlink_received_bytes_per_s": (60, MIB),
    "nvlink_sent_bytes_per_s": (61, MIB),
}
"""Metric -> number in nvmlGpmMetricId_t (nvml.h), and the factor from its unit there (per cent
or MiB/s) to the registry's."""
UNSUPPORTED = "this GPU has no performance monitoring through NVML, which came with Hopper"
OUTSIDE = "no interval between two looks lies within the timed window"


class Interval(NamedTuple):
    """What NVML tells of the time between two samples."""

    start_ns: int
    """Before the first sample was asked for, CLOCK_MONOTONIC [ns]."""
    end_ns: int
    """After the second had come [ns]."""
    duration_ns: int
    """From sample to sample [ns]."""
    values: Mapping[str, float]
    """Metric -> value, of those that were answered."""


class Monitor:
    """Performance counters of one GPU, from look to look.

    Args:
        gpu: which; takes refusals by metric.
    """

    def __init__(self, gpu: AskedGpu) -> None:
        self._gpu = gpu
        self._before_ns: int | None = None
        self._samples: list[Any] = [self._allocated(), self._allocated()] if able(gpu) else []

    def look(self) -> Interval | None:
        """What has happened since the look before; None at the first look, or if refused."""
        if not self._samples:
            return None
        start_ns, begun_ns = self._before_ns, time.monotonic_ns()
        self._samples.reverse()
        taken = self._gpu.ask("gpm", "nvmlGpmSampleGet", self._samples[1])
        ended_ns = time.monotonic_ns()
        self._before_ns = None if taken is None else begun_ns
        if taken is None:
            _refuse_all(self._gpu)
        if taken is None or start_ns is None:
            return None
        return Interval(start_ns, ended_ns, begun_ns - start_ns, self._values())

    def close(self) -> None:
        """Give the samples' memory back."""
        for sample in self._samples:
            self._gpu.call("gpm", "nvmlGpmSampleFree", sample)
        self._samples = []

    def _allocated(self) -> Any:
        return self._gpu.call("gpm", "nvmlGpmSampleAlloc")

    def _values(self) -> dict[str, float]:
        """Answers between the two samples; each may be refused by itself."""
        query = self._gpu.nvml.c_nvmlGpmMetricsGet_t()
        query.version, query.numMetrics = QUERY_VERSION, len(QUESTIONS)
        query.sample1, query.sample2 = self._samples
        for place, (number, _) in enumerate(QUESTIONS.values()):
            query.metrics[place].metricId = number
        if self._gpu.call("gpm", "nvmlGpmMetricsGet", query) is None:
            _refuse_all(self._gpu)
            return {}
        values = {}
        for (metric, (_, factor)), answer in zip(QUESTIONS.items(), query.metrics, strict=False):
            if answer.nvmlReturn:
                self._gpu.refused(metric, answer.nvmlReturn)
            elif not math.isfinite(answer.value):
                self._gpu.refusals[metric] = f"NVML answers {answer.value}"
            else:
                values[metric] = answer.value * factor
        return values


def _refuse_all(gpu: AskedGpu) -> None:
    gpu.refusals.update(dict.fromkeys(QUESTIONS, gpu.refusals["gpm"]))


def able(gpu: AskedGpu) -> bool:
    """Whether a GPU has performance monitoring; else it keeps why not for every metric."""
    support = gpu.ask("gpm", "nvmlGpmQueryDeviceSupport")
    if support is not None and support.isSupportedDevice:
        return True
    if support is not None:
        gpu.refusals["gpm"] = UNSUPPORTED
    _refuse_all(gpu)
    return False


def busy_series(
    rank: int,
    intervals: Sequence[Interval],
    refusals: Mapping[str, str],
    start_ns: int,
    end_ns: int,
) -> tuple[list[Series], dict[str, str]]:
    """Values of the intervals that lie wholly within a window of leg `full`.

    Args:
        rank: process that used the GPU.
        intervals: in time order.
        refusals: of the GPU.
        start_ns: start of the window, CLOCK_MONOTONIC [ns].
        end_ns: its end [ns].

    Returns:
        One series for each metric that was answered nearly all the time, and why the others have
        none.
    """
    series, absent = [], {}
    for metric in QUESTIONS:
        answered = [each for each in intervals if metric in each.values]
        within = (own for own in answered if start_ns <= own.start_ns and own.end_ns <= end_ns)
        values = tuple(own.values[metric] for own in within)
        covered = covered_share(answered, start_ns, end_ns)
        if values and covered >= LEAST_ANSWERED:
            unit = METRICS[metric].unit
            series.append(Series(metric=metric, unit=unit, leg="full", rank=rank, values=values))
        else:
            unread = _unread(covered if values else None) if intervals else NOT_LOOKED_AT
            absent[metric] = refusals.get(metric, unread)
    return series, absent


def covered_share(intervals: Sequence[Interval], start_ns: int, end_ns: int) -> float:
    """Share of a window that lies within intervals [1], also in those that reach beyond it.

    Args:
        intervals: in time order; one may begin before the one before it has ended.
        start_ns: start of the window [ns].
        end_ns: its end [ns].
    """
    covered_ns, reached_ns = 0, start_ns
    for each in intervals:
        covered_ns += max(0, min(each.end_ns, end_ns) - max(each.start_ns, reached_ns))
        reached_ns = max(reached_ns, each.end_ns)
    return covered_ns / (end_ns - start_ns) if end_ns > start_ns else 0.0


def _unread(covered: float | None) -> str:
    """Why a metric that was not refused has no value; None where no interval lies within."""
    if covered is None:
        return OUTSIDE
    return f"looks cover {covered:.0%} of the timed window, {LEAST_ANSWERED:.0%} are needed"


def mean_rate(
    intervals: Sequence[Interval], metric: str, start_ns: int, end_ns: int, quiet_ns: int
) -> float | None:
    """Mean rate of a window with quiet on both sides [byte/s]; None if it is not known.

    What the intervals that touch the window carried belongs to it, because the rest of them was
    quiet; so a window that is shorter than an interval has a rate, too.

    Args:
        intervals: in time order.
        metric: a rate.
        start_ns: start of the window [ns].
        end_ns: its end [ns].
        quiet_ns: how long nothing was carried before and after it [ns].
    """
    touching = [each for each in intervals if each.end_ns > start_ns and each.start_ns < end_ns]
    if not touching or any(metric not in each.values for each in touching):
        return None
    first_ns, last_ns = touching[0].start_ns, touching[-1].end_ns
    reached = start_ns - quiet_ns <= first_ns <= start_ns and end_ns <= last_ns <= end_ns + quiet_ns
    held = all(
        after.start_ns <= before.end_ns
        for before, after in zip(touching, touching[1:], strict=False)
    )
    if not reached or not held:
        return None
    carried = sum(each.values[metric] * each.duration_ns for each in touching)
    return carried / (end_ns - start_ns)
