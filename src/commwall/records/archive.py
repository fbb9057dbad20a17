"""Read a bundle that somebody else made, without trust in anything that it says.

Layer: records. Reads a `.tar.gz`, writes no file. Nothing is unpacked by tarfile itself: sizes are
bounded, names only choose among known places, and contents must be those that the bundle lists.
"""

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from commwall.records.bundle import LIST_NAME, BundleError, BundleList, entry, kind_of
from commwall.schema.errors import ConfigError
from commwall.schema.parsing import parse_json_model

MIB = 2**20
DAMAGE = (
    *(EOFError, tarfile.TarError, gzip.BadGzipFile, zlib.error),
    *(ValueError, OverflowError, RecursionError),
)
"""What reading an archive raises; the last three of headers that were made to be wrong."""
_EXTENDING = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)


@dataclass(frozen=True)
class Limits:
    """How much a bundle may hold."""

    packed_bytes: int = 64 * MIB
    file_bytes: int = 8 * MIB
    total_bytes: int = 256 * MIB
    """Everything unpacked, headers included [byte]."""
    files: int = 20_000


class _Bounded(io.RawIOBase):
    """Reads no more of a stream than allowed, whatever sizes its headers claim."""

    def __init__(self, stream: gzip.GzipFile, most_bytes: int) -> None:
        self._stream, self._left = stream, most_bytes

    def read(self, size: int = -1) -> bytes:
        """The next bytes.

        Raises:
            BundleError: if more would be read than allowed.
        """
        got = self._stream.read(self._left + 1 if size < 0 else min(size, self._left + 1))
        self._left -= len(got)
        if self._left < 0:
            raise refused("it unpacks to more than is allowed")
        return got


class _Header(tarfile.TarInfo):
    """A header of the archive; one that extends another must be as short as a long name needs.

    tarfile reads extensions of any size into memory, and some releases of Python need time that
    grows with the square of it.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """The header in a block.

        Raises:
            BundleError: if it announces a long extension.
            tarfile.HeaderError: if it is none.
        """
        header = super().frombuf(buf, encoding, errors)
        if header.type in _EXTENDING and not 0 <= header.size <= tarfile.BLOCKSIZE:
            raise refused(f"a header extended by {header.size} byte")
        return header


def read_files(path: Path, limits: Limits) -> tuple[BundleList, dict[str, bytes]]:
    """Contents of a bundle by name, each as long and with the digest its list says.

    Raises:
        BundleError: if it is damaged or holds what a bundle must not.
        OSError: if it cannot be read.
    """
    if path.stat().st_size > limits.packed_bytes:
        raise refused(f"{path.stat().st_size} byte", f"at most {limits.packed_bytes} byte")
    files: dict[str, bytes] = {}
    with _damage_told(), path.open("rb") as raw, gzip.GzipFile(fileobj=raw) as packed:
        bounded = _Bounded(packed, limits.total_bytes)
        with tarfile.open(fileobj=bounded, mode="r|", tarinfo=_Header) as archive:
            for member in archive:
                _check_member(member, files, limits)
                content = archive.extractfile(member)
                files[member.name] = content.read() if content else b""
        while bounded.read(MIB):  # to the end, where gzip keeps its checksum
            pass
    return _check_list(files), files


def _check_member(member: tarfile.TarInfo, files: Mapping[str, bytes], limits: Limits) -> None:
    name = member.name
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        raise refused(f"{name!r} is a link, folder, device or sparse file", "regular files only")
    if name in files:
        raise refused(f"{name!r} stands twice", "each name once")
    if name != LIST_NAME and kind_of(name) is None:
        raise refused(f"a file of the name {name!r}", "names of a campaign's files only")
    if member.size > limits.file_bytes:
        raise refused(f"{name!r} of {member.size} byte", f"at most {limits.file_bytes} byte")
    if len(files) >= limits.files:
        raise refused(f"more than {limits.files} files")


def _check_list(files: dict[str, bytes]) -> BundleList:
    """Take the list out of the files and hold them against it."""
    if LIST_NAME not in files:
        raise refused(f"no {LIST_NAME}", "a file that `commwall bundle` wrote")
    try:
        listed = parse_json_model(BundleList, files.pop(LIST_NAME), LIST_NAME)
    except ConfigError as error:
        raise refused(f"a {LIST_NAME} that cannot be read: {error}") from error
    absent, strange = listed.files.keys() - files.keys(), files.keys() - listed.files.keys()
    if absent or strange:
        name = min(absent or strange)
        raise refused(f"{name!r} is {'missing' if absent else 'not in the list'}")
    for name, content in files.items():
        if entry(content) != listed.files[name]:
            raise refused(f"{name!r} differs from the list: it was damaged or edited")
        if not _is_text(content):
            raise refused(f"{name!r} is no UTF-8 text")
    return listed


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        found = f"it is damaged, cut short or no bundle: {error}"
        raise refused(found, "a whole file as `commwall bundle` wrote it") from error


def refused(found: str, expected: str | None = None) -> BundleError:
    """That a bundle is not taken in, as an error to be raised.

    Args:
        found: what is wrong with it.
        expected: what it should be.
    """
    return BundleError(
        "a bundle is not taken in",
        found=found,
        expected=expected,
        next_step="nothing was written; fetch the file again, or ask its maker for a new one",
    )
