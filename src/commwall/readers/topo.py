"""`nvidia-smi topo -m` and `topo -p2p`: how the GPUs of a machine reach each other.

Layer: readers. Reads no file. The links come from `topo -m`, best to worst: NV# (more is better),
PIX, PXB, PHB, NODE, SYS (SOC in old releases). Whether the driver grants peer access is said by
`topo -p2p` alone: a link is not yet an access.
"""

import itertools
import re
from collections.abc import Mapping, Sequence

from commwall.readers.matrix import TITLES, Matrix, columns_of, matrices
from commwall.readers.nvidia_smi import error_of, error_told, failed_devices, is_unavailable
from commwall.readers.reading import Reading
from commwall.readers.refusal import Unreadable
from commwall.schema.base import Model

KIND = "topo"

_SIGN = re.compile(r"^[ \t]*GPU[0-9]+[ \t].*\bCPU[ \t]+Affinity\b", re.MULTILINE)
_P2P_SIGN = re.compile(
    r"^[ \t]*GPU[0-9]+(?:[ \t]+GPU[0-9]+)*[ \t]*\n"
    r"[ \t]*GPU[0-9]+(?:[ \t]+(?:X|OK|CNS|GNS|TNS|NS|DR|U))+[ \t]*$",
    re.MULTILINE,
)
_MESSAGE_BYTES = 4096
"""A tool that failed says little; in a longer text its sentence may be quoted."""
_LEGEND = re.compile(r"^[ \t]*Legend:", re.MULTILINE)
_NIC = re.compile(r"^[ \t]*(NIC[0-9]{1,3}): ?(\S+)[ \t]*$", re.MULTILINE)
_P2P_COMMAND = re.compile(r"\btopo\b.*[ \t]-p2p[ \t]+([rwnap])(?:[rwnap]*)\b")
_CAPABILITIES = {"r": "read", "w": "write", "n": "nvlink", "a": "atomics", "p": "proprietary"}
_UNKNOWN_CAPABILITY = "unknown_from_text"
_ACCESS = ("read", "write", _UNKNOWN_CAPABILITY)
_ORDER = ("PIX", "PXB", "PHB", "NODE", "SYS", "SOC")
_PCIE_VERDICTS = {
    "PIX": "pcie_same_host_bridge",
    "PXB": "pcie_same_host_bridge",
    "PHB": "pcie_same_host_bridge",
    "NODE": "pcie_same_numa",
    "SYS": "pcie_cross_numa",
    "SOC": "pcie_cross_numa",
}


class Columns(Model):
    """Which columns the header names behind the devices."""

    cpu_affinity: bool
    numa_affinity: bool
    gpu_numa_id: bool


class PeerAccess(Model):
    """A matrix of `topo -p2p`."""

    capability: str
    """read, write, nvlink, atomics or proprietary; unknown_from_text if no command is there."""
    status: dict[str, str]
    """GPU0-GPU1 -> nvidia-smi's word: OK, GNS …"""


class Topology(Reading):
    """Links between the GPUs of a machine; a pair is written GPU0-GPU1, by the GPUs' numbers."""

    gpu_count: int | None = None
    gpus: tuple[str, ...] | None = None
    nics: tuple[str, ...] | None = None
    nic_names: dict[str, str] | None = None
    columns: Columns | None = None
    legend_present: bool | None = None
    rows_complete: tuple[str, ...] | None = None
    rows_incomplete: tuple[str, ...] | None = None
    rows_missing: tuple[str, ...] | None = None
    links: dict[str, str] | None = None
    links_unknown: tuple[str, ...] | None = None
    gpu_nic_links: dict[str, str] | None = None
    cpu_affinity: dict[str, str | None] | None = None
    numa_affinity: dict[str, str | None] | None = None
    gpu_numa_id: dict[str, str | None] | None = None
    pair_count: int | None = None
    nvlink_pair_count: int | None = None
    best_gpu_link: str | None = None
    worst_gpu_link: str | None = None
    verdict: str = "no_topology"
    anomalies: tuple[str, ...] = ()
    p2p_matrix: PeerAccess | None = None
    p2p_supported: bool | None = None
    """Whether the driver grants all pairs access to each other's memory."""
    failed_devices: tuple[str, ...] | None = None


def looks_like(text: str) -> bool:
    """Whether there is a matrix of GPUs, or little else than nvidia-smi's words of failure."""
    if "GPU" in text and ("Affinity" in text and _SIGN.search(text) or _P2P_SIGN.search(text)):
        return True
    return len(text) <= _MESSAGE_BYTES and error_of(text) is not None


