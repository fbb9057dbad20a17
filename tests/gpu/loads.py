"""Known work for real GPUs, done by processes of its own: `python loads.py copy|exchange`.

Each prints a line of JSON: when its work began and ended (CLOCK_MONOTONIC), and the bytes it moved.
"""

import json
import os
import sys
import time
from collections.abc import Callable

import torch
from torch import distributed

from commwall.workers.graphs import Graph

GIB = 2**30
LEAD_S = 2.5
"""Before the copies count; a driver averages power over a second [s]."""
COPIES_S = 12.0
QUIET_S = 0.6
"""Before and after the exchange [s]."""
EXCHANGES = 50


def copy() -> dict[str, float]:
    """4 GiB within the memory of a GPU, again and again."""
    source = torch.ones(GIB, dtype=torch.float32, device="cuda")
    target = torch.empty_like(source)
    in_time(1, lambda: target.copy_(source))
    once_s = in_time(100, lambda: target.copy_(source))[1] / 1e9 / 100
    in_time(round(LEAD_S / once_s), lambda: target.copy_(source))
    count = round(COPIES_S / once_s)
    start_ns, duration_ns = in_time(count, lambda: target.copy_(source))
    moved = count * 2 * 4 * GIB
    return {"start_ns": start_ns, "end_ns": start_ns + duration_ns, "bytes": moved}


def exchange() -> dict[str, float]:
    """All-reduces of 1 GiB, replayed from a CUDA graph, with quiet before and after."""
    torch.cuda.set_device(int(os.environ["RANK"]))
    distributed.init_process_group("nccl")
    ranks = distributed.get_world_size()
    buffer = torch.zeros(GIB // 4, dtype=torch.float32, device="cuda")
    graph = Graph(lambda: distributed.all_reduce(buffer), warmups=3)
    in_time(3, graph.replay)
    time.sleep(QUIET_S)
    start_ns, duration_ns = in_time(EXCHANGES, graph.replay)
    time.sleep(QUIET_S)
    distributed.destroy_process_group()
    wire_bytes = EXCHANGES * 2 * (ranks - 1) * GIB // ranks
    return {"start_ns": start_ns, "end_ns": start_ns + duration_ns, "bytes": wire_bytes}


def in_time(count: int, work: Callable[[], object]) -> tuple[int, int]:
    """When so many repetitions began, and how long they took [ns]."""
    torch.cuda.synchronize()
    start_ns = time.monotonic_ns()
    for _ in range(count):
        work()
    torch.cuda.synchronize()
    return start_ns, time.monotonic_ns() - start_ns


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"copy": copy, "exchange": exchange}[sys.argv[1]]()) + "\n")
    sys.stdout.flush()
