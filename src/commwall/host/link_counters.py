"""What the links of GPUs carried between two moments, from NVML's counters.

Layer: host. Reads and writes no file. NVLink is counted in KiB of payload; NVML adds the links of a
GPU up ten times faster than it tells them one by one. PCIe has a rate only. A counter that fell is
either one of 32 bits that began again, which NVML tells by its type, or nonsense.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from commwall.host.gpu_links import MOST_LINKS
from commwall.host.nvml_reader import AskedGpu, merged_gaps
from commwall.schema.result import QUIET_S, Gap

SENT_FIELD, RECEIVED_FIELD = 138, 139
"""NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX (nvml.h), whose scope is a link's number."""
ALL_LINKS = 2**32 - 1
"""Scope that stands for the sum over all links (nvml.h: UINT_MAX)."""
KIB = 2**10
NARROW = 1
"""NVML_VALUE_TYPE_UNSIGNED_INT (nvml.h): a counter of 32 bits, which begins again at 0."""
MEMBERS = {NARROW: "uiVal", 2: "ulVal", 3: "ullVal"}
"""nvmlValueType_t (nvml.h) -> member of nvmlValue_t that holds such a value."""


@dataclass(frozen=True)
class LinkTraffic:
    """What the links of a launch's GPUs carried in a window; tuples are in rank order."""

    nvlink_sent_bytes: tuple[int, ...] | None = None
    """Payload, summed over the links of each GPU [byte]."""
    nvlink_received_bytes: tuple[int, ...] | None = None
    """The same of what came in [byte]."""
    pcie_sent_bytes_per_s: tuple[float, ...] | None = None
    """Mean rate of each GPU in the window, protocol included [byte/s]."""
    pcie_received_bytes_per_s: tuple[float, ...] | None = None
    """The same of what came in [byte/s]."""
    gaps: tuple[Gap, ...] = ()
    """Why what is None is not known."""


class LinkReading(NamedTuple):
    """NVLink counters of one GPU at one moment."""

    begun_ns: int
    """Before they were asked for, CLOCK_MONOTONIC [ns]."""
    ended_ns: int
    """After they had come [ns]."""
    counters_kib: array[int]
    """Sent, received [KiB]."""
    narrow: bool
    """They have 32 bits."""


def has_links(gpu: AskedGpu) -> bool:
    """Whether an NVLink of a GPU is up; why there is none is kept as a refusal."""
    states = [gpu.ask("state", "nvmlDeviceGetNvLinkState", link) for link in range(MOST_LINKS)]
    if any(states):
        return True
    said = gpu.refusals.get("state")
    gpu.refusals["nvlink"] = "no NVLink of the GPU is up" + (f" ({said})" if said else "")
    return False


def read_links(gpu: AskedGpu) -> LinkReading | None:
    """Counters of all links now; None if one was refused, which the GPU then keeps."""
    fields = [(field, ALL_LINKS) for field in (SENT_FIELD, RECEIVED_FIELD)]
    begun_ns = time.monotonic_ns()
    answers = gpu.ask("nvlink", "nvmlDeviceGetFieldValues", fields)
    ended_ns = time.monotonic_ns()
    if answers is None:
        return None
    for answer in answers:
        if answer.nvmlReturn:
            gpu.refused("nvlink", answer.nvmlReturn)
            return None
    types = {answer.valueType for answer in answers}
    if types - MEMBERS.keys():
        gpu.refusals["nvlink"] = f"NVML's link counters have a type that is no count: {types}"
        return None
    counters = array("Q", (getattr(each.value, MEMBERS[each.valueType]) for each in answers))
    return LinkReading(begun_ns, ended_ns, counters, types == {NARROW})


def carried(readings: Sequence[LinkReading], start_ns: int, end_ns: int) -> tuple[int, int] | str:
    """Payload that a GPU sent and received in a window with quiet on both sides [byte].

    Args:
        readings: in time order.
        start_ns: start of the window, CLOCK_MONOTONIC [ns].
        end_ns: its end [ns].

    Returns:
        (sent, received), or why they are not known.
    """
    quiet_ns = int(QUIET_S * 1e9)
    before = next((r for r in reversed(readings) if r.ended_ns <= start_ns), None)
    after = next((r for r in readings if r.begun_ns >= end_ns), None)
    if before is None or before.begun_ns < start_ns - quiet_ns:
        return f"the link counters were not read in the last {QUIET_S:g} s before the window"
    if after is None or after.ended_ns > end_ns + quiet_ns:
        return f"the link counters were not read in the first {QUIET_S:g} s after the window"
    return _difference(before, after)


def _difference(before: LinkReading, after: LinkReading) -> tuple[int, int] | str:
    rises = [_rise(*pair, after.narrow) for pair in
             zip(before.counters_kib, after.counters_kib, strict=True)]  # fmt: skip
    sent, received = rises
    if sent is None or received is None:
        return "a link counter fell"
    return KIB * sent, KIB * received


def _rise(start: int, end: int, narrow: bool) -> int | None:
    """What a counter rose by; None if it fell though it does not begin again."""
    if end >= start:
        return end - start
    return end - start + 2**32 if narrow else None


def gathered(
    nvlink: Sequence[tuple[int, int] | str], pcie: Sequence[tuple[float, float] | str]
) -> LinkTraffic:
    """Traffic of a launch from that of its ranks; a link is known if it is of every rank.

    Args:
        nvlink: of each rank, bytes (sent, received) or why not.
        pcie: of each rank, rates (sent, received) or why not.
    """
    reasons = [
        {**_reasons("nvlink_{}_bytes", one), **_reasons("pcie_{}_bytes_per_s", other)}
        for one, other in zip(nvlink, pcie, strict=True)
    ]
    return LinkTraffic(*_columns(nvlink), *_columns(pcie), merged_gaps(reasons))


def _columns(pairs: Sequence[tuple[Any, Any] | str]) -> tuple[Any, Any]:
    known = [pair for pair in pairs if not isinstance(pair, str)]
    if len(known) < len(pairs):
        return None, None
    sent, received = zip(*known, strict=True)
    return sent, received


def _reasons(field: str, pair: object) -> dict[str, str]:
    ways = ("sent", "received") if isinstance(pair, str) else ()
    return {f"traffic.{field.format(way)}": str(pair) for way in ways}
