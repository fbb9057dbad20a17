"""What the ranks run in the tests of the emulated link and of the known transfer.

Each rank writes `<rank>.json`.

`python rank_programs.py PROGRAM RANK FOLDER`
"""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from commwall.host.loopback import LoopbackSampler
from commwall.schema.treatment import EmulatedLink, Label
from commwall.workers import links
from commwall.workers.known_transfer import known_transfer

RANKS = 2
RATE = 20e6
LATENCY_S = 2e-3
COUNT = 250_000  # float32 values: 1 MB, 50 ms at RATE
LABEL = Label(title="test", stands_for="a test", does_not_cover="anything else")

SHAPED_RATE = 50e6
SHAPED_COUNT = 2**21  # float32 values: 8 MiB


def join(folder: Path, rank: int, rate: float, latency_s: float) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    store = dist.FileStore(str(folder / "store"), RANKS)
    link = EmulatedLink(label=LABEL, bandwidth_bytes_per_s=rate, latency_s=latency_s)
    backend = links.register(link)
    timeout = timedelta(seconds=20)
    dist.init_process_group(backend, store=store, rank=rank, world_size=RANKS, timeout=timeout)


def seconds(operation: Callable[[], object]) -> float:
    """Shortest of three runs, each begun together."""
    return min(_once(operation) for _ in range(3))


def _once(operation: Callable[[], object]) -> float:
    dist.barrier()
    start_ns = time.monotonic_ns()
    operation()
    return (time.monotonic_ns() - start_ns) / 1e9


