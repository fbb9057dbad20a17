"""A matrix of devices as `nvidia-smi topo` prints it: from lines to certain cells.

Layer: readers. Reads no file. A header names the devices, then titles of further columns; each
row begins with a device. Cells are words, so that tabs and blanks are the same. Certain is a row
that has a word for each device, from a known vocabulary, with X in its own column, and a word
that the row of the other device does not contradict. Of a row at which the text ends the whole
words before the end are certain.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

LINK = re.compile(r"NV[1-9][0-9]?|PIX|PXB|PHB|NODE|SYS|SOC")
STATUS = re.compile(r"OK|CNS|GNS|TNS|NS|DR|U")
_UNSAID = re.compile(r"N/A|\?")
_SELF = "X"
_GPU = re.compile(r"GPU[0-9]{1,3}")
_DEVICE = re.compile(r"[A-Za-z][A-Za-z]*[A-Za-z0-9_.-]*[0-9][A-Za-z0-9_.-]*")
_TITLE = re.compile(r"(CPU Affinity|NUMA Affinity|GPU NUMA ID)(?!\S)")
_STRAY_ROW = re.compile(rf"[ \t]*GPU[0-9]+[ \t]+(?:{LINK.pattern}|{STATUS.pattern}|X)(?:\s|$)")
_MOST_DEVICES = 256
"""More columns than any machine has: no matrix."""
TITLES = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")


@dataclass(frozen=True)
class Header:
    """Columns of a matrix."""

    devices: tuple[str, ...]
    titles: tuple[str, ...]
    """Of the columns behind the devices that are known."""
    whole: bool
    """All titles are known, so that none is cut."""


@dataclass
class Matrix:
    """What is certain of a matrix."""

    header: Header
    line: int
    """Line of the header, counted from 0."""
    cells: dict[tuple[str, str], str] = field(default_factory=dict)
    """(row, column) -> word; (row, row) is left out."""
    tails: dict[str, str] = field(default_factory=dict)
    """Row -> what stands behind its cells, tabs kept."""
    complete: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    open: bool = True
    """No line has ended it yet: what is no row is the rest of one."""
    doubtful: bool = False
    """Lines are cut or broken at a screen's width: what stands behind the cells is not certain."""
    screen_width: int = 0
    """Length of the header's line if it has no tab: a row as long may be cut with it."""
    row_without_column: bool = False
    """A GPU has a row and no column: the header is cut."""
    cut_cell: str | None = None
    """The word at which the text ends."""

    @property
    def gpus(self) -> tuple[str, ...]:
        """GPUs in the order of their numbers."""
        found = (name for name in self.header.devices if _GPU.fullmatch(name))
        return tuple(sorted(found, key=lambda name: int(name.removeprefix("GPU"))))

    @property
    def others(self) -> tuple[str, ...]:
        """Network devices in the order of the columns."""
        return tuple(name for name in self.header.devices if not _GPU.fullmatch(name))

    def between(self, one: str, other: str) -> str | None:
        """The word of a pair; None where neither row says it or the two differ."""
        found = {self.cells.get((one, other)), self.cells.get((other, one))} - {None}
        return found.pop() if len(found) == 1 else None

    @property
    def titles(self) -> tuple[str, ...] | None:
        """Titles of the columns behind the cells; None where they are not certain."""
        many = any(len(tail.split()) > len(self.header.titles) for tail in self.tails.values())
        return None if self.doubtful or many or not self.header.whole else self.header.titles

    @property
    def is_status(self) -> bool:
        """Whether its words are those of `topo -p2p`."""
        return bool(self.cells) and all(map(STATUS.fullmatch, self.cells.values()))


def read_header(line: str) -> Header | None:
    """The columns that a line names, or None if it is no header."""
    if not line.lstrip().startswith("GPU"):
        return None
    words = line.split()
    devices = []
    for word in words[: _MOST_DEVICES + 1]:
        if not _DEVICE.fullmatch(word):
            break
        devices.append(word)
    rest = " ".join(words[len(devices) :])
    if not devices or not _GPU.fullmatch(devices[0]) or len(set(devices)) < len(devices):
        return None
    if len(devices) > _MOST_DEVICES:
        return None
    if len(devices) == 1 and not rest.startswith("CPU"):
        return None
    titles = tuple(match[1] for match in _TITLE.finditer(rest))
    whole = " ".join(titles) == rest and len(set(titles)) == len(titles)
    if rest and not titles and not rest.startswith(("CPU", "NUMA")):
        return None
    return Header(tuple(devices), titles, whole)


