"""Which way NCCL's log says that traffic takes inside a host, and why.

Layer: judge. Reads no file.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from commwall.judge.finding import Evidence, Finding
from commwall.judge.scene import Pasted, Scene
from commwall.judge.topology import LOG
from commwall.language.translate import clauses, listed, tr, tr_later
from commwall.readers.nccl_log import NcclLog
from commwall.readers.nccl_tests import NcclTest
from commwall.readers.topo import Topology

_GRAPH = tr_later(
    "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,P2P,SHM,NET <your command> 2>&1 | tee log"
)
_SIGNS = {
    "nvls_available": tr_later("the switch reduces (NVLS), which only NVLink has"),
    "mnnvl": tr_later("multi-node NVLink"),
    "topology_dump": tr_later("NVLink in NCCL's topology"),
    "nvlink_path": tr_later("all paths between GPUs are NVLink in NCCL's topology"),
    "nvlink_chunk": tr_later("the chunk size that NCCL takes for NVLink"),
    "read_suffix_sm80_nvlink": tr_later(
        "peers are read from, which NCCL does on A100 over NVLink only"
    ),
}
_REASONS = {
    "p2p_disabled_between_connected_gpus": (
        tr_later("the driver grants these GPUs no access to each other"),
        "P2P is disabled between connected",
    ),
    "could_not_enable_p2p": (
        tr_later("CUDA could not enable access between them"),
        "Could not enable P2P",
    ),
}


def path(scene: Scene) -> Iterator[Finding]:
    """The way between GPUs of one host."""
    for paste, log in scene.of(NcclLog):
        if _broken(log):
            continue
        if log.p2p_fallback:
            yield _fallback(paste, log, scene)
        elif log.intra_node_path == "nvlink":
            yield _nvlink(paste, log)
        elif log.intra_node_path == "p2p" or log.all_intra_node_p2p:
            if _by_p2p(log):  # else no two ranks share a host
                yield _direct(paste, log, scene)
        else:
            yield _unknown(paste, log)


def _broken(log: NcclLog) -> bool:
    """Whether the log is about a start that failed before any channel."""
    return "p2p_disabled_between_nvlink_gpus" in (log.errors or ()) and not log.transports


def _nvlink(paste: Pasted, log: NcclLog) -> Finding:
    signs = [tr(_SIGNS[one.sign]) for one in log.path_evidence or () if one.sign in _SIGNS]
    return Finding(
        rule="path_inside_host",
        level="good",
        verdict=tr(
            "GPUs of a host reach each other by NVLink: P2P between {pairs}, and {signs}",
            pairs=_pairs(log),
            signs=clauses(dict.fromkeys(signs)),
        ),
        means=tr("the exchange of gradients has the fastest way of the machine"),
        next_step=tr("commwall judge <output of all_reduce_perf> says how much of it is reached"),
        evidence=_lines(paste, log),
    )


def _direct(paste: Pasted, log: NcclLog, scene: Scene) -> Finding:
    if known := _proven_direct(log, [topo for _, topo in scene.of(Topology)]):
        return Finding(
            rule="path_inside_host",
            level="good",
            verdict=known,
            means=tr("there is no detour through host memory"),
            next_step=None,
            evidence=_lines(paste, log),
        )
    told = tr(
        "GPUs of a host reach each other directly: P2P between {pairs}, no fallback; whether by "
        "NVLink or PCIe this log does not prove",
        pairs=_pairs(log),
    )
    if some := _SIGNS.get(log.nvlink_evidence or ""):
        told = tr("{told} ({sign}, but not for all pairs)", told=told, sign=tr(some))
    return Finding(
        rule="path_inside_host",
        level="note",
        verdict=told,
        means=tr("there is no detour through host memory; P2P alone does not say NVLink"),
        next_step=tr("nvidia-smi topo -m > topo.txt; or {command}", command=tr(_GRAPH)),
        evidence=_lines(paste, log),
    )


def _proven_direct(log: NcclLog, topologies: Sequence[Topology]) -> str | None:
    """By which link P2P goes, where a topology has the same between all pairs."""
    if any(topo.verdict.startswith("nvlink_all") for topo in topologies):
        return tr(
            "GPUs of a host reach each other directly by NVLink: P2P between {pairs}, and the "
            "topology has NVLink between all pairs",
            pairs=_pairs(log),
        )
    if any(topo.nvlink_pair_count == 0 and (topo.pair_count or 0) for topo in topologies):
        return tr(
            "GPUs of a host reach each other directly by PCIe: P2P between {pairs}, and the "
            "topology has no NVLink between any pairs",
            pairs=_pairs(log),
        )
    return None


def _fallback(paste: Pasted, log: NcclLog, scene: Scene) -> Finding:
    pairs = log.fallback_pairs or ()
    kinds = {kind for pair in pairs for kind in (log.pair_transports or {}).get(pair, ())}
    ways = {
        "SHM": tr("host memory (SHM)"),
        "NET": tr("the network stack (NET/{network})", network=log.network or "?"),
    }
    rest = [p for p, kinds in (log.pair_transports or {}).items() if kinds == ("P2P",)]
    told = tr(
        "ranks {pairs} of one host talk through {ways}",
        pairs=listed(pairs[:12]),
        ways=tr(" and ").join(words for kind, words in ways.items() if kind in kinds),
    )
    if rest:
        told = clauses([told, tr("P2P only between {pairs}", pairs=listed(rest[:8]))])
    cause = _cause(log, scene, by_network="NET" in kinds)
    return Finding(
        rule="path_inside_host",
        level="warning",
        verdict=tr("{told}: {reason}", told=told, reason=cause.reason),
        means=cause.means,
        next_step=cause.next_step,
        evidence=(*_hop_lines(paste, log, kinds), *_reason_lines(paste, log)),
    )


class _Cause(NamedTuple):
    """Why NCCL takes a slow way, in words."""

    reason: str
    means: str
    next_step: str


def _cause(log: NcclLog, scene: Scene, *, by_network: bool) -> _Cause:
    told = log.fallback_reason or ()
    rate = _rate_text(by_network=by_network)
    if user := next((one for one in told if one.startswith("NCCL_P2P_DISABLE=")), None):
        return _chosen(user, rate, log, scene, by_network=by_network)
    if known := next((_REASONS[one][0] for one in told if one in _REASONS), None):
        return _refused(known, rate)
    return _unexplained(rate)


def _rate_text(*, by_network: bool) -> str:
    if by_network:
        return tr(
            "the slowest hop sets the speed of every ring, so that the exchange of gradients runs "
            "at the rate of the network stack"
        )
    return tr(
        "the slowest hop sets the speed of every ring, so that the exchange of gradients runs "
        "at the rate of host memory"
    )


def _chosen(variable: str, rate: str, log: NcclLog, scene: Scene, *, by_network: bool) -> _Cause:
    """A variable of the user disables P2P."""
    no_host_memory = log.env and log.env.get("NCCL_SHM_DISABLE", "0") not in ("", "0")
    reason = (
        tr(
            "the user's variable {variable} disables P2P and NCCL_SHM_DISABLE=1 host memory",
            variable=variable,
        )
        if by_network and no_host_memory
        else tr("the user's variable {variable} disables P2P", variable=variable)
    )
    means = tr(
        "{rate}; that is a choice, not a limit of the machine, and it is not PCIe between GPUs",
        rate=rate,
    )
    nvlink = any((topo.nvlink_pair_count or 0) > 0 for _, topo in scene.of(Topology))
    return _Cause(
        reason,
        clauses([means, tr("NVLink is there and not used")]) if nvlink else means,
        tr("unset NCCL_P2P_DISABLE (also in /etc/nccl.conf, ~/.nccl.conf); {then}", then=tr(LOG)),
    )


def _refused(reason: str, rate: str) -> _Cause:
    """Driver or CUDA give the GPUs no access to each other."""
    return _Cause(
        tr(reason),
        tr(
            "{rate}. GeForce cards from the 4090 on never get access from the maker's driver: "
            "no defect then",
            rate=rate,
        ),
        "nvidia-smi topo -p2p r; sudo dmesg | grep -iE 'iommu|acs'",
    )


def _unexplained(rate: str) -> _Cause:
    return _Cause(
        tr(
            "the log gives no reason; NCCL does so where GPUs are farther apart than it uses P2P "
            "for, as across CPU sockets"
        ),
        tr(
            "{rate}; across sockets that can be the faster choice, so measure before forcing P2P",
            rate=rate,
        ),
        tr("nvidia-smi topo -m; compare busbw with NCCL_P2P_LEVEL=SYS (it may be slower or hang)"),
    )


def _unknown(paste: Pasted, log: NcclLog) -> Finding:
    cut = (
        tr("lines are missing")
        if log.transports
        else tr("no line names a channel between two ranks")
    )
    return Finding(
        rule="path_inside_host",
        level="unknown",
        verdict=tr("this log does not say how GPUs of one host reach each other: {why}", why=cut),
        means=tr("no fallback that is seen is not the same as no fallback"),
        next_step=tr(LOG),
        evidence=_lines(paste, log) or paste.find("NCCL version|NCCL INFO"),
    )


def start(scene: Scene) -> Iterator[Finding]:
    """A start that failed, or of which the end is not there."""
    for paste, log in scene.of(NcclLog):
        errors = log.errors or ()
        if "p2p_disabled_between_nvlink_gpus" in errors:
            yield _broken_nvlink(paste)
        elif log.init_complete is None and log.transports and not _ran(paste):
            yield _unfinished(paste, log, log.transports[-1].line)
        elif log.init_complete is False and "shm" not in " ".join(errors):
            yield Finding(
                rule="start_failed",
                level="fault",
                verdict=tr("NCCL's start failed"),
                means=tr("no rate can be judged"),
                next_step=tr(_GRAPH),
                evidence=paste.find(r"NCCL WARN (?!.*libibverbs)|Test NCCL failure|init\.cc"),
            )


def _broken_nvlink(paste: Pasted) -> Finding:
    return Finding(
        rule="nvlink_broken",
        level="fault",
        verdict=tr("GPUs that NVLink joins are refused access to each other: NCCL stops"),
        means=tr(
            "no job over these GPUs starts; it points at hardware or the fabric, and "
            "ignoring the message only hides it"
        ),
        next_step="nvidia-smi nvlink -s; dmesg | grep -i xid; systemctl status "
        "nvidia-fabricmanager",
        evidence=paste.find("P2P is disabled between NVLINK connected"),
    )


def _unfinished(paste: Pasted, log: NcclLog, last_line: int) -> Finding:
    return Finding(
        rule="start_unfinished",
        level="unknown",
        verdict=tr(
            "{n} of {all} ranks say that the start is complete: the log is cut off, or the "
            "start hangs",
            n=len(log.init_complete_ranks or ()),
            all=log.nranks or tr("unknown"),
        ),
        means=tr("if it hangs where GPUs talk by P2P over PCIe, ACS or IOMMU are suspects"),
        next_step=tr(
            "wait a minute and paste the whole log; if it hangs: NCCL_P2P_DISABLE=1 <your "
            "command>, and sudo lspci -vvv | grep -i acsctl"
        ),
        evidence=(paste.at(last_line),),
    )


def _ran(paste: Pasted) -> bool:
    """Whether the file holds results as well, so that the start ended."""
    return any(isinstance(one, NcclTest) and one.rows for one in paste.readings)


def switch_reduction(scene: Scene) -> Iterator[Finding]:
    """Whether the switch reduces."""
    for paste, log in scene.of(NcclLog):
        if log.nvls:
            yield Finding(
                rule="nvls",
                level="good",
                verdict=tr("the NVSwitch reduces (NVLS): all-reduce is not bound to rings"),
                means=tr(
                    "busbw of all-reduce may exceed the link's rate, because its factor is that of "
                    "a ring; compare only with values that were reached with NVLS"
                ),
                evidence=paste.find("NVLS multicast support is available"),
            )


def _by_p2p(log: NcclLog) -> int:
    """Pairs of ranks that talk by P2P."""
    return sum("P2P" in kinds for kinds in (log.pair_transports or {}).values())


def _pairs(log: NcclLog) -> str:
    count = _by_p2p(log)
    return tr("the pair that talks") if count == 1 else tr("all {n} pairs that talk", n=count)


def _lines(paste: Pasted, log: NcclLog) -> tuple[Evidence, ...]:
    """The reader's own evidence, else the first hops."""
    told = [one.line for one in log.path_evidence or () if one.sign not in ("via_NET", "via_SHM")]
    told = told or [hop.line for hop in (log.transports or ())[:1]]
    return tuple(paste.at(line) for line in sorted({*told})[:4])


def _hop_lines(paste: Pasted, log: NcclLog, kinds: set[str]) -> tuple[Evidence, ...]:
    """The first line of each pair that falls back."""
    pairs = set(log.fallback_pairs or ())
    found: dict[str, int] = {}
    for hop in log.transports or ():
        pair = f"{min(hop.src, hop.dst)}-{max(hop.src, hop.dst)}"
        if pair in pairs and hop.transport in kinds and hop.transport != "P2P":
            found[pair] = min(hop.line, found.get(pair, hop.line))
    return tuple(paste.at(line) for line in sorted(found.values())[:4])


def _reason_lines(paste: Pasted, log: NcclLog) -> tuple[Evidence, ...]:
    words = [_REASONS[one][1] for one in log.fallback_reason or () if one in _REASONS]
    if any(one.startswith("NCCL_P2P_DISABLE=") for one in log.fallback_reason or ()):
        words.append("NCCL_P2P_DISABLE set by environment")
    return tuple(line for word in words for line in paste.find(word))
