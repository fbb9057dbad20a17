"""Clocks, temperatures and marks of disturbance while a case trained.

Layer: analysis. Reads no file. Records that are kept out of verdicts count here: a throttled one
is what a reader looks for.
"""

from collections.abc import Iterator
from statistics import median

from commwall.analysis.result import Analysis
from commwall.analysis.tables.rows import Row, platform_columns
from commwall.analysis.values.clocks import (
    POWER_CAPPED,
    at_power_limit,
    slowest_clock_hz,
)
from commwall.analysis.values.readings import all_values, gap_reason, measured
from commwall.language.translate import clauses, tr, tr_later
from commwall.records.names import plain
from commwall.schema.case import TrainingCase
from commwall.schema.record import Record
from commwall.schema.result import MarkName

STATES = {
    "sm_clock_hz": ("sm_clock", "hz"),
    "memory_clock_hz": ("memory_clock", "hz"),
    "temperature_c": ("temperature", "c"),
}
"""Metric -> beginning and end of its columns."""
DISTURBING: tuple[MarkName, ...] = ("throttled", "contended", "link_degraded", POWER_CAPPED)
ON_CPU = tr_later("clocks and temperatures of a CPU are not read")
NOT_READ = tr_later("the records hold no reading of clocks and temperatures")


def disturbance_rows(analysis: Analysis) -> Iterator[Row]:
    """Rows of table `disturbance`: one a platform and training case."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in analysis.evidence.records:
        if isinstance(record.case, TrainingCase) and record.status.state == "ok":
            groups.setdefault((record.id.case, record.id.platform), []).append(record)
    highest_hz = analysis.highest_clock_hz
    for records in groups.values():
        yield {
            **platform_columns(records[0], analysis),
            "n": len(records),
            **_states(records),
            **{name: _marked(records, name) for name in DISTURBING},
            "at_power_limit": sum(at_power_limit(record, highest_hz) for record in records),
            "sm_clock_mean_hz": slowest_clock_hz(records, "full"),
            "sm_clock_highest_hz": highest_hz,
            "not_ruled_out": _not_ruled_out(records),
            "reason": _why_no_states(records),
        }


def _states(records: list[Record]) -> Row:
    """Least, median and greatest reading of each state over ranks and rounds."""
    columns: Row = {}
    for metric_id, (start, end) in STATES.items():
        series = [own for record in records for own in measured(record, metric_id, "full")]
        values = [value for own in series for value in own.values]
        ends = (min(values), median(values), max(values)) if values else (None, None, None)
        names = (f"{start}_{part}_{end}" for part in ("min", "median", "max"))
        columns |= dict(zip(names, ends, strict=True))
    return columns


def _marked(records: list[Record], name: MarkName) -> int:
    return sum(any(mark.name == name for mark in record.marks) for record in records)


def _not_ruled_out(records: list[Record]) -> str | None:
    """Marks that some record could neither be given nor spared, each with the reason."""
    found = dict.fromkeys(
        tr("{what} ({reason})", what=plain(gap.what), reason=gap.reason)
        for record in records
        for gap in record.gaps
        if gap.what in DISTURBING
    )
    return clauses(found) or None


def _why_no_states(records: list[Record]) -> str | None:
    """Why there is no reading of any state; None if there is one."""
    if any(
        value for record in records for metric in STATES for value in all_values(record, metric)
    ):
        return None
    if records[0].platform.device == "cpu":
        return tr(ON_CPU)
    reasons = (gap_reason(record, *STATES) for record in records)
    return next((reason for reason in reasons if reason), tr(NOT_READ))
