"""`commwall plan [CAMPAIGN]`: what campaigns would measure on this machine, and how long.

Layer: cli. Reads config/; writes nothing. What plans is loaded when it is needed.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commwall.schema.plan import Plan


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
    from commwall.measure.planning.freezing import build_plan
    from commwall.records.layout import Layout
    from commwall.records.store import read_plan

    root, told = Path(), {}
    if name := arguments.campaign:
        frozen = Layout(root).plan_path(name)
        if frozen.exists():
            print(_text(read_plan(frozen), None))
            return 0
        told = {"campaigns": [name]}
    machine = planned_machine(root)
    wanted = load(root, told, has_gpu=bool(machine.facts.gpus))
    plans = [build_plan(campaign, machine.facts, machine.words) for campaign in wanted.campaigns]
    print("\n\n\n".join(_text(plan, machine.facts.cpu_count) for plan in plans))
    return 0


def _text(plan: "Plan", cpus: int | None) -> str:
    """A plan in words, and what of it is hardly meant."""
    from commwall.measure.planning.doubts import doubts
    from commwall.measure.planning.freezing import plan_text

    told = [f"  {doubt}" for doubt in doubts(plan, cpus)]
    return "\n".join([plan_text(plan), *(["", "doubtful", *told] if told else [])])
