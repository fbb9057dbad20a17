"""May a record's numbers enter a verdict?

Layer: records. Reads no file.
"""

from commwall.schema.record import Record
from commwall.schema.result import EXCLUDING_MARKS


def refusals(record: Record) -> tuple[str, ...]:
    """Every reason that keeps a record's numbers out of verdicts; empty if it is admitted."""
    return (*_status(record), *_checks(record), *_marks(record))


def _status(record: Record) -> tuple[str, ...]:
    status = record.status
    if status.state == "ok":
        return ()
    cause = f" ({status.cause.replace('_', ' ')})" if status.cause else ""
    return (f"{status.state}{cause}: {status.detail or 'no detail'}",)


def _checks(record: Record) -> tuple[str, ...]:
    return tuple(
        f"check {check.name} failed: found {check.found}, expected {check.expected}"
        for check in record.checks
        if not check.passed
    )


def _marks(record: Record) -> tuple[str, ...]:
    return tuple(
        f"marked {mark.name.replace('_', ' ')}, leg {mark.leg or 'any'}: {mark.detail}"
        for mark in record.marks
        if mark.name in EXCLUDING_MARKS
    )
