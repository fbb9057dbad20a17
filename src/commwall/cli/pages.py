"""`commwall pages`: verdicts in short and the page to open, as the last lines of a run.

Layer: cli. Reads configuration and records of all campaigns; writes nothing.
"""

import argparse
from contextlib import suppress
from pathlib import Path

from commwall.cli.settings import confidence_level
from commwall.records.layout import Layout
from commwall.schema.errors import ConfigError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare no arguments."""


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001 - every verb takes them
    """Tell the verdicts and name the landing page, or say that there is none."""
    layout = Layout(Path.cwd())
    page = layout.landing_path()
    if not page.exists():
        print("No pages yet: `make report` makes them.")
        return 0
    with suppress(ConfigError):  # The workflow, which reads the same file, tells what is wrong.
        _print_verdicts(layout, confidence_level(layout.root))
    print(f"The page to open: {page.relative_to(layout.root)}")
    return 0


def _print_verdicts(layout: Layout, confidence: float) -> None:
    """A sentence for each comparison; what has none is told on the pages and by `compare`."""
    from commwall.analysis.result import Analysis, analyse_campaigns
    from commwall.analysis.verdicts.overall import headlines

    for found in analyse_campaigns(layout, confidence):
        if isinstance(found, Analysis):
            for line in headlines(found):
                print(f"{found.campaign}: {line}")