def operations(rank: int) -> dict[str, tuple[Callable[[], object], Callable[[], bool]]]:
    """Every delayed operation on 1 MB, with a look at its result."""
    whole, half = torch.empty(COUNT), torch.empty(COUNT // 2)
    halves = [torch.empty(COUNT // 2) for _ in range(RANKS)]
    other = 1 - rank

    def reset() -> None:
        whole.fill_(rank + 1.0)
        half.fill_(rank + 1.0)
        for part in halves:
            part.fill_(rank + 1.0)

    def fresh(operation: Callable[[], object]) -> Callable[[], object]:
        def run() -> None:
            reset()
            operation()

        return run

    def holds(tensor: torch.Tensor, *values: float) -> bool:
        parts = tensor.chunk(len(values))
        return all(bool((part == v).all()) for part, v in zip(parts, values, strict=True))

    def list_to(root: int) -> Any:
        return halves if rank == root else None

    def exchange() -> None:
        received = torch.empty_like(half)
        works = [dist.isend(half, other), dist.irecv(received, other)]
        for work in works:
            work.wait()
        half.copy_(received)

    def lone_send() -> None:
        dist.send(whole, 1) if rank == 0 else dist.recv(whole, 0)

    return {
        "all_reduce": (fresh(lambda: dist.all_reduce(whole)), lambda: holds(whole, 3)),
        "broadcast": (fresh(lambda: dist.broadcast(whole, 1)), lambda: holds(whole, 2)),
        "reduce": (
            fresh(lambda: dist.reduce(whole, 0)),
            lambda: rank == 1 or holds(whole, 3),
        ),
        "all_gather": (
            fresh(lambda: dist.all_gather(halves, half)),
            lambda: holds(halves[0], 1) and holds(halves[1], 2),
        ),
        "all_gather_into_tensor": (
            fresh(lambda: dist.all_gather_into_tensor(whole, half)),
            lambda: holds(whole, 1, 2),
        ),
        "reduce_scatter": (
            fresh(lambda: dist.reduce_scatter(half, halves)),
            lambda: holds(half, 3),
        ),
        "reduce_scatter_tensor": (
            fresh(lambda: dist.reduce_scatter_tensor(half, whole)),
            lambda: holds(half, 3),
        ),
        "all_to_all_single": (
            fresh(lambda: dist.all_to_all_single(whole, torch.full((COUNT,), rank + 1.0))),
            lambda: holds(whole, 1, 2),
        ),
        "gather": (
            fresh(lambda: dist.gather(half, list_to(0), 0)),
            lambda: rank == 1 or (holds(halves[0], 1) and holds(halves[1], 2)),
        ),
        "scatter": (
            fresh(lambda: dist.scatter(half, list_to(0), 0)),
            lambda: holds(half, 1),
        ),
        "send": (fresh(lone_send), lambda: holds(whole, 1)),
        "crossing_sends": (fresh(exchange), lambda: holds(half, other + 1)),
        "barrier": (dist.barrier, lambda: True),
    }


def timed_operations(rank: int) -> dict[str, Any]:
    found = {}
    for name, (operation, right) in operations(rank).items():
        found[name] = {"seconds": seconds(operation), "right": right()}
    return found


def queued(count: int) -> list[float]:
    """Ends of operations asked for at once, after the first was asked for [s]."""
    tensors = [torch.ones(COUNT) for _ in range(count)]
    dist.barrier()
    dist.group.WORLD.counters.reset()
    start_ns = time.monotonic_ns()
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    ends = []
    for work in works:
        work.wait()
        ends.append((time.monotonic_ns() - start_ns) / 1e9)
    return ends


def late(rank: int) -> dict[str, float]:
    """Rank 1 asks 100 ms after rank 0."""
    tensor = torch.ones(COUNT)
    dist.barrier()
    start_ns = time.monotonic_ns()
    time.sleep(0.1 * rank)
    dist.all_reduce(tensor)
    end_ns = time.monotonic_ns()
    return {"seconds": (end_ns - start_ns) / 1e9, "end_s": end_ns / 1e9}


def hand_over(rank: int) -> list[str]:
    """Threads that hand what is sent and received to gloo."""
    world, threads = dist.group.WORLD, set()
    inner = world._inner

    class Watched:
        def __getattr__(self, name: str) -> Any:
            if name in ("send", "recv"):
                threads.add(threading.current_thread().name)
            return getattr(inner, name)

    world._inner = Watched()
    received = torch.empty(COUNT)
    for work in (dist.isend(torch.ones(COUNT), 1 - rank), dist.irecv(received, 1 - rank)):
        work.wait()
    world._inner = inner
    return sorted(threads)


def refusal(operation: Callable[[], object]) -> str:
    try:
        operation()
    except NotImplementedError as error:
        return str(error)
    return ""


def trained(rank: int, group: Any) -> list[float]:
    """Weights after three DDP steps over several buckets."""
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(6)])
    ddp = DistributedDataParallel(model, process_group=group, bucket_cap_mb=0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.rand(8, 64, generator=torch.Generator().manual_seed(rank))
    for _ in range(3):
        optimizer.zero_grad()
        ddp(data).square().sum().backward()
        optimizer.step()
    return [float(p.double().sum()) for p in model.parameters()]


def link(rank: int, folder: Path) -> dict[str, Any]:
    """All that is asked of the emulated link, but its end."""
    join(folder, rank, RATE, LATENCY_S)
    world = dist.group.WORLD
    found: dict[str, Any] = {"operations": timed_operations(rank)}
    found["queued"] = queued(4)
    found["counted"] = world.counters.operations
    found["share"] = world.counters.bound_share
    found["late"] = late(rank)
    found["handed_over_by"] = hand_over(rank)
    found["refused"] = refusal(lambda: dist.recv(torch.empty(1)))
    found["ddp"] = trained(rank, None)
    found["ddp_plain"] = trained(rank, dist.new_group(backend="gloo"))
    return found


def lost_peer(rank: int, folder: Path) -> dict[str, Any]:
    """Rank 1 ends without a word while rank 0 waits for it."""
    join(folder, rank, RATE, LATENCY_S)
    dist.barrier()
    if rank == 1:
        os._exit(0)
    dist.all_reduce(torch.ones(4))
    return {}


def shaped(rank: int, folder: Path) -> dict[str, Any]:
    """The same all-reduces on the emulated link and by gloo over a loopback shaped by tbf."""
    join(folder, rank, SHAPED_RATE, 20e-6)
    plain = dist.new_group(backend="gloo")
    tensor = torch.ones(SHAPED_COUNT)
    dist.all_reduce(tensor)
    dist.all_reduce(tensor, group=plain)
    emulated_s = [_once(lambda: dist.all_reduce(tensor)) for _ in range(5)]
    if rank == 0:
        shape_loopback(RANKS * SHAPED_RATE)
    dist.all_reduce(torch.ones(1), group=plain)
    _plain_once(tensor, plain)
    shaped_s = [_plain_once(tensor, plain) for _ in range(5)]
    return {"emulated_s": statistics.median(emulated_s), "shaped_s": statistics.median(shaped_s)}


def _plain_once(tensor: torch.Tensor, group: Any) -> float:
    dist.all_reduce(torch.ones(1), group=group)
    start_ns = time.monotonic_ns()
    dist.all_reduce(tensor, group=group)
    return (time.monotonic_ns() - start_ns) / 1e9


class PlainGroup:
    """Two ranks on gloo that agree as those of a launch do; rank 1 sees a slower link."""

    size = RANKS
    device = torch.device("cpu")

    def __init__(self, rank: int) -> None:
        self._slower = 1 + rank

    def most(self, value: float) -> float:
        largest = torch.tensor([value * self._slower], dtype=torch.float64)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        return float(largest)


def known(rank: int, folder: Path) -> dict[str, Any]:
    """A small known transfer over gloo, and what the loopback carried of it."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    store = dist.FileStore(str(folder / "store"), RANKS)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=RANKS)
    group: Any = PlainGroup(rank)
    with LoopbackSampler(period_s=0.02) as loopback:
        began_s = time.monotonic()
        found = known_transfer(group, buffer_bytes=2**22, lasts_s=0.2, quiet_s=0.1)
        seconds = time.monotonic() - began_s
    carried = loopback.carried(found.start_ns, found.end_ns)
    return {**found.model_dump(), "seconds": seconds, "carried": carried}


def shape_loopback(rate_bytes_per_s: float) -> None:
    """Limit what all ranks together put on the loopback (of this network namespace).

    The burst holds a few of the loopback's largest segments (64 KiB); a queue longer than all
    that is ever under way loses nothing.
    """
    rate = f"{rate_bytes_per_s * 8:.0f}bit"
    shape = ["tbf", "rate", rate, "burst", "256kb", "limit", "64mb"]
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", *shape], check=True)


PROGRAMS = {"link": link, "lost_peer": lost_peer, "shaped": shaped, "known": known}


def main() -> None:
    program, rank, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    found = PROGRAMS[program](rank, folder)
    (folder / f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
