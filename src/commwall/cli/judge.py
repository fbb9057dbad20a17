"""`commwall judge FILE…`: verdicts on what other tools wrote, with the lines that show them.

Layer: cli. Reads the files, or standard input, and the facts; with --page writes one page.
"""

import argparse
import json
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from commwall.cli.inputs import InputError, content_of, refuse_no_folder
from commwall.host.outputs import tool_outputs
from commwall.host.survey import survey
from commwall.judge.facts import facts_root, read_facts
from commwall.judge.finding import Finding
from commwall.judge.handover import Check, Expectations, summary
from commwall.judge.scene import Pasted, Scene, paste
from commwall.language.translate import ENGLISH, LANGUAGES, speaking
from commwall.readers.decoding import decoded
from commwall.readers.refusal import Unreadable
from commwall.records.files import write_atomically
from commwall.report.acceptance import (
    EXPECTATIONS,
    HandOver,
    hand_over,
    page_of,
    read_expectations,
)

EXIT_NOTHING_READ = 2
UNREAD = "which outputs are read: commwall judge --help"
_SURVEYED = ("GPU", "shared memory", "GPU energy counters", "GPU monitoring", "NVLink counters")
_WIDTH = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.epilog = (
        "Reads what nvidia-smi (topo -m, topo -p2p, nvlink -s, dmon, -q, --query-gpu as CSV, -L, "
        "the table), NCCL's log, nccl-tests, nvbandwidth, PyTorch's profiler, lscpu and "
        "numactl -H wrote; in any file, lines of drivers, kernels, lspci and df that name a cause."
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="outputs of one machine; - is standard input"
    )
    parser.add_argument("--here", action="store_true", help="ask this machine's own tools, too")
    parser.add_argument(
        "--expect", type=Path, metavar="FILE", help=f"set it against this; see {EXPECTATIONS}"
    )
    parser.add_argument(
        "--page", type=Path, metavar="FILE.html", help="write the page of a hand-over"
    )
    parser.add_argument(
        "--language", choices=LANGUAGES, default=ENGLISH, help="of that page; default: English"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Print the verdicts; exit code 2 if nothing could be read, whatever they are else."""
    if not arguments.files and not arguments.here:
        raise InputError("nothing to judge", expected="FILE…, or --here for this machine")
    if arguments.page:
        refuse_no_folder(arguments.page)
    elif arguments.language != ENGLISH:
        raise InputError(
            "only the page is written in another language",
            where=f"--language {arguments.language}",
            expected="--page FILE.html beside it",
        )
    root = facts_root(Path())
    own = list(_own()) if arguments.here else []
    scene = Scene((*map(pasted, arguments.files), *own), read_facts(root))
    asked = bool(arguments.page or arguments.expect)
    expected = arguments.expect or root / EXPECTATIONS
    wanted = read_expectations(expected) if asked else Expectations()
    surveyed = _surveyed() if asked and arguments.here else ()
    found = hand_over(scene, wanted, surveyed)
    if arguments.page:
        with speaking(arguments.language):
            write_atomically(arguments.page, page_of(hand_over(scene, wanted, surveyed)))
    print(_json(found, asked) if arguments.json else _text(found, asked))
    return 0 if _readable(found) else EXIT_NOTHING_READ


def _readable(found: HandOver) -> bool:
    return bool(found.findings) or any(one.readings for one in found.scene.pasted)


def _own() -> Iterator[Pasted]:
    """What this machine's tools say. Of what no reader is for, only known sentences count."""
    for command, said in tool_outputs():
        own = paste(command, said)
        yield replace(own, refused=None) if own.refused == "no_known_format" else own


def _surveyed() -> tuple[Check, ...]:
    """What `commwall doctor` finds, but for what only measuring needs."""
    return tuple(
        Check(
            item=ability.name,
            outcome="pass" if ability.available else "warn",
            expected="available",
            found=ability.found,
            reason=ability.next_step or "as expected",
        )
        for ability in survey(Path())
        if ability.name in _SURVEYED
    )


def pasted(name: str) -> Pasted:
    """A file with what is read of it.

    Raises:
        InputError: if there is none.
    """
    try:
        return paste(name, decoded(content_of(name)))
    except Unreadable as refusal:
        return Pasted(name, "", (), refusal.reason)


def _json(found: HandOver, asked: bool) -> str:
    files = [
        {
            "file": one.name,
            "kinds": [reading.kind for reading in one.readings],
            "refused": one.refused,
        }
        for one in found.scene.pasted
    ]
    said = [finding.model_dump(mode="json") for finding in found.findings]
    content: dict[str, object] = {"files": files, "findings": said}
    if asked:
        content["outcome"] = summary(found.checks)[0]
        content["checks"] = [check.model_dump(mode="json") for check in found.checks]
    return json.dumps(content, indent=1, ensure_ascii=False)


def _text(found: HandOver, asked: bool) -> str:
    told = {line.file for finding in found.findings for line in finding.evidence}
    refused = [
        f"not read: {one.name}: {one.refused.replace('_', ' ')}"
        for one in found.scene.pasted
        if one.refused and one.name not in told
    ]
    blocks = ["\n".join([*refused, UNREAD])] if refused or not _readable(found) else []
    if asked:
        blocks.append("\n".join(map(_check_line, found.checks)))
        outcome, words = summary(found.checks)
        blocks.append(f"{outcome.upper()}: {words}")
    return "\n\n".join([*blocks, *map(_block, found.findings)])


def _check_line(check: Check) -> str:
    told = f"{check.item}: {check.found}; expected: {check.expected}"
    return _wrapped(
        f"{check.outcome:<5} ", told if check.outcome == "pass" else f"{told}; {check.reason}"
    )


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
