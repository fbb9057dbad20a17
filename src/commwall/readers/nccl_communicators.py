"""Which communicator a line of NCCL's log is about.

Layer: readers. Reads no file. A rank is a number within a communicator, and a program has several
(of all GPUs, of those of a node, of a pipeline's stage): rank 0 of one is not rank 0 of another.
Lines about channels do not say which they mean, so the thread that wrote them does: a
communicator that it has begun, or else the one that it then says is complete.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from commwall.readers.nccl_hops import Hop
from commwall.readers.nccl_lines import LogLine, Speaker

_COMM = re.compile(
    r"(?:nccl[A-Za-z]{1,40} )?comm (?P<address>0x[0-9a-fA-F]{1,16}) rank (?P<rank>[0-9]{1,7}) "
    r"n[rR]anks (?P<size>[0-9]{1,7}) (?P<rest>.*)"
)
_COMM_ID = re.compile(r"commId (0x[0-9a-fA-F]{1,16}) ")
_BUS_ID = re.compile(r"busId ([0-9a-fA-F]{1,16}) ")
_NODES = re.compile(r"nNodes ([0-9]{1,6}) ")
_COMPLETE = re.compile(r"- (?:Init )?COMPLETE\s*$")
_START = re.compile(r"- Init START\s*$")
_LOOK_BACK = 64
"""Communicators of a size that a rank is compared with, so that time stays linear."""


@dataclass(slots=True, eq=False)
class Member:
    """A rank of a communicator, as it speaks of itself."""

    rank: int
    size: int
    """Ranks in its communicator."""
    host: str
    pid: int
    comm_id: str | None = None
    bus_id: str | None = None
    nodes: int | None = None
    """Nodes of the communicator, as it says."""
    started: bool = False
    complete: bool = False

    def is_same_gpu(self, other: "Member") -> bool:
        """Whether both may be one rank: nothing that both say differs."""
        return (self.host, self.pid) == (other.host, other.pid) and (
            None in (self.bus_id, other.bus_id) or self.bus_id == other.bus_id
        )


@dataclass(slots=True)
class Communicator:
    """Ranks that belong together, and the hops that they report."""

    size: int
    members: dict[int, Member] = field(default_factory=dict)
    hops: list[tuple[LogLine, Hop]] = field(default_factory=list)

    def takes(self, members: Iterable[Member]) -> bool:
        """Whether these can be its ranks, none of them another GPU."""
        return all(
            member.size == self.size and self.members.get(member.rank, member).is_same_gpu(member)
            for member in members
        )

    def add(self, member: Member) -> None:
        """Take a rank in; what it said before stays."""
        known = self.members.setdefault(member.rank, member)
        known.complete |= member.complete
        known.nodes = known.nodes or member.nodes


class Tracker:
    """Follows who speaks of which communicator, line by line."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self._by_address: dict[tuple[str, int, str], Member] = {}
        self._of_thread: dict[tuple[str, int, int], Member] = {}
        self._of_device: dict[tuple[str, int, int], Member] = {}
        self._waiting: dict[tuple[str, int, int], list[tuple[LogLine, Hop]]] = defaultdict(list)
        self._hops: list[tuple[Member | None, LogLine, Hop]] = []
        self._told: dict[tuple[str, int, int], set[Hop]] = defaultdict(set)
        """Hops that a thread told of since it last began a communicator."""

    def on_communicator(self, line: LogLine) -> bool:
        """Take in a line about a communicator; False if it is none."""
        found = _COMM.match(line.says)
        if found is None or line.speaker is None or int(found["rank"]) >= int(found["size"]):
            return False
        member = self._member(line.speaker, found, bool(_START.search(found["rest"])))
        self._learn(member, found["rest"])
        if " Destroy " not in found["rest"] and " Abort " not in found["rest"]:
            self._speaks_of(line.speaker, member)
        return True

    def on_hop(self, line: LogLine, hop: Hop) -> None:
        """Take in a hop."""
        speaker = line.speaker
        if speaker is None:
            self._hops.append((None, line, hop))
            return
        told = self._told[_thread(speaker)]
        if hop in told:
            return
        told.add(hop)
        member = self._of_thread.get(_thread(speaker)) or self._of_device.get(_device(speaker))
        if member and member.started:
            self._hops.append((member, line, hop))
        else:
            self._waiting[_thread(speaker)].append((line, hop))

    def communicators(self) -> list[Communicator]:
        """All of them, in the order in which they first spoke."""
        found: list[Communicator] = []
        home: dict[int, Communicator] = {}
        recent: dict[int, list[Communicator]] = defaultdict(list)
        for group in self._groups():
            known = recent[group[0].size][-_LOOK_BACK:]
            target = next((one for one in known if one.takes(group)), None)
            if target is None:
                target = Communicator(group[0].size)
                found.append(target)
                recent[group[0].size].append(target)
            for member in group:
                target.add(member)
                home[id(member)] = target
        self._give_hops(found, home)
        return found

    def _member(self, speaker: Speaker, found: re.Match[str], starts: bool) -> Member:
        key = speaker.host, speaker.pid, found["address"]
        known = self._by_address.get(key)
        rank, size = int(found["rank"]), int(found["size"])
        if known and (known.rank, known.size) == (rank, size) and not (starts and known.complete):
            return known
        member = Member(rank, size, speaker.host, speaker.pid)
        self._by_address[key] = member
        self.members.append(member)
        return member

    def _learn(self, member: Member, rest: str) -> None:
        """Take what the line says beyond rank and size."""
        comm_id, bus_id, nodes = (pattern.search(rest) for pattern in (_COMM_ID, _BUS_ID, _NODES))
        member.comm_id = comm_id[1] if comm_id else member.comm_id
        member.bus_id = bus_id[1] if bus_id else member.bus_id
        member.nodes = int(nodes[1]) if nodes else member.nodes
        member.started |= bool(_START.search(rest))
        member.complete |= bool(_COMPLETE.search(rest))

    def _speaks_of(self, speaker: Speaker, member: Member) -> None:
        waiting = self._waiting.pop(_thread(speaker), [])
        self._hops.extend((member, line, hop) for line, hop in waiting)
        if self._of_thread.get(_thread(speaker)) is not member:
            self._told.pop(_thread(speaker), None)
        self._of_thread[_thread(speaker)] = member
        self._of_device[_device(speaker)] = member

    def _groups(self) -> list[list[Member]]:
        """Members of one id together; without one, each for itself."""
        groups: dict[object, list[Member]] = {}
        for member in self.members:
            groups.setdefault(member.comm_id or id(member), []).append(member)
        return list(groups.values())

    def _give_hops(self, found: list[Communicator], home: dict[int, Communicator]) -> None:
        """Give each hop to its communicator; where there is but one, all are its."""
        late = [
            (self._of_thread.get(thread), line, hop)
            for thread, waiting in self._waiting.items()
            for line, hop in waiting
        ]
        for member, line, hop in [*self._hops, *late]:
            if len(found) == 1:
                found[0].hops.append((line, hop))
            elif member:
                home[id(member)].hops.append((line, hop))
        if not found and (self._hops or late):
            size = 1 + max(max(hop.source, hop.target) for _, _, hop in [*self._hops, *late])
            found.append(
                Communicator(size, {}, [(line, hop) for _, line, hop in self._hops + late])
            )


def _thread(speaker: Speaker) -> tuple[str, int, int]:
    return speaker.host, speaker.pid, speaker.thread


def _device(speaker: Speaker) -> tuple[str, int, int]:
    return speaker.host, speaker.pid, speaker.device
