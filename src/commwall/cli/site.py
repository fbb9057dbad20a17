"""`commwall site`: write the landing page."""

import argparse
from pathlib import Path

from commwall.cli.parent import accept_parent, follow_parent
from commwall.cli.settings import confidence_level
from commwall.records.layout import Layout
from commwall.report.site import publish
from commwall.schema.errors import PlanError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help="default: all with a plan")
    accept_parent(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the page and name it."""
    follow_parent(arguments)
    root = Path.cwd()
    layout = Layout(root)
    campaigns = tuple(arguments.campaigns) or layout.campaigns()
    missing = [name for name in campaigns if name not in layout.campaigns()]
    if missing:
        raise PlanError(
            "no such campaign",
            where=", ".join(f"results/{name}" for name in missing),
            found="no plan.json",
            expected=f"one of: {', '.join(layout.campaigns()) or '(none is here)'}",
            next_step="measure or import it first",
        )
    print(publish(layout, campaigns, confidence_level(root)).relative_to(root))
    return 0
