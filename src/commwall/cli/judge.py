"""`commwall judge FILE…`: verdicts on what other tools wrote, with the lines that show them.

Layer: cli. Reads the files, or standard input, and the facts; with --page writes one page.
"""

import argparse
import json
import textwrap
from pathlib import Path

from commwall.cli.inputs import content_of, decoded
from commwall.judge.facts import facts_root, read_facts
from commwall.judge.finding import Finding
from commwall.judge.rules import judge
from commwall.judge.scene import Pasted, Scene, paste
from commwall.readers.refusal import Unreadable

EXIT_NOTHING_READ = 2
_WIDTH = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="outputs of one machine; - is standard input"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Print the verdicts; exit code 2 if nothing could be read, whatever they are else."""
    facts = read_facts(facts_root(Path()))
    scene = Scene(tuple(map(pasted, arguments.files)), facts)
    findings = judge(scene)
    print(_json(scene, findings) if arguments.json else _text(scene, findings))
    return 0 if findings or any(one.readings for one in scene.pasted) else EXIT_NOTHING_READ


def pasted(name: str) -> Pasted:
    """A file with what is read of it.

    Raises:
        InputError: if there is none.
    """
    try:
        return paste(name, decoded(content_of(name)))
    except Unreadable as refusal:
        return Pasted(name, "", (), refusal.reason)


def _json(scene: Scene, findings: tuple[Finding, ...]) -> str:
    files = [
        {
            "file": one.name,
            "kinds": [reading.kind for reading in one.readings],
            "refused": one.refused,
        }
        for one in scene.pasted
    ]
    found = [finding.model_dump(mode="json") for finding in findings]
    return json.dumps({"files": files, "findings": found}, indent=1, ensure_ascii=False)


def _text(scene: Scene, findings: tuple[Finding, ...]) -> str:
    refused = [f"not read: {one.name} ({one.refused})" for one in scene.pasted if one.refused]
    blocks = [_block(finding) for finding in findings]
    return "\n\n".join(["\n".join(refused)] * bool(refused) + blocks)


def _block(finding: Finding) -> str:
    lines = [
        f"{one.file}:{one.line}: {one.text}" if one.line else f"{one.file}: {one.text}"
        for one in finding.evidence
    ]
    parts = [
        _wrapped(f"{finding.level.upper():<8} ", finding.verdict),
        *(_wrapped(f"{'':9}see   ", line) for line in lines),
        _wrapped(f"{'':9}means ", finding.means),
        *([_wrapped(f"{'':9}next  ", finding.next_step)] if finding.next_step else []),
        *(_wrapped(f"{'':9}source ", source) for source in finding.sources),
    ]
    return "\n".join(parts)


def _wrapped(head: str, text: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
