"""`commwall index`: list the records of a campaign and what is missing."""

import argparse
from pathlib import Path

from commwall.cli.parent import accept_parent, follow_parent
from commwall.records.index import build_index
from commwall.records.layout import Layout
from commwall.records.store import model_text, write_atomically


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("campaign")
    accept_parent(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the index of a campaign and say in one line what it holds."""
    follow_parent(arguments)
    layout = Layout(Path.cwd())
    index = build_index(layout, arguments.campaign)
    write_atomically(layout.index_path(arguments.campaign), model_text(index))
    present = len(index.findings) - len(index.gaps)
    print(f"{index.campaign}: {present} of {len(index.findings)} records, {len(index.gaps)} gaps")
    return 0
