"""`commwall tables`: write the tidy tables of a campaign.

Layer: cli. Reads its records; writes `results/<campaign>/tables/`.
"""

import argparse
from pathlib import Path

from commwall.analysis.mitigations.table import mitigation_tables
from commwall.analysis.result import analyse_campaign
from commwall.analysis.scaling.tables import scaling_tables
from commwall.analysis.tables.breakeven import break_even
from commwall.analysis.tables.census import census_tables
from commwall.analysis.tables.files import write_tables
from commwall.analysis.tables.tidy import Tables
from commwall.cli.parent import accept_parent, follow_parent
from commwall.cli.settings import confidence_level
from commwall.records.layout import Layout


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("campaign")
    accept_parent(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the tables as CSV and Parquet and name them."""
    follow_parent(arguments)
    root = Path.cwd()
    layout = Layout(root)
    analysis = analyse_campaign(layout, arguments.campaign, confidence_level(root))
    frames = {
        **Tables(analysis).all(),
        **vars(break_even(analysis)),
        **vars(scaling_tables(analysis)),
        **vars(mitigation_tables(analysis)),
        **vars(census_tables(analysis)),
    }
    for path in write_tables(frames, layout.tables_dir(arguments.campaign)):
        print(path.relative_to(root))
    return 0
