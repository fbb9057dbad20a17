"""`commwall site`: write the site of all campaigns.

Layer: cli. Writes `results/site/`; see `commwall.report.site`.
"""

import argparse
from pathlib import Path

from commwall.cli.parent import accept_parent, follow_parent
from commwall.cli.settings import settings
from commwall.cli.version import version
from commwall.host.environments import ENVIRONMENTS, read_manifest
from commwall.host.software import git_state, this_interpreter
from commwall.records.layout import Layout
from commwall.report.site.origin import NOT_MADE, Origin
from commwall.report.site.publishing import publish
from commwall.schema.environment import Manifest
from commwall.schema.errors import ConfigError, PlanError
from commwall.schema.result import Gap


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help="default: all with a plan")
    accept_parent(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the site and name its first page."""
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
    asked = settings(root)
    landing = publish(layout, campaigns, asked.confidence, _origin(root), asked.languages)
    print(landing.relative_to(root))
    return 0


def _origin(root: Path) -> Origin:
    """What publishes here."""
    commit, dirty, gaps = git_state(root)
    return Origin(
        version=version(),
        commit=f"{commit}+" if dirty else commit or gaps[0],
        python=this_interpreter().python,
        environments=tuple(_environment(root, name) for name in ENVIRONMENTS),
    )


def _environment(root: Path, name: str) -> Manifest | Gap:
    try:
        made = read_manifest(root, name)
    except ConfigError as error:
        return Gap(what=name, reason=error.what)
    return made or Gap(what=name, reason=NOT_MADE)
