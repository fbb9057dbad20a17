"""Which CPUs are near to a device, and binding a process to them for a while.

Layer: workers. Reads `/sys/devices/system/node`, `/sys/bus/pci/devices` and `/proc/self/task`;
writes nothing. Threads are bound, memory stays where it is: what NCCL or the driver has pinned
before is not moved.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import torch

from commwall.workers.outcomes import Unsupported

NODES = Path("/sys/devices/system/node")
DEVICES = Path("/sys/bus/pci/devices")
TASKS = Path("/proc/self/task")


def node_cpus(root: Path = NODES) -> dict[int, frozenset[int]]:
    """CPUs of each NUMA node; nodes without CPUs are left out."""
    texts = {int(path.name.removeprefix("node")): (path / "cpulist").read_text(encoding="ascii")
             for path in sorted(root.glob("node[0-9]*"))}  # fmt: skip
    found = {node: frozenset(listed(text)) for node, text in texts.items()}
    return {node: cpus for node, cpus in sorted(found.items()) if cpus}


def listed(text: str) -> Iterator[int]:
    """Numbers of a list as the kernel writes it: "0-3,8" is 0, 1, 2, 3, 8."""
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def chosen_node(
    asked: int | Literal["near"], device: torch.device, rank: int, nodes: list[int]
) -> int:
    """The node to which a rank is to be bound.

    On a CPU all nodes are as near, and ranks are dealt out to them in turn.

    Args:
        asked: its number, or the node near to the rank's device.
        device: of the rank.
        rank: number of the process.
        nodes: that the machine has.

    Raises:
        Unsupported: if the machine has no such node, or does not tell which is near.
    """
    if asked != "near":
        if asked in nodes:
            return asked
        raise _no_node(f"node {asked}", nodes)
    if device.type == "cpu":
        return nodes[rank % len(nodes)]
    near = _node_of(device)
    if near in nodes:
        return near
    raise _no_node(f"node {near} beside {device}", nodes)


def _node_of(device: torch.device) -> int:
    """Node of a GPU as the kernel tells it; -1 where it does not know."""
    facts = torch.cuda.get_device_properties(device)
    place = f"{facts.pci_domain_id:04x}:{facts.pci_bus_id:02x}:{facts.pci_device_id:02x}.0"
    try:
        return int((DEVICES / place / "numa_node").read_text(encoding="ascii"))
    except OSError:
        return -1


@contextmanager
def bound_to(cpus: frozenset[int]) -> Iterator[None]:
    """Bind all threads that this process has now to these CPUs, and let them go afterwards."""
    before = {}
    for task in [int(path.name) for path in TASKS.iterdir()]:
        with suppress(ProcessLookupError):  # a thread may end meanwhile
            before[task] = os.sched_getaffinity(task)
            os.sched_setaffinity(task, cpus)
    try:
        yield
    finally:
        for task, own in before.items():
            with suppress(ProcessLookupError):
                os.sched_setaffinity(task, own)


def _no_node(found: str, nodes: list[int]) -> Unsupported:
    return Unsupported(
        "a process cannot be bound to that node",
        where="mitigation.numa",
        found=found,
        expected=f"one of: {', '.join(map(str, nodes))}",
        next_step="name a node that the machine has, or take the case out",
    )
