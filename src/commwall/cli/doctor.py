"""`commwall doctor`: what this machine can measure, how to get the rest, what a run would do.

Layer: cli. Reads /proc, /sys, environment manifests, config/, plans and records; writes nothing.
What plans is loaded when it is needed.
"""

import argparse
import json
import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from commwall.host.machine import Machine, probe_machine
from commwall.host.survey import Ability, Group, survey
from commwall.schema.errors import CommwallError

WIDTH = 100
INDENT = 13
"""Columns before what is told of an ability: its mark."""
HEADINGS: dict[Group, str] = {
    "links": "Links that can be compared",
    "evidence": "What can be told beside times",
    "needs": "What every run needs",
    "environments": "Environments",
}
LACKING: dict[Group, str] = {
    "links": "✗ no",
    "evidence": "– without",
    "needs": "✗ no",
    "environments": "– later",
}
"""Mark where something is not available; its word is enough where a terminal has no such sign."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Print the survey; whatever it finds, it was made."""
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
    lines = [machine.words]
    for group, heading in HEADINGS.items():
        own = [ability for ability in abilities if ability.group == group]
        lines += ["", heading, *_group_lines(group, own)]
    missing = [a.name for a in abilities if a.group == "environments" and not a.available]
    return "\n".join([*lines, "", "`make report` here", *_outlook_lines(missing)])


def _group_lines(group: Group, own: Iterable[Ability]) -> Iterator[str]:
    """Abilities that lack for one reason share a line, and the first one's next step."""
    for (available, found), alike in groupby(own, key=lambda each: (each.available, each.found)):
        same = list(alike)
        mark = "✓ yes" if available else LACKING[group]
        yield _told(mark, f"{', '.join(ability.name for ability in same)}: {found}")
        if same[0].next_step:
            yield _told("", f"→ {same[0].next_step}")


def _told(mark: str, words: str) -> str:
    """A line of the list, wrapped beside its mark."""
    room = textwrap.wrap(words, WIDTH - INDENT, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent("\n".join(room), " " * INDENT).replace(
        " " * INDENT, f"  {mark}".ljust(INDENT), 1
    )


def _outlook_lines(missing: list[str]) -> Iterator[str]:
    """What a run would measure, how long that takes, and what it makes first."""
    from commwall.measure.outlook import look_ahead
    from commwall.measure.planning.configuration import CONFIG_NAME
    from commwall.measure.progress import left_text

    if not Path(CONFIG_NAME).exists():
        yield _told("✗ no", f"this folder is no checkout of commwall: it has no {CONFIG_NAME}")
        return
    try:
        ahead = look_ahead(Path())
    except CommwallError as error:
        yield _told("✗ no", "nothing can be measured as it is configured:")
        yield textwrap.indent(str(error), " " * INDENT)
        return
    for outlook in ahead:
        yield _told("measures", f"{outlook.plan.title} (campaign {outlook.plan.id})")
        counts = ", ".join(f"{suite} {count}" for suite, count in outlook.cases.items())
        expected = f"{counts} cases in all rounds; about {left_text(outlook.expected_s)}"
        nothing = "nothing: all its records are there, or it is measured elsewhere"
        yield _told("", expected if counts else nothing)
    if missing:
        yield _told("makes", f"{', '.join(missing)}: a download, unless packages are adopted")
    yield _told("renders", "the pages of all campaigns, and names the one to open")
