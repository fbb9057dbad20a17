"""Slower readings of the GPUs of a launch: performance monitoring, links, state, users.

Layer: host. Reads and writes no file. They have threads of their own, because some calls of
NVML take milliseconds, which the readings of energy could not wait for.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from commwall.host.gpm import QUESTIONS, Interval, Monitor, able, busy_series, mean_rate
from commwall.host.gpu_state import (
    METRICS_OF_STATE,
    PcieLink,
    State,
    link_held_down,
    pcie_link,
    read_state,
    series_of,
    state_found,
)
from commwall.host.gpu_users import Look, look_at_users, users_found
from commwall.host.link_counters import LinkReading, carried, has_links, read_links
from commwall.host.meter import Metered
from commwall.host.nvml_reader import AskedGpu, NvmlReader, merged_gaps
from commwall.schema.case import Leg
from commwall.schema.result import QUIET_S, Gap, Mark, Series

LOOK_PERIOD_S = 0.2
"""GPM wants samples 100 ms apart; the quiet around a known transfer, QUIET_S, needs a look [s]."""
USERS_EVERY = 3
"""Users are read at every third look; states at each, since a short leg holds but two."""
PCIE_PERIOD_S = 0.1
TOLD = (*QUESTIONS, *METRICS_OF_STATE, "contended", "link_degraded")
"""What the looks tell: metrics, and marks that they can give or rule out."""
SENT, RECEIVED = 0, 1
"""NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES (nvml.h)."""
KILO = 1000


class LookReader(NvmlReader):
    """Reads all but energy of the GPUs of a launch.

    Args:
        digests: of the uuids of the GPUs, in rank order.
        mark: which the launch's processes carry; None if there is none.
        root: where /proc hangs; another folder in tests.
        period_s: between two looks [s].
    """

    def __init__(
        self,
        digests: Sequence[str],
        mark: str | None = None,
        root: Path = Path("/"),
        period_s: float = LOOK_PERIOD_S,
    ) -> None:
        self._mark = mark
        self.intervals: tuple[list[Interval], ...] = tuple([] for _ in digests)
        self.links: tuple[list[LinkReading], ...] = tuple([] for _ in digests)
        self.states: tuple[list[State], ...] = tuple([] for _ in digests)
        self.looks: list[Look] = []
        self.pcie_most: tuple[PcieLink | None, ...] = tuple(None for _ in digests)
        super().__init__("gpu-looks", digests, root, period_s)

    def read_gpus(self, gpus: Sequence[AskedGpu]) -> None:
        """Read links, performance counters and states at every tick, users at every third."""
        linked = [has_links(gpu) for gpu in gpus]
        self.pcie_most = tuple(pcie_link(gpu, "Max") for gpu in gpus)
        monitors = [Monitor(gpu) for gpu in gpus]
        try:
            for number in self.ticks():
                for rank, gpu in enumerate(gpus):
                    self._look(rank, gpu, monitors[rank], linked=linked[rank])
                if number % USERS_EVERY == 0:
                    known = frozenset[int]().union(*(look.own for look in self.looks[-1:]))
                    self.looks.append(look_at_users(gpus, self._mark, known))
        finally:
            for monitor in monitors:
                monitor.close()

    def _look(self, rank: int, gpu: AskedGpu, monitor: Monitor, *, linked: bool) -> None:
        if linked and (counted := read_links(gpu)):
            self.links[rank].append(counted)
        if interval := monitor.look():
            self.intervals[rank].append(interval)
        self.states[rank].append(read_state(gpu))

    def found(self, start_ns: int, end_ns: int) -> Metered:
        """What was read in a window of leg `full`."""
        if self.reason:
            return Metered(gaps=tuple(Gap(what=what, reason=self.reason) for what in TOLD))
        marks, gaps = self._users(start_ns, end_ns)
        series, reasons = [], []
        for rank, refusals in enumerate(self.refusals):
            window = (refusals, start_ns, end_ns)
            busy, idle = busy_series(rank, self.intervals[rank], *window)
            state, unknown = state_found(rank, self.states[rank], self.pcie_most[rank], *window)
            series += [*busy, *state.series]
            marks = (*marks, *state.marks)
            reasons.append({**idle, **unknown})
        return Metered(tuple(series), marks, (*gaps, *merged_gaps(reasons)))

    def states_found(self, start_ns: int, end_ns: int, leg: Leg) -> Metered:
        """Clocks and temperatures in any window; what GPUs always refuse, leg `full` says."""
        series, reasons = list[Series](), []
        for rank, (states, refusals) in enumerate(zip(self.states, self.refusals, strict=True)):
            own, absent = series_of(rank, states, refusals, start_ns, end_ns, leg)
            told = any(state.sm_clock_hz is not None for state in states)
            lacks = told and "sm_clock_hz" in absent
            reasons.append({f"clocks of leg {leg}": absent["sm_clock_hz"]} if lacks else {})
            series += own
        return Metered(tuple(series), gaps=merged_gaps(reasons))

    def strangers(self, start_ns: int, end_ns: int) -> tuple[Mark, ...]:
        """Other programs in any window, and beside one that may lie between two looks."""
        return self._users(start_ns, end_ns)[0]

    def doubts(self, start_ns: int, end_ns: int) -> tuple[Gap, ...]:
        """Why other programs cannot be ruled out in any window, though they can at other times."""
        told = any(look.own and None not in look.listed for look in self.looks)
        return self._users(start_ns, end_ns)[1] if told else ()

    def _users(self, start_ns: int, end_ns: int) -> tuple[tuple[Mark, ...], tuple[Gap, ...]]:
        period_ns = round(USERS_EVERY * self._period_s * 1e9)
        beside_ns = period_ns if end_ns - start_ns < 2 * period_ns else 0  # looks may be late
        window = (start_ns - beside_ns, end_ns + beside_ns)
        return users_found(self.looks, self.refusals, *window)

    def links_held_down(self, start_ns: int, end_ns: int) -> tuple[Mark, ...]:
        """PCIe links that never reached their best in a window."""
        pairs = enumerate(zip(self.states, self.pcie_most, strict=True))
        each = (link_held_down(rank, *own, start_ns, end_ns) for rank, own in pairs)
        return tuple(mark for marks in each for mark in marks)

    def nvlink(self, start_ns: int, end_ns: int) -> list[tuple[int, int] | str]:
        """Payload that each rank's GPU sent and received over NVLink [byte], or why not known."""
        return [
            carried(readings, start_ns, end_ns) if readings else refusals.get("nvlink", "not read")
            for readings, refusals in zip(self.links, self.refusals, strict=True)
        ]

    def pcie(self, rank: int, start_ns: int, end_ns: int) -> tuple[float, float] | str:
        """Mean PCIe rate of a rank's GPU in a window with quiet around it, or why not known."""
        quiet_ns = int(QUIET_S * 1e9)
        sent, received = (
            mean_rate(self.intervals[rank], f"pcie_{way}_bytes_per_s", start_ns, end_ns, quiet_ns)
            for way in ("sent", "received")
        )
        if sent is not None and received is not None:
            return sent, received
        unanswered = self.refusals[rank].get("pcie_sent_bytes_per_s")
        return unanswered or f"no looks within {QUIET_S:g} s on both sides of the window"


