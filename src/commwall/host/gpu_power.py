"""Energy and power of GPUs while a launch runs, from NVML's counter and its power reading.

Layer: host. Reads and writes no file. The total-energy counter moves about every 100 ms; a
window's energy is taken between the first and the last move inside it and scaled to its
duration, so that no half step of the counter is counted.
"""

import itertools
import statistics
import time
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from commwall.host.gpus import NvmlMissing, opened_nvml
from commwall.host.meter import Metered
from commwall.host.nvml_reader import (
    LEAST_ANSWERED,
    NOT_LOOKED_AT,
    AskedGpu,
    NvmlReader,
    merged_gaps,
    visible_gpus,
)
from commwall.schema.device_metrics import POWER_AVERAGED_S
from commwall.schema.result import Gap, Mark, MarkName, Series

PERIOD_S = 0.02
"""Between two readings of the counter [s]: a fifth of its own step."""
POWER_EVERY = 5
"""Power is read with every fifth reading."""
IDLE_S = 2.0
"""From the start of a launch its workers load libraries and do not touch the GPUs [s]."""
LEAST_MOVES = 10
"""Fewer moves of the counter inside a window say too little."""
MOST_STILL_S = 1.0
"""A counter that stands still for longer is stuck: ten of its steps [s]."""
MOST_DISAGREEMENT = 0.05
LEAST_POLLED = 5
"""Fewer readings say too little of a mean to contradict the counter."""
MILLI = 1e-3
TOLD = ("energy_j", "power_w", "power_time_s", "idle_power_w", "throttled", "power_capped")
"""What the readings tell: metrics, and the marks that they can give or rule out."""
THROTTLING = {
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}
"""Bits of nvmlDeviceGetCurrentClocksEventReasons (nvml.h) that slow a GPU below its settings."""
POWER_CAP = {0x04: "software power cap"}
"""The bit of a GPU that keeps to its power limit, which is one of its settings."""
SLOWED: dict[MarkName, dict[int, str]] = {"throttled": THROTTLING, "power_capped": POWER_CAP}
"""Mark -> the reasons for which it is given."""


class Reading(NamedTuple):
    """One GPU at one moment; what was refused or not asked is None."""

    time_ns: int
    """CLOCK_MONOTONIC [ns]."""
    energy_j: float | None
    """Counter since the driver was loaded [J]."""
    power_w: float | None
    """Power as the driver averages it [W]."""
    reasons: int | None
    """Reasons why the clocks are lower, as bits."""
    polled: bool
    """Whether power and reasons were asked for; what is None was then refused."""


class PowerReader(NvmlReader):
    """Reads energy, power and reasons of low clocks of the GPUs of a launch.

    Args:
        digests: of the uuids of the GPUs, in rank order.
        root: where /proc hangs; another folder in tests.
        period_s: between two readings [s].
    """

    def __init__(
        self, digests: Sequence[str], root: Path = Path("/"), period_s: float = PERIOD_S
    ) -> None:
        self.readings: tuple[list[Reading], ...] = tuple([] for _ in digests)
        self._started_ns = time.monotonic_ns()
        super().__init__("gpu-power", digests, root, period_s)

    def read_gpus(self, gpus: Sequence[AskedGpu]) -> None:
        """Read the counters at every tick, the rest at every fifth."""
        for number in self.ticks():
            for gpu, readings in zip(gpus, self.readings, strict=True):
                readings.append(read(gpu, with_power=number % POWER_EVERY == 0))

    def found(self, start_ns: int, end_ns: int) -> Metered:
        """Energy, power and disturbances of a window of leg `full`, and idle power before it."""
        if self.reason:
            return Metered(gaps=tuple(Gap(what=what, reason=self.reason) for what in TOLD))
        each = [
            found_of(rank, own, self.refusals[rank], start_ns, end_ns)
            for rank, own in enumerate(self.readings)
        ]
        idle_ns = (self._started_ns, self._started_ns + int(IDLE_S * 1e9))
        idle = [idle_power(rank, own, *idle_ns) for rank, own in enumerate(self.readings)]
        for own_idle, (_, absent), own in zip(idle, each, self.refusals, strict=True):
            if own_idle is None:
                absent["idle_power_w"] = own.get("power_w", "not polled before the workers began")
        return Metered(
            series=(*(s for found, _ in each for s in found.series), *filter(None, idle)),
            marks=tuple(mark for found, _ in each for mark in found.marks),
            gaps=merged_gaps([absent for _, absent in each]),
        )

    def slowed(self, start_ns: int, end_ns: int) -> tuple[Mark, ...]:
        """Clocks that were lowered in any window."""
        within = (_within(own, start_ns, end_ns) for own in self.readings)
        return tuple(mark for rank, own in enumerate(within) for mark in _slowed(rank, own))

    def doubts(self, start_ns: int, end_ns: int) -> tuple[Gap, ...]:
        """Lowered clocks that cannot be ruled out in any window, though told at other times."""
        reasons = list[dict[str, str]]()
        for rank, (own, refusals) in enumerate(zip(self.readings, self.refusals, strict=True)):
            told = any(reading.reasons is not None for reading in own)
            polled = [reading for reading in _within(own, start_ns, end_ns) if reading.polled]
            given = {mark.name for mark in _slowed(rank, polled)}
            absent = _unpolled(polled, given, refusals) if told else {}
            reasons.append({name: why for name, why in absent.items() if name in SLOWED})
        return merged_gaps(reasons)


