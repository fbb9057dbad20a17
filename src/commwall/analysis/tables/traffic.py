"""Which way the traffic of each launch took, by counters, NCCL's log and the checks on both.

Layer: analysis. Reads no file. All records of a launch say the same; it stands once.
"""

from collections.abc import Iterator
from typing import TypeVar

from commwall.analysis.result import Analysis
from commwall.analysis.tables.rows import Row, platform_columns, round_columns
from commwall.analysis.values.readings import gap_reason
from commwall.language.translate import tr, tr_later
from commwall.schema.record import Record, Traffic
from commwall.schema.result import Check

PATH_TAKEN, TREATMENT_TAKEN = "path_taken", "treatment_taken"
NOT_COUNTED = tr_later("the records hold no counted transfer")
T = TypeVar("T")


def traffic_rows(analysis: Analysis) -> Iterator[Row]:
    """Rows of table `traffic`: one a launch and rank, or one with the reason why there is none."""
    seen = set()
    for cell in analysis.cells:
        record = cell.record
        launch = (record.id.platform, record.id.suite, record.id.round, record.traffic,
                  _check(record, PATH_TAKEN), _check(record, TREATMENT_TAKEN))  # fmt: skip
        key = repr(launch)
        if key not in seen:
            seen.add(key)
            yield from _launch_rows(record, analysis)


def _launch_rows(record: Record, analysis: Analysis) -> Iterator[Row]:
    columns = {
        **platform_columns(record, analysis),
        **round_columns(record),
        "path": record.platform.path,
        **_checks(record),
    }
    columns.pop("case")
    traffic = record.traffic
    if traffic is None:
        yield {**columns, "reason": gap_reason(record, "traffic") or tr(NOT_COUNTED)}
        return
    for rank in range(record.platform.world_size):
        yield {**columns, **_rank_columns(traffic, rank)}


def _rank_columns(traffic: Traffic, rank: int) -> Row:
    sent = _of_rank(traffic.nvlink_sent_bytes, rank)
    return {
        "rank": rank,
        "transfer": traffic.what,
        "expected_bytes": traffic.expected_bytes,
        "duration_s": traffic.duration_s,
        "nvlink_sent_bytes": sent,
        "nvlink_received_bytes": _of_rank(traffic.nvlink_received_bytes, rank),
        "nvlink_sent_percent": None if sent is None else 100 * sent / traffic.expected_bytes,
        "pcie_sent_bytes_per_s": _of_rank(traffic.pcie_sent_bytes_per_s, rank),
        "pcie_received_bytes_per_s": _of_rank(traffic.pcie_received_bytes_per_s, rank),
        "loopback_bytes": traffic.loopback_bytes,
        "transports": ", ".join(traffic.transports) or None,
    }


def _of_rank(values: tuple[T, ...] | None, rank: int) -> T | None:
    return values[rank] if values is not None and rank < len(values) else None


def _checks(record: Record) -> Row:
    """What the checks on path and treatment expected and found, or why none could be made."""
    columns: Row = {}
    for start, name in (("path", PATH_TAKEN), ("treatment", TREATMENT_TAKEN)):
        check = _check(record, name)
        columns |= {
            f"{start}_taken": check and check.passed,
            f"{start}_expected": check and check.expected,
            f"{start}_found": check and check.found,
            f"{start}_reason": None if check else gap_reason(record, name),
        }
    return columns


def _check(record: Record, name: str) -> Check | None:
    return next((check for check in record.checks if check.name == name), None)
