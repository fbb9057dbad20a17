"""How GPUs are linked, by `nvidia-smi topo -m`, and whether the driver grants access (`-p2p`).

Layer: judge. Reads no file.
"""

from collections.abc import Iterator, Mapping, Sequence

from commwall.judge.fabric import lost_gpus, rows_of, switched, unequal, unseen
from commwall.judge.finding import Evidence, Finding
from commwall.judge.rings import ring_exists
from commwall.judge.scene import Pasted, Scene
from commwall.language.translate import clauses, listed, tr, tr_later
from commwall.readers.topo import Topology
from commwall.schema.units import rate_text

LOG = tr_later("NCCL_DEBUG=INFO <your command> 2>&1 | tee nccl.log, then: commwall judge nccl.log")
"""How to have NCCL's log judged, for `tr`."""
_STATUS = {
    "CNS": tr_later("the chipset does not support it"),
    "GNS": tr_later("the driver does not grant it to these GPUs"),
    "TNS": tr_later("the topology does not support it"),
    "NS": tr_later("it is not supported"),
    "DR": tr_later("a key of the driver disables it"),
    "U": tr_later("the driver does not know"),
}
_WORDS = {
    "PIX": tr_later("one PCIe switch"),
    "PXB": tr_later("several PCIe switches"),
    "PHB": tr_later("a PCIe host bridge"),
    "NODE": tr_later("several host bridges of one NUMA node"),
    "SYS": tr_later("the link between NUMA nodes"),
    "SOC": tr_later("the link between NUMA nodes"),
}
_FAR = ("SYS", "SOC")


def links(scene: Scene) -> Iterator[Finding]:
    """What joins the GPUs."""
    for paste, topo in scene.of(Topology):
        if topo.links is None or lost_gpus(topo):
            continue
        if topo.verdict == "incomplete":
            yield _incomplete(paste, topo)
        elif topo.verdict == "single_gpu":
            yield _single(paste)
        elif topo.verdict == "nvlink_all_pairs_uniform":
            yield _uniform(paste, topo, scene)
        elif topo.nvlink_pair_count:
            yield _partial(paste, topo, scene)
        else:
            yield _without_nvlink(paste, topo, scene)


def same_node_far(scene: Scene) -> Iterator[Finding]:
    """GPUs of one NUMA node that see each other across nodes."""
    for paste, topo in scene.of(Topology):
        if "sys_between_gpus_of_same_numa_node" in topo.anomalies:
            yield Finding(
                rule="far_within_a_node",
                level="note",
                verdict=tr(
                    "GPUs with the same NUMA affinity are SYS apart: each hangs on a host bridge "
                    "that the system counts as another node"
                ),
                means=tr(
                    "their traffic crosses the processor's own fabric even inside a socket; "
                    "binding processes to a NUMA node does not bring GPUs nearer to each other"
                ),
                next_step=tr("lspci -tv; in the firmware: NUMA nodes per socket (NPS)"),
                evidence=rows_of(paste, topo.gpus or (), most=2),
            )


def without_affinity(scene: Scene) -> Iterator[Finding]:
    """GPUs of which the system does not say on which NUMA node they are."""
    for paste, topo in scene.of(Topology):
        key = "numa_affinity_unavailable:"
        lost = [a.removeprefix(key) for a in topo.anomalies if a.startswith(key)]
        if lost:
            yield Finding(
                rule="numa_affinity_unavailable",
                level="note",
                verdict=tr("the NUMA node of {gpus} is not stated", gpus=listed(lost)),
                means=tr(
                    "a node without memory of its own has none to state, or a virtual machine "
                    "hides it: host buffers of that GPU may lie on another node"
                ),
                next_step="numactl -H",
                evidence=rows_of(paste, lost),
            )


def peer_access(scene: Scene) -> Iterator[Finding]:
    """Whether the driver lets GPUs reach each other's memory."""
    for paste, topo in scene.of(Topology):
        if topo.p2p_matrix is None:
            continue
        status = topo.p2p_matrix.status
        refused = {pair: word for pair, word in status.items() if word != "OK"}
        rows = paste.find(r"^[ \t]*GPU[0-9]+(?:[ \t]+(?:X|OK|CNS|GNS|TNS|NS|DR|U))+[ \t]*$", most=3)
        if topo.p2p_supported:
            yield Finding(
                rule="peer_access",
                level="good",
                verdict=tr(
                    "the driver grants access between all {n} pair(s) of GPUs", n=len(status)
                ),
                means=tr("NCCL can use the direct way; whether it does, its log says"),
                next_step=tr(LOG),
                evidence=rows,
            )
        elif topo.p2p_supported is False:
            yield _refused(refused, rows)


