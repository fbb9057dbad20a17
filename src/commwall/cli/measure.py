"""`commwall measure CAMPAIGN SUITE`: measure what a campaign of this machine still owes.

Layer: cli. Runs in the bench environment; see `commwall.measure.rounds` for what it writes.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import get_args

from commwall.cli.parent import accept_parent, until_stopped
from commwall.measure.rounds import measure_suite
from commwall.measure.tally import Order
from commwall.records.layout import Layout
from commwall.schema.case import SuiteName


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("campaign", help="identifier, a folder in results/")
    parser.add_argument("suite", choices=get_args(SuiteName))
    parser.add_argument(
        "--attempt", type=Path, help="attempt file to write; owed work then ends with 0"
    )
    parser.add_argument("--log", type=Path, help="log file; the workers' output goes beside it")
    parser.add_argument(
        "--within",
        type=seconds,
        metavar="SECONDS",
        help="begin no round that is not expected to end in this time; the next run goes on",
    )
    parser.add_argument(
        "--cases",
        nargs="+",
        default=(),
        metavar="CASE",
        help="measure only these cases of the suite now; the others stay owed",
    )
    accept_parent(parser)


def seconds(text: str) -> float:
    """A time above zero [s].

    Raises:
        ArgumentTypeError: if it is none.
    """
    with suppress(ValueError):
        value = float(text)
        if 0 < value < float("inf"):
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is no time above zero in seconds")


def run(arguments: argparse.Namespace) -> int:
    """Measure; being stopped fails the verb, owed work only if no --attempt takes it down."""
    return until_stopped(arguments, _measure, "finished rounds are kept")


def _measure(arguments: argparse.Namespace) -> int:
    layout = Layout(Path())
    campaign, suite = arguments.campaign, arguments.suite
    folder = layout.logs_dir(campaign, suite)
    log = arguments.log or folder.with_suffix(".log")
    with _speaker(log) as say:
        order = Order(
            root=Path(),
            campaign=campaign,
            suite=suite,
            attempt=arguments.attempt or layout.attempt_path(campaign, suite),
            logs=log.with_suffix(""),
            say=say,
            within_s=arguments.within,
            cases=tuple(arguments.cases),
        )
        attempt = measure_suite(order)
        if attempt.refused:
            say(f"not measured: {attempt.refused}")
        else:
            say(f"{attempt.measured} records, {len(attempt.accidents)} accidents")
    owed = attempt.refused is not None or bool(attempt.accidents or attempt.left)
    # A workflow names the attempt file and must go on: its check tells what is owed.
    return int(owed and arguments.attempt is None)


@contextmanager
def _speaker(log: Path) -> Iterator[Callable[[str], None]]:
    """Lines to the terminal and into the log."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as stream:

        def say(line: str) -> None:
            print(line, file=sys.stderr, flush=True)
            print(line, file=stream, flush=True)

        yield say
