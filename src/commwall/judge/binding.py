"""Processors that processes are bound to, by NCCL's log: one alone, or far from the GPU.

Layer: judge. Reads no file. Sets of processors are integers, a bit for each.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from commwall.judge.finding import Finding
from commwall.judge.scene import Pasted, Scene
from commwall.language.translate import listed, tr
from commwall.readers.nccl_log import NcclLog
from commwall.readers.topo import Topology

_RANGE = r"[0-9]{1,5}(?:-[0-9]{1,5})?"
_LIST = rf"{_RANGE}(?:,{_RANGE}){{0,99}}"
_MASK = re.compile(
    r"Setting affinity for GPU ([0-9]{1,3}) to ([0-9a-f]{1,8}(?:,[0-9a-f]{8}){0,63})(?![,0-9a-f])"
)
_NAMED = re.compile(
    rf"Affinity for GPU ([0-9]{{1,3}}) is (?:({_LIST})|empty, ignoring)\. "
    rf"\(GPU affinity = ({_LIST})(?: ; CPU affinity = ({_LIST}))?\)"
)
"""From release 2.28 on; empty where the process may use no processor near the GPU.

Source: NVIDIA NCCL, src/graph/topo.cc, ncclTopoGetCpuAffinity.
"""


class _Bound(NamedTuple):
    """A process."""

    gpu: str
    processors: int
    near: int | None
    """Those near its GPU, where they are told."""


def affinity(scene: Scene) -> Iterator[Finding]:
    """Processes that are bound to a single processor, or to none that is near their GPU."""
    for paste, _ in scene.of(NcclLog):
        bound = [*dict.fromkeys(_bound(paste, scene))]
        single = [one.gpu for one in bound if one.processors.bit_count() == 1]
        if single:
            yield _single(paste, single)
        for one in bound:
            if one.processors and one.near and not one.processors & one.near:
                yield _far(paste, one, one.near)


def _bound(paste: Pasted, scene: Scene) -> Iterator[_Bound]:
    for gpu, mask in _MASK.findall(paste.text):
        yield _Bound(gpu, int(mask.replace(",", ""), 16), _near(scene, gpu))
    for gpu, used, near, allowed in _NAMED.findall(paste.text):
        yield _Bound(gpu, _set(used or allowed), _set(near))


def _near(scene: Scene, gpu: str) -> int | None:
    """Processors near a GPU by the topology; None where none tells, or several differ."""
    words = ((topo.cpu_affinity or {}).get(f"GPU{gpu}") for _, topo in scene.of(Topology))
    told = {word for word in words if word and re.fullmatch(_LIST, word)}
    return _set(told.pop()) if len(told) == 1 else None


def _set(ranges: str) -> int:
    found = 0
    for one in filter(None, ranges.split(",")):
        first, _, last = one.partition("-")
        count = int(last or first) - int(first) + 1
        found |= ((1 << max(count, 0)) - 1) << int(first)
    return found


def _ranges(processors: int) -> str:
    found = []
    while processors:
        first = (processors & -processors).bit_length() - 1
        beyond = ~(processors >> first)
        last = first + (beyond & -beyond).bit_length() - 2
        found.append(f"{first}-{last}" if last > first else f"{first}")
        processors = processors >> (last + 1) << (last + 1)
    return ",".join(found)


def _single(paste: Pasted, gpus: list[str]) -> Finding:
    return Finding(
        rule="cpu_affinity",
        level="warning",
        verdict=tr(
            "the process of GPU {gpus} is bound to one processor",
            gpus=listed(dict.fromkeys(gpus)),
        ),
        means=tr(
            "NCCL's threads and the data loader share it; a launcher's binding is a usual cause of "
            "slow processes"
        ),
        next_step=tr(
            "taskset -pc <pid>; compare with NCCL_IGNORE_CPU_AFFINITY=1 and without the launcher's "
            "binding"
        ),
        evidence=paste.find(f"[Aa]ffinity for GPU {gpus[0]} "),
    )


def _far(paste: Pasted, one: _Bound, near: int) -> Finding:
    return Finding(
        rule="cpu_affinity",
        level="warning",
        verdict=tr(
            "the process of GPU {gpu} is bound to processors {processors}, none of them near this "
            "GPU ({near})",
            gpu=one.gpu,
            processors=_ranges(one.processors),
            near=_ranges(near),
        ),
        means=tr(
            "its host buffers and threads lie across the link between NUMA nodes, which slows "
            "copies with the host, staged traffic and the network; NVLink is not touched"
        ),
        next_step=tr(
            "taskset -pc <pid>; bind each process to its GPU's processors. If no launcher binds, "
            "NCCL and nvidia-smi disagree: look for NCCL_TOPO_FILE and wrong NUMA nodes of the "
            "firmware or a virtual machine"
        ),
        evidence=paste.find(f"[Aa]ffinity for GPU {one.gpu} "),
    )
