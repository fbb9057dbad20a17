"""NCCL's log with NCCL_DEBUG=INFO: which transport joins which ranks, and why.

Layer: readers. Reads no file. A log tells of a fallback only between GPUs of one host: there NCCL
takes the GPUs' own link (P2P) if it can, else shared memory, else the network. P2P alone does not
say that the link is NVLink. Lines of a rank that are missing are missing evidence, so that "no
fallback" needs a line of every rank.
"""

import re
from collections.abc import Iterable

from commwall.readers.nccl_communicators import Communicator, Tracker
from commwall.readers.nccl_findings import BEGIN, HARMLESS, Findings
from commwall.readers.nccl_hops import hop_of, ring_size, via_of
from commwall.readers.nccl_lines import LogLine, nccl_lines
from commwall.readers.nccl_paths import PathEvidence, Paths, RankTransport, paths_of, transports_of
from commwall.readers.reading import Reading
from commwall.readers.refusal import Unreadable

KIND = "nccl-log"

_SIGN = re.compile(r":[0-9]+:[0-9]+ \[-?[0-9]+\] (?:\S[^\n]{0,300}? )?(?:NCCL )?(?:INFO|WARN) ")
_OF_CHANNELS = ("Channel ", "Ring ")
_OF_COMMUNICATORS = ("comm 0x", "nccl")
_BEGIN = (*_OF_CHANNELS, *_OF_COMMUNICATORS, *BEGIN)


class NcclLog(Reading):
    """What is certain in a log. Ranks are those of its largest communicator."""

    nccl_version: str | None = None
    cuda_version: str | None = None
    nranks: int | None = None
    nnodes: int | None = None
    communicators: int | None = None
    """Communicators that the log tells of; only the first of the largest is told here."""
    rank_hosts: dict[str, str] | None = None
    network: str | None = None
    gdr: bool | None = None
    """Whether some network hop reads and writes GPU memory directly; None without such a hop."""
    cards: dict[str, str] | None = None
    """Number of a network card -> IB or RoCE, where all processes agree."""
    transports: tuple[RankTransport, ...] | None = None
    pair_transports: dict[str, tuple[str, ...]] | None = None
    """Unordered pair of ranks, `0-1` -> transports between them."""
    p2p_fallback: bool | None = None
    fallback_pairs: tuple[str, ...] | None = None
    fallback_reason: tuple[str, ...] | None = None
    all_intra_node_p2p: bool | None = None
    intra_node_path: str | None = None
    """nvlink, p2p, shm, net or mixed: what joins GPUs of one host. p2p: which link is not said."""
    path_evidence: tuple[PathEvidence, ...] | None = None
    nvlink_evidence: str | None = None
    nvls: bool | None = None
    connected_rings: bool | None = None
    init_complete_ranks: tuple[int, ...] | None = None
    init_complete: bool | None = None
    """False only if the log says that it failed."""
    env: dict[str, str] | None = None
    env_differs: tuple[str, ...] | None = None
    """Variables that have another value in another process; `env` has the first."""
    messages: tuple[str, ...] | None = None
    errors: tuple[str, ...] | None = None
    net_fallback_to_socket: bool | None = None
    bracket_meaning: str | None = None


def looks_like(text: str) -> bool:
    """Whether a process speaks as NCCL does."""
    return bool(_SIGN.search(text))


def read(text: str) -> NcclLog:
    """What is certain in a log.

    Raises:
        Unreadable: if no line is NCCL's.
    """
    tracker, findings = Tracker(), Findings()
    sizes: set[int] = set()
    if not _follow(text, tracker, findings, sizes):
        raise Unreadable(KIND, "no_line_of_nccl")
    found = tracker.communicators()
    main = _main(found) or Communicator(0)
    paths = paths_of(main, findings, _nranks(main, sizes))
    return _log_of(main, findings, paths, len(found))


def _follow(text: str, tracker: Tracker, findings: Findings, sizes: set[int]) -> bool:
    """Let all lines be taken in; whether there was one."""
    any_line = False
    vias: set[str] = set()
    for line in nccl_lines(text, _BEGIN):
        any_line = True
        if line.says.startswith(_OF_CHANNELS):
            _take_channel(line, tracker, sizes, vias)
            continue
        if line.says.startswith(_OF_COMMUNICATORS):
            tracker.on_communicator(line)
        findings.take(line)
    return any_line


