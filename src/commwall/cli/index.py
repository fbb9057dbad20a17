"""`commwall index [CAMPAIGN …]`: list the records of campaigns and what is missing.

Layer: cli. Writes `results/<campaign>/index.json`; see `commwall.records.index`.
"""

import argparse
from pathlib import Path

from commwall.cli.parent import accept_parent, follow_parent, refusal_of
from commwall.records.files import write_atomically
from commwall.records.index import build_index
from commwall.records.layout import Layout
from commwall.records.texts import model_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help="default: all with a plan")
    accept_parent(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the index of each campaign and say in one line what it holds."""
    follow_parent(arguments)
    layout = Layout(Path.cwd())
    indexes = [build_index(layout, name) for name in arguments.campaigns or layout.campaigns()]
    for index in indexes:
        write_atomically(layout.index_path(index.campaign), model_text(index))
        present, of = len(index.findings) - len(index.gaps), len(index.findings)
        print(f"{index.campaign}: {present} of {of} records, {len(index.gaps)} gaps")
        owing = index.unknown and not index.unreadable  # what is owed is told by `check`
        for problem in () if owing else index.problems:
            print(f"  problem   {problem}")
        for note in index.notes:
            print(f"  note      {note}")
    return refusal_of(arguments, indexes) if arguments.campaigns else 0
