"""What a program of nccl-tests writes with --output_file name.json.

Layer: readers. Reads no file. Truth values are texts there, and a rank's root too.
"""

import json
import math
from typing import Any

from commwall.readers.nccl_tests_table import PerfTable, SizeRow, Timing

_MICROSECOND_S = 1e-6


def document_of(text: str) -> dict[str, Any] | None:
    """The whole document, or None if the text is none of nccl-tests."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    known = isinstance(found, dict) and isinstance(found.get("config"), dict)
    return found if known and ("nccl_version" in found or "results" in found) else None


def table_of(document: dict[str, Any]) -> PerfTable:
    """The rows; a row that lacks its size or both times is left out.

    Source: NVIDIA nccl-tests 2.19, src/util.cu, writeBenchmarkLineBody.
    """
    results = document.get("results")
    found = map(_row, results if isinstance(results, list) else [])
    return PerfTable(
        rows=tuple(row for row in found if row),
        failure=None,
        in_milliseconds=False,
        error_column="nwrong",
        host_times_only="cpu_time" in str(results)[:2000],
    )


def _row(entry: Any) -> SizeRow | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("size"), int):
        return None
    halves = [_timing(entry.get(name)) for name in ("out_of_place", "in_place")]
    if not any(halves):
        return None
    root = str(entry.get("root", "")).strip()
    return SizeRow(
        size_bytes=entry["size"],
        dtype=str(entry.get("type", "")),
        out_of_place=halves[0],
        in_place=halves[1],
        values=entry["count"] if isinstance(entry.get("count"), int) else None,
        redop=str(entry["redop"]) if "redop" in entry else None,
        root=int(root) if root.lstrip("-").isdigit() else None,
    )


def _timing(half: Any) -> Timing | None:
    taken = number_of(half.get("time", half.get("cpu_time"))) if isinstance(half, dict) else None
    if taken is None:
        return None
    return Timing(
        time_s=taken * _MICROSECOND_S,
        wrong=number_of(half.get("nwrong")),
        algbw_gb_per_s=number_of(half.get("alg_bw")),
        busbw_gb_per_s=number_of(half.get("bus_bw")),
    )


def number_of(value: Any) -> float | None:
    """A number that is not negative, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None