def read(gpu: AskedGpu, *, with_power: bool) -> Reading:
    """One reading."""
    energy_mj = gpu.ask("energy_j", "nvmlDeviceGetTotalEnergyConsumption")
    now_ns = time.monotonic_ns()
    power_mw, reasons = None, None
    if with_power:
        power_mw = gpu.ask("power_w", "nvmlDeviceGetPowerUsage")
        reasons = gpu.ask("throttled", "nvmlDeviceGetCurrentClocksEventReasons")
    return Reading(now_ns, _thousandth(energy_mj), _thousandth(power_mw), reasons, with_power)


def found_of(
    rank: int,
    readings: Sequence[Reading],
    refusals: Mapping[str, str],
    start_ns: int,
    end_ns: int,
) -> tuple[Metered, dict[str, str]]:
    """What the readings of one GPU say of a window of leg `full`.

    Args:
        rank: process that used the GPU.
        readings: in time order.
        refusals: of the GPU.
        start_ns: start of the window, CLOCK_MONOTONIC [ns].
        end_ns: its end [ns].

    Returns:
        Series and marks, and what is absent with its reason.
    """
    within = _within(readings, start_ns, end_ns)
    polled = [reading for reading in within if reading.polled]
    series, marks = _power(rank, polled, start_ns), _slowed(rank, polled)
    absent = _unpolled(polled, {mark.name for mark in marks}, refusals)
    energy_j = counter_energy(readings, start_ns, end_ns)
    if isinstance(energy_j, str):
        counted = [reading.time_ns for reading in within if reading.energy_j is not None]
        unread = not counted or _longest_s(start_ns, *counted, end_ns) > MOST_STILL_S
        absent["energy_j"] = refusals.get("energy_j", NOT_LOOKED_AT) if unread else energy_j
        return Metered(tuple(series), tuple(marks)), absent
    own = Series(metric="energy_j", unit="J", leg="full", rank=rank, values=(energy_j,))
    if series:
        marks += _disagreement(rank, energy_j / ((end_ns - start_ns) / 1e9), *series)
    return Metered((own, *series), tuple(marks)), absent


def counter_energy(readings: Sequence[Reading], start_ns: int, end_ns: int) -> float | str:
    """Energy of a window from the counter's moves inside it [J], or why it is not known.

    A move is seen at the first reading that shows it.
    """
    counted = [(r.time_ns, r.energy_j) for r in readings if r.energy_j is not None]
    moves = []
    for (_, before_j), (time_ns, after_j) in itertools.pairwise(counted):
        if after_j != before_j and start_ns <= time_ns <= end_ns:
            if after_j < before_j:
                return f"the counter fell from {before_j:.0f} J to {after_j:.0f} J"
            moves.append((time_ns, after_j))
    if len(moves) < LEAST_MOVES:
        seen = f"the counter moved {len(moves)} times in the window"
        return f"{seen}, at least {LEAST_MOVES} moves are needed"
    still_s = _longest_s(start_ns, *(time_ns for time_ns, _ in moves), end_ns)
    if still_s > MOST_STILL_S:
        return f"the counter stood still for {still_s:.1f} s of the window"
    (first_ns, first_j), (last_ns, last_j) = moves[0], moves[-1]
    return (last_j - first_j) * (end_ns - start_ns) / (last_ns - first_ns)


