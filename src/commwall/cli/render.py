"""`commwall render`: execute a notebook and write its page, of the decision report a PDF, too.

Layer: cli. What sets the PDF is loaded for that page alone: it takes as long as all the rest.
"""

import argparse
from pathlib import Path

from commwall.cli.parent import accept_parent, follow_parent
from commwall.cli.settings import confidence_level
from commwall.language.translate import ENGLISH, LANGUAGES
from commwall.records.layout import Layout
from commwall.report.pages import DECISION
from commwall.report.rendering.render import render


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "campaign", nargs="?", help="left out for a notebook that is of no campaign"
    )
    parser.add_argument("notebook", help="name of a file in notebooks/, without suffix")
    parser.add_argument(
        "--timeout", type=float, default=600.0, metavar="SECONDS", help="default: %(default)g s"
    )
    parser.add_argument(
        "--language",
        choices=LANGUAGES,
        action="append",
        help="may be given several times; default: English",
    )
    accept_parent(parser)


def run(arguments: argparse.Namespace) -> int:
    """Execute the notebook in each language and name the files written."""
    follow_parent(arguments)
    root = Path.cwd()
    layout, confidence = Layout(root), confidence_level(root)
    languages = arguments.language or [ENGLISH]
    asked = arguments.campaign, arguments.notebook
    written: list[Path] = []
    for language in languages:
        written += render(layout, *asked, confidence, arguments.timeout, language)
    if arguments.campaign and arguments.notebook == DECISION:
        from commwall.report.decision.sheet import write_sheet

        for language in languages:
            written.append(write_sheet(layout, arguments.campaign, confidence, language))
    for path in written:
        print(path.relative_to(root))
    return 0
