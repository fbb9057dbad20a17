"""Files that appear whole or not at all, and files that may come from strangers.

Layer: records. Writes any file that it is told to: beside its place, synchronised, then renamed.
What is read is a plain file of limited size.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PART = ".part"
LARGEST_FILE_BYTES = 64 * 2**20
"""No record, plan or list is larger."""


class UnfitFile(OSError):
    """What lies at a path cannot be a record, plan or list, whatever it holds."""


def write_atomically(path: Path, text: str, *, durable: bool = True) -> None:
    """Put a text into a file so that a reader sees the old content or the new, never a part.

    Args:
        path: the file.
        text: its new content.
        durable: wait until the disk has it; else a power failure may leave a part of it.

    Raises:
        OSError: if the file system refuses (no space, say); the old content is untouched.
    """
    with part_of(path) as part, part.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        if durable:
            os.fsync(stream.fileno())


@contextmanager
def part_of(path: Path) -> Iterator[Path]:
    """A file beside another, which takes that one's place once it is written.

    Raises:
        OSError: with the name of the file, if the system refuses; then nothing is left beside it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + PART)
    try:
        yield part
        part.rename(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        error.filename = error.filename or str(path)  # a full disk does not say whose
        raise


def content_of(path: Path) -> bytes:
    """The bytes of a plain file, or of one that a link leads to.

    Raises:
        UnfitFile: if it is none (a device never ends, a pipe may never begin), or too large.
        OSError: if it cannot be read.
    """
    found = path.stat()
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise UnfitFile(errno.EINVAL, "it is no plain file", str(path))
    if found.st_size > LARGEST_FILE_BYTES:
        told = f"{found.st_size} byte, more than {LARGEST_FILE_BYTES}"
        raise UnfitFile(errno.EFBIG, told, str(path))
    return path.read_bytes()  # of a folder the system says what it is


def write_if_different(path: Path, text: str) -> bool:
    """Write only if the file's content would change, so that its time stays otherwise.

    Returns:
        True if the file was written.
    """
    if path.is_file() and path.read_bytes() == text.encode():
        return False
    write_atomically(path, text)
    return True


def clear_parts(folder: Path) -> None:
    """Remove what an interrupted write left beside its target."""
    for part in folder.rglob(f"*{PART}"):
        part.unlink(missing_ok=True)
