"""What happens once when the workflow starts: configuration, plans, states, code digests.

Layer: measure. Reads config/, envs/bench.lock, results/*/plan.json and records; writes
`results/<campaign>/plan.json`, `.cw/<campaign>/<suite>.state`, `.cw/code/*.digest`,
`.cw/config.json` and `.cw/prepared.json`, each only if its content would change, so that its
time can be a trigger. Removes the manifest of an environment that is not the one asked for, and
sets the times of files right that a clock which was set back has left in the future.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from commwall.host.clock import settle_future
from commwall.host.environments import manifest_path, read_manifest
from commwall.host.lockfiles import lock_digest, lock_path, read_lock
from commwall.host.locks import RUN_LOCK_NAME, checkout_is_held, starting
from commwall.host.machine import Machine
from commwall.measure.nodes import most_nodes, planned_machine
from commwall.measure.planning.configuration import (
    RESOLVED_NAME,
    Campaign,
    load,
    load_config,
    resolved_text,
)
from commwall.measure.planning.freezing import build_plan, campaign_id
from commwall.records.arrival import is_evidence, was_tried
from commwall.records.files import write_if_different
from commwall.records.freshness import code_digest, freshness_key
from commwall.records.ladders import ladders
from commwall.records.layout import Layout
from commwall.records.state import write_state
from commwall.records.store import read_plan, same_plan
from commwall.records.texts import model_text
from commwall.schema import commands
from commwall.schema.base import Model, PositiveInt
from commwall.schema.case import SuiteName
from commwall.schema.config import Config
from commwall.schema.errors import Busy, CommwallError, ConfigError, LaunchError, PlanError
from commwall.schema.parsing import parse_json_model
from commwall.schema.plan import Plan
from commwall.schema.record import MachineFacts

PREPARED_NAME = ".cw/prepared.json"
READING_PARTS = ("analysis", "report")
"""Packages whose code decides what tables and pages look like."""
NOT_MADE = "adopted-not-made-yet"
"""Identity of an adopted environment before its packages are known: nothing is fresh."""


class PreparedCampaign(Model):
    """One campaign as the workflow sees it."""

    id: str
    mine: bool
    """True if this machine measures it now."""
    suites: tuple[SuiteName, ...]
    """Suites whose state was written; empty if the plan cannot be read."""
    nodes: dict[SuiteName, PositiveInt] = {}
    """Machines of each suite that is measured on more than one."""
    several_sizes: bool = False
    """True if a link is measured with several numbers of processes: a page is about that."""
    problems: tuple[str, ...] = ()


class Prepared(Model):
    """What the workflow builds its jobs from."""

    config: Config
    campaigns: tuple[PreparedCampaign, ...]
    """Those of this machine in the configured order, then all others that have a plan."""

    @property
    def mine(self) -> tuple[PreparedCampaign, ...]:
        """Campaigns this machine measures."""
        return tuple(campaign for campaign in self.campaigns if campaign.mine)


def prepare(root: Path, overrides: Mapping[str, Any] | None = None) -> Prepared:
    """Check everything, then bring plans, states and triggers up to date.

    Called in the workflow's main process only. While another run holds the checkout nothing is
    written: a dry run beside it sees what that run prepared, if it asks for the same; a second run
    is refused later. Of several that start at once one writes after the other.

    Args:
        root: the checkout.
        overrides: keys set above config.yaml, nested as there.

    Raises:
        ConfigError: naming every problem of the configuration; nothing is written then.
        ProvisionError: if envs/bench.lock is absent.
        LaunchError: if a file cannot be read or written.
        Busy: if another start does not end, or a run holds the checkout that was asked for
            something else.
    """
    try:
        with starting(root):
            if checkout_is_held(root):
                return _look_beside(root, overrides)
            return _prepare(root, overrides)
    except OSError as error:
        place = Path(str(error.filename)).absolute() if error.filename else root.absolute()
        inside = place.is_relative_to(root.absolute())
        raise LaunchError(
            "the start of the workflow cannot read or write its files",
            where=str(place.relative_to(root.absolute()) if inside else place.name),
            found=error.strerror or str(error),
            expected="folders results/ and .cw/ that can be written, with files in their places",
            next_step="free some space, correct the permissions or move away what lies there",
        ) from error


def confirm(root: Path, prepared: Prepared, overrides: Mapping[str, Any] | None = None) -> None:
    """Refuse to run on what another start has prepared; called once the checkout is held.

    Args:
        root: the checkout.
        prepared: what this run builds on.
        overrides: as they were given to `prepare`.

    Raises:
        Busy: if the checkout was prepared by a start with other wishes.
    """
    there = (root / PREPARED_NAME).read_text(encoding="utf-8")
    if there != model_text(prepared) or load_config(root, overrides) != prepared.config:
        raise Busy(
            "another run has started in this checkout meanwhile, with another configuration",
            where=PREPARED_NAME,
            next_step="run again; nothing was started",
        )


def _look_beside(root: Path, overrides: Mapping[str, Any] | None) -> Prepared:
    """What the run that holds the checkout has prepared, if it is what is asked for here."""
    prepared = examine_only(root, overrides)
    gpus = planned_machine(root, overrides).facts.gpus
    if load(root, overrides, has_gpu=bool(gpus)).config != prepared.config:
        raise Busy(
            "another run works in this checkout, with another configuration",
            where=RUN_LOCK_NAME,
            next_step="wait for its end or stop it; with its configuration, "
            f"`{commands.LOOK}` shows what it does",
        )
    return prepared


def _prepare(root: Path, overrides: Mapping[str, Any] | None) -> Prepared:
    machine = planned_machine(root, overrides)
    wanted = load(root, overrides, has_gpu=bool(machine.facts.gpus))
    settle_future(root)
    drop_unwanted_environments(root, wanted.config)
    identity = environment_identity(root, wanted.config)
    mine = tuple(_prepare_mine(root, campaign, machine, identity) for campaign in wanted.campaigns)
    others = tuple(_prepare_other(root, name) for name in _others(root, mine, machine.facts))
    prepared = Prepared(config=wanted.config, campaigns=(*mine, *others))
    for part in READING_PARTS:
        text = code_digest(f"commwall.{part}") + "\n"
        write_if_different(root / f".cw/code/{part}.digest", text)
    write_if_different(root / RESOLVED_NAME, resolved_text(root, wanted.config))
    write_if_different(root / PREPARED_NAME, model_text(prepared))
    return prepared


def examine_only(root: Path, overrides: Mapping[str, Any] | None = None) -> Prepared:
    """What the main process prepared; nothing is written.

    For sub-jobs, on another node perhaps, whose own look at the machine would name other
    campaigns.

    Args:
        root: the checkout.
        overrides: used only where nothing was prepared yet.

    Raises:
        ConfigError: naming every problem.
    """
    with suppress(FileNotFoundError, ConfigError):  # absent, or of another version
        return parse_json_model(Prepared, (root / PREPARED_NAME).read_bytes(), PREPARED_NAME)
    facts = planned_machine(root, overrides).facts
    wanted = load(root, overrides, has_gpu=bool(facts.gpus))
    ids = {campaign_id(asked, facts.fingerprint): asked for asked in wanted.campaigns}
    mine = tuple(
        PreparedCampaign(
            id=name, mine=not is_evidence(Layout(root), name), suites=tuple(asked.config.rounds)
        )
        for name, asked in ids.items()
    )
    others = tuple(_look_at_other(root, name)[0] for name in _others(root, mine, facts))
    return Prepared(config=wanted.config, campaigns=(*mine, *others))


def environment_identity(root: Path, config: Config) -> str:
    """What stands for the bench environment in a freshness key.

    The lock as it is, or the package list that was adopted.

    Raises:
        ProvisionError: if there is no lock.
        ConfigError: if the manifest is malformed.
    """
    if config.environments.bench.adopt is None:
        return lock_digest(read_lock(lock_path(root, "bench")))
    manifest = read_manifest(root, "bench")
    return manifest.identity if manifest else NOT_MADE


def drop_unwanted_environments(root: Path, config: Config) -> None:
    """Remove manifests of environments that were made in another way than is asked for now.

    What is not made has no manifest; the workflow then makes it.
    """
    for name in ("bench", "report"):
        wanted = getattr(config.environments, name).adopt
        try:
            manifest = read_manifest(root, name)
        except CommwallError:
            manifest_path(root, name).unlink()
            continue
        if manifest and manifest.adopted_from != wanted:
            manifest_path(root, name).unlink()


def _prepare_mine(
    root: Path, campaign: Campaign, machine: Machine, identity: str
) -> PreparedCampaign:
    layout, name = Layout(root), campaign_id(campaign, machine.facts.fingerprint)
    if is_evidence(layout, name):
        return _prepare_other(root, name)
    plan = _freeze(layout, build_plan(campaign, machine.facts, machine.words))
    for suite in plan.suites:
        key = freshness_key(suite.suite, identity)
        write_state(layout, plan, suite.suite, key, datetime.now(UTC))
    suites = tuple(suite.suite for suite in plan.suites)
    nodes = {suite: most_nodes(plan, suite) for suite in suites}
    several = {suite: count for suite, count in nodes.items() if count > 1}
    return PreparedCampaign(
        id=plan.id, mine=True, suites=suites, nodes=several, several_sizes=bool(ladders(plan))
    )


def _freeze(layout: Layout, plan: Plan) -> Plan:
    """Write a plan, unless the same one is there from another machine of this kind."""
    path = layout.plan_path(plan.id)
    with suppress(PlanError):  # absent, or to be replaced
        there = read_plan(path)
        if same_plan(there, plan):
            return there
    write_if_different(path, model_text(plan))
    return plan


def _prepare_other(root: Path, name: str) -> PreparedCampaign:
    seen, plan = _look_at_other(root, name)
    if plan is None:
        return seen
    try:
        for suite in plan.suites:
            write_state(Layout(root), plan, suite.suite, None)
    except CommwallError as error:
        return PreparedCampaign(id=name, mine=False, suites=(), problems=(str(error),))
    return seen


def _look_at_other(root: Path, name: str) -> tuple[PreparedCampaign, Plan | None]:
    """Another machine's campaign; a plan that cannot be read is a problem, not a stop."""
    try:
        plan = read_plan(Layout(root).plan_path(name))
    except CommwallError as error:
        return PreparedCampaign(id=name, mine=False, suites=(), problems=(str(error),)), None
    suites = tuple(suite.suite for suite in plan.suites)
    sizes = bool(ladders(plan))
    return PreparedCampaign(id=name, mine=False, suites=suites, several_sizes=sizes), plan


def _others(
    root: Path, mine: tuple[PreparedCampaign, ...], machine: MachineFacts
) -> tuple[str, ...]:
    """Campaigns with a plan that are not asked for; what nobody measured is none."""
    layout, own = Layout(root), {campaign.id for campaign in mine}
    names = (name for name in layout.campaigns() if name not in own)
    return tuple(name for name in names if not _only_planned(layout, name, machine))


def _only_planned(layout: Layout, name: str, machine: MachineFacts) -> bool:
    """Whether a dry run, say, has left a plan of this machine, by which nothing was tried."""
    with suppress(CommwallError):
        plan = read_plan(layout.plan_path(name))
        return plan.fingerprint == machine.fingerprint and not was_tried(layout, name)
    return False
