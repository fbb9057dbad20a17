"""What a campaign has, and what its machine still owes.

Layer: records. Reads plan, record and withdrawal files. `todo` is the one judge: the
Snakefile, the measuring verb, the index and the check all ask it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from commwall.language.translate import tr_later
from commwall.records.comparable import not_as_planned
from commwall.records.layout import Layout
from commwall.records.store import read_record, read_withdrawals
from commwall.records.verified import Facts, Verified
from commwall.schema.base import Model
from commwall.schema.case import SuiteName
from commwall.schema.errors import RecordError
from commwall.schema.plan import Plan

Standing = Literal["fresh", "valid", "stale", "invalid", "withdrawn", "missing"]
"""fresh: valid and made by the current code and environment; valid: of another machine's
campaign, evidence to read; stale: valid but made by other code, or measured otherwise than the
plan says, which keeps it out of verdicts."""
Judgement = tuple[Standing, str | None]
Judge = Callable[[Facts], Judgement]
Cell = tuple[str, str, int]
"""Platform, case, round."""
READABLE: frozenset[Standing] = frozenset({"fresh", "valid", "stale"})


class Finding(Model):
    """What stands in one cell of a campaign: a case, a platform, a round."""

    platform: str
    suite: SuiteName
    case: str
    round: int
    path: str
    """Path of the record below the checkout."""
    standing: Standing
    """What the record is worth now."""
    reason: str | None = None
    """Why it is not fresh or valid."""
    round_id: str | None = None
    """Identity of the round in which it was measured."""
    digest: str | None = None
    """Digest of the record."""


class Due(Model):
    """Cases of one round that must be measured, on all their platforms."""

    round: int
    cases: tuple[str, ...]
    """Cases to measure on all their platforms."""


def examine(layout: Layout, plan: Plan, suite: SuiteName, key: str | None) -> tuple[Finding, ...]:
    """Look at every cell of a suite.

    Args:
        layout: the checkout.
        plan: the campaign's plan.
        suite: which suite.
        key: current freshness key, or None for a campaign of another machine.

    Raises:
        ConfigError: if `withdrawn.json` is malformed.
    """
    planned = plan.suite(suite)
    judge = partial(_judge, plan=plan, key=key, withdrawn=read_withdrawals(layout, plan.id))
    verified = Verified(layout, plan, suite)
    findings = tuple(
        _examine_cell(layout, plan, suite, (platform, case, round_), judge, verified)
        for round_ in range(1, planned.rounds + 1)
        for platform, cases in planned.platforms.items()
        for case in cases
    )
    verified.keep()
    return findings


def todo(plan: Plan, suite: SuiteName, findings: tuple[Finding, ...]) -> tuple[Due, ...]:
    """Rounds and cases that must be measured anew.

    A case is whole in a round only if the records of all its platforms are fresh and were
    measured back to back, that is share one `round_id`.
    """
    planned = plan.suite(suite)
    due = []
    for round_ in range(1, planned.rounds + 1):
        cells = [finding for finding in findings if finding.round == round_]
        cases = tuple(case for case in planned.cases if not _whole(case, cells))
        if cases:
            due.append(Due(round=round_, cases=cases))
    return tuple(due)


def intact(due: Sequence[Due], findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Fresh records that go with what is due: measured anew for the sake of their round."""
    cells = {(item.round, case) for item in due for case in item.cases}
    return tuple(
        finding
        for finding in findings
        if finding.standing == "fresh" and (finding.round, finding.case) in cells
    )


def _whole(case: str, cells: list[Finding]) -> bool:
    own = [cell for cell in cells if cell.case == case]
    fresh = all(cell.standing == "fresh" for cell in own)
    return fresh and len({cell.round_id for cell in own}) <= 1


def _examine_cell(
    layout: Layout, plan: Plan, suite: SuiteName, cell: Cell, judge: Judge, verified: Verified
) -> Finding:
    platform, case, round_ = cell
    path = layout.record_path(plan.id, platform, suite, case, round_)
    name = str(path.relative_to(layout.root))
    facts, (standing, reason) = _facts_and_judgement(name, path, plan, judge, verified)
    return Finding(
        platform=platform,
        suite=suite,
        case=case,
        round=round_,
        path=name,
        standing=standing,
        reason=reason,
        round_id=facts.round_id if facts else None,
        digest=facts.digest if facts else None,
    )


def _facts_and_judgement(
    name: str, path: Path, plan: Plan, judge: Judge, verified: Verified
) -> tuple[Facts | None, Judgement]:
    if not path.exists():
        return None, ("missing", tr_later("no record"))
    try:
        facts = verified.facts(name, path, partial(_read, plan=plan))
    except RecordError as error:
        return None, ("invalid", str(error.parts["found"]))
    return facts, judge(facts)


def _read(path: Path, plan: Plan) -> Facts:
    record = read_record(path)
    return Facts(
        digest=record.digest,
        round_id=record.id.round_id,
        fingerprint=record.machine.fingerprint,
        freshness_key=record.protocol.freshness_key,
        departure=not_as_planned(record, plan),
    )


def _judge(facts: Facts, plan: Plan, key: str | None, withdrawn: dict[str, str]) -> Judgement:
    if facts.digest in withdrawn:
        return "withdrawn", withdrawn[facts.digest]
    if facts.fingerprint != plan.fingerprint:
        return "invalid", tr_later("measured on another kind of machine than the plan names")
    if facts.departure:
        return "stale", facts.departure
    if key is None:
        return "valid", None
    if facts.freshness_key != key:
        return "stale", f"made as {facts.freshness_key}, current is {key}"
    return "fresh", None
