"""State files, the workflow's only link to the evidence, and attempt files.

Layer: records. Writes `.cw/<campaign>/<suite>.state` and
`results/<campaign>/attempts/<suite>.json`.
"""

from datetime import datetime
from pathlib import Path
from typing import Literal

from commwall.records.files import content_of, write_atomically, write_if_different
from commwall.records.layout import Layout
from commwall.records.texts import model_text
from commwall.records.todo import Due, Finding, examine, todo
from commwall.schema.base import Model
from commwall.schema.case import SuiteName
from commwall.schema.parsing import parse_json_model
from commwall.schema.plan import Plan

AccidentCause = Literal[
    "timeout", "killed", "contended", "gpu_lost", "node_lost", "disk_full", "launch_failed"
]
"""What would not necessarily come again; leaves no record, the next run repeats it."""


class State(Model):
    """What is known of one suite's records."""

    campaign: str
    suite: SuiteName
    key: str | None
    """Current freshness key; None for a campaign of another machine."""
    due: tuple[Due, ...]
    findings: tuple[Finding, ...]
    looked_at: datetime | None = None
    """Set while work is due here, so that unfinished work is never settled."""


class Accident(Model):
    """A launch that ended without an outcome."""

    round: int
    platform: str
    cases: tuple[str, ...]
    """Cases that are missing because of it."""
    cause: AccidentCause
    """What ended the launch."""
    detail: str
    """What was seen."""
    log: str
    """Path of its log below the checkout."""


class Attempt(Model):
    """What one run of the measuring verb did."""

    campaign: str
    suite: SuiteName
    started_at: datetime
    """Start of the run (UTC)."""
    ended_at: datetime
    """End of the run (UTC)."""
    measured: int
    """Records written."""
    accidents: tuple[Accident, ...] = ()
    left: tuple[int, ...] = ()
    """Rounds that were not begun for want of time."""
    refused: str | None = None
    """Why nothing was measured at all."""


def write_state(
    layout: Layout, plan: Plan, suite: SuiteName, key: str | None, now: datetime | None = None
) -> State:
    """Look at a suite's records and write its state file if that differs.

    Args:
        layout: the checkout.
        plan: the campaign's plan.
        suite: which suite.
        key: current freshness key, or None for a campaign of another machine.
        now: time of the look, entered while work is due here; None at the end of a run.
    """
    findings = examine(layout, plan, suite, key)
    due = todo(plan, suite, findings) if key else ()
    looked_at = now if due else None
    state = State(
        campaign=plan.id, suite=suite, key=key, due=due, findings=findings, looked_at=looked_at
    )
    write_if_different(layout.state_path(plan.id, suite), model_text(state))
    return state


def read_state(path: Path) -> State:
    """Read a state file.

    Raises:
        ConfigError: if it is malformed.
    """
    return parse_json_model(State, content_of(path), path.name)


def write_attempt(path: Path, attempt: Attempt) -> None:
    """Write an attempt file."""
    write_atomically(path, model_text(attempt))


def read_attempt(path: Path) -> Attempt:
    """Read an attempt file.

    Raises:
        ConfigError: if it is malformed.
    """
    return parse_json_model(Attempt, content_of(path), path.name)
