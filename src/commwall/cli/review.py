"""`commwall review A B`: what changed between two rendered reports, in numbers and words.

Layer: cli. Reads both; writes and executes nothing.
"""

import argparse
from pathlib import Path

from commwall.report.review.reports import review
from commwall.report.review.words import review_lines

EXIT_DIFFERENT = 1


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    what = "a page, an executed notebook, or a folder of them"
    parser.add_argument("old", type=Path, metavar="A", help=f"{what}, as it was")
    parser.add_argument("new", type=Path, metavar="B", help="the same, as it is now")
    parser.add_argument("--all", action="store_true", help="tell every change, nothing shortened")
    parser.epilog = "Exit code: 0 nothing changed, 1 something did, 2 one of them is no report."


def run(arguments: argparse.Namespace) -> int:
    """Print what changed.

    Returns:
        0 if nothing did, else 1.

    Raises:
        ReviewError: if one of them cannot be read as a report.
    """
    found = review(arguments.old, arguments.new)
    for line in review_lines(found, every=arguments.all):
        print(line)
    return 0 if found.same else EXIT_DIFFERENT
