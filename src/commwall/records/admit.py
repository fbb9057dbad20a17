"""May a record's numbers enter a verdict?

Layer: records. Reads no file.
"""

import re

from commwall.language.translate import tr, tr_later
from commwall.records.names import plain
from commwall.schema.record import Record, Status
from commwall.schema.result import EXCLUDING_MARKS, Mark

_COLON = re.compile("[:：]")
"""Ends the cause of a reason in every language; its detail follows."""
_WHOLE = (tr_later("skipped"), tr_later("failed"))
"""Causes that say nothing without their detail."""


def refusals(record: Record) -> tuple[str, ...]:
    """Every reason that keeps a record's numbers out of verdicts; empty if it is admitted."""
    return (*_status(record.status), *_checks(record), *_marks(record))


def cause_of(reason: str) -> str:
    """A reason without its detail: "marked host bound, leg single"."""
    return _COLON.split(reason, maxsplit=1)[0]


def head_of(reason: str) -> str:
    """As `cause_of`, but whole where the cause alone says nothing."""
    return reason if reason.startswith(tuple(map(tr, _WHOLE))) else cause_of(reason)


def without_leg(cause: str) -> str:
    """The cause of a mark, whatever leg it concerns: "marked host bound"."""
    return cause.partition(_leg_text(""))[0]


def _leg_text(leg: str) -> str:
    return tr(", leg {leg}", leg=leg)


def _status(status: Status) -> tuple[str, ...]:
    if status.state == "ok":
        return ()
    state, detail = tr(status.state), status.detail or tr("no detail")
    if not status.cause:
        return (tr("{state}: {detail}", state=state, detail=detail),)
    cause = plain(status.cause)
    return (tr("{state} ({cause}): {detail}", state=state, cause=cause, detail=detail),)


def _checks(record: Record) -> tuple[str, ...]:
    return tuple(
        tr(
            "check {name} failed: found {found}, expected {expected}",
            name=check.name,
            found=check.found,
            expected=check.expected,
        )
        for check in record.checks
        if not check.passed
    )


def _marks(record: Record) -> tuple[str, ...]:
    return tuple(_mark_text(mark) for mark in record.marks if mark.name in EXCLUDING_MARKS)


def _mark_text(mark: Mark) -> str:
    return tr(
        "marked {mark}{leg}: {detail}",
        mark=plain(mark.name),
        leg=_leg_text(mark.leg) if mark.leg else "",
        detail=mark.detail,
    )
