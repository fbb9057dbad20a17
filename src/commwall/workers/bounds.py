"""What an emulated link allows, and whether it set the time of what was measured.

Layer: workers. Reads and writes no file.
"""

from collections.abc import Sequence
from statistics import median

from commwall.schema.case import Leg
from commwall.schema.collective import Collective, bus_bandwidth, wire_share
from commwall.schema.result import LEAST_BOUND_SHARE, Check, Mark
from commwall.schema.treatment import EmulatedLink
from commwall.workers.lanes import LinkCounters


def link_bound_share(
    *,
    collective: Collective,
    message_bytes: int,
    ranks: int,
    times_s: Sequence[float],
    link: EmulatedLink,
) -> float:
    """The link's own part of the time of a collective that is repeated without a pause [1].

    Args:
        collective: which operation.
        message_bytes: size of the full buffer [byte].
        ranks: number of ranks.
        times_s: time of one operation in each group [s].
        link: what is emulated.
    """
    wire_bytes = wire_share(collective, ranks) * message_bytes
    own_s = link.latency_s + wire_bytes / link.bandwidth_bytes_per_s
    return own_s / median(times_s)


def binding_mark(link: LinkCounters, rank: int, leg: Leg | None = None) -> Mark | None:
    """The mark of a leg whose operations took long for other reasons than the link.

    Args:
        link: what was carried in the window.
        rank: whose counters they are.
        leg: which; None in a case without legs.
    """
    share = link.bound_share
    if share is None or share >= LEAST_BOUND_SHARE:
        return None
    detail = (
        f"on rank {rank} the link takes {link.link_ns / 1e9:.3g} s for "
        f"{link.operations} operations, they took {link.late_ns / 1e9:.3g} s more"
    )
    return Mark(name="emulation_not_binding", leg=leg, detail=detail)


def link_rate_check(
    *,
    collective: Collective,
    message_bytes: int,
    ranks: int,
    fastest_s: float,
    bound_bytes_per_s: float,
) -> Check:
    """The bus bandwidth of a collective must not exceed the rate of the link.

    Args:
        collective: which operation.
        message_bytes: size of the full buffer [byte].
        ranks: number of ranks.
        fastest_s: shortest time of the operation [s].
        bound_bytes_per_s: rate of the link per direction [byte/s].
    """
    rate = bus_bandwidth(
        message_bytes=message_bytes, time_s=fastest_s, ranks=ranks, collective=collective
    )
    share = wire_share(collective, ranks)
    return Check(
        name="link_rate_bound",
        passed=rate <= bound_bytes_per_s,
        found=f"{share:g} x {message_bytes} byte / {fastest_s:.6g} s = {rate:.6g} byte/s",
        expected=f"<= {bound_bytes_per_s:.6g} byte/s, the rate of the emulated link",
    )
