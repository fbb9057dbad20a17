"""The measuring verb's body: round by round, what a campaign of this machine still owes.

Layer: measure. Reads the plan, records, `.envs/bench/manifest.json` and the configuration;
writes records, the state and the attempt file, and the logs of the launches.
"""

import shutil
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from commwall.host.environments import read_manifest
from commwall.host.locks import device_locks
from commwall.host.machine import Machine, probe_machine
from commwall.measure.admission import refusal
from commwall.measure.assembly import Setting, take_setting
from commwall.measure.nodes import other_nodes
from commwall.measure.planning.configuration import resolved_config
from commwall.measure.progress import Say
from commwall.measure.session import Session
from commwall.measure.tally import Order, Tally, Visit
from commwall.measure.yardstick import Yardstick
from commwall.records.files import clear_parts
from commwall.records.layout import Layout
from commwall.records.state import Attempt, write_state
from commwall.records.store import read_plan
from commwall.records.todo import Due, Finding, examine, intact, todo
from commwall.schema import commands
from commwall.schema.case import SuiteName
from commwall.schema.errors import Busy, PlanError
from commwall.schema.plan import Plan

ROUND_ID_DIGITS = 12
HELD = (
    "  nothing of this suite is measured now. A workflow goes on to the pages, which takes "
    "minutes; to measure first, stop it (Ctrl-C), wait until that process has ended, and run again"
)
"""Told at once where another run holds a device."""


def measure_suite(order: Order) -> Attempt:
    """Measure every case that is missing, invalid or stale, and write down how it went.

    Returns:
        The attempt as written.

    Raises:
        PlanError: if the campaign has no readable plan, or its plan no such suite.
        ConfigError: if configuration or manifest are malformed.
        LaunchError: if workers cannot be ended, or the attempt cannot be written.
    """
    layout, tally = Layout(order.root), Tally(order)
    plan = _plan_with_suite(layout, order)
    machine, manifest = probe_machine(), read_manifest(order.root, "bench")
    refused = refusal(order.root, plan, machine, manifest)
    if refused or manifest is None:
        return tally.write(refused)
    clear_parts(layout.campaign_dir(plan.id))
    shutil.rmtree(order.launches_dir, ignore_errors=True)
    setting = take_setting(order.root, plan, order.suite, machine, manifest)
    key = setting.protocol.freshness_key
    findings = examine(layout, plan, order.suite, key)
    due = _asked(todo(plan, order.suite, findings), order)
    if due:
        others = other_nodes(plan, order.suite)
        if isinstance(others, str):
            return tally.write(others)
        _tell_replaced(intact(due, findings), order.say)
        _measure_due(replace(setting, other_nodes=others), visits(plan, order.suite, due), tally)
    write_state(layout, plan, order.suite, key)
    return tally.write()


def _plan_with_suite(layout: Layout, order: Order) -> Plan:
    path = layout.plan_path(order.campaign)
    if not path.is_file():
        raise PlanError(
            "a campaign has no plan",
            where=f"results/{order.campaign}/plan.json",
            found="no such file",
            expected=f"one of: {', '.join(layout.campaigns()) or 'none is planned yet'}",
            next_step=f"`{commands.LOOK}` writes the plans of the configured campaigns",
        )
    plan = read_plan(path)
    suites = tuple(planned.suite for planned in plan.suites)
    if order.suite not in suites:
        raise PlanError(
            "a campaign does not measure this suite",
            where=f"results/{order.campaign}/plan.json",
            found=order.suite,
            expected=f"one of: {', '.join(suites)}",
            next_step="name one of them, or add cases of the suite to the campaign file",
        )
    known = plan.suite(order.suite).cases
    if strangers := [case for case in order.cases if case not in known]:
        raise PlanError(
            "a campaign does not measure these cases",
            where=f"results/{order.campaign}/plan.json",
            found=", ".join(strangers),
            expected=f"some of: {', '.join(known)}",
            next_step="name cases of the suite, or leave --cases out for all",
        )
    return plan


def _asked(due: Sequence[Due], order: Order) -> tuple[Due, ...]:
    """What is due of the cases that the run is about."""
    if not order.cases:
        return tuple(due)
    own = (
        Due(round=each.round, cases=tuple(case for case in each.cases if case in order.cases))
        for each in due
    )
    return tuple(each for each in own if each.cases)


def _tell_replaced(replaced: Sequence[Finding], say: Say) -> None:
    """Name the records that are replaced although nothing is wrong with them, and say why."""
    if not replaced:
        return
    count = "1 intact record is" if len(replaced) == 1 else f"{len(replaced)} intact records are"
    say(f"{count} measured anew with the rest of a round, which counts only if measured in one go:")
    rounds: dict[str, list[int]] = {}
    for each in replaced:
        rounds.setdefault(f"{each.case} on {each.platform}", []).append(each.round)
    for place, numbers in rounds.items():
        say(f"  {place}: round {', '.join(map(str, numbers))}")


def visits(plan: Plan, suite: SuiteName, due: Sequence[Due]) -> tuple[Visit, ...]:
    """The launches that are due, in the plan's order; those of a round share a fresh id."""
    planned, found = plan.suite(suite), []
    for item in due:
        round_id = uuid.uuid4().hex[:ROUND_ID_DIGITS]
        for platform in planned.orders[item.round - 1]:
            cases = tuple(case for case in item.cases if case in planned.platforms[platform])
            if cases:
                found.append(Visit(item.round, round_id, platform, cases))
    return tuple(found)


def devices(plan: Plan, platforms: Sequence[str], machine: Machine) -> tuple[str, ...]:
    """Names of the devices to hold: `cpu`, or the machine's first GPUs by their digests.

    On several nodes those of this one: a job of Slurm has its nodes for itself.
    """
    used: set[str] = set()
    for platform in map(plan.platform, platforms):
        gpus = machine.facts.gpus[: platform.per_node]
        used |= {gpu.uuid_digest for gpu in gpus} if platform.device == "cuda" else {"cpu"}
    return tuple(sorted(used))


def _measure_due(setting: Setting, planned: tuple[Visit, ...], tally: Tally) -> None:
    """Hold the devices and measure; a held device ends the run before its first launch."""
    order = tally.order
    held = devices(setting.plan, [visit.platform for visit in planned], setting.machine)
    config = resolved_config(order.root)
    build, timeouts = config.yardsticks.nccl_tests, config.timeouts
    yardstick = Yardstick(Path(build).expanduser(), timeouts.case_s) if build else None
    try:
        with device_locks(held, order.lock_wait_s, order.lock_folder) as locks:
            Session(setting, timeouts, locks, tally, yardstick).run(planned)
    except Busy as error:
        tally.note(planned[0], "contended", f"{error.parts['where']} is {error.parts['found']}")
        order.say(HELD)
