"""Energy and power of GPUs while a launch runs, from NVML's counter and its power reading.

Layer: host. Reads and writes no file. The total-energy counter moves about every 100 ms; a
window's energy is taken between the first and the last move inside it and scaled to its
duration, so that no half step of the counter is counted.
"""

import itertools
import os
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from commwall.host.background import Background
from commwall.host.energy import EnergyFound
from commwall.host.gpus import HIDING_VARIABLE, NvmlMissing, opened_nvml, text_of, visible_handles
from commwall.host.link_counters import LinkTraffic
from commwall.host.secrecy import short_digest
from commwall.schema.result import Gap, Mark, Series

PERIOD_S = 0.02
"""Between two readings of the counter [s]: a fifth of its own step."""
POWER_EVERY = 5
"""Power is read with every fifth reading."""
IDLE_S = 2.0
"""From the start of a launch its workers load libraries and do not touch the GPUs [s]."""
LEAST_MOVES = 10
"""Fewer moves of the counter inside a window say too little."""
MOST_DISAGREEMENT = 0.05
MILLI = 1e-3
THROTTLING = {
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}
"""Bits of nvmlDeviceGetCurrentClocksEventReasons (nvml.h) that slow a GPU below its settings;
the power cap, which is one of them, does not count."""


class Reading(NamedTuple):
    """One GPU at one moment."""

    time_ns: int
    """CLOCK_MONOTONIC [ns]."""
    energy_j: float
    """Counter since the driver was loaded [J]."""
    power_w: float | None
    """Power as the driver averages it [W]; None where it was not read."""
    throttling: int
    """Reasons why the clocks are lower, as bits."""


class GpuMeter(Background):
    """Reads the GPUs of a launch in a thread while it is entered.

    Args:
        digests: of the uuids of the GPUs, in rank order.
        root: where /proc hangs; another folder in tests.
        period_s: between two readings [s].
    """

    def __init__(
        self, digests: Sequence[str], root: Path = Path("/"), period_s: float = PERIOD_S
    ) -> None:
        self._digests, self._root, self._period_s = tuple(digests), root, period_s
        self.readings: tuple[list[Reading], ...] = tuple([] for _ in digests)
        self._reason: str | None = None
        self._started_ns = 0
        super().__init__("gpu-power")

    def __enter__(self) -> Self:
        self._started_ns = time.monotonic_ns()
        return super().__enter__()

    def found(self, start_ns: int, end_ns: int) -> EnergyFound:
        """Energy, power and disturbances of a window of leg `full`, and idle power before it."""
        if self._reason:
            return EnergyFound(gaps=(Gap(what="energy_j", reason=self._reason),))
        each = [
            found_of(rank, readings, start_ns, end_ns)
            for rank, readings in enumerate(self.readings)
        ]
        idle_end_ns = self._started_ns + int(IDLE_S * 1e9)
        idle = [_power_series(rank, own, self._started_ns, idle_end_ns, "idle_power_w")
                for rank, own in enumerate(self.readings)]  # fmt: skip
        return EnergyFound(
            series=(*(s for one in each for s in one.series), *filter(None, idle)),
            marks=_once(mark for one in each for mark in one.marks),
            gaps=_once(gap for one in each for gap in one.gaps),
        )

    def traffic(self, start_ns: int, end_ns: int) -> LinkTraffic | Gap:
        """What the links of the GPUs carried in a window with quiet on both sides.

        Args:
            start_ns: start of the window, CLOCK_MONOTONIC [ns].
            end_ns: its end [ns].
        """
        return Gap(what="traffic", reason="the links' counters are not read yet")

    def read_on(self) -> None:
        """Read the GPUs through NVML."""
        try:
            with opened_nvml(self._root) as nvml:
                self._read_gpus(nvml)
        except NvmlMissing as missing:
            self._reason = missing.reason

    def _read_gpus(self, nvml: Any) -> None:
        try:
            handles = handles_of(nvml, self._digests)
            if len(handles) < len(self._digests):
                self._reason = "NVML does not show every GPU of the launch any more"
                return
            for number in itertools.count():
                for handle, readings in zip(handles, self.readings, strict=True):
                    readings.append(read(nvml, handle, with_power=number % POWER_EVERY == 0))
                if self.stopped_after(self._period_s):
                    return
        except nvml.NVMLError as error:
            self._reason = f"NVML's total-energy counter cannot be read: {error}"


def handles_of(nvml: Any, digests: Sequence[str]) -> list[Any]:
    """NVML's handles of GPUs known by the digests of their uuids, in that order."""
    handles = visible_handles(nvml, os.environ.get(HIDING_VARIABLE))
    known = {short_digest(text_of(nvml.nvmlDeviceGetUUID(handle))): handle for handle in handles}
    return [known[digest] for digest in digests if digest in known]


