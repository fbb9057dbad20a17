"""Which ranks share a host, what joins them, and whether it is NVLink.

Layer: readers. Reads no file. A host's name is weak evidence: containers of one machine have
different ones, and machines can have the same (`localhost`). The number of nodes that NCCL states
and a transport that works only inside one machine are stronger.
"""

from collections import defaultdict
from dataclasses import dataclass

from commwall.readers.nccl_communicators import Communicator
from commwall.readers.nccl_findings import Findings
from commwall.readers.nccl_hops import Hop
from commwall.schema.base import Model

_WITHIN_ONE_MACHINE = ("IPC", "direct pointer", "indirect")
_CHUNK_VARIABLES = ("NCCL_P2P_NVL_CHUNKSIZE", "NCCL_P2P_PCI_CHUNKSIZE")
_PROOFS = ("nvls_available", "mnnvl", "topology_dump")
"""Signs that there is NVLink, the stronger first."""


class RankTransport(Model):
    """How one rank sends to another, over channels that are alike."""

    src: int
    dst: int
    transport: str
    detail: str | None
    """None where the line's end may be missing."""
    channels: tuple[int, ...]
    dev: int | None = None
    """Network device, of a network."""
    gdr: bool | None = None
    sides: tuple[str, ...] | None = None
    """Which ends of a network hop wrote a line."""
    line: int
    """First line of the text that says so, from 1."""


class PathEvidence(Model):
    """What the path is concluded from."""

    sign: str
    line: int
    """Line of the text, from 1."""


@dataclass(frozen=True, slots=True)
class Paths:
    """What joins the ranks of a communicator."""

    nranks: int | None
    nnodes: int | None
    hosts: dict[int, str]
    pairs: dict[str, tuple[str, ...]]
    fallback: bool | None
    fallback_pairs: tuple[str, ...]
    intra_node: str | None
    evidence: tuple[PathEvidence, ...]
    nvlink_evidence: str | None


def transports_of(main: Communicator) -> tuple[RankTransport, ...]:
    """Hops that differ only in the channel and the end that wrote them, as one."""
    groups: dict[tuple[object, ...], list[tuple[int, Hop]]] = defaultdict(list)
    likes: dict[tuple[object, ...], list[tuple[object, ...]]] = defaultdict(list)
    # Lines in doubt come last: they join the one group that they can be of, or none of several.
    for line, hop in sorted(main.hops, key=lambda told: told[1].in_doubt):
        like = hop.source, hop.target, hop.transport
        key: tuple[object, ...] = (*like, hop.detail, hop.net_device, hop.gdr)
        if hop.in_doubt and (likes[like] or hop.transport == "NET"):
            if len(likes[like]) != 1:
                continue
            key = likes[like][0]
        elif key not in groups:
            likes[like].append(key)
        groups[key].append((line.number, hop))
    found = (_transport_of(group) for group in groups.values())
    return tuple(sorted(found, key=lambda one: (one.src, one.dst, one.channels)))


def _transport_of(group: list[tuple[int, Hop]]) -> RankTransport:
    line, first = group[0]
    sides = sorted({hop.side for _, hop in group if hop.side})
    return RankTransport(
        src=first.source,
        dst=first.target,
        transport=first.transport,
        detail=first.detail,
        channels=tuple(sorted({hop.channel for _, hop in group})),
        dev=first.net_device,
        gdr=first.gdr,
        sides=tuple(sides) or None,
        line=line,
    )


def paths_of(main: Communicator, findings: Findings, nranks: int | None) -> Paths:
    """Conclude from the hops of a communicator.

    Args:
        nranks: its ranks, where the log states them.
    """
    hosts = _hosts(main)
    by_pair: dict[tuple[int, int], dict[str, Hop]] = defaultdict(dict)
    first_line: dict[str, int] = {}
    for line, hop in main.hops:
        pair = min(hop.source, hop.target), max(hop.source, hop.target)
        by_pair[pair].setdefault(hop.transport, hop)
        first_line.setdefault(hop.transport, line.number)
    nnodes, reliable = _nodes(main, hosts, by_pair, nranks)
    inside = {
        pair: _same_machine(pair, main, findings) or _same_host(pair, hops, hosts, nnodes, reliable)
        for pair, hops in by_pair.items()
    }
    fallen = [pair for pair, hops in by_pair.items() if inside[pair] and not hops.keys() <= {"P2P"}]
    intra_node = _intra_node(
        {name for pair, hops in by_pair.items() if inside[pair] for name in hops}
    )
    certain = _is_heard(main, nranks) and None not in inside.values()
    if not certain and intra_node != "mixed":
        intra_node = None
    signs = _nvlink_signs(main, findings)
    if intra_node == "p2p" and _proves_nvlink_used(main, signs):
        intra_node = "nvlink"
    return Paths(
        nranks=nranks,
        nnodes=nnodes,
        hosts=hosts,
        pairs={_name(pair): tuple(sorted(hops)) for pair, hops in sorted(by_pair.items())},
        fallback=True if fallen else (False if certain else None),
        fallback_pairs=tuple(map(_name, sorted(fallen))),
        intra_node=intra_node,
        evidence=_evidence(intra_node, first_line, signs),
        nvlink_evidence=_nvlink_evidence(findings, signs),
    )


