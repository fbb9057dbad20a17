"""Ranks of one host that do not reach each other's memory, and why, by NCCL's log.

Layer: judge. Reads no file.
"""

from collections.abc import Iterator
from typing import NamedTuple

from commwall.judge.finding import Evidence, Finding
from commwall.judge.scene import Pasted, Scene
from commwall.judge.topology import LOG
from commwall.language.translate import clauses, listed, tr, tr_later
from commwall.readers.nccl_log import NcclLog
from commwall.readers.topo import Topology

_REFUSALS = {
    "p2p_disabled_between_connected_gpus": (
        tr_later("the driver grants these GPUs no access to each other"),
        "P2P is disabled between connected",
    ),
    "could_not_enable_p2p": (
        tr_later("CUDA could not enable access between them"),
        "Could not enable P2P",
    ),
}
_NEVER = ("LOC", "0")
"""Levels at which NCCL uses no P2P at all."""
_LEVELS = {"1": "PIX", "2": "PXB", "3": "PHB", "4": "SYS", "5": "SYS"}
"""Levels as numbers. Source: NVIDIA NCCL, src/graph/paths.cc, levelsOldToNew."""
_STEPS = {"PIX": 2, "PXB": 3, "PHB": 4, "NODE": 4, "SYS": 5, "SOC": 5}
"""Levels, and nvidia-smi's words for links, by distance; NVLink is 1. NCCL knows nothing between a
NUMA node (PHB) and the machine (SYS)."""
_SOCKETS = tr_later("across sockets that can be the faster choice, so measure before forcing P2P")
_USUAL_LEVEL = "PXB"
"""Source: NVIDIA NCCL, src/graph/paths.cc, ncclTopoCheckP2p: the level that most machines get."""


class _Cause(NamedTuple):
    """Why ranks take another way, by what is certain."""

    reason: str
    means: str
    """Besides what it costs."""
    next_step: str
    line: str | None = None
    """Pattern of the line that says so."""


def fallback(paste: Pasted, log: NcclLog, scene: Scene) -> Finding:
    """Ranks of a host that talk through its memory or the network.

    Args:
        paste: the file.
        log: its reading, in which some pair falls back.
        scene: with the topology, where one lies beside it.
    """
    pairs = log.fallback_pairs or ()
    kinds = {kind for pair in pairs for kind in (log.pair_transports or {}).get(pair, ())}
    cause = next(_causes(log, scene, "NET" in kinds))
    return Finding(
        rule="path_inside_host",
        level="warning",
        verdict=tr("{told}: {reason}", told=_told(log, kinds), reason=cause.reason),
        means=clauses((_rate("NET" in kinds), cause.means)),
        next_step=cause.next_step,
        evidence=(
            *_hop_lines(paste, log, kinds),
            *(paste.find(cause.line) if cause.line else ()),
        ),
    )


def _told(log: NcclLog, kinds: set[str]) -> str:
    ways = {
        "SHM": tr("host memory (SHM)"),
        "NET": tr("the network stack (NET/{network})", network=log.network or "?"),
    }
    rest = [p for p, kinds in (log.pair_transports or {}).items() if kinds == ("P2P",)]
    told = tr(
        "ranks {pairs} of one host talk through {ways}",
        pairs=listed((log.fallback_pairs or ())[:12]),
        ways=tr(" and ").join(words for kind, words in ways.items() if kind in kinds),
    )
    if not rest:
        return told
    return clauses([told, tr("P2P only between {pairs}", pairs=listed(rest[:8]))])


def _rate(by_network: bool) -> str:
    return (
        tr(
            "the slowest hop sets the speed of every ring, so that the exchange of gradients runs "
            "at the rate of the network stack"
        )
        if by_network
        else tr(
            "the slowest hop sets the speed of every ring, so that the exchange of gradients runs "
            "at the rate of host memory"
        )
    )


def _causes(log: NcclLog, scene: Scene, by_network: bool) -> Iterator[_Cause]:
    """What may be the cause, the most certain first; never empty."""
    yield from _disabled(log, scene, by_network)
    yield from _never(log, scene)
    yield from _other_hosts(log)
    yield from _refused(log)
    yield _unexplained(log, scene)


def _disabled(log: NcclLog, scene: Scene, by_network: bool) -> Iterator[_Cause]:
    """The user's variable disables P2P, and perhaps host memory."""
    told = log.fallback_reason or ()
    user = next((one for one in told if one.startswith("NCCL_P2P_DISABLE=")), None)
    if user is None:
        return
    shared = log.env and log.env.get("NCCL_SHM_DISABLE", "0") not in ("", "0")
    reason = (
        tr(
            "the user's variable {variable} disables P2P and NCCL_SHM_DISABLE=1 host memory",
            variable=user,
        )
        if by_network and shared
        else tr("the user's variable {variable} disables P2P", variable=user)
    )
    yield _Cause(
        reason,
        _choice(scene),
        tr("unset NCCL_P2P_DISABLE (also in /etc/nccl.conf, ~/.nccl.conf); {then}", then=tr(LOG)),
        "NCCL_P2P_DISABLE set by environment",
    )