def read(text: str) -> Topology:
    """The links that are certain.

    Raises:
        Unreadable: if there is no matrix with a row, if its header is cut, or if there are
            matrices of different machines.
    """
    lines = text.split("\n")
    found = list(matrices(lines))
    if any(one.row_without_column for one in found):
        raise Unreadable(KIND, "header_cut")
    links = [one for one in found if not one.is_status and (one.complete or one.incomplete)]
    access = [one for one in found if one.is_status]
    if not links and not access:
        return _failure(text)
    for matrix in links:
        if TITLES[0] not in matrix.header.titles:
            raise Unreadable(KIND, "header_cut")
        if not matrix.cells and len(matrix.header.devices) > 1:
            raise Unreadable(KIND, "no_certain_row")
    if len({(one.header, frozenset(one.cells.items())) for one in links}) > 1:
        raise Unreadable(KIND, "several_different_matrices")
    base = _topology(links[0], text) if links else _access_only(access[0])
    return base.model_copy(update=_peer_access(access, lines))


def _failure(text: str) -> Topology:
    error = error_told(text, KIND, "no_matrix")
    return Topology(
        kind=KIND,
        tool="nvidia-smi topo" if error == "bad_arguments" else "nvidia-smi",
        readable=False,
        error=error,
        failed_devices=failed_devices(text) or None,
    )


def _access_only(matrix: Matrix) -> Topology:
    """Peer access is said, links are not."""
    whole = len(matrix.complete) == len(matrix.gpus)
    return Topology(
        kind=KIND,
        tool="nvidia-smi topo -p2p",
        readable=whole,
        partial=not whole,
        gpu_count=len(matrix.gpus),
        gpus=matrix.gpus,
    )


def _topology(matrix: Matrix, text: str) -> Topology:
    pairs = {f"{a}-{b}": matrix.between(a, b) for a, b in itertools.combinations(matrix.gpus, 2)}
    links = {pair: word for pair, word in pairs.items() if word}
    unknown = tuple(pair for pair, word in pairs.items() if word is None)
    missing = _rows_missing(matrix)
    whole = not unknown and not missing and not set(matrix.incomplete) & set(matrix.gpus)
    tails = {gpu: _columns(matrix, gpu) for gpu in matrix.gpus}
    ordered = sorted(links.values(), key=_rank) if whole else []
    names = {
        name: nic
        for name, nic in _NIC.findall(text[: text.rfind("\n") + 1])
        if name in matrix.others
    }
    return Topology(
        kind=KIND,
        tool="nvidia-smi topo -m",
        readable=whole,
        partial=not whole,
        gpu_count=len(matrix.gpus),
        gpus=matrix.gpus,
        nics=matrix.others,
        nic_names=names or None,
        columns=_titles(matrix),
        legend_present=bool(_LEGEND.search(text)),
        rows_complete=None if whole else tuple(matrix.complete),
        rows_incomplete=None if whole else tuple(matrix.incomplete),
        rows_missing=None if whole else missing,
        links=links,
        links_unknown=None if whole else unknown,
        gpu_nic_links=_nic_links(matrix),
        cpu_affinity=_column(matrix, tails, TITLES[0]),
        numa_affinity=_column(matrix, tails, TITLES[1]),
        gpu_numa_id=_column(matrix, tails, TITLES[2]),
        pair_count=len(pairs),
        nvlink_pair_count=sum(map(_is_nvlink, links.values())) if whole else None,
        best_gpu_link=ordered[0] if ordered else None,
        worst_gpu_link=ordered[-1] if ordered else None,
        verdict=_verdict(matrix, ordered, whole=whole),
        anomalies=tuple(_anomalies(matrix, links, tails, whole=whole)),
    )


def _rows_missing(matrix: Matrix) -> tuple[str, ...]:
    seen = {*matrix.complete, *matrix.incomplete}
    return tuple(gpu for gpu in matrix.gpus if gpu not in seen)


def _titles(matrix: Matrix) -> Columns | None:
    if matrix.titles is None:
        return None
    cpu, numa, gpu = (title in matrix.titles for title in TITLES)
    return Columns(cpu_affinity=cpu, numa_affinity=numa, gpu_numa_id=gpu)


def _columns(matrix: Matrix, gpu: str) -> dict[str, str]:
    return columns_of(matrix.tails.get(gpu, ""), matrix.titles or ())


