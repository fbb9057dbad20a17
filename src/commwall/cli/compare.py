"""`commwall compare CAMPAIGN [OTHER]`: verdicts of one, or what changed from it to the other.

Layer: cli. What prints is loaded when it is needed: reading records takes most of a start.
"""

import argparse
import re

from commwall.schema.errors import ConfigError

TOLERANCE = "3%"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("campaign")
    parser.add_argument(
        "other", nargs="?", metavar="OTHER",
        help="say what has changed from CAMPAIGN to this one, after an update, say",
    )  # fmt: skip
    parser.add_argument(
        "--all",
        action="store_true",
        help="every quantity, not only throughput, and every line of what is missing",
    )
    parser.add_argument(
        "--tolerance", type=_share, metavar="PERCENT", default=TOLERANCE,
        help="how much slower OTHER may be, default: 3%%",
    )  # fmt: skip
    parser.add_argument(
        "--strict", action="store_true",
        help="end with 1 unless every value of both is shown to be slower by no more than that",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print what has changed as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the verdicts of a campaign, or what has changed from it to another."""
    if arguments.other is not None:
        from commwall.cli import changes

        return changes.run(arguments)
    if arguments.json:
        raise ConfigError("JSON tells what has changed", expected="CAMPAIGN OTHER --json")
    if arguments.strict:
        raise ConfigError("what has changed is judged strictly", expected="CAMPAIGN OTHER --strict")
    from commwall.cli import verdicts

    return verdicts.run(arguments)


def _share(text: str) -> float:
    """A percentage as a share [1].

    Raises:
        ArgumentTypeError: if it is none.
    """
    if not re.fullmatch(r"\d{1,2}(\.\d+)?\s*%", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no percentage below 100, such as {TOLERANCE}"
        )
    return float(text.rstrip(" %")) / 100
