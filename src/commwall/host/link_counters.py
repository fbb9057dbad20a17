"""What the links of GPUs carried between two moments, from NVML's counters.

Layer: host. Reads and writes no file. NVLink is counted by link, in KiB of payload; PCIe has a
rate only. A counter that fell is either one of 32 bits that began again, which NVML tells by its
type, or nonsense.
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
"""NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX (nvml.h), whose scope is the link's number."""
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
    """Sent on each link, then received on each link [KiB]."""
    narrow: bool
    """They have 32 bits."""


def active_links(gpu: AskedGpu) -> tuple[int, ...]:
    """Numbers of the NVLinks of a GPU that are up; why there is none is kept as a refusal."""
    states = {
        link: gpu.ask("state", "nvmlDeviceGetNvLinkState", link) for link in range(MOST_LINKS)
    }
    links = tuple(link for link, state in states.items() if state)
    if not links:
        said = gpu.refusals.get("state")
        gpu.refusals["nvlink"] = "no NVLink of the GPU is up" + (f" ({said})" if said else "")
    return links


def read_links(gpu: AskedGpu, links: Sequence[int]) -> LinkReading | None:
    """Counters of these links now; None if one was refused, which the GPU then keeps."""
    if not links:
        return None
    fields = [(field, link) for field in (SENT_FIELD, RECEIVED_FIELD) for link in links]
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
    known = [rise for rise in rises if rise is not None]
    if len(known) < len(rises):
        return f"{len(rises) - len(known)} of {len(rises)} link counters fell"
    half = len(known) // 2
    return KIB * sum(known[:half]), KIB * sum(known[half:])


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
