"""Which way the traffic of a launch took, and whether it is the way that its platform claims.

Layer: measure. Reads and writes no file. Judged by what the launch's known transfer left in
counters (of NVLink, of PCIe, of the loopback), by the ways that NCCL's log names and by the
topology. None of these alone proves every way: NCCL's `P2P/CUMEM` does not say NVLink, and
NVLink's counters do not tell which of the other ways was taken. All that is there must agree
with the claim, and enough must be there; what does not suffice is a gap, never a pass.
"""

from typing import Literal, NamedTuple

from commwall.host.link_counters import LinkTraffic
from commwall.measure.proof.nccl_log import Logged
from commwall.schema.plan import PlannedPlatform
from commwall.schema.record import MachineFacts, Traffic
from commwall.schema.result import Check, Gap, Transfer
from commwall.schema.treatment import LinkPath
from commwall.schema.units import rate_text

WHAT = "path_taken"
NEAR = 0.01
"""How far NVLink's counters may be from the formula, relative to it."""
SPREAD = (0.5, 1.5)
"""What each rank may send relative to the formula, which is a ring's, where NCCL has a choice. In a
tree of more than two ranks some send more and some less; a switch that reduces (NVLS) takes each
contribution once, half of a ring's bytes. The log of a training suite does not tell the choice."""
SWITCH = "NVLS"
"""Stands among the ways where NCCL's log says that the switch can reduce, used or not."""
NOTHING = 1e-3
"""A counter below this share of the transfer shows none of it."""
CHATTER = 0.01
"""The loopback always carries something; below this share of the transfer it is not that."""
LEAST_PCIE_SHARE = 0.5
"""PCIe's rate is sampled; a lower one is not that of a transfer which passes PCIe."""
LOGGED: dict[LinkPath, str] = {  # between nodes: `commwall.measure.proof.network`
    "nvlink": "P2P",
    "pcie_peer": "P2P",
    "host_staged": "SHM",
    "socket": "NET/Socket",
}
"""How NCCL's log names a way; the first two alike."""

Witness = Literal[
    "NVLink's counters", "NCCL's log", "topology", "loopback's counter", "PCIe's rate"
]
ENOUGH: dict[LinkPath, tuple[frozenset[Witness], ...]] = {
    "nvlink": (frozenset({"NVLink's counters"}), frozenset({"NCCL's log", "topology"})),
    "pcie_peer": (
        frozenset({"NCCL's log", "NVLink's counters"}),
        frozenset({"NCCL's log", "topology"}),
    ),
    "host_staged": (frozenset({"NCCL's log"}),),
    "socket": (frozenset({"NCCL's log"}), frozenset({"loopback's counter"})),
}
"""What must be there at least to prove a way, one set or another."""
EXPECTED: dict[LinkPath, str] = {
    "nvlink": "NVLink carries what the wire formula says, within 1 %; NCCL's log says P2P",
    "pcie_peer": "nothing on NVLink or the loopback; NCCL's log says P2P",
    "host_staged": "nothing on NVLink or the loopback; NCCL's log says SHM",
    "socket": "nothing on NVLink; all that the ranks send on the loopback; the log says NET/Socket",
}


class Statement(NamedTuple):
    """What a witness says of a claim."""

    agrees: bool
    words: str


def traffic_of(
    transfer: Transfer,
    links: LinkTraffic | Gap,
    loopback_bytes: int | Gap,
    logged: Logged,
    ranks: int,
) -> tuple[Traffic, tuple[Gap, ...]]:
    """All that is known of the way of a transfer, and what is not.

    Args:
        transfer: as the workers made it.
        links: what NVML's counters tell of it.
        loopback_bytes: what the loopback carried meanwhile [byte].
        logged: NCCL's log of the launch.
        ranks: processes of the launch.
    """
    gaps = [part for part in (links, loopback_bytes) if isinstance(part, Gap)]
    counted = LinkTraffic() if isinstance(links, Gap) else links
    transports = transports_of(logged, ranks)
    if not transports:
        gaps.append(Gap(what="traffic.transports", reason=_why_silent(logged)))
    traffic = Traffic(
        what=transfer.what,
        expected_bytes=transfer.sent_bytes,
        duration_s=(transfer.end_ns - transfer.start_ns) / 1e9,
        nvlink_sent_bytes=counted.nvlink_sent_bytes,
        nvlink_received_bytes=counted.nvlink_received_bytes,
        pcie_sent_bytes_per_s=counted.pcie_sent_bytes_per_s,
        pcie_received_bytes_per_s=counted.pcie_received_bytes_per_s,
        loopback_bytes=None if isinstance(loopback_bytes, Gap) else loopback_bytes,
        transports=transports,
    )
    return traffic, (*gaps, *counted.gaps)


def transports_of(logged: Logged, ranks: int) -> tuple[str, ...]:
    """Ways between the ranks in NCCL's words; none unless every rank is heard to send and
    receive: a missing line could name another way."""
    hops = (logged.ways.transports if logged.ways else None) or ()
    everyone = set(range(ranks))
    if {hop.src for hop in hops} != everyone or {hop.dst for hop in hops} != everyone:
        return ()
    switch = {SWITCH} if logged.ways and logged.ways.nvls else set()
    return tuple(sorted({f"{hop.transport}/{hop.detail or '?'}" for hop in hops} | switch))