def _refused(refused: Mapping[str, str], rows: tuple[Evidence, ...]) -> Finding:
    words = clauses(
        tr("{status}: {meaning}", status=word, meaning=tr(_STATUS.get(word, word)))
        for word in sorted({*refused.values()})
    )
    pairs = listed(list(refused)[:6])
    return Finding(
        rule="peer_access",
        level="warning",
        verdict=tr("no access between GPUs {pairs} ({why})", pairs=pairs, why=words),
        means=tr(
            "NCCL stages their traffic through host memory, whatever the topology shows; that is "
            "the driver's choice for such cards and no defect. Exchange of gradients costs host "
            "memory bandwidth: accumulate gradients, or keep one model on one GPU"
        ),
        next_step=tr(LOG),
        evidence=rows,
    )


def nics(scene: Scene) -> Iterator[Finding]:
    """GPUs that are far from all network cards."""
    for paste, topo in scene.of(Topology):
        near: dict[str, set[str]] = {}
        for pair, word in (topo.gpu_nic_links or {}).items():
            near.setdefault(pair.partition("-")[0], set()).add(word)
        far = [gpu for gpu, words in near.items() if words <= {*_FAR}]
        if far and len(far) < len(near):
            yield Finding(
                rule="far_from_network",
                level="note",
                verdict=tr(
                    "{far}: every network card is across NUMA nodes; the others ({near}) are "
                    "nearer to one",
                    far=_named(far),
                    near=_named([gpu for gpu in near if gpu not in far]),
                ),
                means=tr(
                    "it matters only with several machines: GPUDirect RDMA is then not used for "
                    "the far ones, and their traffic goes through the near ones or host memory"
                ),
                next_step=None,
                evidence=rows_of(paste, far, most=2),
            )


def _incomplete(paste: Pasted, topo: Topology) -> Finding:
    missing = listed(topo.links_unknown or topo.rows_missing or topo.rows_incomplete or ())
    return Finding(
        rule="links",
        level="unknown",
        verdict=tr("the matrix is cut off; not known: {missing}", missing=missing),
        means=tr(
            "what stands here does not say how all GPUs are linked; a cell at the cut counts for "
            "nothing"
        ),
        next_step="nvidia-smi topo -m > topo.txt",
        evidence=rows_of(paste, topo.rows_incomplete or (topo.gpus or ())[-1:]),
    )


def _single(paste: Pasted) -> Finding:
    return Finding(
        rule="links",
        level="note",
        verdict=tr("there is one GPU: no link between GPUs to judge"),
        means=tr("training here needs no exchange between GPUs"),
        evidence=rows_of(paste, ["GPU0"]),
    )


def _uniform(paste: Pasted, topo: Topology, scene: Scene) -> Finding:
    word = topo.best_gpu_link or ""
    gpu = scene.gpu
    told = tr(
        "NVLink joins all {gpus} GPUs alike, {n} pair(s) of {link}",
        gpus=topo.gpu_count,
        n=topo.pair_count,
        link=word,
    )
    sources: tuple[str, ...] = ()
    fewer = False
    if gpu and gpu.nvlinks and gpu.nvlink_bytes_per_s:
        links, most = int(word[2:]), gpu.nvlinks.value
        pair = gpu.nvlink_bytes_per_s.value * min(1, links / most)
        told = tr("{told}, {rate} per direction", told=told, rate=rate_text(pair))
        sources = (gpu.nvlink_bytes_per_s.source,)
        direct = links * ((topo.gpu_count or 2) - 1) == most
        fewer = links < most and not direct and gpu.reach != "direct"
        if fewer:
            told = clauses([told, tr("these GPUs have {n} links", n=most)])
    return Finding(
        rule="links",
        level="warning" if fewer else "good",
        verdict=told,
        means=tr(
            "any choice of GPUs is as good as any other, and the exchange of gradients can take "
            "NVLink throughout; whether NCCL does, its log says"
        ),
        next_step=tr(LOG),
        evidence=rows_of(paste, topo.gpus or (), most=2),
        sources=sources,
    )


