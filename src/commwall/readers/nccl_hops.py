"""How two ranks are connected, as a line about a channel has it.

Layer: readers. Reads no file. The forms that releases 2.1 to 2.30 write:

    Ring 00 : 0[80] -> 1[90] via P2P/IPC
    Channel 00 : 1[3b000] -> 2[86000] via direct shared memory
    Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0(2)/GDRDMA/Shared
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Transport = Literal["P2P", "SHM", "NET"]
Side = Literal["send", "receive"]

_HOP = re.compile(
    r"(?:Channel|Ring) (?P<channel>[0-9]{1,4})(?:/[0-9]{1,4})? : "
    r"(?P<source>[0-9]{1,7})(?:\[(?P<source_id>[0-9a-fA-F]{1,16})\])? -> "
    r"(?P<target>[0-9]{1,7})(?:\[(?P<target_id>[0-9a-fA-F]{1,16})\])?"
    r"(?: \[(?P<side>send|receive)\])? via (?P<via>\S.*)"
)
_NET = re.compile(
    r"NET/(?P<name>[^/]{1,60})/(?P<device>[0-9]{1,4})(?:\([0-9]{1,7}\))?(?P<rest>(?:/.*)?)"
)
_RING = re.compile(r"(?:Channel|Ring) [0-9]{1,4}(?:/[0-9]{1,4})? :\s+([0-9]+(?:\s+[0-9]+)*)\s*")
_DETAILS = (
    *("IPC/read", "CUMEM/read", "direct pointer/read", "MNNVL", "indirect/"),
    *("direct/direct", "CE/CE", "direct/CE", "CE/direct"),
)
_WHOLE_DETAILS = frozenset({"IPC", "CUMEM", "direct pointer", "direct", *_DETAILS})
_OLD_SHARED_MEMORY = "direct shared memory"


@dataclass(frozen=True, slots=True)
class Hop:
    """One direction of one channel between two ranks."""

    channel: int
    source: int
    """Rank in the communicator that the line is about."""
    target: int
    brackets: tuple[str, ...]
    """What stands in the brackets behind the ranks: a device's number, or its bus id."""
    side: Side | None
    """Which end wrote the line, where it says so."""
    transport: Transport
    detail: str | None
    """What stands behind the transport: IPC/read, direct/direct, the network's name. None where
    the line's end may be missing."""
    net_device: int | None
    gdr: bool | None
    """Whether the network card reads and writes the GPU's memory; None but for NET, and where the
    line's end may be missing."""

    @property
    def in_doubt(self) -> bool:
        """Whether the line's end may be missing."""
        return self.detail is None or (self.transport == "NET" and self.net_device is None)

    @property
    def writer(self) -> int:
        """The rank that wrote the line: the sender, unless the line says that it receives."""
        return self.target if self.side == "receive" else self.source


def via_of(says: str) -> str | None:
    """What stands behind `via`, if the line is about a hop."""
    found = _HOP.match(says)
    return found["via"].rstrip() if found else None


@lru_cache(1 << 14)
def hop_of(says: str, *, whole: bool = True) -> Hop | None:
    """The hop that a line is about, or None: it is about something else, or an unknown transport.

    Args:
        says: the line, from its first word on.
        whole: whether nothing can be missing at its end.

    Source: NVIDIA NCCL 2.4 to 2.30, src/transport/p2p.cc, shm.cc, net.cc.
    """
    found = _HOP.match(says)
    if found is None or found["source"] == found["target"]:
        return None
    carried = _carried(found["via"].rstrip(), whole)
    if carried is None:
        return None
    side: Side | None = "send" if found["side"] == "send" else None
    return Hop(
        int(found["channel"]),
        int(found["source"]),
        int(found["target"]),
        tuple(filter(None, (found["source_id"], found["target_id"]))),
        "receive" if found["side"] == "receive" else side,
        *carried,
    )


def ring_size(says: str) -> int | None:
    """Ranks in a channel's list, such as `Channel 00/02 : 0 1 2 3`; None if it is no list."""
    found = _RING.fullmatch(says)
    if found is None:
        return None
    ranks = sorted(map(int, found[1].split()))
    return len(ranks) if ranks == list(range(len(ranks))) else None


def _carried(via: str, whole: bool) -> tuple[Transport, str | None, int | None, bool | None] | None:
    """Transport, detail, network device and GPUDirect."""
    if via == _OLD_SHARED_MEMORY:
        return "SHM", via, None, None
    if via.startswith("P2P/"):
        return "P2P", _detail(via[len("P2P/") :], whole), None, None
    if via.startswith("SHM/"):
        return "SHM", _detail(via[len("SHM/") :], whole), None, None
    net = _NET.fullmatch(via)
    if net is None:
        return None
    direct = "/GDRDMA" in net["rest"]
    if not whole:
        return "NET", net["name"], None, True if direct else None
    return "NET", net["name"], int(net["device"]), direct


def _detail(words: str, whole: bool) -> str | None:
    """The words, unless their end is missing: the beginning of a known one is none."""
    if words in _WHOLE_DETAILS:
        return words if whole else None
    beginning = any(known.startswith(words) for known in _DETAILS)
    return words if whole and not beginning else None
