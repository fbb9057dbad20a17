"""`commwall plan [CAMPAIGN]`: what campaigns would measure on this machine, and how long.

Layer: cli. Reads config/; writes nothing. What plans is loaded when it is needed.
"""

import argparse
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument(
        "campaign",
        nargs="?",
        help="name of a file in config/campaigns/, a folder in results/, or auto; default: all "
        "campaigns that config/config.yaml asks for",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print plans: a frozen one as it is, else those that would be frozen here."""
    from commwall.measure.nodes import planned_machine
    from commwall.measure.planning.configuration import load
    from commwall.measure.planning.freezing import build_plan, plan_text
    from commwall.records.layout import Layout
    from commwall.records.store import read_plan

    root, told = Path(), {}
    if name := arguments.campaign:
        frozen = Layout(root).plan_path(name)
        if frozen.exists():
            print(plan_text(read_plan(frozen)))
            return 0
        told = {"campaigns": [name]}
    machine = planned_machine(root)
    wanted = load(root, told, has_gpu=bool(machine.facts.gpus))
    plans = [build_plan(campaign, machine.facts, machine.words) for campaign in wanted.campaigns]
    print("\n\n\n".join(map(plan_text, plans)))
    return 0