def idle_power(rank: int, readings: Sequence[Reading], start_ns: int, end_ns: int) -> Series | None:
    """Power of one GPU before the workers open it; None if it was not read."""
    inside = _within(readings, start_ns, end_ns)
    values = tuple(reading.power_w for reading in inside if reading.power_w is not None)
    return Series(metric="idle_power_w", unit="W", rank=rank, values=values) if values else None


def why_no_counter(root: Path = Path("/")) -> str | None:
    """Why the GPUs' energy cannot be read; None if it can."""
    try:
        with opened_nvml(root) as nvml:
            for gpu in visible_gpus(nvml):
                if read(gpu, with_power=False).energy_j is None:
                    return f"the total-energy counter cannot be read: {gpu.refusals['energy_j']}"
    except NvmlMissing as missing:
        return missing.reason
    return None


def _within(readings: Sequence[Reading], start_ns: int, end_ns: int) -> list[Reading]:
    return [reading for reading in readings if start_ns <= reading.time_ns <= end_ns]


def _longest_s(*times_ns: int) -> float:
    """Longest time between one moment and the next [s]."""
    return max(after - before for before, after in itertools.pairwise(times_ns)) / 1e9


def _thousandth(value: Any) -> float | None:
    """From milliwatt or millijoule."""
    return None if value is None else value * MILLI


def _unpolled(
    polled: Sequence[Reading], given: Set[str], refusals: Mapping[str, str]
) -> dict[str, str]:
    """What is absent of power, and which marks cannot be ruled out, with the reason.

    Args:
        polled: readings of a window in which power and reasons were asked for.
        given: marks that they give; one reading with a reason tells enough.
        refusals: of the GPU.
    """
    why = refusals if polled else {}
    absent = dict[str, str]()
    if not _powers(polled):
        both = ("power_w", "power_time_s")
        absent |= dict.fromkeys(both, why.get("power_w", NOT_LOOKED_AT))
    if not polled or any(reading.reasons is None for reading in polled):
        doubted = (name for name in SLOWED if name not in given)
        absent |= dict.fromkeys(doubted, why.get("throttled", NOT_LOOKED_AT))
    return absent


def _powers(polled: Sequence[Reading]) -> list[tuple[int, float]]:
    """When power was told, and how much [W]; empty if too often refused to speak for all."""
    told = [(r.time_ns, r.power_w) for r in polled if r.power_w is not None]
    return told if len(told) >= LEAST_ANSWERED * len(polled) else []


def _power(rank: int, polled: Sequence[Reading], start_ns: int) -> list[Series]:
    """Power polled in a window and when; empty if it was not."""
    told = [((time_ns - start_ns) / 1e9, power_w) for time_ns, power_w in _powers(polled)]
    if not told:
        return []
    times_s, powers_w = zip(*told, strict=True)
    return [
        Series(metric="power_w", unit="W", leg="full", rank=rank, values=powers_w),
        Series(metric="power_time_s", unit="s", leg="full", rank=rank, values=times_s),
    ]


def _disagreement(rank: int, counted_w: float, power: Series, times: Series) -> list[Mark]:
    """The mark of a counter that the polled power contradicts, where it tells of the window."""
    pairs = zip(power.values, times.values, strict=True)
    polled_w = [power_w for power_w, time_s in pairs if time_s >= POWER_AVERAGED_S]
    if len(polled_w) < LEAST_POLLED:
        return []
    mean_w = statistics.fmean(polled_w)
    if abs(mean_w - counted_w) <= MOST_DISAGREEMENT * counted_w:
        return []
    detail = f"GPU of rank {rank}: {counted_w:.1f} W by the counter, {mean_w:.1f} W polled"
    return [Mark(name="energy_doubtful", leg="full", detail=detail)]


def _slowed(rank: int, within: Sequence[Reading]) -> list[Mark]:
    """Clocks lowered while the window was timed, by a power limit or for worse reasons."""
    told = [reading.reasons for reading in within if reading.reasons is not None]
    marks = []
    for name, kinds in SLOWED.items():
        shares = {word: sum(bool(own & bit) for own in told) for bit, word in kinds.items()}
        seen = [f"{word} in {k / len(told):.0%} of the readings" for word, k in shares.items() if k]
        if seen:
            detail = f"GPU of rank {rank}: {', '.join(seen)}"
            marks.append(Mark(name=name, leg="full", detail=detail))
    return marks