def read(nvml: Any, handle: Any, *, with_power: bool) -> Reading:
    """One reading; power and clock reasons may be absent, the counter not."""
    energy_mj = nvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    now_ns = time.monotonic_ns()
    power_w, reasons = None, 0
    if with_power:
        with suppress(nvml.NVMLError):
            power_w = nvml.nvmlDeviceGetPowerUsage(handle) * MILLI
        with suppress(nvml.NVMLError):
            reasons = nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
    return Reading(now_ns, energy_mj * MILLI, power_w, reasons)


def found_of(rank: int, readings: Sequence[Reading], start_ns: int, end_ns: int) -> EnergyFound:
    """What the readings of one GPU say of a window of leg `full`.

    Args:
        rank: process that used the GPU.
        readings: in time order.
        start_ns: start of the window, CLOCK_MONOTONIC [ns].
        end_ns: its end [ns].
    """
    power = _power_series(rank, readings, start_ns, end_ns, "power_w")
    marks = list(_throttled(rank, [r for r in readings if start_ns <= r.time_ns <= end_ns]))
    energy_j = counter_energy(readings, start_ns, end_ns)
    series = [power] if power else []
    if isinstance(energy_j, Gap):
        return EnergyFound(tuple(series), tuple(marks), (energy_j,))
    own = Series(metric="energy_j", unit="J", leg="full", rank=rank, values=(energy_j,))
    if power:
        marks += _disagreement(rank, energy_j / ((end_ns - start_ns) / 1e9), power.values)
    return EnergyFound((own, *series), tuple(marks), ())


def counter_energy(readings: Sequence[Reading], start_ns: int, end_ns: int) -> float | Gap:
    """Energy of a window from the counter's moves inside it [J], or why it is not known.

    A move is seen at the first reading that shows it.
    """
    moves = [
        (after.time_ns, after.energy_j)
        for before, after in itertools.pairwise(readings)
        if after.energy_j != before.energy_j and start_ns <= after.time_ns <= end_ns
    ]
    if len(moves) < LEAST_MOVES:
        seen = f"the counter moved {len(moves)} times in the window"
        return Gap(what="energy_j", reason=f"{seen}, at least {LEAST_MOVES} moves are needed")
    (first_ns, first_j), (last_ns, last_j) = moves[0], moves[-1]
    return (last_j - first_j) * (end_ns - start_ns) / (last_ns - first_ns)


def strangers_on(digests: Sequence[str], root: Path = Path("/")) -> str | None:
    """Which processes compute on GPUs that ought to be free; None if there are none.

    Call it while no worker runs. A driver that does not tell is taken at its word.
    """
    found = []
    try:
        with opened_nvml(root) as nvml:
            for index, handle in enumerate(handles_of(nvml, digests)):
                found += _users(nvml, index, handle)
    except NvmlMissing:
        return None
    return "; ".join(found) or None


def why_no_counter(root: Path = Path("/")) -> str | None:
    """Why the GPUs' energy cannot be read; None if it can."""
    try:
        with opened_nvml(root) as nvml:
            try:
                for handle in visible_handles(nvml, os.environ.get(HIDING_VARIABLE)):
                    read(nvml, handle, with_power=False)
            except nvml.NVMLError as error:
                return f"NVML's total-energy counter cannot be read: {error}"
    except NvmlMissing as missing:
        return missing.reason
    return None


def _users(nvml: Any, index: int, handle: Any) -> list[str]:
    with suppress(nvml.NVMLError):
        pids = [process.pid for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle)]
        if pids:
            return [f"GPU {index} is in use by process {', '.join(map(str, pids))}"]
    return []


def _power_series(
    rank: int, readings: Sequence[Reading], start_ns: int, end_ns: int, metric: str
) -> Series | None:
    inside = [r.power_w for r in readings if start_ns <= r.time_ns <= end_ns]
    values = tuple(power for power in inside if power is not None)
    leg: Any = "full" if metric == "power_w" else None
    return Series(metric=metric, unit="W", leg=leg, rank=rank, values=values) if values else None


def _disagreement(rank: int, counted_w: float, polled_w: Sequence[float]) -> list[Mark]:
    mean_w = statistics.fmean(polled_w)
    if abs(mean_w - counted_w) <= MOST_DISAGREEMENT * counted_w:
        return []
    detail = f"GPU of rank {rank}: {counted_w:.1f} W by the counter, {mean_w:.1f} W polled"
    return [Mark(name="energy_doubtful", leg="full", detail=detail)]


def _throttled(rank: int, inside: Sequence[Reading]) -> list[Mark]:
    """Clocks lowered for another reason than the settings while the window was timed."""
    asked = [reading for reading in inside if reading.power_w is not None]
    seen = {
        name: share
        for bit, name in THROTTLING.items()
        if (share := sum(bool(r.throttling & bit) for r in asked) / max(len(asked), 1)) > 0
    }
    if not seen:
        return []
    words = ", ".join(f"{name} in {share:.0%} of the readings" for name, share in seen.items())
    return [Mark(name="throttled", leg="full", detail=f"GPU of rank {rank}: {words}")]


def _once(items: Any) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(items))