class PcieRate(NamedTuple):
    """What NVML saw on a GPU's PCIe link in some 20 ms each way."""

    begun_ns: int
    ended_ns: int
    sent_bytes_per_s: float
    received_bytes_per_s: float


class PcieReader(NvmlReader):
    """Reads the PCIe rate of GPUs without performance monitoring; of others nothing.

    Args:
        digests: of the uuids of the GPUs, in rank order.
        root: where /proc hangs; another folder in tests.
        period_s: between two readings [s].
    """

    def __init__(
        self, digests: Sequence[str], root: Path = Path("/"), period_s: float = PCIE_PERIOD_S
    ) -> None:
        self.rates: tuple[list[PcieRate], ...] = tuple([] for _ in digests)
        super().__init__("gpu-pcie", digests, root, period_s)

    def read_gpus(self, gpus: Sequence[AskedGpu]) -> None:
        """Read the rates, each of which takes NVML 20 ms."""
        if all(able(gpu) for gpu in gpus):
            return
        for _ in self.ticks():
            for gpu, rates in zip(gpus, self.rates, strict=True):
                if rate := _pcie_rate(gpu):
                    rates.append(rate)

    def mean(self, rank: int, start_ns: int, end_ns: int) -> tuple[float, float] | None:
        """Mean of the readings that lie wholly within a window [byte/s]; None if none does."""
        within = [r for r in self.rates[rank] if start_ns <= r.begun_ns and r.ended_ns <= end_ns]
        if not within:
            return None
        sent, received = ([rate[place] for rate in within] for place in (2, 3))
        return fmean(sent), fmean(received)


def _pcie_rate(gpu: AskedGpu) -> PcieRate | None:
    begun_ns = time.monotonic_ns()
    sent = gpu.ask("pcie", "nvmlDeviceGetPcieThroughput", SENT)
    received = gpu.ask("pcie", "nvmlDeviceGetPcieThroughput", RECEIVED)
    if sent is None or received is None:
        return None
    return PcieRate(begun_ns, time.monotonic_ns(), sent * KILO, received * KILO)
