"""Files that a user names.

Layer: cli. Reads a file, or standard input; writes none.
"""

import sys
from pathlib import Path

from commwall.readers.refusal import Unreadable
from commwall.schema.errors import CommwallError

LIMIT_BYTES = 512 * 2**20
"""A text of this size still fits into a small machine's memory with all that is read from it."""


class InputError(CommwallError):
    """A file that cannot be looked at."""


def content_of(name: str) -> bytes:
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
    except IsADirectoryError as error:
        raise InputError(
            "cannot read a file",
            where=name,
            found="a folder",
            expected="a file",
            next_step=f"name its files: {name.rstrip('/')}/*",
        ) from error
    except OSError as error:
        raise InputError(
            "cannot read a file",
            where=name,
            found=error.strerror or str(error),
            expected="a file that can be read, or - for standard input",
            next_step="look at the name, from the folder that you are in",
        ) from error
    if len(content) > LIMIT_BYTES:
        raise Unreadable(None, f"larger_than_{LIMIT_BYTES}_bytes")
    return content


def refuse_no_folder(target: Path) -> None:
    """Refuse a file to be written where there is no folder for it: the name is misspelt, say.

    Raises:
        InputError: if there is none.
    """
    if not target.parent.is_dir():
        raise InputError(
            "cannot write a file",
            where=str(target),
            found=f"no folder {target.parent}",
            expected="a folder that exists",
            next_step="look at the name, or make the folder first",
        )
