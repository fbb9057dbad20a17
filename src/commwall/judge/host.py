"""Processors, NUMA nodes and parts of GPUs.

Layer: judge. Reads no file.
"""

from collections.abc import Iterator

from commwall.judge.finding import Finding
from commwall.judge.scene import Scene
from commwall.language.translate import listed, tr
from commwall.readers.cpu_topology import CpuTopology
from commwall.readers.gpu_list import GpuList


def nodes(scene: Scene) -> Iterator[Finding]:
    """NUMA nodes, sockets, and nodes that lack one of memory and processors."""
    for paste, cpu in scene.of(CpuTopology):
        evidence = paste.find(r"(?i)numa|^available:")
        remote = cpu.cpu_only_nodes or ()
        if remote:
            names = listed(map(str, remote))
            yield Finding(
                rule="nodes_without_memory",
                level="warning",
                verdict=tr("NUMA node(s) {nodes} have processors and no memory", nodes=names),
                means=tr(
                    "host buffers of GPUs and processes there always lie on another node: copies "
                    "and staged traffic cross the processor's fabric"
                ),
                next_step=tr(
                    "fit memory to every node (DIMMs in all channels), or bind processes to nodes "
                    "that have some"
                ),
                evidence=paste.find(rf"^node {remote[0]} size: 0 MB") or evidence,
            )
            continue
        yield Finding(
            rule="numa",
            level="note",
            verdict=_layout(cpu),
            means=_meaning(cpu),
            next_step=None if (cpu.numa_nodes or 1) < 2 else "nvidia-smi topo -m (CPU Affinity)",
            evidence=evidence or paste.find(r"\S"),
        )


def _layout(cpu: CpuTopology) -> str:
    if (cpu.numa_nodes or 0) < 1:
        return tr("the system has no NUMA nodes")
    told = tr("{n} NUMA node(s)", n=cpu.numa_nodes)
    if cpu.sockets:
        told = tr("{n} NUMA node(s) in {sockets} socket(s)", n=cpu.numa_nodes, sockets=cpu.sockets)
    with_cpus = cpu.nodes_with_cpus
    if with_cpus is not None and with_cpus != cpu.numa_nodes:
        return tr("{nodes}, {n} of them with processors", nodes=told, n=with_cpus)
    return told


def _meaning(cpu: CpuTopology) -> str:
    if (cpu.numa_nodes or 0) < 1:
        return tr("there is no affinity to get wrong")
    if cpu.memory_only_nodes or (cpu.nodes_with_cpus or 0) < (cpu.numa_nodes or 0):
        return tr(
            "nodes without processors are GPU memory or empty (Grace Hopper): they are no sockets"
        )
    if (cpu.numa_nodes or 0) > (cpu.sockets or cpu.numa_nodes or 0):
        return tr(
            "each socket is divided into nodes: bind each process to its GPU's node, not socket"
        )
    if (cpu.numa_nodes or 0) > 1:
        return tr("a process should run on its GPU's node, else its copies cross the socket link")
    return tr("all processors are equally near to all memory")


def partitions(scene: Scene) -> Iterator[Finding]:
    """GPUs divided into instances, and how many there are."""
    for paste, found in scene.of(GpuList):
        parts = [gpu for gpu in found.gpus or () if gpu.mig_devices]
        if parts:
            command = f"nvidia-smi -i {parts[0].index} -mig 0"
            yield Finding(
                rule="mig",
                level="warning",
                verdict=tr(
                    "{gpus} is divided into {n} instances (MIG); the machine has {count} GPU(s)",
                    gpus=listed(f"GPU{gpu.index}" for gpu in parts),
                    n=found.mig_instances,
                    count=found.gpu_count,
                ),
                means=tr(
                    "instances reach neither NVLink nor each other's memory: they do not count as "
                    "GPUs, and training over several goes through host memory if at all"
                ),
                next_step=tr("as root: {command}", command=command),
                evidence=paste.find(r"^[ \t]*MIG "),
            )
        elif not found.partial:
            names = dict.fromkeys(gpu.name for gpu in found.gpus or ())
            yield Finding(
                rule="gpus",
                level="note",
                verdict=tr("{n} GPU(s): {gpus}", n=found.gpu_count, gpus=listed(names)),
                means=tr("whether and how they are linked this list does not say"),
                next_step="nvidia-smi topo -m; nvidia-smi nvlink -s",
                evidence=paste.find(r"GPU 0: "),
            )
