"""`commwall plan CAMPAIGN`: what a campaign would measure on this machine, and how long.

Layer: cli. Reads config/; writes nothing. What plans is loaded when it is needed.
"""

import argparse
from pathlib import Path

from commwall.schema.config import AUTO


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument(
        "campaign",
        nargs="?",
        default=AUTO,
        help="name of a file in config/campaigns/, a folder in results/, or auto (the default)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print a plan: a frozen one as it is, else the one that would be frozen here."""
    from commwall.measure.configuration import auto_name, load_campaigns
    from commwall.measure.nodes import planned_machine
    from commwall.measure.planning import build_plan, plan_text
    from commwall.records.layout import Layout
    from commwall.records.store import read_plan

    root, name = Path(), arguments.campaign
    frozen = Layout(root).plan_path(name)
    if frozen.exists():
        print(plan_text(read_plan(frozen)))
        return 0
    machine = planned_machine(root)
    file_name = auto_name(root, bool(machine.facts.gpus)) if name == AUTO else name
    (campaign,) = load_campaigns(root, [file_name])
    print(plan_text(build_plan(campaign, machine.facts, machine.words)))
    return 0
