"""The table that a program of nccl-tests prints.

Layer: readers. Reads no file. Columns changed over the years: a row has what its header names,
times are in microseconds but for the first releases (whose header begins with `bytes`), and the
half in place may be absent. A line that is no row of the last header is passed over.
"""

import math
import re
from collections.abc import Sequence

from commwall.schema.base import Model, NonNegativeFloat

_PREFIX = re.compile(r"^\[[0-9]+,[0-9]+\]<std(?:out|err)>:")
_FAILURE = re.compile(r"Test (?:NCCL|CUDA) failure .*|Out of bounds values : [1-9][0-9]* FAILED")
_SIZE = re.compile(r"[0-9]{1,15}")
_HALF = ("time", "algbw", "busbw")
_MICROSECOND_S, _MILLISECOND_S = 1e-6, 1e-3


class Timing(Model):
    """One half of a row."""

    time_s: NonNegativeFloat
    """Mean time of an operation [s]."""
    wrong: NonNegativeFloat | None
    """What the column of errors says; None where it was not looked at."""


class SizeRow(Model):
    """One size."""

    size_bytes: int
    """Size of the full buffer [byte]."""
    dtype: str
    """Type of the values, in nccl-tests' words."""
    out_of_place: Timing | None
    in_place: Timing | None


class PerfTable(Model):
    """What a program of nccl-tests measured."""

    rows: tuple[SizeRow, ...]
    failure: str | None
    """The line that says what went wrong; None if none does."""


def read_table(text: str) -> PerfTable:
    """The rows of a table of nccl-tests, in its order, and whether it failed.

    Args:
        text: the program's whole output, other programs' lines among it.

    Source: NVIDIA nccl-tests, src/common.cu, PrintHeader and BenchTime.
    """
    rows: list[SizeRow] = []
    columns: list[str] = []
    for line in text.splitlines():
        words = _PREFIX.sub("", line).replace("#wrong", "wrong").lstrip("# ").split()
        if words[:1] in (["size"], ["bytes"]):
            columns = words
        elif columns and (row := _row(columns, words)):
            rows.append(row)
    failure = _FAILURE.search(text)
    return PerfTable(rows=tuple(rows), failure=failure.group() if failure else None)


def _row(columns: Sequence[str], words: Sequence[str]) -> SizeRow | None:
    """The row that fits the header, or None if the line is none."""
    first = columns.index("time") if "time" in columns else 0
    if len(words) != len(columns) or not first or not _SIZE.fullmatch(words[0]):
        return None
    unit_s = _MILLISECOND_S if columns[0] == "bytes" else _MICROSECOND_S
    halves = [
        _timing(words[start : start + len(_HALF) + 1], unit_s)
        for start in range(first, len(columns), len(_HALF) + 1)
    ]
    if not halves or halves[0] is None:
        return None
    return SizeRow(
        size_bytes=int(words[0]),
        dtype=words[columns.index("type")] if "type" in columns else "",
        out_of_place=halves[0],
        in_place=halves[1] if len(halves) > 1 else None,
    )


def _timing(words: Sequence[str], unit_s: float) -> Timing | None:
    """Time and errors of one half, or None where the time is no number."""
    taken = _number(words[0])
    if taken is None:
        return None
    return Timing(time_s=taken * unit_s, wrong=_number(words[-1]))


def _number(word: str) -> float | None:
    """A number that is not negative, or None: `N/A`, say."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
