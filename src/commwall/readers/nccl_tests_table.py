"""The table that a program of nccl-tests prints.

Layer: readers. Reads no file. Columns changed over the years: a row has what its header names,
times are in microseconds but for the first releases (whose header begins with `bytes`), and the
half in place may be absent. A line that is no row of the last header is passed over; a row that a
terminal has wrapped is joined, if its rate is its size over its time.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from commwall.readers.widths import longest
from commwall.schema.base import Model, NonNegativeFloat

_PREFIX = re.compile(r"^\[[0-9]+,[0-9]+\]<std(?:out|err)>:")
_FAILURE = re.compile(r"Test (?:NCCL|CUDA) failure .*|Out of bounds values : [1-9][0-9]* FAILED")
_SIZE = re.compile(r"[0-9]{1,15}")
_NUMBER = re.compile(r"-?[0-9.]{1,20}(?:e[+-]?[0-9]{1,3})?", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]{1,6}|[0-9](?:\.[0-9]{1,5})?e\+[0-9]{2}|N/A")
"""How wrong values are counted: in at most six digits."""
_STARTS = ("size", "bytes")
_TIMES = ("time", "cputime")
_ERRORS = ("wrong", "error", "res")
_COLUMNS = frozenset(
    [*_STARTS, *_TIMES, *_ERRORS, "count", "N", "type", "redop", "op", "root", "algbw", "busbw"]
    + ["i_min", "i_max", "i_p99", "i_cv%", "timestamp"]
)
_STAMP_WORDS = 2
"""Words of a time stamp: day and hour."""
_MICROSECOND_S, _MILLISECOND_S = 1e-6, 1e-3
_ROUNDING = 0.06
"""A joined row's rate may differ by this share from size over time: short times have two digits."""


class Timing(Model):
    """One half of a row."""

    time_s: NonNegativeFloat
    """Mean time of an operation [s]."""
    wrong: NonNegativeFloat | None
    """What the column of errors says; None where it was not looked at."""
    algbw_gb_per_s: NonNegativeFloat | None = None
    """Size over time, as displayed [GB/s]."""
    busbw_gb_per_s: NonNegativeFloat | None = None
    """The same times the collective's factor, as displayed [GB/s]."""


class SizeRow(Model):
    """One size."""

    size_bytes: int
    """Size of the full buffer [byte]."""
    dtype: str
    """Type of the values, in nccl-tests' words."""
    out_of_place: Timing | None
    in_place: Timing | None
    values: int | None = None
    """Column count: values of a rank."""
    redop: str | None = None
    root: int | None = None


class PerfTable(Model):
    """What a program of nccl-tests measured."""

    rows: tuple[SizeRow, ...]
    failure: str | None
    """The line that says what went wrong; None if none does."""
    in_milliseconds: bool | None = None
    """None if there is no header."""
    error_column: str | None = None
    """Name of the column of errors, in the last header."""
    host_times_only: bool = False
    """Times are of the call, not of the operation (option -C)."""


@dataclass(slots=True)
class _Header:
    """Columns of the last header, and where it may go on."""

    columns: list[str]
    open: bool = False


def read_table(text: str) -> PerfTable:
    """The rows of a table of nccl-tests, in its order, and whether it failed.

    Args:
        text: the program's whole output, other programs' lines among it.

    Source: NVIDIA nccl-tests, src/common.cu, PrintHeader and BenchTime.
    """
    rows: list[SizeRow] = []
    header, begun, full = _Header([]), list[str](), False
    lines = text.split("\n")
    width = longest(lines)
    for line in lines:
        if not line or "NCCL INFO " in line:
            header.open &= bool(line)  # a blank line ends a header
            continue
        words = _PREFIX.sub("", line).replace("#wrong", "wrong").lstrip("# ").split()
        if _is_header(header, words):
            continue
        if not header.columns or not words or not _NUMBER.fullmatch(words[0]):
            continue
        if full and len(words) == 1:
            rows.pop()  # the rest of its last number stands here
        row = _row(header.columns, words)
        joined = None if row or not begun else _joined(header.columns, [*begun, *words])
        if found := row or joined:
            rows.append(found)
        full = found is not None and len(line) == width
        begun = words if not found and len(words) < len(header.columns) else []
    failure = _FAILURE.search(text)
    return PerfTable(
        rows=tuple(rows),
        failure=failure.group() if failure else None,
        in_milliseconds=header.columns[0] == "bytes" if header.columns else None,
        error_column=_error_column(header.columns),
        host_times_only="cputime" in header.columns,
    )


