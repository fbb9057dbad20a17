"""`commwall doctor`: what this machine can measure, and why not the rest.

Layer: cli. Reads /proc, /sys and environment manifests; writes nothing.
"""

import argparse
import json
from pathlib import Path

from commwall.host.machine import Machine, probe_machine
from commwall.host.survey import Ability, survey


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Print the survey."""
    machine, abilities = probe_machine(), survey(Path())
    print(_json(machine, abilities) if arguments.json else _text(machine, abilities))
    return 0


def _json(machine: Machine, abilities: tuple[Ability, ...]) -> str:
    content = {
        "machine": machine.facts.model_dump(mode="json"),
        "gaps": [gap.model_dump(mode="json") for gap in machine.gaps],
        "abilities": [ability.model_dump(mode="json") for ability in abilities],
    }
    return json.dumps(content, indent=2, ensure_ascii=False)


def _text(machine: Machine, abilities: tuple[Ability, ...]) -> str:
    width = max(len(ability.name) for ability in abilities)
    lines = [machine.words, ""]
    for ability in abilities:
        mark = "yes" if ability.available else "no "
        lines.append(f"{mark}  {ability.name:<{width}}  {ability.found}")
        if ability.next_step:
            lines.append(f"     {'':<{width}}  → {ability.next_step}")
    return "\n".join(lines)
