"""`commwall check`: fail while this machine owes records of a campaign.

Layer: cli. Reads plans, states, attempts and records as they are now; writes nothing.
"""

import argparse
from pathlib import Path

from commwall.cli.parent import accept_parent, follow_parent, refusal_of
from commwall.records.index import Index, build_index
from commwall.records.layout import Layout
from commwall.schema import commands
from commwall.schema.errors import WorkMissing


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("campaigns", nargs="+", metavar="CAMPAIGN")
    accept_parent(parser)


def run(arguments: argparse.Namespace) -> int:
    """Look at the records anew, print gaps and accidents; exit code 1 while any are owed here."""
    follow_parent(arguments)
    layout = Layout(Path.cwd())
    indexes = [build_index(layout, campaign) for campaign in arguments.campaigns]
    for index in indexes:
        _print_index(index)
    return int(any(index.owed for index in indexes)) or refusal_of(arguments, indexes)


def _print_index(index: Index) -> None:
    present = len(index.findings) - len(index.gaps)
    place = "measured here" if index.mine else "not measured here"
    print(f"{index.campaign} ({place}): {present} of {len(index.findings)} records")
    for problem in index.problems:
        print(f"  problem   {problem}")
    for note in index.notes:
        print(f"  note      {note}")
    for accident in index.accidents:
        log = f" (log {accident.log})" if accident.log else ""
        place = f"round {accident.round} on {accident.platform}"
        print(f"  accident  {place}: {accident.cause}, {accident.detail}{log}")
    for gap in index.gaps:
        print(f"  gap       {gap.path}: {gap.standing}, {gap.reason}")
    if index.unknown:
        way = "see the problem above" if index.findings else "restore the plan and run again"
        print(f"  owed      what this machine owes cannot be told; {way}")
    elif index.owed:
        again = (
            f"run `{commands.MEASURE}` again; it measures these cases on all platforms of their "
            "round, and nothing else"
        )
        print(
            WorkMissing(
                f"this machine owes records of {index.campaign}",
                found="; ".join(
                    f"round {due.round}: {', '.join(due.cases)}"
                    for dues in index.due.values()
                    for due in dues
                ),
                next_step=f"see to the problem above, then {again}" if index.problems else again,
            )
        )
