"""`lscpu` and `numactl -H`: processors, sockets and NUMA nodes, in any language.

Layer: readers. Reads no file. lscpu translates its words, not its shape: a line is a key, a colon
(a wide one in Chinese) and a value, nodes have NUMA and their number in the key, and the line
before the list of processors on line counts them. A node without processors is memory: on a Grace
Hopper each GPU's, so that nodes are not sockets.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from commwall.readers.reading import Reading
from commwall.readers.refusal import Unreadable
from commwall.readers.widths import longest

KIND = "cpu-topology"

_LSCPU, _NUMACTL = "lscpu", "numactl -H"
_LINE = re.compile(r"[ \t]*([^:：\n]{0,100}[^\s:：])[ \t]*[:：][ \t]*([^\n]*?)[ \t]*")
_CPU_LIST = re.compile(r"[0-9]{1,6}(?:-[0-9]{1,6})?(?:,[0-9]{1,6}(?:-[0-9]{1,6})?)*")
_NODE_KEY = re.compile(r".*NUMA.*?([0-9]{1,5})(?![0-9]).*|.*?([0-9]{1,5})(?![0-9]).*NUMA.*")
_KEY = r"[^:：\n]{0,60}"
_NUMA_LINE = re.compile(
    rf"^{_KEY}(?:NUMA{_KEY}[0-9]|[0-9]{_KEY}NUMA){_KEY}[:：][ \t]{{0,80}}(?:[0-9][0-9,-]*)?[ \t]*$",
    re.MULTILINE,
)
_MOST_CPUS = 1 << 16
_LONGEST_LINE = 4096
"""Longer lines are no tool's of these."""
_NODE = re.compile(r"^node [0-9]+ (?:cpus|size|free):|^node distances:", re.MULTILINE)
_NO_NUMA = re.compile(r"^No NUMA (?:available|support)", re.MULTILINE)
_AVAILABLE = re.compile(r"available: ([0-9]{1,5}) nodes? \([^)]*\)[ \t]*")
_NODE_CPUS = re.compile(r"node ([0-9]{1,5}) cpus:((?:[ \t]+[0-9]{1,6})*)[ \t]*")
_NODE_SIZE = re.compile(r"node ([0-9]{1,5}) size: ([0-9]{1,12}) MB[ \t]*")
_MORE_CPUS = re.compile(r"[ \t]*[0-9]{1,6}(?:[ \t]+[0-9]{1,6})*[ \t]*")
_DISTANCES = re.compile(r"[ \t]*([0-9]{1,5}):((?:[ \t]+[0-9]{1,5})+)[ \t]*")
_SOCKET_WORDS = frozenset(
    ("socket", "座", "sockel", "ソケット数", "ソケット", "soquete", "сокетов", "сокет", "сокетів")
    + (
        "插槽",
        "插槽數",
        "通訊端",
        "소켓",
        "소켓 수",
        "zócalo",
        "gniazd",
        "gniazda",
        "patic",
        "patice",
    )
)
"""What lscpu's translations call sockets, without `(s)`."""
_LANGUAGES = (("一", "鿿", "zh"), ("぀", "ヿ", "ja"), ("Ѐ", "ӿ", "ru"), ("가", "힣", "ko"))


class CpuTopology(Reading):
    """Processors and NUMA nodes of a machine."""

    cpus: int | None = None
    sockets: int | None = None
    numa_nodes: int | None = None
    nodes_with_cpus: int | None = None
    node_cpus: dict[str, str | None] | None = None
    """Node -> its processors as ranges; None where it has none."""
    memory_only_nodes: tuple[int, ...] | None = None
    """Nodes with memory and no processor; of lscpu, which says nothing of memory, without any."""
    cpu_only_nodes: tuple[int, ...] | None = None
    """Nodes whose processors have no memory of their own."""
    empty_nodes: tuple[int, ...] | None = None
    node_sizes_mb: dict[str, int] | None = None
    distances: dict[str, tuple[int, ...]] | None = None
    model: str | None = None
    locale: str | None = None


def looks_like(text: str) -> bool:
    """Whether nodes are listed as one of the tools does, or numactl says that there are none."""
    if _NODE.search(text) or _NO_NUMA.search(text):
        return True
    return _NUMA_LINE.search(text) is not None or '"lscpu"' in text[:200]


def read(text: str) -> CpuTopology:
    """Processors and nodes.

    Raises:
        Unreadable: if no node is told of.
    """
    if _NO_NUMA.search(text) and not _NODE.search(text):
        return CpuTopology(kind=KIND, tool=_NUMACTL, readable=False, error="no_numa")
    if '"lscpu"' in text[:200]:
        text = _lines_of_json(text)
    whole = text[: text.rfind("\n") + 1]  # a last line without an end may lack digits
    return _numactl(whole) if _NODE.search(whole) else _lscpu(whole)


