"""The bound of the way that a run took, and how it is known which one that was.

Layer: judge. Reads no file. In order: NCCL's log in the same file, a log beside it, the topology,
what the GPUs can do at all. A rate above what PCIe carries proves NVLink; a rate that is a small
part of NVLink's on a board of switches denies it.
"""

from dataclasses import dataclass
from typing import Literal

from commwall.judge.facts import LANES, GpuLinks
from commwall.judge.rows import operation_of
from commwall.judge.scene import Pasted, Scene, names_in
from commwall.language.translate import tr, tr_later
from commwall.readers.nccl_log import NcclLog
from commwall.readers.nccl_tests import NcclTest
from commwall.readers.topo import Topology
from commwall.schema.units import rate_text

Way = Literal["nvlink", "pcie", "host memory", "network", "not nvlink"]
_OF_LOG: dict[str, Way] = {"nvlink": "nvlink", "shm": "host memory", "net": "network"}
_REDUCING_GENERATION = 4
"""Of NVLink, from which on its switches reduce (NVLS): Hopper's. Source: NVIDIA NCCL, NVLS."""
_BESIDE = tr_later("NCCL's log beside it, if it is of the same run")
_OF_WAY: dict[Way, str] = {
    "host memory": tr_later("way through host memory"),
    "network": tr_later("way to the network stack"),
}
"""Way -> what the rate of the slot is the most of."""


@dataclass(frozen=True)
class Bound:
    """What a way carries at most."""

    path: Way
    what: str
    """In words, with whose rate it is."""
    bytes_per_s: float
    """Of busbw with a ring: the way's nominal rate in one direction [byte/s]."""
    most_bytes_per_s: float
    """Of busbw with the best algorithm [byte/s]."""
    why: str
    """How the way is known."""
    source: str
    ranks: int | None = None
    switched: bool = False
    """Whether switches join the GPUs: then a low share of the rate is a sign of illness."""

    def wire_of(self, busbw_bytes_per_s: float) -> float:
        """What each GPU sends when the switch reduces [byte/s].

        Of n GPUs each sends its whole buffer for the reduction and the n-th part that it reduced:
        (n + 1) / n of the buffer, where a ring's busbw counts 2 (n - 1) / n.

        Source: counted from the algorithm (multicast reduction by the switch); ours.
        """
        if self.ranks is None or self.ranks < 2:
            return busbw_bytes_per_s
        return busbw_bytes_per_s * (self.ranks + 1) / (2 * (self.ranks - 1))


def bound_of(paste: Pasted, test: NcclTest, rate: float, scene: Scene) -> Bound | None:
    """The bound of a run; None where nothing on file says it.

    Args:
        paste: the run's file.
        test: the run: its operation and GPUs.
        rate: its bus bandwidth [byte/s].
        scene: everything else.
    """
    gpu = gpu_of(paste, scene)
    if gpu is None:
        return None
    own = _own_way(paste)
    if own and own != "nvlink":
        return _slow_way(gpu, own, tr("NCCL's log in the same file"), scene)
    if gpu.nvlink_bytes_per_s is None:
        return _slow_way(gpu, "pcie", tr("these GPUs have no NVLink"), scene)
    if own:
        return _nvlink(gpu, test, scene, tr("NCCL's log in the same file"))
    slot = scene.facts.slot_of(gpu)
    if slot is None:
        return _nvlink(gpu, test, scene, tr("NVLink is how these GPUs are joined"))
    if rate > slot.bytes_per_s:
        return _nvlink(gpu, test, scene, tr("faster than PCIe carries, so NVLink"))
    return _below_pcie(gpu, rate, test, scene)


def fitting_pcie(rate: float, gpu: GpuLinks | None, scene: Scene) -> str:
    """Which PCIe links a rate fits, as a clause that hints at them; empty where none does.

    Args:
        rate: [byte/s].
        gpu: links are no newer than it, where that is on file.
        scene: rates of links.
    """
    newest = gpu.pcie_generation.value if gpu and gpu.pcie_generation else None
    limits = scene.facts.thresholds
    low, high = limits.least_pcie_share.value, limits.most_pcie_share.value
    found = [
        f"{generation}.0 x{lanes}"
        for generation in sorted(scene.facts.links.pcie)
        if generation <= (newest or generation)
        for lanes in (16, 8, 4)
        if low <= rate / (scene.facts.pcie_bytes_per_s(generation, lanes) or 1) <= high
    ]
    if not found:
        return ""
    return tr("it would fit PCIe {links} (a hint, no proof)", links=tr(" or ").join(found))


def gpu_of(paste: Pasted, scene: Scene) -> GpuLinks | None:
    """What is on file of a run's GPUs: those that its file names, else those of all files."""
    return scene.facts.gpu_of(tuple(names_in(paste)) or scene.gpu_names)


def _own_way(paste: Pasted) -> Way | None:
    """The way that NCCL's log in the same file says."""
    found = [r.intra_node_path for r in paste.readings if isinstance(r, NcclLog)]
    return _OF_LOG.get(found[0] or "") if found else None


