"""Boards of switches, on which NVLink joins all GPUs alike: GPUs and links that are missing there.

Layer: judge. Reads no file.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from commwall.judge.finding import Evidence, Finding
from commwall.judge.scene import Pasted, Scene
from commwall.language.translate import clauses, listed, tr, trn
from commwall.readers.topo import Topology

_NEXT = "nvidia-smi nvlink -s; dmesg | grep -i xid; systemctl status nvidia-fabricmanager"


def off_the_fabric(scene: Scene) -> Iterator[Finding]:
    """A GPU without NVLink where all others have it between each other."""
    for paste, topo in scene.of(Topology):
        lost = lost_gpus(topo)
        if lost:
            yield Finding(
                rule="gpu_off_the_fabric",
                level="fault",
                verdict=trn(
                    "{gpus} is not on the NVLink fabric that joins all other GPUs",
                    "{gpus} are not on the NVLink fabric that joins all other GPUs",
                    len(lost),
                    gpus=listed(lost),
                ),
                means=tr(
                    "this is a defect of the GPU, its links or the fabric manager, not a machine "
                    "without NVLink: a job over all GPUs fails or runs at PCIe speed; until it is "
                    "repaired leave the GPU out (CUDA_VISIBLE_DEVICES)"
                ),
                next_step=tr(
                    "nvidia-smi nvlink -s -i {gpu}; nvidia-smi -q -i {gpu} (section Fabric); dmesg "
                    "| grep -i xid; systemctl status nvidia-fabricmanager",
                    gpu=lost[0][3:],
                ),
                evidence=rows_of(paste, lost),
            )


def lost_gpus(topo: Topology) -> list[str]:
    """GPUs without NVLink where all others have it between each other."""
    return [a.partition(":")[2] for a in topo.anomalies if a.startswith("gpu_without_nvlink")]


def _fewer_links(topo: Topology) -> list[str]:
    """GPUs whose every pair has fewer NVLinks than the best pair."""
    counts = {pair: int(word[2:]) for pair, word in (topo.links or {}).items() if word[:2] == "NV"}
    most = max(counts.values())
    best = {gpu for pair, n in counts.items() if n == most for gpu in pair.split("-")}
    return [gpu for gpu in topo.gpus or () if gpu not in best]


def switched(topo: Topology, scene: Scene) -> bool:
    """Whether switches join the GPUs: by their kind; else because the links of a GPU's pairs add up
    to more than any GPU has, which each pair has in full by a switch only."""
    if scene.gpu:
        return scene.gpu.reach == "switch"
    most = max(gpu.nvlinks.value for gpu in scene.facts.gpus.values() if gpu.nvlinks)
    counts = Counter[str]()
    for pair, word in (topo.links or {}).items():
        if word.startswith("NV"):
            counts.update(dict.fromkeys(pair.split("-"), int(word[2:])))
    return max(counts.values()) > most


def unequal(paste: Pasted, topo: Topology, told: list[str]) -> Finding:
    """Pairs that differ although switches join all GPUs alike.

    Args:
        paste: the topology's file.
        topo: the topology.
        told: what joins the pairs, in clauses.
    """
    fewer = _fewer_links(topo)
    which = trn(
        "{gpus} has fewer links than the others",
        "{gpus} have fewer links than the others",
        len(fewer),
        gpus=listed(fewer),
    )
    return Finding(
        rule="links",
        level="warning",
        verdict=clauses([*told, which] if fewer else told),
        means=tr(
            "switches join all GPUs of such a board alike, so that links are down: a job over all "
            "GPUs runs at the speed of the GPU that has the fewest"
        ),
        next_step=_NEXT,
        evidence=rows_of(paste, fewer or topo.gpus or ()),
    )


def unseen(paste: Pasted, topo: Topology, told: str) -> Finding:
    """GPUs of boards with switches, none of which has NVLink.

    Args:
        paste: the topology's file.
        topo: the topology.
        told: how the pairs are joined instead.
    """
    return Finding(
        rule="links",
        level="warning",
        verdict=told,
        means=tr(
            "these GPUs are made for NVLink through switches, and none of it is to be seen: the "
            "fabric manager does not run, a virtual machine was given GPUs without their switches, "
            "GPUs are divided (MIG), or the driver was told to leave NVLink off"
        ),
        next_step=_NEXT,
        evidence=rows_of(paste, topo.gpus or (), most=2),
    )


def rows_of(paste: Pasted, names: Sequence[str], *, most: int = 3) -> tuple[Evidence, ...]:
    """The rows of some devices."""
    found = (paste.find(rf"^[ \t]*{name}[ \t]+(?:X|NV|P[IXH]|NODE|S[YO])") for name in names)
    return tuple(itertools.chain.from_iterable(itertools.islice(found, most)))
