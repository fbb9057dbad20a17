"""The index of a campaign: every cell, what is owed, what went wrong.

Layer: records. Reads plan, states, attempts and records; writes `results/<campaign>/index.json`.
Everything that renders starts from an index and never looks for record files itself.
"""

from collections.abc import Iterable
from contextlib import suppress

from commwall.language.translate import tr_later
from commwall.records.arrival import is_evidence
from commwall.records.files import content_of
from commwall.records.layout import Layout
from commwall.records.state import Accident, Attempt, read_attempt, read_state
from commwall.records.store import read_plan, read_withdrawals
from commwall.records.todo import READABLE, Due, Finding, examine, todo
from commwall.schema import commands
from commwall.schema.base import Model
from commwall.schema.case import SuiteName
from commwall.schema.errors import CommwallError, PlanError
from commwall.schema.parsing import nearest, parse_json_model
from commwall.schema.plan import Plan

NOT_LOOKED = tr_later(
    "the workflow has not looked at this campaign here, so nothing is known of what this machine "
    "owes; `.venv/bin/snakemake -n` looks, and so does `make report`"
)
"""Problem of a suite that may be this machine's."""


class Index(Model):
    """What a campaign consists of at one moment."""

    campaign: str
    title: str
    mine: bool
    """True if this machine measures the campaign and can owe records."""
    findings: tuple[Finding, ...] = ()
    due: dict[SuiteName, tuple[Due, ...]] = {}
    """Owed by this machine; empty for another machine's campaign."""
    accidents: tuple[Accident, ...] = ()
    problems: tuple[str, ...] = ()
    """What else a reader must know: a malformed plan, a refused run."""
    notes: tuple[str, ...] = ()
    """What may be a slip, and may be as it should."""
    unknown: bool = False
    """True if this machine may measure the campaign and what it owes cannot be told."""

    @property
    def gaps(self) -> tuple[Finding, ...]:
        """Cells without a readable record."""
        return tuple(f for f in self.findings if f.standing in ("missing", "invalid", "withdrawn"))

    @property
    def unreadable(self) -> bool:
        """True if the plan or the list of withdrawn records cannot be read."""
        return bool(self.problems) and not self.findings

    @property
    def owed(self) -> bool:
        """True while this machine owes records."""
        return self.unknown or any(self.due.values())


def build_index(layout: Layout, campaign: str) -> Index:
    """Examine a campaign; one that cannot be read is an index with a problem.

    Raises:
        PlanError: if there is no campaign of that name.
    """
    if not layout.plan_path(campaign).exists():
        raise _no_campaign(layout, campaign)
    try:
        plan = read_plan(layout.plan_path(campaign))
        parts = [_suite_part(layout, plan, planned.suite) for planned in plan.suites]
        notes = _withdrawn_in_vain(layout, campaign, parts)
    except (CommwallError, OSError) as error:
        mine, told = _is_measured_here(layout, campaign), (str(error),)
        return Index(campaign=campaign, title=campaign, mine=mine, unknown=mine, problems=told)
    return Index(
        campaign=campaign,
        title=plan.title,
        mine=any(part.mine for part in parts),
        findings=tuple(finding for part in parts for finding in part.findings),
        due={suite: due for part in parts for suite, due in part.due.items()},
        accidents=tuple(accident for part in parts for accident in part.accidents),
        problems=tuple(problem for part in parts for problem in part.problems),
        notes=notes,
        unknown=any(part.unknown for part in parts),
    )


def read_index(layout: Layout, campaign: str) -> Index:
    """Read the index of a campaign.

    Raises:
        PlanError: if there is no campaign of that name, or it has no index yet.
        ConfigError: if the index is malformed.
    """
    path = layout.index_path(campaign)
    if not path.exists():
        raise _no_campaign(layout, campaign)
    return parse_json_model(Index, content_of(path), f"results/{campaign}/{path.name}")


def _no_campaign(layout: Layout, campaign: str) -> PlanError:
    known = layout.campaigns()
    if campaign in known:
        return PlanError(
            "the campaign has no index yet",
            where=f"results/{campaign}",
            next_step=f"run `{commands.MEASURE}`, or `{commands.command('index')} {campaign}`",
        )
    near = nearest(campaign, known)
    return PlanError(
        "there is no such campaign",
        where=f"results/{campaign}",
        found=campaign,
        expected=f"{near} (nearest)" if near else ", ".join(known) or "none has been planned yet",
        next_step=f"name one of results/*/, or run `{commands.MEASURE}` to plan and measure",
    )


def _suite_part(layout: Layout, plan: Plan, suite: SuiteName) -> Index:
    key, unknown = _current_key(layout, plan.id, suite)
    findings = examine(layout, plan, suite, key)
    attempt, damaged = _last_attempt(layout, plan.id, suite) if key else (None, None)
    refused = attempt.refused if attempt else None
    return Index(
        campaign=plan.id,
        title=plan.title,
        mine=key is not None,
        findings=findings,
        due={suite: todo(plan, suite, findings)} if key else {},
        accidents=attempt.accidents if attempt else (),
        problems=tuple(problem for problem in (unknown, damaged, refused) if problem),
        unknown=unknown is not None and not all(f.standing in READABLE for f in findings),
    )


def _withdrawn_in_vain(layout: Layout, campaign: str, parts: Iterable[Index]) -> tuple[str, ...]:
    """Withdrawals that take no record out, each in words."""
    present = {finding.digest for part in parts for finding in part.findings}
    return tuple(
        f"withdrawn.json: no record here has the digest {digest[:12]}… ({reason}); it was measured "
        "anew or removed since, or the digest is mistyped"
        for digest, reason in read_withdrawals(layout, campaign).items()
        if digest not in present
    )


def _is_measured_here(layout: Layout, campaign: str) -> bool:
    """Whether the workflow's last look found a campaign to be this machine's."""
    for path in layout.states_dir(campaign).glob("*.state"):
        with suppress(CommwallError, OSError):
            if read_state(path).key is not None:
                return True
    return False


def _current_key(layout: Layout, campaign: str, suite: str) -> tuple[str | None, str | None]:
    """The key the workflow's look at the records used, or why it is unknown."""
    path = layout.state_path(campaign, suite)
    if path.exists():
        return read_state(path).key, None
    if is_evidence(layout, campaign):
        return None, None
    return None, f"suite {suite}: {NOT_LOOKED}"


def _last_attempt(layout: Layout, campaign: str, suite: str) -> tuple[Attempt | None, str | None]:
    """What the last run did, or why that cannot be read; its records are judged all the same."""
    path = layout.attempt_path(campaign, suite)
    if not path.exists():
        return None, None
    try:
        return read_attempt(path), None
    except (CommwallError, OSError) as error:
        return None, f"the account of the last run cannot be read: {path.name}: {error}"
