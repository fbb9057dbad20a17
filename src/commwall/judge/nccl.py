"""Which way NCCL's log says that traffic takes inside a host, and why.

Layer: judge. Reads no file.
"""

from collections.abc import Iterator, Sequence

from commwall.judge.fallback import fallback
from commwall.judge.finding import Evidence, Finding
from commwall.judge.scene import Pasted, Scene
from commwall.judge.topology import LOG
from commwall.language.translate import clauses, tr, tr_later
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


def path(scene: Scene) -> Iterator[Finding]:
    """The way between GPUs of one host."""
    for paste, log in scene.of(NcclLog):
        if _broken(log):
            continue
        if log.p2p_fallback:
            yield fallback(paste, log, scene)
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
