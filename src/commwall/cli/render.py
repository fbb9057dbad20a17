"""`commwall render`: execute a notebook and write its page."""

import argparse
from pathlib import Path

from commwall.cli.parent import accept_parent, follow_parent
from commwall.cli.settings import confidence_level
from commwall.language.translate import ENGLISH, LANGUAGES
from commwall.records.layout import Layout
from commwall.report.render import render


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "campaign", nargs="?", help="left out for a notebook that is of no campaign"
    )
    parser.add_argument("notebook", help="name of a file in notebooks/, without suffix")
    parser.add_argument(
        "--timeout", type=float, default=600.0, metavar="SECONDS", help="default: %(default)g s"
    )
    parser.add_argument("--language", choices=LANGUAGES, default=ENGLISH, help="default: English")
    accept_parent(parser)


def run(arguments: argparse.Namespace) -> int:
    """Execute the notebook and name the files written."""
    follow_parent(arguments)
    root = Path.cwd()
    written = render(
        Layout(root),
        arguments.campaign,
        arguments.notebook,
        confidence_level(root),
        arguments.timeout,
        arguments.language,
    )
    for path in written:
        print(path.relative_to(root))
    return 0
