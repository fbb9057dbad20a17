"""A program of nccl-tests: its table, its ranks, and whether its results were right.

Layer: readers. Reads no file. Text of all releases, and the JSON of the latest. `busbw` is a rate
of the collective, not of a link; with one rank it is 0 by definition and no interconnect is
measured.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from commwall.readers.nccl_tests_json import document_of, number_of, table_of
from commwall.readers.nccl_tests_table import PerfTable, SizeRow, Timing, read_table
from commwall.readers.nccl_tests_words import (
    Failure,
    Footers,
    Ranks,
    checked,
    collective_of,
    failure_of,
    footers_of,
    kind_of_ratio,
    processes_of,
    ranks_of,
    versions_of,
)
from commwall.readers.reading import Reading
from commwall.readers.refusal import Unreadable
from commwall.readers.widths import without_ends_in_doubt
from commwall.schema.base import Model

KIND = "nccl-tests"

_SIGN = re.compile(
    r"^[# \t]*(?:size|bytes)[ \t]+(?:count|N)[ \t]+type\b|nThread [0-9]+ nGpus [0-9]+ minBytes"
    r"|^# Collective test (?:starting|concluded): |Test (?:NCCL|CUDA) failure ",
    re.MULTILINE,
)
_SURE_DIGITS = 5
"""Means are printed with six digits and no zeros at their end."""
_ROUNDING_GB_PER_S = 0.0051
"""Rates of rows have two decimals. Source: NVIDIA nccl-tests, src/common.cu."""
_JSON_SIGN = re.compile(r"\A\s*\{\s*\"version\"\s*:")


class PerfHalf(Model):
    """One half of a row, in the units of the table."""

    time_us: float
    algbw: float | None
    """Size over time [GB/s]."""
    busbw: float | None
    """The same times the collective's factor [GB/s]."""
    err: float | None
    """The column of errors as displayed; None where results were not looked at."""


class PerfRow(Model):
    """One size."""

    size: int
    """Size of the full buffer [byte]."""
    count: int | None
    type: str
    redop: str | None
    root: int | None
    oop: PerfHalf | None
    """Out of place."""
    ip: PerfHalf | None
    """In place."""


class NcclTest(Reading):
    """What a run measured."""

    version: str | None = None
    nccl_library: str | None = None
    collective: str | None = None
    """Where the text names it."""
    collective_from_ratio: str | None = None
    """all_reduce, gather_like or factor_1: what busbw over algbw alone supports."""
    nranks: int | None = None
    nnodes: int | None = None
    """Different host names among the ranks."""
    independent_runs: int | None = None
    """Runs whose lines are mixed in the text, if there are several."""
    time_unit: str | None = None
    """Unit of the table; values here are in microseconds."""
    error_column: str | None = None
    rows: tuple[PerfRow, ...] | None = None
    row_count: int | None = None
    out_of_bounds: int | None = None
    out_of_bounds_ok: bool | None = None
    avg_busbw: float | None = None
    """Mean over all rows, small sizes too, as printed [GB/s]."""
    peak_busbw: float | None = None
    """The highest of all rows [GB/s]."""
    failed: bool | None = None
    """Whether the text says that it failed; what is not complete may fail yet."""
    complete: bool | None = None
    """Whether the table's end is there."""
    failure: Failure | None = None
    verdict: str | None = None


def looks_like(text: str) -> bool:
    """Whether it has the table's head, or the words of the program around it."""
    if _JSON_SIGN.match(text):
        return '"out_of_place"' in text or '"nthreads"' in text
    found = _SIGN.search(text)
    return found is not None and not (found[0].startswith("Test") and "NCCL INFO" in text)


def read(text: str) -> NcclTest:
    """Rows and what is around them.

    Raises:
        Unreadable: if the text has neither a table's head, nor ranks, nor a failure, or if the
            times are not those of the operations.
    """
    if _JSON_SIGN.match(text):
        document = document_of(text)
        if document is None:
            raise Unreadable(KIND, "invalid_json")
        return _of_json(document)
    table = read_table(text[: text.rfind("\n") + 1])  # the last line may lack digits
    whole = without_ends_in_doubt(text)
    footers = footers_of(whole)
    ranks = checked(ranks_of(whole, processes_of(text)), table.rows)
    failure = failure_of(whole, footers, table)
    if table.in_milliseconds is None and not ranks.listed and failure is None:
        raise Unreadable(KIND, "no_table")
    version, library = versions_of(whole)
    return _test_of(
        table,
        ranks if table.in_milliseconds is not None or failure else Ranks(ranks.listed),
        footers,
        failure,
        collective=collective_of(whole),
        version=version,
        nccl_library=library,
        time_unit=_time_unit(table, text),
    )