def _column(
    matrix: Matrix, tails: Mapping[str, Mapping[str, str]], title: str
) -> dict[str, str | None] | None:
    """A column behind the cells: GPU -> word, None where it is unavailable."""
    if title not in (matrix.titles or ()):
        return None
    words = {gpu: tails[gpu].get(title) for gpu in matrix.gpus}
    return {gpu: None if not word or is_unavailable(word) else word for gpu, word in words.items()}


def _nic_links(matrix: Matrix) -> dict[str, str]:
    pairs = ((gpu, nic) for gpu in matrix.gpus for nic in matrix.others)
    found = {f"{gpu}-{nic}": matrix.between(gpu, nic) for gpu, nic in pairs}
    return {pair: word for pair, word in found.items() if word}


def _is_nvlink(word: str) -> bool:
    return word.startswith("NV")


def _rank(word: str) -> int:
    """Place in the order from best to worst."""
    return -int(word[2:]) if _is_nvlink(word) else 1 + _ORDER.index(word)


def _verdict(matrix: Matrix, ordered: Sequence[str], *, whole: bool) -> str:
    if not whole:
        return "incomplete"
    if len(matrix.gpus) == 1:
        return "single_gpu"
    if _is_nvlink(ordered[-1]):
        same = len(set(ordered)) == 1
        return f"nvlink_all_pairs_{'uniform' if same else 'nonuniform'}"
    return "nvlink_some_pairs" if _is_nvlink(ordered[0]) else _PCIE_VERDICTS[ordered[-1]]


def _anomalies(
    matrix: Matrix,
    links: Mapping[str, str],
    tails: Mapping[str, Mapping[str, str]],
    *,
    whole: bool,
) -> list[str]:
    found = [] if whole else ["truncated_output"]
    if matrix.cut_cell and not whole:
        found.append(f"last_cell_cut:{matrix.cut_cell}")
    numa = {gpu: tails[gpu].get(TITLES[1], "") for gpu in matrix.gpus}
    found += [
        f"numa_affinity_unavailable:{gpu}" for gpu, word in numa.items() if is_unavailable(word)
    ]
    far = (pair.split("-") for pair, word in links.items() if word in ("SYS", "SOC"))
    if any(numa[a] == numa[b] and numa[a] and not is_unavailable(numa[a]) for a, b in far):
        found.append("sys_between_gpus_of_same_numa_node")
    return found + [f"gpu_without_nvlink:{gpu}" for gpu in _off_the_fabric(matrix, links)]


def _off_the_fabric(matrix: Matrix, links: Mapping[str, str]) -> list[str]:
    """A GPU without NVLink where three others or more have it between all of them."""
    every = itertools.combinations(matrix.gpus, 2)
    pairs = [(a, b) for a, b in every if _is_nvlink(links.get(f"{a}-{b}", ""))]
    members = {gpu for pair in pairs for gpu in pair}
    meshed = len(members) > 2 and len(pairs) == len(members) * (len(members) - 1) // 2
    return [gpu for gpu in matrix.gpus if meshed and gpu not in members]


def _peer_access(found: Sequence[Matrix], lines: Sequence[str]) -> dict[str, object]:
    """What `topo -p2p` says of reading and writing, as fields."""
    granted, first = set(), None
    for matrix in found:
        capability = _capability(matrix, lines)
        if capability in _ACCESS:
            pairs = list(itertools.combinations(matrix.gpus, 2))
            words = {f"{a}-{b}": matrix.between(a, b) for a, b in pairs}
            status = {pair: word for pair, word in words.items() if word}
            first = first or PeerAccess(capability=capability, status=status)
            granted.add(_granted(list(words.values())))
    supported = granted.pop() if len(granted) == 1 else None
    return {"p2p_matrix": first, "p2p_supported": supported} if first else {}


def _capability(matrix: Matrix, lines: Sequence[str]) -> str:
    """What the command just above a matrix asks for."""
    above = lines[max(0, matrix.line - 2) : matrix.line]
    commands = (_P2P_COMMAND.search(line) for line in reversed(above))
    letter = next((command[1] for command in commands if command), "")
    return _CAPABILITIES.get(letter, _UNKNOWN_CAPABILITY)


def _granted(words: Sequence[str | None]) -> bool | None:
    """Whether all pairs are OK; None where a pair is unknown and none is refused."""
    if any(word not in ("OK", "U", None) for word in words):
        return False
    return None if not words or "U" in words or None in words else True