def _hosts(main: Communicator) -> dict[int, str]:
    """Rank -> host that its process names."""
    hosts = {hop.writer: line.speaker.host for line, hop in main.hops if line.speaker}
    return hosts | {rank: member.host for rank, member in main.members.items()}


def _nodes(
    main: Communicator,
    hosts: dict[int, str],
    by_pair: dict[tuple[int, int], dict[str, Hop]],
    nranks: int | None,
) -> tuple[int | None, bool]:
    """Nodes, and whether equal names mean one machine and different ones two."""
    stated = {member.nodes for member in main.members.values() if member.nodes}
    named = len(set(hosts.values()))
    aliases = any(
        (_within_one_machine(hop) or (hop.transport == "P2P" and not stated))
        and len({hosts.get(rank) for rank in pair} - {None}) > 1
        for pair, hops in by_pair.items()
        for hop in hops.values()
    )
    if len(stated) == 1:
        nodes = stated.pop()
        return nodes, not aliases and not (nodes > named and len(hosts) == nranks)
    whole = nranks is not None and len(hosts) == nranks
    sure = whole and not aliases and not stated and (named == 1 or _is_heard(main, nranks))
    return (named if sure else None), not aliases


def _within_one_machine(hop: Hop) -> bool:
    return hop.transport == "SHM" or (
        hop.transport == "P2P" and (hop.detail or "").startswith(_WITHIN_ONE_MACHINE)
    )


def _same_host(
    pair: tuple[int, int],
    hops: dict[str, Hop],
    hosts: dict[int, str],
    nnodes: int | None,
    reliable: bool,
) -> bool | None:
    """Whether two ranks share a host; None where that is not certain."""
    if nnodes == 1 or any(map(_within_one_machine, hops.values())):
        return True
    one, other = (hosts.get(rank) for rank in pair)
    if one is None or other is None or not reliable:
        return None
    return one == other


def _same_machine(pair: tuple[int, int], main: Communicator, findings: Findings) -> bool | None:
    """True if two processes have one host name and one network address, and different GPUs.

    NCCL counts ranks that can share no memory as nodes of their own: with NCCL_SHM_DISABLE=1 it
    states two nodes where there is one machine.
    """
    one, other = (main.members.get(rank) for rank in pair)
    if one is None or other is None or one.host != other.host:
        return None
    at, other_at = (findings.addresses.get((each.host, each.pid)) for each in (one, other))
    return True if at and at == other_at and one.bus_id != other.bus_id else None


def _is_heard(main: Communicator, nranks: int | None) -> bool:
    """Whether there is a hop from every rank and to every rank."""
    senders = {hop.source for _, hop in main.hops}
    receivers = {hop.target for _, hop in main.hops}
    return nranks is not None and len(senders) == nranks and len(receivers) == nranks


def _intra_node(transports: set[str]) -> str | None:
    if not transports:
        return None
    return transports.pop().lower() if len(transports) == 1 else "mixed"


def _nvlink_signs(main: Communicator, findings: Findings) -> dict[str, int]:
    """Sign -> its first line, without those that the user's variables could have made."""
    signs = dict(findings.signs)
    if any(name in findings.env for name in _CHUNK_VARIABLES):
        signs.pop("nvlink_chunk", None)
    if "NCCL_P2P_READ_ENABLE" not in findings.env:
        # NCCL reads from its peer only on compute capability 8.0 over NVLink, unless told to.
        reads = [
            line.number
            for line, hop in main.hops
            if hop.transport == "P2P" and "read" in (hop.detail or "").split("/")
        ]
        signs |= {"read_suffix_sm80_nvlink": min(reads)} if reads else {}
    return signs


def _proves_nvlink_used(main: Communicator, signs: dict[str, int]) -> bool:
    """Whether P2P must be NVLink. That some links exist is not enough: each pair needs one."""
    if {"nvlink_chunk", "nvls_available", "mnnvl"} & signs.keys():
        return True
    if "nvlink_path" in signs and "other_path" not in signs:
        return True
    return "read_suffix_sm80_nvlink" in signs and all(
        "read" in (hop.detail or "").split("/") for _, hop in main.hops if hop.transport == "P2P"
    )


def _nvlink_evidence(findings: Findings, signs: dict[str, int]) -> str | None:
    if "p2p_disabled_between_nvlink_gpus" in findings.reasons:
        return "nvlink_present_but_p2p_disabled"
    found = {("topology_dump" if sign == "nvlink_path" else sign) for sign in signs}
    return next((proof for proof in (*_PROOFS, "read_suffix_sm80_nvlink") if proof in found), None)


def _evidence(
    intra_node: str | None, first_line: dict[str, int], signs: dict[str, int]
) -> tuple[PathEvidence, ...]:
    """First line of each transport, and each sign of NVLink."""
    if intra_node is None:
        return ()
    found = [(f"via_{name}", number) for name, number in first_line.items()]
    known = [*found, *signs.items()]
    return tuple(PathEvidence(sign=sign, line=line) for sign, line in sorted(known, key=_line))


def _line(found: tuple[str, int]) -> int:
    return found[1]


def _name(pair: tuple[int, int]) -> str:
    return f"{pair[0]}-{pair[1]}"