def path_finding(
    traffic: Traffic, platform: PlannedPlatform, machine: MachineFacts
) -> Check | Gap | None:
    """Whether traffic took the way that its platform claims; None where it claims none.

    Returns:
        A check, passed or not, or a gap where nothing contradicts and nothing suffices.
    """
    path = platform.path
    if path is None:
        return None
    said = statements(path, traffic, platform.world_size, machine)
    against = [statement.words for statement in said.values() if not statement.agrees]
    if not against and not any(least <= said.keys() for least in ENOUGH[path]):
        words = "; ".join(statement.words for statement in said.values()) or "nothing is known"
        needed = " or ".join(" and ".join(sorted(least)) for least in ENOUGH[path])
        return Gap(what=WHAT, reason=f"{path} is not proven: {words}; it takes {needed}")
    words = "; ".join(against or [statement.words for statement in said.values()])
    if not against and "NVLink's counters" not in said:
        words = f"by {' and '.join(said)} only: {words}"
    return Check(name=WHAT, passed=not against, found=words, expected=EXPECTED[path])


def statements(
    path: LinkPath, traffic: Traffic, ranks: int, machine: MachineFacts
) -> dict[Witness, Statement]:
    """What each witness that is there says of a claim."""
    found: dict[Witness, Statement | None] = {
        "NVLink's counters": _by_nvlink(path, traffic, ranks),
        "NCCL's log": _by_log(path, traffic),
        "topology": _by_topology(path, machine, ranks),
        "loopback's counter": _by_loopback(path, traffic, ranks),
        "PCIe's rate": _by_pcie(path, traffic),
    }
    return {witness: statement for witness, statement in found.items() if statement}


def _by_nvlink(path: LinkPath, traffic: Traffic, ranks: int) -> Statement | None:
    counted = (*(traffic.nvlink_sent_bytes or ()), *(traffic.nvlink_received_bytes or ()))
    if not counted:
        return None
    shares = [value / traffic.expected_bytes for value in counted]
    least, most = min(shares), max(shares)
    words = (
        f"NVLink carried {least:.4f} to {most:.4f} of the formula's bytes, each GPU and direction"
    )
    if path != "nvlink":
        return Statement(most < NOTHING, words)
    if all(abs(share - 1) <= NEAR for share in shares):
        return Statement(True, words)
    choice = ranks > 2 or SWITCH in traffic.transports
    if choice and least >= SPREAD[0] and most <= SPREAD[1]:
        return Statement(True, f"{words}, as a tree or a reducing switch spreads them")
    return Statement(False, words)


def _by_log(path: LinkPath, traffic: Traffic) -> Statement | None:
    """A switch that can reduce would go round the ways between ranks; only NVLink's counters
    tell whether it did."""
    uncounted = SWITCH in traffic.transports and traffic.nvlink_sent_bytes is None
    ways = [way for way in traffic.transports if way != SWITCH]
    if not ways or (uncounted and path != "nvlink"):
        return None
    agrees = all(way.startswith(LOGGED[path]) for way in ways)
    return Statement(agrees, f"NCCL's log says {', '.join(traffic.transports)}")


def _by_topology(path: LinkPath, machine: MachineFacts, ranks: int) -> Statement | None:
    """Whether NVLink joins every two GPUs; it speaks for a direct way only."""
    rows = [row[:ranks] for row in (machine.link_matrix or ())[:ranks]]
    links = sorted({link for i, row in enumerate(rows) for j, link in enumerate(row) if i != j})
    if not links or path not in ("nvlink", "pcie_peer"):
        return None
    joined = [link.startswith("NV") for link in links]
    words = f"the topology has {', '.join(links)} between the GPUs"
    if path == "nvlink":
        return Statement(all(joined), words)
    return None if any(joined) else Statement(True, words)


def _by_loopback(path: LinkPath, traffic: Traffic, ranks: int) -> Statement | None:
    """Whatever any rank sends through the network stack of one machine passes its loopback."""
    if traffic.loopback_bytes is None:
        return None
    share = traffic.loopback_bytes / (ranks * traffic.expected_bytes)
    words = f"the loopback carried {share:.4f} of what the ranks send together"
    return Statement(share >= 1 - NEAR if path == "socket" else share < CHATTER, words)


def _by_pcie(path: LinkPath, traffic: Traffic) -> Statement | None:
    rates = (*(traffic.pcie_sent_bytes_per_s or ()), *(traffic.pcie_received_bytes_per_s or ()))
    if not rates or path == "nvlink":
        return None
    expected = traffic.expected_bytes / traffic.duration_s
    words = (
        f"PCIe carried {rate_text(min(rates))} to {rate_text(max(rates))}, each GPU and direction, "
        f"where the transfer takes {rate_text(expected)}"
    )
    return Statement(min(rates) >= LEAST_PCIE_SHARE * expected, words)


def _why_silent(logged: Logged) -> str:
    if logged.ways is None:
        return f"no way between ranks is named: {logged.reason}"
    return "NCCL's log does not tell how every rank sends and receives"
