"""Which way a memory operation takes, and what that way carries at most.

Layer: records. Reads and writes no file. Judged by what the machine was probed to be and by the
sourced constants: a GPU or link that is not on file has no nominal rate, and none is borrowed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from commwall.language.translate import tr
from commwall.schema.case import NO_PEER_ACCESS, TRAFFIC, MemoryOperation
from commwall.schema.facts import GpuPeaks, HardwareFacts
from commwall.schema.record import GpuFacts, MachineFacts
from commwall.schema.result import Gap

PathKind = Literal[
    "device", "cache", "ram", "pcie", "nvlink", "pcie_peer", "host_staged", "unknown"
]
Way = Callable[[str], str]
"""A PCIe link in words -> the way over it in words."""
OUTSIDE_CACHES_BYTES = 256 * 2**20
"""From this size on a buffer is several times the L2 cache of the GPUs on file (50 MB in an H100),
and a copy touches two of them. What a smaller one reaches may be the cache's rate [byte].

Source: NVIDIA H100 Tensor Core GPU Architecture, white paper, table of A100 and H100."""


@dataclass(frozen=True)
class MemoryPath:
    """A way, and its nominal rate or why that is not known."""

    kind: PathKind
    words: str
    nominal_bytes_per_s: float | None = None
    """Most that it can carry, counted as `memory_bandwidth_bytes_per_s` counts [byte/s]."""
    unknown: str | None = None
    """Why the nominal rate is not known; None if it is."""


@dataclass(frozen=True)
class Place:
    """Where memory operations run."""

    device: Literal["cpu", "cuda"]
    world_size: int
    machine: MachineFacts
    gaps: tuple[Gap, ...]
    """Of the record: they tell which pairs the driver stages."""


def memory_path(
    operation: MemoryOperation,
    buffer_bytes: int,
    ends: tuple[int | None, int | None],
    place: Place,
    facts: HardwareFacts,
) -> MemoryPath:
    """The way of one memory operation.

    Args:
        operation: which one.
        buffer_bytes: size of a buffer [byte].
        ends: rank, None for all ranks at once, and its peer, None without one.
        place: where it ran.
        facts: of GPUs and links.
    """
    if place.device == "cpu":
        unknown = tr("the nominal rate of a machine's RAM is not on file")
        return MemoryPath("ram", "RAM", unknown=unknown)
    rank, peer = ends
    ranks = range(place.world_size) if rank is None else (rank,)
    ways = {_of_rank(operation, buffer_bytes, (own, peer), place, facts) for own in ranks}
    return ways.pop() if len(ways) == 1 else _unknown(tr("the devices of the ranks differ"))


def _of_rank(
    operation: MemoryOperation,
    buffer_bytes: int,
    ends: tuple[int, int | None],
    place: Place,
    facts: HardwareFacts,
) -> MemoryPath:
    gpus = [place.machine.gpus[i] for i in ends if i is not None and i < len(place.machine.gpus)]
    if len(gpus) != sum(end is not None for end in ends):
        return _unknown(tr("the record does not describe the device"))
    between, counted = TRAFFIC[operation].between, TRAFFIC[operation].counted
    if between == "device":
        return _device_memory(gpus[0], buffer_bytes, facts)
    if between == "host":
        way = _by_a_copy if operation.endswith("pageable") else str
        return _over_pcie("pcie", way, gpus, counted, facts)
    return _between(gpus, ends, place, counted, facts)


def _device_memory(gpu: GpuFacts, buffer_bytes: int, facts: HardwareFacts) -> MemoryPath:
    if buffer_bytes < OUTSIDE_CACHES_BYTES:
        unknown = tr("so small a buffer may stay in the cache")
        return MemoryPath("cache", tr("device memory or its cache"), unknown=unknown)
    peaks = facts.gpus.of(gpu.name)
    if peaks is None or peaks.memory_bytes_per_s is None:
        return MemoryPath("device", tr("device memory"), unknown=_not_on_file(gpu))
    return MemoryPath("device", tr("device memory"), peaks.memory_bytes_per_s.value)


def _between(
    gpus: list[GpuFacts],
    ends: tuple[int, int | None],
    place: Place,
    counted: int,
    facts: HardwareFacts,
) -> MemoryPath:
    """The way between two devices: staged, by NVLink, or by PCIe."""
    rank, peer = ends
    if any(gap.what == NO_PEER_ACCESS.format(rank=rank, peer=peer) for gap in place.gaps):
        return _over_pcie("host_staged", _by_the_host, gpus, counted, facts)
    matrix = place.machine.link_matrix
    untold = tr("the record does not tell how the devices are linked")
    if matrix is None or peer is None:
        return _unknown(untold)
    link = matrix[rank][peer] if max(rank, peer) < min(map(len, (matrix, *matrix))) else ""
    if not link:
        return _unknown(untold)
    links = link.removeprefix("NV")
    if links != link:
        return _over_nvlink(int(links) if links.isdecimal() else 0, gpus, counted, facts)
    return _over_pcie("pcie_peer", partial(_by_peer_access, link), gpus, counted, facts)


def _by_a_copy(pcie: str) -> str:
    return tr("a copy in host memory and {pcie}", pcie=pcie)


def _by_the_host(pcie: str) -> str:
    return tr("host-staged over {pcie}", pcie=pcie)


def _by_peer_access(link: str, pcie: str) -> str:
    return tr("peer access ({link}) over {pcie}", link=link, pcie=pcie)


def _over_nvlink(
    links: int, gpus: list[GpuFacts], counted: int, facts: HardwareFacts
) -> MemoryPath:
    if not links:
        return MemoryPath("nvlink", "NVLink", unknown=tr("the number of links was not told"))
    peaks = {gpu.name: facts.gpus.of(gpu.name) for gpu in gpus}
    known = {_nvlink_of(own, facts) for own in peaks.values()}
    generation, rate = known.pop() if len(known) == 1 else (None, None)
    if rate is None:
        reason = tr(
            "the generation of NVLink of {gpus} or its rate is not on file",
            gpus=tr(" and ").join(peaks),
        )
        words = tr("{nvlink}, {n} links", nvlink="NVLink", n=links)
        return MemoryPath("nvlink", words, unknown=reason)
    nvlink = f"NVLink {generation}"
    words = tr("{nvlink}, {n} links", nvlink=nvlink, n=links)
    return MemoryPath("nvlink", words, counted * links * rate)


def _nvlink_of(own: GpuPeaks | None, facts: HardwareFacts) -> tuple[int | None, float | None]:
    """Generation of a GPU's NVLink and the rate of one link in one direction [byte/s]."""
    if own is None or own.nvlink_generation is None:
        return None, None
    generation = own.nvlink_generation.value
    rate = own.nvlink_link_bytes_per_s or facts.links.nvlink.get(generation)
    return generation, rate.value if rate else None


def _over_pcie(
    kind: PathKind, way: Way, gpus: Iterable[GpuFacts], counted: int, facts: HardwareFacts
) -> MemoryPath:
    """The slower of the devices' PCIe links; `way` says how they are gone over."""
    rates = {}
    for gpu in gpus:
        generation, width = gpu.pcie_generation, gpu.pcie_width
        if generation is None or width is None:
            unknown = tr("{gpu} does not tell its PCIe link", gpu=gpu.name)
            return MemoryPath(kind, way("PCIe"), unknown=unknown)
        words = way(f"PCIe {generation}.0 x{width}")
        lane = facts.links.pcie.get(generation)
        if lane is None:
            reason = tr("the rate of PCIe generation {n} is not on file", n=generation)
            return MemoryPath(kind, words, unknown=reason)
        rates[counted * width * lane.value] = words
    nominal = min(rates)
    return MemoryPath(kind, rates[nominal], nominal)


def _unknown(reason: str) -> MemoryPath:
    return MemoryPath("unknown", tr("unknown"), unknown=reason)


def _not_on_file(gpu: GpuFacts) -> str:
    return tr("{gpu} is not on file (config/facts/gpus.yaml)", gpu=gpu.name)