def _lscpu(text: str) -> CpuTopology:
    lines = [line for line in text.split("\n") if len(line) <= _LONGEST_LINE]
    pairs = [(found[1], found[2]) for line in lines if (found := _LINE.fullmatch(line))]
    nodes, count = _lscpu_nodes(pairs)
    cpus, online = _cpus(pairs), _online(pairs)
    if not nodes and count is None:
        raise Unreadable(KIND, "no_numa_line")
    whole = count == len(nodes) and sorted(nodes) == list(range(len(nodes)))
    cut = bool(pairs) and not pairs[0][1]  # the first line always has a value
    if cut or not _agree(cpus, online, [_numbers(listed) for listed in nodes.values()], pairs):
        cpus, nodes, whole = None, {}, False  # some line is cut off
    if count is not None and len(nodes) > count:
        count = None
    bare = tuple(sorted(node for node, cpus_of in nodes.items() if cpus_of is None))
    return CpuTopology(
        kind=KIND,
        tool=_LSCPU,
        partial=not whole,
        cpus=cpus,
        sockets=_sockets(pairs, cpus),
        numa_nodes=count,
        nodes_with_cpus=len(nodes) - len(bare) if whole else None,
        node_cpus={str(node): nodes[node] for node in sorted(nodes)} or None,
        memory_only_nodes=bare if whole and bare else None,
        model=_model(pairs),
        locale=_locale([key for key, _ in pairs]),
    )


def _lscpu_nodes(
    pairs: Iterable[tuple[str, str]],
) -> tuple[dict[int, str | None], int | None]:
    """Node -> processors, and how many nodes there are."""
    nodes: dict[int, str | None] = {}
    count = None
    for key, value in pairs:
        if "NUMA" not in key:
            continue
        numbered = _NODE_KEY.fullmatch(key)
        if numbered and (not value or _CPU_LIST.fullmatch(value)):
            nodes.setdefault(int(numbered[1] or numbered[2]), value or None)
        elif not numbered and value.isascii() and value.isdigit():
            count = int(value)
    return nodes, count


def _cpus(pairs: Sequence[tuple[str, str]]) -> int | None:
    """The number right before the list of processors on line; of one processor the list is 0."""
    for (name, before), (key, value) in zip(pairs, pairs[1:], strict=False):
        listed = _CPU_LIST.fullmatch(value) and "NUMA" not in key and not _is_count(value)
        if _is_count(before) and (name == "CPU(s)" or listed or (before, value) == ("1", "0")):
            return int(before)
    return None


def _online(pairs: Iterable[tuple[str, str]]) -> list[int] | None:
    """Processors on line: the first list that is not a node's."""
    lists = (value for key, value in pairs if "NUMA" not in key and _is_list(value))
    return next(map(_numbers, lists), None)


def _numbers(listed: str | None) -> list[int]:
    """`0-2,8` -> 0, 1, 2, 8; empty where a range is none."""
    found: list[int] = []
    for run in filter(None, (listed or "").split(",")):
        low, _, high = run.partition("-")
        if int(high or low) - int(low) + len(found) > _MOST_CPUS:
            return []
        found += range(int(low), int(high or low) + 1)
    return found


def _agree(
    cpus: int | None,
    online: Sequence[int] | None,
    nodes: Sequence[Sequence[int]],
    pairs: Iterable[tuple[str, str]],
) -> bool:
    """Whether the processors, those on line and those of the nodes can be of one machine."""
    lists = [_numbers(value) for key, value in pairs if "NUMA" not in key and _is_list(value)]
    told = sum(map(len, lists))  # on line, and off line if there are any
    if cpus is not None and online is not None and told != cpus:
        return False
    if not nodes:
        return True
    listed = sum(map(len, nodes))
    return _is_partition(nodes, online) and (online is not None or cpus in (None, listed))


def _is_list(value: str) -> bool:
    return _CPU_LIST.fullmatch(value) is not None and not _is_count(value)


def _is_partition(nodes: Sequence[Sequence[int]], online: Sequence[int] | None) -> bool:
    """Whether no processor is in two nodes, and each that is on line is in one."""
    listed = [cpu for node in nodes for cpu in node]
    if len(set(listed)) != len(listed):
        return False
    return online is None or not online or set(listed) == set(online)


def _is_count(value: str) -> bool:
    return value.isascii() and value.isdigit()


def _sockets(pairs: Sequence[tuple[str, str]], cpus: int | None) -> int | None:
    """By its word, or the third of threads, cores and sockets that multiply to the processors."""
    for key, value in pairs:
        word = re.sub(r"\([^)]*\)", "", key).strip().lower()
        if word in _SOCKET_WORDS and _is_count(value):
            return int(value)
    counts = [int(value) if _is_count(value) else 0 for _, value in pairs]
    for threads, cores, sockets in zip(counts, counts[1:], counts[2:], strict=False):
        if cpus and threads in (1, 2, 4, 8) and threads * cores * sockets == cpus:
            return sockets
    return None


