"""Command line of commwall: one thin module a verb, imported only when it is asked for.

Layer: cli, the top. Only this layer prints.
"""

import argparse
import errno
import gc
import importlib
import io
import keyword
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import NoReturn, TextIO

from commwall.schema.commands import DRIVER, MEASURE, VERBS_ELSEWHERE, command, environment_of
from commwall.schema.errors import CommwallError, ConfigError, ProvisionError
from commwall.schema.printable import LINES, printable

EXIT_REFUSED = 2
"""The input or the machine does not allow it; nothing was begun."""
EXIT_STOPPED = 130
"""What a shell says of a program that Ctrl-C has ended."""
EXIT_BROKEN_PIPE = 141
"""What a shell says of a program that SIGPIPE has ended."""
NEXT_STEPS = {
    errno.ENOSPC: "free some space there and run again",
    errno.EDQUOT: "free some of your quota there and run again",
    errno.EROFS: "name a place that can be written, or mount it so",
    errno.EACCES: "correct the permissions, or name another place",
    errno.EPERM: "correct the permissions, or name another place",
}
"""What to do about what the system refuses."""
DESCRIPTION = (
    "Measure what the link between the GPUs costs in training, and say whether the faster one is "
    "worth its price."
)
WHERE = (
    "`commwall` stands for .venv/bin/commwall in the checkout (`make driver` makes it). "
    f"{', '.join(VERBS_ELSEWHERE['report'])} need .envs/report/bin/python -m commwall, which "
    f"`{MEASURE}` makes. "
    "`commwall VERB --help` lists a verb's arguments, docs/commands.md those of all."
)
VERBS: dict[str, str] = {
    "doctor": "say what this machine can measure, and why not the rest",
    "probe": "print what this machine is, for plans that another machine makes",
    "plan": "show rounds, cases and expected time of campaigns",
    "measure": "measure what a campaign of this machine still owes",
    "tune": "search what is fastest for a workload within a time",
    "compare": "print the verdicts of a campaign, or what has changed from it to another",
    "index": "list the records of a campaign and what is missing",
    "check": "fail while this machine owes records of a campaign",
    "tables": "write the tidy tables of a campaign",
    "render": "execute a notebook on a campaign and write its page",
    "site": "write the site: all pages of all campaigns, to read and to publish",
    "pages": "tell the verdicts in short and name the page to open",
    "review": "say what changed between two rendered reports",
    "read": "print what is certain in another tool's output, as JSON",
    "judge": "say what other tools' outputs mean, and what to run next",
    "lint-env": "say which NCCL variables do not do what they seem to",
    "whatif": "say what a model's step would take on other GPUs and links",
    "claims": "judge published claims by rules and sourced facts",
    "cost": "say whether the faster link is worth its price",
    "bundle": "write a campaign into one file, to be rendered elsewhere",
    "import": "take in a campaign that was measured elsewhere",
    "predict": "fix what a measured campaign predicts, so that others can replicate it",
    "replicate": "measure a published campaign again, and judge how it agrees",
    "provision": "make an environment from its lock, or adopt one",
}


class Printable(io.TextIOBase):
    """A stream that shows as "�" what would move a terminal's cursor or hide its text.

    Much of what verbs print was written by others: records, plans, logs, names of files.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; each character that is neither printable nor a line's end is replaced."""
        return self._stream.write(printable(text, kept=LINES))

    def flush(self) -> None:
        """Hand on what was written."""
        self._stream.flush()

    def fileno(self) -> int:
        """Descriptor of the stream."""
        return self._stream.fileno()

    def isatty(self) -> bool:
        """Whether somebody reads along."""
        return self._stream.isatty()


