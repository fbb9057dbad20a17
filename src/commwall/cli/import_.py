"""`commwall import FILE`: take in a campaign that was measured elsewhere.

Layer: cli. Writes below `results/<campaign>/`; see `commwall.records.arrival`.
"""

import argparse
from pathlib import Path

from commwall.records.arrival import Arrival, take_in
from commwall.records.bundle import BundleError
from commwall.records.layout import Layout


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("file", type=Path, help="a file that `commwall bundle` wrote")


def run(arguments: argparse.Namespace) -> int:
    """Check the bundle, place it, and say what is new."""
    path: Path = arguments.file
    if not path.is_file():
        raise BundleError(
            "there is no such file",
            where=str(path),
            expected="a file that `commwall bundle` wrote",
            next_step="look at the name, from the folder that you are in",
        )
    arrival = take_in(Layout(Path()), path)
    print(f"{arrival.campaign}: {_told(arrival)}")
    if arrival.departing:
        print(
            f"  {arrival.departing} of its records were measured otherwise than its plan says: no "
            "verdict uses them, and the pages name them"
        )
    return 0


def _told(arrival: Arrival) -> str:
    """What came, and what to do with it."""
    if not arrival.placed + arrival.known:
        return (
            "a plan without records; on its kind of machine "
            f"`.envs/bench/bin/python -m commwall measure {arrival.campaign} SUITE` measures them"
        )
    return (
        f"{arrival.placed} records are new, {arrival.known} were here; `make report` renders them"
    )