def _of_json(document: dict[str, Any]) -> NcclTest:
    devices = document["config"].get("devices")
    listed = [entry for entry in devices or [] if isinstance(entry, dict)]
    hosts = {str(entry["hostname"]) for entry in listed if entry.get("hostname")}
    bounds, average = (
        found if isinstance(found := document.get(name), dict) else {}
        for name in ("out_of_bounds", "average_bus_bandwidth")
    )
    count = bounds.get("count")
    mean = number_of(average.get("bandwidth"))
    footers = Footers(count if isinstance(count, int) else None, () if mean is None else (mean,))
    table = table_of(document)
    arguments = " ".join(map(str, document.get("args") or []))
    version = document.get("nccl_version")
    library = versions_of(f"nccl-library={version}\n")[1]
    return _test_of(
        table,
        Ranks(len(listed), len(listed) or None, len(hosts) or None),
        footers,
        failure_of("", footers, table),
        collective=collective_of(arguments),
        nccl_library=library,
        time_unit="us",
    )


def _test_of(
    table: PerfTable, ranks: Ranks, footers: Footers, failure: Failure | None, **named: Any
) -> NcclTest:
    if table.host_times_only:
        raise Unreadable(KIND, "times_of_the_call_only")
    single = ranks.nranks == 1 and bool(table.rows)
    return NcclTest(
        kind=KIND,
        tool=KIND,
        collective_from_ratio=kind_of_ratio(table.rows, ranks.nranks),
        nranks=ranks.nranks,
        nnodes=ranks.nnodes,
        independent_runs=ranks.runs if ranks.runs > 1 else None,
        error_column=table.error_column,
        rows=tuple(map(_row_of, table.rows)),
        row_count=len(table.rows),
        out_of_bounds=footers.out_of_bounds,
        out_of_bounds_ok=None if footers.out_of_bounds is None else not footers.out_of_bounds,
        avg_busbw=_mean(footers.averages, _rates(table.rows)),
        peak_busbw=max(_rates(table.rows), default=None),
        failed=failure is not None,
        complete=bool(footers.averages),
        failure=failure,
        verdict="not_a_multi_gpu_run" if single else None,
        **named,
    )


def _mean(printed: Sequence[float], rates: Sequence[float]) -> float | None:
    """The mean that all runs print. One of few digits may lack some: then the rows must agree."""
    if len(set(printed)) != 1:
        return None
    digits = len(f"{printed[0]:g}".replace(".", "").strip("0"))
    agrees = bool(rates) and abs(sum(rates) / len(rates) - printed[0]) <= _ROUNDING_GB_PER_S
    return printed[0] if digits >= _SURE_DIGITS or agrees else None


def _rates(rows: Iterable[SizeRow]) -> list[float]:
    halves = (half for row in rows for half in (row.out_of_place, row.in_place) if half)
    return [half.busbw_gb_per_s for half in halves if half.busbw_gb_per_s is not None]


def _row_of(row: SizeRow) -> PerfRow:
    return PerfRow(
        size=row.size_bytes,
        count=row.values,
        type=row.dtype,
        redop=row.redop,
        root=row.root,
        oop=_half_of(row.out_of_place),
        ip=_half_of(row.in_place),
    )


def _half_of(half: Timing | None) -> PerfHalf | None:
    if half is None:
        return None
    return PerfHalf(
        time_us=round(half.time_s * 1e6, 6),
        algbw=half.algbw_gb_per_s,
        busbw=half.busbw_gb_per_s,
        err=half.wrong,
    )


def _time_unit(table: PerfTable, text: str) -> str | None:
    """Unit of the table's times; without a table, that of the release that the banner is of."""
    if table.in_milliseconds is not None:
        return "ms" if table.in_milliseconds else "us"
    if "NCCL Tests compiled with NCCL" in text:
        return "ms"
    return "us" if "# nThread " in text or "# Collective test" in text else None
