"""`commwall read FILE`: what is certain in a file that another tool wrote, as one JSON object.

Layer: cli. Reads the file, or standard input; writes none.
"""

import argparse
import codecs
import json
import sys
from pathlib import Path
from typing import Any

from commwall.readers.detection import MODULES, model_of, read_text
from commwall.readers.refusal import Unreadable
from commwall.schema.errors import CommwallError

LIMIT_BYTES = 512 * 2**20
"""A text of this size still fits into a small machine's memory with all that is read from it."""
EXIT_REFUSED = 2
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",  # what a Windows shell writes
    codecs.BOM_UTF16_BE: "utf-16",
}


class InputError(CommwallError):
    """A file that cannot be looked at."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("file", metavar="FILE", help="output of a tool; - is standard input")
    parser.add_argument(
        "--kind", choices=sorted(MODULES), help="read it as this kind, whatever it looks like"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what is certain; exit code 2 if the text is refused or cut off."""
    try:
        found = read_text(_decoded(_content(arguments.file)), arguments.kind).model_dump(
            mode="json"
        )
    except Unreadable as refusal:
        found = _refused(refusal)
    print(json.dumps(found, indent=1))
    return 0 if found["readable"] else EXIT_REFUSED


def _content(name: str) -> bytes:
    """The bytes of a file.

    Raises:
        InputError: if there is none.
        Unreadable: if it is too large.
    """
    try:
        if name == "-":
            content = sys.stdin.buffer.read(LIMIT_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(LIMIT_BYTES + 1)
    except OSError as error:
        raise InputError("cannot read a file", where=name, found=str(error)) from error
    if len(content) > LIMIT_BYTES:
        raise Unreadable(None, f"larger_than_{LIMIT_BYTES}_bytes")
    return content


def _decoded(content: bytes) -> str:
    """The text of a file; what is no UTF-8 stands as U+FFFD, which no reader takes for a value."""
    encoding = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\0" in content[:4096]:
        raise Unreadable(None, "not_text")
    return content.decode(encoding, errors="replace")


def _refused(refusal: Unreadable) -> dict[str, Any]:
    """What can be said of a text that is not read: its kind, why, and nothing of all else."""
    said = {"kind": refusal.kind, "readable": False, "reason": refusal.reason}
    known = refusal.kind in MODULES
    fields = model_of(refusal.kind).model_fields if refusal.kind and known else {}
    return said | {name: None for name in fields if name not in said}
