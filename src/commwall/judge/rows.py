"""Rows of nccl-tests: their rates, and where they stand.

Layer: judge. Reads no file.
"""

from collections.abc import Iterator

from commwall.judge.finding import Evidence
from commwall.judge.scene import Pasted
from commwall.language.translate import tr
from commwall.readers.nccl_tests import NcclTest, PerfHalf, PerfRow
from commwall.schema.units import rate_text, size_text

GB = 1e9


def operation_of(test: NcclTest) -> str:
    """Operation of a run: its name, else what the ratio of its rates says, else nothing."""
    return test.collective or test.collective_from_ratio or ""


def halves_of(test: NcclTest) -> Iterator[PerfHalf]:
    """Both halves of all rows, as far as they are there."""
    return (half for row in test.rows or () for half in (row.oop, row.ip) if half)


def rates_of(row: PerfRow) -> list[float]:
    """Bus bandwidths of the halves that have one [byte/s]."""
    return [GB * half.busbw for half in (row.oop, row.ip) if half and half.busbw]


def rate_of(row: PerfRow) -> float:
    """The better half's bus bandwidth [byte/s]; 0 where neither has one."""
    return max(rates_of(row), default=0.0)


def largest_row(test: NcclTest) -> PerfRow | None:
    """The row of the largest message that has a rate."""
    rows = [row for row in test.rows or () if row.size and rate_of(row)]
    return max(rows, key=lambda row: row.size, default=None)


def line_of(paste: Pasted, row: PerfRow) -> tuple[Evidence, ...]:
    """The line of a row."""
    count = row.count if row.count is not None else ""
    return paste.find(rf"(?<!\S){row.size}[ \t]+{count}(?!\d)") or paste.find(
        rf'"size"[ \t]*:[ \t]*{row.size}(?!\d)'
    )


def result_text(row: PerfRow) -> str:
    """A row's rate in words."""
    return tr("{rate} busbw at {size}", rate=rate_text(rate_of(row)), size=size_text(row.size))