def _model(pairs: Iterable[tuple[str, str]]) -> str | None:
    """The model's name, where its key is one that is known."""
    known = ("Model name", "型号名称", "Modellname", "型號名稱", "モデル名", "Nom de modèle")
    return next((value for key, value in pairs if key in known and value), None)


def _locale(keys: Sequence[str]) -> str | None:
    """Language of the keys, by their letters; mixed where half of them are English."""
    found = {
        name
        for first, last, name in _LANGUAGES
        if any(first <= letter <= last for key in keys for letter in key)
    }
    if not found:
        return "en" if any(key.startswith("Thread(s) per") for key in keys) else None
    return "mixed" if any(key == "CPU(s)" for key in keys) else found.pop()


def _lines_of_json(text: str) -> str:
    """`lscpu -J` as the lines that lscpu prints.

    Raises:
        Unreadable: if the JSON is broken.
    """
    try:
        document = json.loads(text)
        return "".join(_json_lines(document["lscpu"]))
    except (ValueError, RecursionError, LookupError, TypeError) as error:
        raise Unreadable(KIND, "invalid_json") from error


def _json_lines(entries: list[dict[str, Any]]) -> Iterable[str]:
    for entry in entries:
        yield f"{str(entry['field']).rstrip(':')}: {entry.get('data') or ''}\n"
        yield from _json_lines(entry.get("children") or [])


def _numactl(text: str) -> CpuTopology:
    lines = [line for line in text.split("\n")[:-1] if len(line) <= _LONGEST_LINE]
    cpus, sizes, distances = _numactl_cpus(lines), _numactl_sizes(lines), _numactl_rows(lines)
    available = next((found for line in lines if (found := _AVAILABLE.fullmatch(line))), None)
    count = int(available[1]) if available else None
    if not cpus and not distances:
        raise Unreadable(KIND, "no_node")
    width = longest(text.split("\n"))
    cut = any(len(line) == width and _NODE_CPUS.fullmatch(line) for line in lines)
    listed_cpus = sorted(cpu for found in cpus.values() for cpu in found)
    holes = listed_cpus != list(range(len(listed_cpus)))
    if not _is_partition(list(cpus.values()), None) or (cut and holes):
        cpus = {}
    whole = len(cpus) == count and cpus.keys() == sizes.keys()
    listed = {node: _ranges(found) for node, found in cpus.items()}
    bare = [node for node, found in listed.items() if found is None]
    return CpuTopology(
        kind=KIND,
        tool=_NUMACTL,
        partial=not whole,
        numa_nodes=count,
        nodes_with_cpus=len(listed) - len(bare) if whole else None,
        node_cpus={str(node): listed[node] for node in sorted(listed)} or None,
        memory_only_nodes=tuple(node for node in bare if sizes[node]) if whole else None,
        cpu_only_nodes=(
            tuple(node for node in listed if node not in bare and not sizes[node])
            if whole
            else None
        ),
        empty_nodes=tuple(node for node in bare if not sizes[node]) if whole else None,
        node_sizes_mb={str(node): size for node, size in sorted(sizes.items())} or None,
        distances=(
            {str(node): row for node, row in sorted(distances.items())}
            if distances and len(distances) == count
            else None
        ),
    )


def _numactl_cpus(lines: Sequence[str]) -> dict[int, list[int]]:
    """Node -> processors; a list goes on over lines, and is whole once another line follows."""
    nodes: dict[int, list[int]] = {}
    current: int | None = None
    for line in lines:
        if found := _NODE_CPUS.fullmatch(line):
            current = int(found[1])
            nodes[current] = [int(cpu) for cpu in found[2].split()]
        elif current is not None and _MORE_CPUS.fullmatch(line):
            nodes[current] += map(int, line.split())
        elif line.strip():
            current = None
    if current is not None:
        del nodes[current]
    return nodes


def _numactl_sizes(lines: Iterable[str]) -> dict[int, int]:
    found = (_NODE_SIZE.fullmatch(line) for line in lines)
    return {int(size[1]): int(size[2]) for size in found if size}


def _numactl_rows(lines: Iterable[str]) -> dict[int, tuple[int, ...]]:
    """The matrix of distances; none if it is not square and symmetric: then some is cut off."""
    found = (_DISTANCES.fullmatch(line) for line in lines)
    rows = {int(row[1]): tuple(map(int, row[2].split())) for row in found if row}
    square = sorted(rows) == list(range(len(rows))) and all(
        len(row) == len(rows) for row in rows.values()
    )
    if not square or any(rows[at][to] != rows[to][at] for at in rows for to in rows):
        return {}
    return rows


def _ranges(cpus: Iterable[int]) -> str | None:
    """`0-5,24-29`; None if there is none."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(f"{low}-{high}" if high > low else f"{low}" for low, high in runs) or None
