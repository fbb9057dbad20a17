"""A known amount of data over the group's link, by which counters prove which way traffic takes.

Layer: workers. Reads and writes no file. Carried out once a launch, before anything is timed.
Around it nothing is sent, so that counters that are read from outside a few times a second hold
this transfer alone. All-reduces, because they are what training exchanges; how many is agreed
from a first few, so that the transfer lasts about as long on every link.
"""

import time

import torch
import torch.distributed as dist

from commwall.schema.case import SuiteName
from commwall.schema.result import QUIET_S, Transfer
from commwall.schema.units import size_text
from commwall.workers.group import Group

BUFFER_BYTES = 256 * 2**20
"""So large that NCCL moves it with its protocol without flags, which adds nothing to the data."""
LASTS_S = 0.7
PILOT_S = 0.05
"""Time of the exchanges from which the number follows; the first ones wake the devices up [s]."""
MOST = 4000
"""A link that carries 256 MiB in less than LASTS_S / MOST would carry 1.5 TB/s and more."""
_VALUE_BYTES = 4


def launch_transfer(group: Group, suite: SuiteName) -> Transfer | None:
    """The known transfer of a launch; all ranks must ask.

    Returns:
        None where no way is to be proven: on device cpu the link is emulated, or gloo's; one
        process has none; suite `memory` measures copies, which the treatment does not act on.
    """
    if group.device.type != "cuda" or group.size < 2 or suite == "memory":
        return None
    transfer = known_transfer(group)
    torch.cuda.empty_cache()  # the cases find the memory as it was
    return transfer


def known_transfer(
    group: Group,
    buffer_bytes: int = BUFFER_BYTES,
    lasts_s: float = LASTS_S,
    quiet_s: float = QUIET_S,
) -> Transfer:
    """Exchange all-reduces with quiet before and after them; all ranks must ask.

    Args:
        group: the ranks.
        buffer_bytes: size of what is reduced, a multiple of 4 [byte].
        lasts_s: about how long the exchanges shall last [s].
        quiet_s: how long nothing is sent before and after [s].

    Returns:
        What each rank sends, by the same formula and number on all; the times are this rank's.
    """
    buffer = torch.zeros(buffer_bytes // _VALUE_BYTES, device=group.device)
    _exchange(buffer, 1)  # has the ranks connect
    count = 1
    for wanted_s in (PILOT_S, lasts_s):
        slowest_s = group.most(_exchange(buffer, count)) / count
        count = min(MOST, max(1, round(wanted_s / slowest_s)))
    group.most(0.0)
    time.sleep(quiet_s)
    start_ns = time.monotonic_ns()
    _exchange(buffer, count)
    end_ns = time.monotonic_ns()
    group.most(0.0)
    time.sleep(quiet_s)
    return Transfer(
        what=f"{count} all-reduces of {size_text(buffer_bytes)}",
        sent_bytes=wire_bytes(buffer_bytes, group.size) * count,
        start_ns=start_ns,
        end_ns=end_ns,
    )


def wire_bytes(message_bytes: int, ranks: int) -> int:
    """What each rank sends in one all-reduce [byte].

    Source: NVIDIA nccl-tests, doc/PERFORMANCE.md, "AllReduce": 2(n-1)/n of the buffer.
    """
    return 2 * (ranks - 1) * message_bytes // ranks


def _exchange(buffer: torch.Tensor, count: int) -> float:
    """Time of so many all-reduces, until the device has done them [s]."""
    start_s = time.monotonic()
    for _ in range(count):
        dist.all_reduce(buffer)
    if buffer.is_cuda:
        torch.cuda.synchronize(buffer.device)
    return time.monotonic() - start_s
