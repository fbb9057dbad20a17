"""Verbs that a workflow starts and that must not outlive it.

Layer: cli. Reads and writes no file.
"""

import argparse
import signal

from commwall.process import die_with_parent


def accept_parent(parser: argparse.ArgumentParser) -> None:
    """Declare the argument with which a verb learns whom to end with."""
    parser.add_argument("--parent", type=int, metavar="PID", help="process to end with")


def follow_parent(arguments: argparse.Namespace) -> None:
    """Have the kernel end this process (SIGTERM) when the parent it was told of ends."""
    if arguments.parent is not None:
        die_with_parent(signal.SIGTERM, arguments.parent)