def _is_header(header: _Header, words: list[str]) -> bool:
    """Take in a header, or the rest of one that a terminal has wrapped."""
    if words[:1] and words[0] in _STARTS and _COLUMNS.issuperset(words):
        header.columns, header.open = list(words), True
        return True
    goes_on = header.open and bool(words) and _COLUMNS.issuperset(words)
    header.columns += words if goes_on else []
    header.open = goes_on
    return goes_on


def _error_column(columns: Sequence[str]) -> str | None:
    found = next((name for name in columns if name in _ERRORS), None)
    return "#wrong" if found == "wrong" else found


def _joined(columns: Sequence[str], words: Sequence[str]) -> SizeRow | None:
    """A row of two lines, if its numbers say that they belong together."""
    row = _row(columns, words)
    half = row.out_of_place if row else None
    if row is None or half is None or not half.algbw_gb_per_s or not half.time_s:
        return None
    rate = row.size_bytes / half.time_s / 1e9
    return row if math.isclose(rate, half.algbw_gb_per_s, rel_tol=_ROUNDING) else None


def _row(columns: Sequence[str], words: Sequence[str]) -> SizeRow | None:
    """The row that fits the header, or None if the line is none."""
    starts = [index for index, name in enumerate(columns) if name in _TIMES]
    stamped = _STAMP_WORDS - 1 if columns[-1] == "timestamp" else 0
    if len(words) != len(columns) + stamped or not starts or not _SIZE.fullmatch(words[0]):
        return None
    unit_s = _MILLISECOND_S if columns[0] == "bytes" else _MICROSECOND_S
    ends = [*starts[1:], len(columns)]
    spans = zip(starts, ends, strict=True)
    if not all(set(_ERRORS).intersection(columns[start:end]) for start, end in spans):
        return None  # the header is cut off at a screen's width, and so are the rows
    halves = [
        _timing(dict(zip(columns[start:end], words[start:end], strict=False)), unit_s)
        for start, end in zip(starts, ends, strict=True)
    ]
    if halves[0] is None:
        return None
    cells = dict(zip(columns[: starts[0]], words, strict=False))
    return SizeRow(
        size_bytes=int(words[0]),
        dtype=cells.get("type", ""),
        out_of_place=halves[0],
        in_place=halves[1] if len(halves) > 1 else None,
        values=_integer(cells.get("count", cells.get("N", ""))),
        redop=cells.get("redop", cells.get("op")),
        root=_integer(cells.get("root", "")),
    )


def _timing(cells: dict[str, str], unit_s: float) -> Timing | None:
    """One half, or None where the time is no number."""
    taken = _number(cells.get("time", cells.get("cputime", "")))
    if taken is None:
        return None
    wrong = next((cells[name] for name in _ERRORS if name in cells), "")
    if "wrong" in cells and not _COUNT.fullmatch(wrong):
        return None  # cut off
    return Timing(
        time_s=taken * unit_s,
        wrong=_number(wrong),
        algbw_gb_per_s=_number(cells.get("algbw", "")),
        busbw_gb_per_s=_number(cells.get("busbw", "")),
    )


def _integer(word: str) -> int | None:
    return int(word) if re.fullmatch(r"-?[0-9]{1,18}", word) else None


def _number(word: str) -> float | None:
    """A number that is not negative, or None: `N/A`, say."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
