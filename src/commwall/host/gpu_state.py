"""Clocks, temperature and PCIe link of a GPU under load, and what is wrong with them.

Layer: host. Reads and writes no file. A GPU lowers its PCIe generation while it is idle, so that
only what is seen while it works tells of its slot. A slot that is always narrow or slow is its own
best: NVML calls no more possible, and nothing is marked.
"""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from commwall.host.meter import Metered
from commwall.host.nvml_reader import LEAST_ANSWERED, NOT_LOOKED_AT, AskedGpu, Refusals
from commwall.schema.case import Leg
from commwall.schema.metrics import METRICS
from commwall.schema.result import Mark, Series

MHZ = 1e6
SM_CLOCK, MEMORY_CLOCK, TEMPERATURE_SENSOR = 1, 2, 0
"""NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU (nvml.h)."""
METRICS_OF_STATE = ("sm_clock_hz", "memory_clock_hz", "temperature_c")


class PcieLink(NamedTuple):
    """How fast a GPU's PCIe link runs."""

    generation: int
    lanes: int


class State(NamedTuple):
    """One GPU at one moment; what was refused is None."""

    time_ns: int
    """CLOCK_MONOTONIC [ns]."""
    sm_clock_hz: float | None
    memory_clock_hz: float | None
    temperature_c: float | None
    pcie: PcieLink | None


def read_state(gpu: AskedGpu) -> State:
    """The state now."""
    return State(
        time.monotonic_ns(),
        _clock_hz(gpu, "sm_clock_hz", SM_CLOCK),
        _clock_hz(gpu, "memory_clock_hz", MEMORY_CLOCK),
        gpu.ask("temperature_c", "nvmlDeviceGetTemperature", TEMPERATURE_SENSOR),
        pcie_link(gpu, "Curr"),
    )


def pcie_link(gpu: AskedGpu, which: str) -> PcieLink | None:
    """The link as it runs (`Curr`), or as GPU and slot allow (`Max`); None if not told."""
    generation = gpu.ask("link_degraded", f"nvmlDeviceGet{which}PcieLinkGeneration")
    lanes = gpu.ask("link_degraded", f"nvmlDeviceGet{which}PcieLinkWidth")
    return PcieLink(generation, lanes) if generation and lanes else None


def state_found(
    rank: int,
    states: Sequence[State],
    most: PcieLink | None,
    refusals: Refusals,
    start_ns: int,
    end_ns: int,
) -> tuple[Metered, dict[str, str]]:
    """What the states of one GPU say of a window of leg `full`.

    Args:
        rank: process that used the GPU.
        states: in time order.
        most: its PCIe link as GPU and slot allow.
        refusals: of the GPU.
        start_ns: start of the window, CLOCK_MONOTONIC [ns].
        end_ns: its end [ns].

    Returns:
        Series and marks, and what is absent with its reason.
    """
    series, absent = series_of(rank, states, refusals, start_ns, end_ns, "full")
    within = [state.pcie for state in states if start_ns <= state.time_ns <= end_ns]
    links = [link for link in within if link]
    marks = _degraded(rank, links, most) if most else ()
    if not marks and (most is None or not links or None in within):
        absent["link_degraded"] = _why(refusals if within else {}, "link_degraded")
    return Metered(series, marks), absent


def series_of(
    rank: int,
    states: Sequence[State],
    refusals: Mapping[str, str],
    start_ns: int,
    end_ns: int,
    leg: Leg,
) -> tuple[tuple[Series, ...], dict[str, str]]:
    """Clocks and temperature of one GPU in a window of a leg, and what is absent with its reason.

    Args:
        rank: process that used the GPU.
        states: in time order.
        refusals: of the GPU.
        start_ns: start of the window, CLOCK_MONOTONIC [ns].
        end_ns: its end [ns].
        leg: that was timed in it.
    """
    within = [state for state in states if start_ns <= state.time_ns <= end_ns]
    found = (_series(rank, metric, within, leg) for metric in METRICS_OF_STATE)
    series = tuple(own for own in found if own)
    known = {own.metric for own in series}
    unknown = (metric for metric in METRICS_OF_STATE if metric not in known)
    why = refusals if within else {}
    return series, {metric: _why(why, metric) for metric in unknown}


def link_held_down(
    rank: int, states: Sequence[State], most: PcieLink | None, start_ns: int, end_ns: int
) -> tuple[Mark, ...]:
    """A PCIe link that never reached its best in a window in which the GPU worked now and then."""
    within = [state.pcie for state in states if start_ns <= state.time_ns <= end_ns]
    links = [link for link in within if link]
    if most is None or most in links:
        return ()
    return _degraded(rank, links, most)


def _clock_hz(gpu: AskedGpu, metric: str, clock: int) -> float | None:
    found = gpu.ask(metric, "nvmlDeviceGetClockInfo", clock)
    return None if found is None else found * MHZ


def _series(rank: int, metric: str, within: Sequence[State], leg: Leg) -> Series | None:
    """Values of one metric; None if it was too often refused to speak for the window."""
    found = (getattr(state, metric) for state in within)
    values = tuple(value for value in found if value is not None)
    if not values or len(values) < LEAST_ANSWERED * len(within):
        return None
    unit = METRICS[metric].unit
    return Series(metric=metric, unit=unit, leg=leg, rank=rank, values=values)


def _degraded(rank: int, links: Sequence[PcieLink], most: PcieLink) -> tuple[Mark, ...]:
    """A link that ran below what GPU and slot allow while the window was timed."""
    low = [each for each in links if each.generation < most.generation or each.lanes < most.lanes]
    if not low:
        return ()
    worst = min(low)
    detail = (
        f"GPU of rank {rank}: PCIe generation {worst.generation} of {most.generation} with "
        f"{worst.lanes} of {most.lanes} lanes, below its best in {len(low) / len(links):.0%} "
        "of the readings"
    )
    return (Mark(name="link_degraded", leg="full", detail=detail),)


def _why(refusals: Mapping[str, str], what: str) -> str:
    return refusals.get(what, NOT_LOOKED_AT)