def matrices(lines: Sequence[str]) -> Iterator[Matrix]:
    """The matrices of a text in its order.

    Args:
        lines: of the whole text; the last is empty unless the text ends within it.
    """
    current: Matrix | None = None
    for number, line in enumerate(lines):
        if "GPU" not in line and current is None:
            continue
        header = read_header(line)
        if header is not None and _same_again(current, header):
            continue  # several processes print one matrix at a time
        if header is not None:
            if current is not None:
                yield current
            width = 0 if "\t" in line else len(line)
            cut = width > len(line.rstrip())
            current = Matrix(header, number, screen_width=width, doubtful=cut)
        elif current is not None:
            _take_row(current, line, at_end=number == len(lines) - 1)
    if current is not None:
        yield current


def _same_again(current: Matrix | None, header: Header) -> bool:
    return current is not None and current.header == header and not current.complete


def _take_row(matrix: Matrix, line: str, *, at_end: bool) -> None:
    """Add what is certain in a line, if it is a row."""
    words = line.split()
    if not words or words[0] not in matrix.header.devices:
        matrix.row_without_column |= bool(_STRAY_ROW.match(line))
        matrix.open &= bool(words) and words[0] != "Legend:"
        matrix.doubtful |= matrix.open
        return
    matrix.doubtful |= _may_be_cut(matrix, line)
    name, cells = words[0], words[1 : 1 + len(matrix.header.devices)]
    cut = at_end and not line[-1:].isspace()
    if cut and len(words) - 1 <= len(matrix.header.devices):
        matrix.cut_cell = words[-1]
        cells = cells[:-1]
    known = _known(matrix.header.devices, name, cells)
    tail = _tail(line, len(cells) + 1, cut=cut)
    full = known is not None and len(cells) == len(matrix.header.devices)
    if known is None or _has_cells(tail) or not (full or at_end):
        _note(matrix.incomplete, name)
        return
    _note(matrix.complete if full else matrix.incomplete, name)
    _merge(matrix, known, name)
    if full:
        matrix.tails.setdefault(name, tail)


def _may_be_cut(matrix: Matrix, row: str) -> bool:
    """Whether a row may be cut at the width at which the header is.

    A header with all titles is whole and wider than what stands below its last one.
    """
    wide = len(row) >= matrix.screen_width > 0
    return wide and len(matrix.header.titles) < len(TITLES)


def _note(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)


def _merge(matrix: Matrix, known: dict[tuple[str, str], str], name: str) -> None:
    """Add cells; of a row that stands twice with different words none is certain."""
    for pair, word in known.items():
        if matrix.cells.setdefault(pair, word) != word:
            matrix.complete.remove(name)
            _note(matrix.incomplete, name)
            matrix.cells = {key: cell for key, cell in matrix.cells.items() if name not in key}
            return


def _known(
    devices: Sequence[str], name: str, cells: Sequence[str]
) -> dict[tuple[str, str], str] | None:
    """Cells by pair, or None if a word is none or X stands in another column."""
    found = {}
    for device, word in zip(devices, cells, strict=False):
        if (word == _SELF) != (device == name):
            return None
        if LINK.fullmatch(word) or STATUS.fullmatch(word):
            found[name, device] = word
        elif word != _SELF and not _UNSAID.fullmatch(word):
            return None
    return found


def _has_cells(tail: str) -> bool:
    """Whether words of the vocabulary go on behind the last column."""
    return any(LINK.fullmatch(word) or word == _SELF for word in tail.split())


def _tail(line: str, words: int, *, cut: bool) -> str:
    """The line behind its first words; without its last word where the text ends in it."""
    ends = [match.end() for match in re.finditer(r"\S+", line)]
    start = ends[words - 1] if words <= len(ends) else len(line)
    tail = line[start:]
    return re.sub(r"\S+$", "", tail) if cut else tail


def columns_of(tail: str, titles: Sequence[str]) -> dict[str, str]:
    """Title -> word of a row's end, of those that are certain.

    nvidia-smi leaves cells empty, so a word's place is certain only if all are there, or if all of
    its tabs are: one before each column, and a second one before the last of three.
    """
    words = tail.split()
    if len(words) == len(titles):
        return dict(zip(titles, words, strict=True))
    cells = [cell.strip() for cell in tail.split("\t")][1:]
    if tuple(titles) == TITLES and len(cells) == len(TITLES) + 1 and not cells[2]:
        del cells[2]
    elif len(titles) == len(TITLES):
        return {}
    if tuple(titles) != TITLES[: len(titles)] or len(cells) != len(titles):
        return {}
    return {title: word for title, word in zip(titles, cells, strict=True) if word}