def _take_channel(line: LogLine, tracker: Tracker, sizes: set[int], vias: set[str]) -> None:
    """A hop, or a channel's list of ranks. Of a cut line only what stood whole before counts."""
    via = via_of(line.says)
    if via is None:
        size = ring_size(line.says) if line.whole else None
        if size:
            sizes.add(size)
    elif hop := hop_of(line.says, whole=line.whole or via in vias):
        if line.whole:
            vias.add(via)
        tracker.on_hop(line, hop)


def _main(found: Iterable[Communicator]) -> Communicator | None:
    """The largest communicator, of several the first that has hops."""
    return max(found, key=lambda one: (one.size, bool(one.hops)), default=None)


def _nranks(main: Communicator, sizes: set[int]) -> int | None:
    """Ranks as they are stated, or else as channels list them, if no hop denies it."""
    if main.members:
        return main.size
    ranks = {rank for _, hop in main.hops for rank in (hop.source, hop.target)}
    listed = sizes.pop() if len(sizes) == 1 else 0
    return listed if listed > max(ranks, default=1) else None


def _log_of(main: Communicator, findings: Findings, paths: Paths, communicators: int) -> NcclLog:
    complete = tuple(sorted(one.rank for one in main.members.values() if one.complete))
    version, cuda = _version(findings)
    network = _network(findings)
    gdr = {hop.gdr for _, hop in main.hops if hop.transport == "NET"}
    return NcclLog(
        kind=KIND,
        tool="nccl-log",
        nccl_version=version,
        cuda_version=cuda,
        nranks=paths.nranks,
        nnodes=paths.nnodes,
        communicators=communicators or None,
        rank_hosts={str(rank): host for rank, host in sorted(paths.hosts.items())} or None,
        network=network,
        gdr=True if True in gdr else (False if gdr == {False} else None),
        cards={n: min(kinds) for n, kinds in findings.cards.items() if len(kinds) == 1} or None,
        transports=transports_of(main),
        pair_transports=paths.pairs,
        p2p_fallback=paths.fallback,
        fallback_pairs=paths.fallback_pairs,
        fallback_reason=_reasons(findings),
        all_intra_node_p2p=None if paths.fallback is None else not paths.fallback,
        intra_node_path=paths.intra_node,
        path_evidence=paths.evidence,
        nvlink_evidence=paths.nvlink_evidence,
        nvls=findings.nvls,
        connected_rings=findings.rings_connected,
        init_complete_ranks=complete,
        init_complete=_init_complete(complete, findings, paths.nranks),
        env=findings.env,
        env_differs=tuple(sorted(findings.env_differs)),
        messages=tuple(findings.messages),
        errors=tuple(findings.errors),
        net_fallback_to_socket=_fell_back_to_socket(findings, network, paths.nnodes),
        bracket_meaning=_bracket_meaning(main, version),
    )


def _version(findings: Findings) -> tuple[str | None, str | None]:
    """NCCL's and CUDA's version, where all processes have the same."""
    nccl = {version for version, _ in findings.versions}
    cuda = {version for _, version in findings.versions if version}
    return (nccl.pop() if len(nccl) == 1 else None), (cuda.pop() if len(cuda) == 1 else None)


def _network(findings: Findings) -> str | None:
    """The network in use; None where processes do not agree."""
    found = findings.networks or findings.networks_found
    return next(iter(found)) if len(found) == 1 else None


def _reasons(findings: Findings) -> tuple[str, ...]:
    disabled = findings.env.get("NCCL_P2P_DISABLE", "0")
    by_user = () if disabled in ("", "0") else (f"NCCL_P2P_DISABLE={disabled}",)
    return (*findings.reasons, *by_user)


def _init_complete(
    complete: tuple[int, ...], findings: Findings, nranks: int | None
) -> bool | None:
    if nranks and len(complete) == nranks:
        return True
    failed = findings.init_failed or any(error not in HARMLESS for error in findings.errors)
    return False if failed else None


def _fell_back_to_socket(
    findings: Findings, network: str | None, nnodes: int | None
) -> bool | None:
    """Whether a faster network was looked for and not had; None where that does not matter."""
    lost = HARMLESS & set(findings.errors) or (
        "ib_verbs_missing" in findings.messages and (nnodes or 1) > 1
    )
    return True if lost and network == "Socket" else None


def _bracket_meaning(main: Communicator, version: str | None) -> str | None:
    """What stands in the brackets behind a rank.

    Source: NVIDIA NCCL, src/transport/p2p.cc: a bus id in 2.5 to 2.15, NVML's number from 2.16.
    """
    if version is None or not any(hop.brackets for _, hop in main.hops):
        return None
    release = tuple(map(int, version.split(".")[:2]))
    if release < (2, 5):
        return "cudaDev"
    return "busId_hex" if release < (2, 16) else "nvmlDev"