def _never(log: NcclLog, scene: Scene) -> Iterator[_Cause]:
    """The user's level forbids P2P.

    Source: NVIDIA NCCL, src/graph/paths.cc, ncclGetLevel: up to release 2.22 it logs
    NCCL_P2P_DISABLE=1 as this level.
    """
    level = (log.env or {}).get("NCCL_P2P_LEVEL")
    if level in _NEVER:
        yield _Cause(
            tr("NCCL_P2P_LEVEL={level} disables P2P, over NVLink too", level=level),
            _choice(scene),
            tr(
                "unset NCCL_P2P_LEVEL, and NCCL_P2P_DISABLE, which releases up to 2.22 log as "
                "level LOC (also in /etc/nccl.conf, ~/.nccl.conf); {then}",
                then=tr(LOG),
            ),
            "NCCL_P2P_LEVEL set by environment",
        )


def _choice(scene: Scene) -> str:
    choice = tr("that is a choice, not a limit of the machine, and it is not PCIe between GPUs")
    return clauses([choice, *_unused(scene)])


def _other_hosts(log: NcclLog) -> Iterator[_Cause]:
    """The user's variable makes ranks believe in several hosts."""
    if "NCCL_HOSTID" in (log.env_differs or ()):
        yield _Cause(
            tr(
                "NCCL_HOSTID differs between them, so that NCCL takes them for ranks of different "
                "hosts"
            ),
            tr("it stands for several hosts, not for this one"),
            tr("unset NCCL_HOSTID; {then}", then=tr(LOG)),
            "NCCL_HOSTID set by environment",
        )


def _refused(log: NcclLog) -> Iterator[_Cause]:
    """The driver or CUDA does not grant access."""
    for one in log.fallback_reason or ():
        if one in _REFUSALS:
            reason, line = _REFUSALS[one]
            yield _Cause(
                tr(reason),
                tr(
                    "GeForce cards from the 4090 on never get access from the maker's driver: no "
                    "defect then"
                ),
                "nvidia-smi topo -p2p r; sudo dmesg | grep -iE 'iommu|acs'",
                line,
            )


def _unexplained(log: NcclLog, scene: Scene) -> _Cause:
    """The log names no cause: distance, or, where that is none, what hides GPUs from each other."""
    told = (log.env or {}).get("NCCL_P2P_LEVEL")
    level = _LEVELS.get(told or "", told or _USUAL_LEVEL)
    if level == "SYS" or _all_within(scene, level):
        return _hidden(scene)
    return _beyond(told) if told else _far()


def _hidden(scene: Scene) -> _Cause:
    suspects = tr(
        "suspects are processes that do not see each other's GPUs (a container for each), /dev/shm "
        "or IPC of their own, and the driver"
    )
    return _Cause(
        tr("the log gives no reason, and they are not too far apart for P2P"),
        clauses([suspects, *_unused(scene)]),
        tr(
            "all ranks in one container that sees all GPUs (docker run --gpus all --ipc=host); "
            "nvidia-smi topo -p2p r; {then}",
            then=tr(LOG),
        ),
    )


def _beyond(level: str) -> _Cause:
    return _Cause(
        tr(
            "the log gives no reason but NCCL_P2P_LEVEL={level}: GPUs that are farther apart do "
            "not use P2P",
            level=level,
        ),
        tr(_SOCKETS),
        tr("nvidia-smi topo -m; compare busbw without NCCL_P2P_LEVEL"),
        "NCCL_P2P_LEVEL set by environment",
    )


def _far() -> _Cause:
    return _Cause(
        tr(
            "the log gives no reason; NCCL does so where GPUs are farther apart than it uses P2P "
            "for, as across CPU sockets"
        ),
        tr(_SOCKETS),
        tr("nvidia-smi topo -m; compare busbw with NCCL_P2P_LEVEL=SYS (it may be slower or hang)"),
    )


def _unused(scene: Scene) -> list[str]:
    """NVLink, where a topology shows it beside traffic that takes another way."""
    there = any((topo.nvlink_pair_count or 0) > 0 for _, topo in scene.of(Topology))
    return [tr("NVLink is there and not used")] if there else []


def _all_within(scene: Scene, level: str) -> bool:
    """Whether whole topologies show no pair farther apart than a level."""
    worst = [
        topo.worst_gpu_link or ""
        for _, topo in scene.of(Topology)
        if topo.verdict != "incomplete" and topo.worst_gpu_link
    ]
    return bool(worst) and all(_step(word) <= _step(level) for word in worst)


def _step(word: str) -> int:
    return 1 if word.startswith("NV") else _STEPS.get(word, len(_STEPS))


def _hop_lines(paste: Pasted, log: NcclLog, kinds: set[str]) -> tuple[Evidence, ...]:
    """The first line of each pair that falls back."""
    pairs = set(log.fallback_pairs or ())
    found: dict[str, int] = {}
    for hop in log.transports or ():
        pair = f"{min(hop.src, hop.dst)}-{max(hop.src, hop.dst)}"
        if pair in pairs and hop.transport in kinds and hop.transport != "P2P":
            found[pair] = min(hop.line, found.get(pair, hop.line))
    return tuple(paste.at(line) for line in sorted(found.values())[:4])
