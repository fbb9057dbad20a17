"""How GPUs are linked, by `nvidia-smi topo -m`, and whether the driver grants access (`-p2p`).

Layer: judge. Reads no file.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from commwall.judge.finding import Evidence, Finding
from commwall.judge.rings import ring_exists
from commwall.judge.scene import Pasted, Scene
from commwall.readers.topo import Topology
from commwall.schema.units import rate_text

LOG = "NCCL_DEBUG=INFO <your command> 2>&1 | tee nccl.log, then: commwall judge nccl.log"
_STATUS = {
    "CNS": "the chipset does not support it",
    "GNS": "the driver does not grant it to these GPUs",
    "TNS": "the topology does not support it",
    "NS": "it is not supported",
    "DR": "a key of the driver disables it",
    "U": "the driver does not know",
}
_WORDS = {
    "PIX": "one PCIe switch",
    "PXB": "several PCIe switches",
    "PHB": "a PCIe host bridge",
    "NODE": "several host bridges of one NUMA node",
    "SYS": "the link between NUMA nodes",
    "SOC": "the link between NUMA nodes",
}
_FAR = ("SYS", "SOC")


def links(scene: Scene) -> Iterator[Finding]:
    """What joins the GPUs."""
    for paste, topo in scene.of(Topology):
        if topo.links is None or _lost(topo):
            continue
        if topo.verdict == "incomplete":
            yield _incomplete(paste, topo)
        elif topo.verdict == "single_gpu":
            yield _single(paste)
        elif topo.verdict == "nvlink_all_pairs_uniform":
            yield _uniform(paste, topo, scene)
        elif topo.nvlink_pair_count:
            yield _partial(paste, topo)
        else:
            yield _without_nvlink(paste, topo)


def off_the_fabric(scene: Scene) -> Iterator[Finding]:
    """A GPU without NVLink where all others have it between each other."""
    for paste, topo in scene.of(Topology):
        lost = _lost(topo)
        if lost:
            names = ", ".join(lost)
            yield Finding(
                rule="gpu_off_the_fabric",
                level="fault",
                verdict=f"{names} is not on the NVLink fabric that joins all other GPUs",
                means="this is a defect of the GPU, its links or the fabric manager, not a machine "
                "without NVLink: a job over all GPUs fails or runs at PCIe speed; until it is "
                "repaired leave the GPU out (CUDA_VISIBLE_DEVICES)",
                next_step=f"nvidia-smi nvlink -s -i {lost[0][3:]}; nvidia-smi -q -i {lost[0][3:]} "
                "(section Fabric); dmesg | grep -i xid; systemctl status nvidia-fabricmanager",
                evidence=_rows(paste, lost),
            )


def _lost(topo: Topology) -> list[str]:
    return [a.partition(":")[2] for a in topo.anomalies if a.startswith("gpu_without_nvlink")]


def same_node_far(scene: Scene) -> Iterator[Finding]:
    """GPUs of one NUMA node that see each other across nodes."""
    for paste, topo in scene.of(Topology):
        if "sys_between_gpus_of_same_numa_node" in topo.anomalies:
            yield Finding(
                rule="far_within_a_node",
                level="note",
                verdict="GPUs with the same NUMA affinity are SYS apart: each hangs on a host "
                "bridge that the system counts as another node",
                means="their traffic crosses the processor's own fabric even inside a socket; "
                "binding processes to a NUMA node does not bring GPUs nearer to each other",
                next_step="lspci -tv; in the firmware: NUMA nodes per socket (NPS)",
                evidence=_rows(paste, topo.gpus or (), most=2),
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
                verdict=f"the NUMA node of {', '.join(lost)} is not stated",
                means="a node without memory of its own has none to state, or a virtual machine "
                "hides it: host buffers of that GPU may lie on another node",
                next_step="numactl -H",
                evidence=_rows(paste, lost),
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
                verdict=f"the driver grants access between all {len(status)} pair(s) of GPUs",
                means="NCCL can use the direct way; whether it does, its log says",
                next_step=LOG,
                evidence=rows,
            )
        elif topo.p2p_supported is False:
            yield _refused(refused, rows)


def _refused(refused: Mapping[str, str], rows: tuple[Evidence, ...]) -> Finding:
    words = "; ".join(f"{word}: {_STATUS.get(word, word)}" for word in sorted({*refused.values()}))
    pairs = ", ".join(list(refused)[:6])
    return Finding(
        rule="peer_access",
        level="warning",
        verdict=f"no access between GPUs {pairs} ({words})",
        means="NCCL stages their traffic through host memory, whatever the topology shows; that is "
        "the driver's choice for such cards and no defect. Exchange of gradients costs host memory "
        "bandwidth: accumulate gradients, or keep one model on one GPU",
        next_step=LOG,
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
                verdict=f"{_named(far)}: every network card is across NUMA nodes; the others "
                f"({_named([gpu for gpu in near if gpu not in far])}) are nearer to one",
                means="it matters only with several machines: GPUDirect RDMA is then not used for "
                "the far ones, and their traffic goes through the near ones or host memory",
                next_step=None,
                evidence=_rows(paste, far, most=2),
            )


def _incomplete(paste: Pasted, topo: Topology) -> Finding:
    missing = ", ".join(topo.links_unknown or topo.rows_missing or topo.rows_incomplete or ())
    return Finding(
        rule="links",
        level="unknown",
        verdict=f"the matrix is cut off; not known: {missing}",
        means="what stands here does not say how all GPUs are linked; a cell at the cut counts "
        "for nothing",
        next_step="nvidia-smi topo -m > topo.txt",
        evidence=_rows(paste, topo.rows_incomplete or (topo.gpus or ())[-1:]),
    )


def _single(paste: Pasted) -> Finding:
    return Finding(
        rule="links",
        level="note",
        verdict="there is one GPU: no link between GPUs to judge",
        means="training here needs no exchange between GPUs",
        evidence=_rows(paste, ["GPU0"]),
    )


def _uniform(paste: Pasted, topo: Topology, scene: Scene) -> Finding:
    word = topo.best_gpu_link or ""
    gpu = scene.gpu
    rate = ""
    sources: tuple[str, ...] = ()
    extra = ""
    if gpu and gpu.nvlinks and gpu.nvlink_bytes_per_s:
        links, most = int(word[2:]), gpu.nvlinks.value
        pair = gpu.nvlink_bytes_per_s.value * min(1, links / most)
        rate = f", {rate_text(pair)} per direction"
        sources = (gpu.nvlink_bytes_per_s.source,)
        direct = links * ((topo.gpu_count or 2) - 1) == most
        if links < most and not direct and gpu.reach != "direct":
            extra = f"; these GPUs have {most} links"
    return Finding(
        rule="links",
        level="warning" if extra else "good",
        verdict=f"NVLink joins all {topo.gpu_count} GPUs alike, {topo.pair_count} pair(s) of "
        f"{word}{rate}{extra}",
        means="any choice of GPUs is as good as any other, and the exchange of gradients can take "
        "NVLink throughout; whether NCCL does, its log says",
        next_step=LOG,
        evidence=_rows(paste, topo.gpus or (), most=2),
        sources=sources,
    )


def _partial(paste: Pasted, topo: Topology) -> Finding:
    words = topo.links or {}
    joined = [pair for pair, word in words.items() if word.startswith("NV")]
    rest = sorted({word for word in words.values() if not word.startswith("NV")})
    kinds = ", ".join(sorted({words[pair] for pair in joined}))
    some = f"NVLink joins {len(joined)} of {topo.pair_count} pairs ({kinds})"
    others = f"; the others are {', '.join(rest)} apart" if rest else ""
    closed = ring_exists(topo.gpus or (), joined)
    evidence = _rows(paste, topo.gpus or (), most=3)
    if closed:
        return Finding(
            rule="links",
            level="good" if rest else "note",
            verdict=f"{some}{others}; a ring over all GPUs takes NVLink alone",
            means="SYS or NODE as the worst pair does not mean PCIe here: rings over all GPUs stay "
            "on NVLink. Subsets of GPUs differ: choose such that have NVLink"
            if rest
            else "pairs differ in links: put ranks that talk most where there are more",
            next_step=LOG,
            evidence=evidence,
        )
    return Finding(
        rule="links",
        level="warning",
        verdict=f"{some}: {', '.join(joined[:8])}{others}; no ring over all GPUs stays on NVLink",
        means="a job over all GPUs runs at the speed of its slowest hop, which is not NVLink; a "
        "job within a joined group has NVLink",
        next_step=f"within a group: CUDA_VISIBLE_DEVICES={_numbers(joined[0])} <your command>; "
        + LOG,
        evidence=evidence,
    )


def _without_nvlink(paste: Pasted, topo: Topology) -> Finding:
    words = topo.links or {}
    count = {word: list(words.values()).count(word) for word in dict.fromkeys(words.values())}
    told = ", ".join(f"{n} pair(s) {word} ({_WORDS[word]})" for word, n in count.items())
    far = [pair for pair, word in words.items() if word in _FAR]
    across = (
        f"{len(far)} pair(s) cross NUMA nodes: there NCCL often stages through host memory. "
        "Bind each process to its GPU's node; a job that fits into one node should stay there"
        if far
        else "all pairs stay within a NUMA node: NCCL takes PCIe directly if the driver grants "
        "access between the GPUs"
    )
    crowd = (
        ". Bus bandwidth falls from 4 to 8 GPUs where they share host bridges: no defect"
        if (topo.gpu_count or 0) > 4
        else ""
    )
    return Finding(
        rule="links",
        level="warning" if far else "note",
        verdict=f"no NVLink between GPUs: {told}",
        means=f"gradients are exchanged over PCIe or host memory; {across}{crowd}",
        next_step=f"nvidia-smi topo -p2p r; {LOG}",
        evidence=_rows(paste, [far[0].partition("-")[0]] if far else topo.gpus or (), most=2),
    )


def _rows(paste: Pasted, names: Sequence[str], *, most: int = 3) -> tuple[Evidence, ...]:
    """The rows of some devices."""
    found = (paste.find(rf"^[ \t]*{name}[ \t]+(?:X|NV|P[IXH]|NODE|S[YO])") for name in names)
    return tuple(itertools.chain.from_iterable(itertools.islice(found, most)))


def _named(gpus: Sequence[str]) -> str:
    """Their names, of many in a row the first and the last."""
    numbers = [int(gpu[3:]) for gpu in gpus if gpu[3:].isdecimal()]
    in_a_row = numbers and numbers == [*range(numbers[0], numbers[0] + len(gpus))]
    if len(gpus) < 5 or not in_a_row:
        return ", ".join(gpus)
    return f"{len(gpus)} GPUs ({gpus[0]} … {gpus[-1]})"


def _numbers(pair: str) -> str:
    return pair.replace("GPU", "").replace("-", ",")