def main(argv: list[str] | None = None) -> int:
    """Run one verb.

    Args:
        argv: words after the program's name; None takes them from the process.

    Returns:
        Exit code: 0 done, 1 work is missing or something became slower, 2 the input or the machine
        does not allow it, 3 a replication does not agree or nothing could be compared.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show "→" shows "?"
    with redirect_stdout(Printable(sys.stdout)), redirect_stderr(Printable(sys.stderr)):
        return _run(argv)


@contextmanager
def refusals_told() -> Iterator[None]:
    """End the process with an error's own words alone; for the start of the workflow."""
    try:
        yield
    except CommwallError as error:
        print(error, file=Printable(sys.stderr))
        sys.exit(EXIT_REFUSED)


def configure(verb: str, parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Load a verb and declare its arguments.

    Args:
        verb: one of VERBS.
        parser: takes them.

    Returns:
        What runs the verb.
    """
    name = f"{verb}_" if keyword.iskeyword(verb) else verb.replace("-", "_")
    gc.disable()  # what is loaded stays: to look for garbage there takes a tenth of the time
    module = importlib.import_module(f"commwall.cli.{name}")
    gc.enable()
    module.configure(parser)
    run: Callable[[argparse.Namespace], int] = module.run
    return run


class _Parser(argparse.ArgumentParser):
    """Tells words that it cannot use as every other error is told."""

    def error(self, message: str) -> NoReturn:
        """End the process with the argument, what was wrong with it, and what to do."""
        found = re.fullmatch(r"argument ([^:]+): (.+)", message, re.DOTALL)
        where, wrong = found.groups() if found else ("the words after it", message)
        told = ConfigError(
            f"`{self.prog}` cannot be run so", where=where, found=wrong,
            next_step=f"`{self.prog} --help` says what each means",
        )  # fmt: skip
        self.exit(EXIT_REFUSED, f"{told}\n")


class SystemRefusal(CommwallError):
    """The system does not let a verb read or write."""


def _refusal(verb: str, error: OSError) -> SystemRefusal:
    return SystemRefusal(
        f"the system does not let `commwall {verb}` go on",
        where=error.filename and str(error.filename),
        found=error.strerror or str(error),
        next_step=NEXT_STEPS.get(error.errno or 0),
    )


class _Version(argparse.Action):
    """Prints the version; what finds it is loaded only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from commwall.cli.version import version

        print(f"commwall {version()}")
        parser.exit()


@contextmanager
def _needed_packages(verb: str) -> Iterator[None]:
    """Tell a package that is missing here by the environment that has it.

    Raises:
        ProvisionError: with how the verb is started there.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "commwall"):
            raise  # no environment can have it
        made = f"{DRIVER} provision {needed}" if (needed := environment_of(verb)) else "make driver"
        raise ProvisionError(
            f"`commwall {verb}` needs more than this Python has",
            where=sys.executable,
            found=f"no package {package}",
            next_step=f"`{command(verb)} …`; where that is missing or old: `{made}`",
        ) from error


def _run(argv: list[str] | None) -> int:
    words = sys.argv[1:] if argv is None else argv
    verb = words[0] if words else ""
    parser = _Parser(prog="commwall", description=DESCRIPTION, epilog=WHERE)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    subparsers = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    try:
        for name, summary in VERBS.items():
            own = subparsers.add_parser(name, help=summary, description=summary)
            if name == verb:
                with _needed_packages(verb):
                    own.set_defaults(run=configure(verb, own))
        arguments = parser.parse_args(words)
        with _needed_packages(verb):
            code = int(arguments.run(arguments))
        sys.stdout.flush()
    except CommwallError as error:
        print(error, file=sys.stderr)
        return EXIT_REFUSED
    except BrokenPipeError:
        # The reader has seen enough; what is left must not fail when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except KeyboardInterrupt:
        print(f"commwall {verb}: stopped; the same command begins anew", file=sys.stderr)
        return EXIT_STOPPED
    except OSError as error:
        print(_refusal(verb, error), file=sys.stderr)
        return EXIT_REFUSED
    return code


if __name__ == "__main__":
    sys.exit(main())