def _way_beside(scene: Scene) -> Way | None:
    """The way that all logs say: they may be of other runs, so it counts only where a run's own
    rate does not deny it."""
    ways = {_OF_LOG.get(log.intra_node_path or "") for _, log in scene.of(NcclLog)}
    return ways.pop() if len(ways) == 1 else None


def _nvlink(gpu: GpuLinks, test: NcclTest, scene: Scene, why: str) -> Bound:
    assert gpu.nvlink_bytes_per_s is not None
    rate, what = gpu.nvlink_bytes_per_s.value, tr("NVLink per direction")
    if pair := _pair_links(scene, gpu):
        own = gpu.nvlinks.value if gpu.nvlinks else "?"
        rate, what = rate * pair[0], tr("NVLink ({n} of {all}) per direction", n=pair[1], all=own)
    return Bound(
        path="nvlink",
        what=what,
        bytes_per_s=rate,
        most_bytes_per_s=rate * _gain_of_switch(gpu, test),
        why=why,
        switched=gpu.reach == "switch",
        source=gpu.nvlink_bytes_per_s.source,
        ranks=test.nranks,
    )


def _gain_of_switch(gpu: GpuLinks, test: NcclTest) -> float:
    """How many times the links' rate busbw may be, by reduction in the switch: see `wire_of`.

    Of an all-reduce only. Of a gather, a scatter or an exchange some GPU must receive or send all
    that busbw counts, whether the switch copies and reduces or not. An operation that is not told
    may be one, and GPUs whose generation is not on file may have such switches.

    Source: counted from the algorithms; ours.
    """
    generation = gpu.nvlink_generation.value if gpu.nvlink_generation else _REDUCING_GENERATION
    reduces = gpu.reach == "switch" and generation >= _REDUCING_GENERATION
    if not reduces or test.nranks is None or operation_of(test) not in ("all_reduce", ""):
        return 1.0
    return max(1.0, 2 * (test.nranks - 1) / (test.nranks + 1))


def _pair_links(scene: Scene, gpu: GpuLinks) -> tuple[float, int] | None:
    """Share and number of a GPU's links that join two GPUs, where the topology has just two."""
    for _, topo in scene.of(Topology):
        word = topo.best_gpu_link or ""
        if topo.gpu_count == 2 and word.startswith("NV") and gpu.nvlinks:
            return int(word[2:]) / gpu.nvlinks.value, int(word[2:])
    return None


def _slow_way(gpu: GpuLinks, path: Way, why: str, scene: Scene) -> Bound | None:
    slot = scene.facts.slot_of(gpu)
    if slot is None:
        return None
    return Bound(
        path=path,
        what=tr(
            "PCIe {generation}.0 x{lanes} per direction, the most of the {way}",
            generation=slot.generation,
            lanes=LANES,
            way=tr(_OF_WAY[path]) if path in _OF_WAY else tr("way"),
        ),
        bytes_per_s=slot.bytes_per_s,
        most_bytes_per_s=slot.bytes_per_s,
        why=why,
        source=slot.source,
    )


def _below_pcie(gpu: GpuLinks, rate: float, test: NcclTest, scene: Scene) -> Bound | None:
    """A rate that both NVLink and PCIe could give."""
    assert gpu.nvlink_bytes_per_s is not None
    nominal, beside = gpu.nvlink_bytes_per_s.value, _way_beside(scene)
    share = rate / nominal
    low = gpu.reach == "switch" and share < scene.facts.thresholds.poor_share_of_nvlink.value
    if beside and (beside != "nvlink" or not low):
        if beside == "nvlink":
            return _nvlink(gpu, test, scene, tr(_BESIDE))
        return _slow_way(gpu, beside, tr(_BESIDE), scene)
    if low:
        part = f"{share:.0%}"
        why = tr(
            "not NVLink: only {share} of its {rate}, which no healthy board shows; host memory, "
            "PCIe or the network stack (or NVLink held back by NCCL_MAX_CTAS)",
            share=part,
            rate=rate_text(nominal),
        )
        return _slow_way(gpu, "not nvlink", why, scene)
    if gpu.reach == "bridge" and (test.nranks or 0) > 2:
        why = tr("a bridge joins pairs only: a ring of more than two GPUs leaves it")
        return _slow_way(gpu, "pcie", why, scene)
    if _below_one_link(gpu, rate, scene):
        why = tr(
            "not NVLink: less than one of its links gives; host memory, PCIe or the network stack, "
            "or no ring of links joins just these GPUs"
        )
        return _slow_way(gpu, "not nvlink", why, scene)
    return _slow_way(gpu, "pcie", tr("NVLink or PCIe, this file does not tell"), scene)


def _below_one_link(gpu: GpuLinks, rate: float, scene: Scene) -> bool:
    """Whether GPUs that are joined without a switch would exchange faster over a single link."""
    if gpu.reach != "direct" or gpu.nvlinks is None or gpu.nvlink_bytes_per_s is None:
        return False
    share = scene.facts.thresholds.usual_share_of_nvlink.value
    return rate < share * gpu.nvlink_bytes_per_s.value / gpu.nvlinks.value