def _partial(paste: Pasted, topo: Topology, scene: Scene) -> Finding:
    words = topo.links or {}
    joined = [pair for pair, word in words.items() if word.startswith("NV")]
    rest = sorted({word for word in words.values() if not word.startswith("NV")})
    told = tr(
        "NVLink joins {n} of {all} pairs ({kinds})",
        n=len(joined),
        all=topo.pair_count,
        kinds=listed(sorted({words[pair] for pair in joined})),
    )
    others = [tr("the others are {kinds} apart", kinds=listed(rest))] if rest else []
    evidence = rows_of(paste, topo.gpus or (), most=3)
    if ring_exists(topo.gpus or (), joined):
        if switched(topo, scene):
            return unequal(paste, topo, [told, *others])
        return _ring_of_nvlink(told, others, evidence)
    return _no_ring_of_nvlink(told, others, joined, evidence)


def _ring_of_nvlink(told: str, others: Sequence[str], evidence: tuple[Evidence, ...]) -> Finding:
    return Finding(
        rule="links",
        level="good" if others else "note",
        verdict=clauses([told, *others, tr("a ring over all GPUs takes NVLink alone")]),
        means=tr(
            "SYS or NODE as the worst pair does not mean PCIe here: rings over all GPUs stay "
            "on NVLink. Subsets of GPUs differ: choose such that have NVLink"
        )
        if others
        else tr("pairs differ in links: put ranks that talk most where there are more"),
        next_step=tr(LOG),
        evidence=evidence,
    )


def _no_ring_of_nvlink(
    told: str, others: Sequence[str], joined: Sequence[str], evidence: tuple[Evidence, ...]
) -> Finding:
    pairs = tr("{told}: {pairs}", told=told, pairs=listed(joined[:8]))
    return Finding(
        rule="links",
        level="warning",
        verdict=clauses([pairs, *others, tr("no ring over all GPUs stays on NVLink")]),
        means=tr(
            "a job over all GPUs runs at the speed of its slowest hop, which is not NVLink; a job "
            "within a joined group has NVLink"
        ),
        next_step=tr(
            "within a group: CUDA_VISIBLE_DEVICES={gpus} <your command>; {then}",
            gpus=_numbers(joined[0]),
            then=tr(LOG),
        ),
        evidence=evidence,
    )


def _without_nvlink(paste: Pasted, topo: Topology, scene: Scene) -> Finding:
    words = topo.links or {}
    count = {word: list(words.values()).count(word) for word in dict.fromkeys(words.values())}
    told = listed(
        tr("{n} pair(s) {link} ({way})", n=n, link=word, way=tr(_WORDS[word]))
        for word, n in count.items()
    )
    told = tr("no NVLink between GPUs: {pairs}", pairs=told)
    far = [pair for pair, word in words.items() if word in _FAR]
    if scene.gpu and scene.gpu.reach == "switch":
        return unseen(paste, topo, told)
    return Finding(
        rule="links",
        level="warning" if far else "note",
        verdict=told,
        means=_over_pcie(len(far), crowded=(topo.gpu_count or 0) > 4),
        next_step=f"nvidia-smi topo -p2p r; {tr(LOG)}",
        evidence=rows_of(paste, [far[0].partition("-")[0]] if far else topo.gpus or (), most=2),
    )


def _over_pcie(far: int, *, crowded: bool) -> str:
    """What it means that GPUs have no NVLink.

    Args:
        far: pairs in different NUMA nodes.
        crowded: whether there are so many GPUs that some share a host bridge.
    """
    means = (
        tr(
            "gradients are exchanged over PCIe or host memory; {n} pair(s) cross NUMA nodes: there "
            "NCCL often stages through host memory. Bind each process to its GPU's node; a job "
            "that fits into one node should stay there",
            n=far,
        )
        if far
        else tr(
            "gradients are exchanged over PCIe or host memory; all pairs stay within a NUMA node: "
            "NCCL takes PCIe directly if the driver grants access between the GPUs"
        )
    )
    if not crowded:
        return means
    return tr(
        "{means}. Bus bandwidth falls from 4 to 8 GPUs where they share host bridges: no defect",
        means=means,
    )


def _named(gpus: Sequence[str]) -> str:
    """Their names, of many in a row the first and the last."""
    numbers = [int(gpu[3:]) for gpu in gpus if gpu[3:].isdecimal()]
    in_a_row = numbers and numbers == [*range(numbers[0], numbers[0] + len(gpus))]
    if len(gpus) < 5 or not in_a_row:
        return listed(gpus)
    return tr("{n} GPUs ({first} … {last})", n=len(gpus), first=gpus[0], last=gpus[-1])


def _numbers(pair: str) -> str:
    return pair.replace("GPU", "").replace("-", ",")
