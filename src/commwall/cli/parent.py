"""Verbs that may be stopped, and that must not outlive the workflow that started them.

Layer: cli. Reads and writes no file.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Iterable

from commwall.measure.signals import Interrupted, interruptible
from commwall.process import die_with_parent
from commwall.records.index import Index

EXIT_UNREADABLE = 2


def accept_parent(parser: argparse.ArgumentParser) -> None:
    """Declare the argument with which a verb learns whom to end with."""
    parser.add_argument("--parent", type=int, metavar="PID", help="process to end with")


def follow_parent(arguments: argparse.Namespace) -> None:
    """Have the kernel end this process (SIGTERM) when the parent it was told of ends."""
    if arguments.parent is not None:
        die_with_parent(signal.SIGTERM, arguments.parent)


def refusal_of(arguments: argparse.Namespace, asked: Iterable[Index]) -> int:
    """Exit code for campaigns that cannot be read: 0 in the workflow, which goes on without them.

    Args:
        arguments: of the verb; a parent among them is the workflow.
        asked: campaigns that were named.
    """
    told = arguments.parent is None and any(index.unreadable for index in asked)
    return EXIT_UNREADABLE if told else 0


def until_stopped(
    arguments: argparse.Namespace, work: Callable[[argparse.Namespace], int], remains: str
) -> int:
    """Do a verb's work; a signal that asks to stop ends it, and is told.

    Args:
        arguments: of the verb.
        work: does it, and gives the exit code.
        remains: what is left of it when it is stopped, in words.

    Returns:
        The exit code; that of the signal if it was stopped.
    """
    try:
        with interruptible():
            follow_parent(arguments)
            return work(arguments)
    except Interrupted as stop:
        print(f"commwall {arguments.verb}: {stop}; {remains}", file=sys.stderr)
        return stop.exit_code
