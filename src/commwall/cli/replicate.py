"""`commwall replicate CAMPAIGN`: measure a published campaign again on a machine of its kind.

Layer: cli. Without --judge it writes `config/campaigns/<campaign>-replica.yaml`, which is measured
like any campaign; with --judge it writes nothing.
"""

import argparse
import re
from pathlib import Path
from typing import get_args

from commwall.analysis.replication.judging import Replication
from commwall.analysis.replication.words import (
    cell_text,
    headline_text,
    interval_text,
    lines,
    value_text,
)
from commwall.analysis.result import analyse, replicated
from commwall.cli.settings import confidence_level
from commwall.measure.nodes import planned_machine
from commwall.measure.planning.configuration import Campaign, load_campaigns
from commwall.measure.planning.freezing import build_plan, campaign_id, plan_text
from commwall.measure.planning.replicating import (
    check_own,
    replica_config,
    replica_name,
    write_replica,
)
from commwall.records.evidence import look_at
from commwall.records.hardware import read_hardware
from commwall.records.layout import Layout
from commwall.records.predictions import basis, read_predictions
from commwall.schema.base import NAME_PATTERN
from commwall.schema.case import SuiteName
from commwall.schema.errors import IncomparableRecords, PlanError
from commwall.schema.plan import Plan, Replicated
from commwall.schema.predictions import MOST_NEW_ROUNDS
from commwall.schema.record import Record

ROUNDS = 2
LONGEST_NAME = 50
EXIT_INCOMPLETE = 1
EXIT_DISAGREES = 3


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("campaign", help="the published campaign, a folder in results/")
    parser.add_argument(
        "--rounds",
        type=int,
        choices=range(1, MOST_NEW_ROUNDS + 1),
        metavar="N",
        default=ROUNDS,
        help="rounds of each suite to measure, default: %(default)s",
    )
    parser.add_argument(
        "--suite",
        action="append",
        choices=get_args(SuiteName),
        help="measure this suite only; may be given again",
    )
    parser.add_argument(
        "--name",
        type=_name,
        help="of the campaign file to write, default: the campaign's and -replica",
    )
    parser.add_argument("--judge", metavar="OWN", help="say how this campaign of yours agrees")


def _name(text: str) -> str:
    """A word that can name a campaign, with room for the digits of its identifier.

    Raises:
        ArgumentTypeError: if it is none.
    """
    if len(text) > LONGEST_NAME or not re.fullmatch(NAME_PATTERN, text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no name: lower-case letters and digits, joined by '-' or '.', at most "
            f"{LONGEST_NAME} of them"
        )
    return text


def run(arguments: argparse.Namespace) -> int:
    """Plan a replication, or judge one."""
    layout, published = Layout(Path()), arguments.campaign
    plan = _plan_of(layout, published)
    if arguments.judge is not None:
        return _judge(layout, published, arguments.judge)
    return _plan(layout, plan, arguments)


def _plan_of(layout: Layout, campaign: str) -> Plan:
    """The plan of a campaign that is here.

    Raises:
        PlanError: if there is none, or it cannot be read.
    """
    evidence = look_at(layout, campaign)
    if evidence.plan is None:
        found = "; ".join(evidence.index.problems)
        raise PlanError("cannot read a plan", where=f"results/{campaign}", found=found)
    return evidence.plan


def _plan(layout: Layout, published: Plan, arguments: argparse.Namespace) -> int:
    machine, name = planned_machine(layout.root), arguments.name or replica_name(published.id)
    predictions = read_predictions(layout, published.id)
    basis(layout, predictions)  # to be refused before machine time is spent
    suites = arguments.suite or get_args(SuiteName)
    config = replica_config(published, predictions, machine.facts, arguments.rounds, suites)
    own = campaign_id(Campaign(name, config, {}), machine.facts.fingerprint)
    check_own(own, machine.facts, _records(layout, own))
    path = write_replica(layout.root, name, config)
    (campaign,) = load_campaigns(layout.root, [name])
    print(plan_text(build_plan(campaign, machine.facts, machine.words)))
    print(f"\nwritten  {path}")
    print(f"measure  .venv/bin/snakemake --cores all --config 'campaigns=[\"{name}\"]'")
    print(f"judge    .venv/bin/commwall replicate {published.id} --judge {own}")
    return 0


def _records(layout: Layout, campaign: str) -> tuple[Record, ...]:
    """What is there of a campaign that may not be planned yet."""
    return look_at(layout, campaign).records if campaign in layout.campaigns() else ()


def _judge(layout: Layout, published: str, own: str) -> int:
    plan = _plan_of(layout, own)
    asked = _asked(plan, published)
    evidence = look_at(layout, own)
    confidence = confidence_level(layout.root)
    replication = replicated(
        layout, asked, analyse(evidence, confidence, read_hardware(layout.root))
    )
    _refuse_uncounted(replication, own)
    _print(replication)
    if replication.agrees is None or evidence.index.gaps:
        print(f"Records of {own} are missing: {len(evidence.index.gaps)}.")
        return EXIT_INCOMPLETE
    return 0 if replication.agrees else EXIT_DISAGREES


def _asked(plan: Plan, published: str) -> Replicated:
    """What a campaign replicates.

    Raises:
        PlanError: if it is no replication of that campaign.
    """
    asked = plan.replicates
    if asked is not None and asked.campaign == published:
        return asked
    raise PlanError(
        f"{plan.id} is no replication of {published}",
        where=f"results/{plan.id}/plan.json, replicates",
        found="nothing" if asked is None else asked.campaign,
        expected=published,
        next_step=f"`commwall replicate {published}` plans one",
    )


def _refuse_uncounted(replication: Replication, own: str) -> None:
    """Raise IncomparableRecords where nothing was measured that could count."""
    outcomes = {cell.outcome for cell in replication.cells}
    if "does not count" not in outcomes or outcomes & {"inside", "outside"}:
        return
    reasons = dict.fromkeys(cell.reason for cell in replication.cells if not cell.counts)
    raise IncomparableRecords(
        f"nothing of {own} counts as a replication of {replication.published}",
        where=f"results/{own}",
        found="\n".join(reason for reason in reasons if reason),
        expected="the same value on both sides, the new one stands first",
        next_step=f"`commwall replicate {replication.published}` plans one that counts",
    )


def _print(replication: Replication) -> None:
    print(headline_text(replication))
    for kind, is_ratio in (("ratios", True), ("absolute values", False)):
        print(f"\n{kind}")
        for cell in replication.cells:
            if (cell.cell.b is not None) is is_ratio:
                new = f"{value_text(cell, cell.new)} in {interval_text(cell)}, n = "
                told = cell.reason if cell.reason else f"{new}{len(cell.values)}"
                print(f"  {cell.outcome:<14}  {cell_text(cell)}: {told}")
    print()
    for line in lines(replication):
        print(f"  {line}")
