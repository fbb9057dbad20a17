"""Collectives: their names, and the speed of the link that their times imply.

Layer: schema. Reads and writes no file.
"""

from typing import Literal, get_args

from commwall.schema.errors import UnitError

Collective = Literal[
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"
]
"""send_recv: each rank sends the buffer to the next one and receives that of the one before."""

DTYPE_BYTES = {"float32": 4, "bfloat16": 2}
"""Bytes of a value, by its type."""

COLLECTIVES: tuple[Collective, ...] = get_args(Collective)

IN_PLACE: dict[Collective, tuple[bool, ...]] = {
    "all_reduce": (True,),
    "all_gather": (False, True),
    "reduce_scatter": (False, True),
    "all_to_all": (False,),
    "broadcast": (True,),
    "send_recv": (False,),
}
"""Whether a collective works in place, its default first. In place, all-reduce and broadcast
send and receive one buffer, which is all torch offers; all-gather sends the rank's own share of
the received buffer, reduce-scatter receives into the rank's own share of the sent one, as
nccl-tests has it. The others would overwrite what is still to be sent."""


def wire_share(collective: Collective, ranks: int) -> float:
    """Bytes that each rank's link carries per direction, relative to the full buffer [1].

    Args:
        collective: which operation.
        ranks: number of participating processes n.

    Source: NVIDIA nccl-tests, doc/PERFORMANCE.md, section "Bandwidth": 2(n-1)/n for an
        all-reduce; (n-1)/n for all-gather, reduce-scatter and all-to-all; 1 for the others.
    """
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return 1.0 if collective in ("broadcast", "send_recv") else (ranks - 1) / ranks


def bus_bandwidth(
    *, message_bytes: float, time_s: float, ranks: int, collective: Collective
) -> float:
    """Speed of the bottleneck link implied by one collective [byte/s].

    Args:
        message_bytes: size of the full buffer, as nccl-tests counts it [byte].
        time_s: time of one operation [s], > 0.
        ranks: number of participating processes, >= 2.
        collective: which operation; decides the correction factor.

    Returns:
        Algorithm bandwidth (size / time) times the correction factor [byte/s].

    Raises:
        UnitError: if time_s is not positive or ranks is below 2.

    Source: NVIDIA nccl-tests, doc/PERFORMANCE.md, section "Bandwidth".
    """
    if time_s <= 0 or ranks < 2:
        raise UnitError(
            "no bus bandwidth",
            found=f"time {time_s} s, {ranks} ranks",
            expected="a time above 0 and at least 2 ranks",
        )
    return wire_share(collective, ranks) * message_bytes / time_s
