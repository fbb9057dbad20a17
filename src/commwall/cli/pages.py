"""`commwall pages`: name the page to open, as the last line of a run."""

import argparse
from pathlib import Path

from commwall.records.layout import Layout


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare no arguments."""


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001 - every verb takes them
    """Name the landing page, or say that there is none."""
    root = Path.cwd()
    page = Layout(root).landing_path()
    if page.exists():
        print(f"The page to open: {page.relative_to(root)}")
    else:
        print("No pages yet: `make report` makes them.")
    return 0
