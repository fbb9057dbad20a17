"""Which records an earlier look has verified, so that the next one need not read them again.

Layer: records. Reads and writes `.cw/<campaign>/<suite>.verified`. A file counts as untouched
while its size, both its times, its inode and its device are what they were; no program can set the
second time, that of the last change of anything, but by changing the machine's clock.
docs/decisions/025 says what that trusts. Records themselves are read anew, and verified, by
everything that uses their values.
"""

import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import pydantic

from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.schema.base import Model
from commwall.schema.errors import ConfigError
from commwall.schema.parsing import parse_json_model
from commwall.schema.plan import Plan

SETTLED_NS = 2_000_000_000
"""A file changed less than this before it was looked at is read again: the clocks of some file
systems tick every two seconds, and within a tick a second change shows no other time [ns].
Chosen: the longest tick in use (FAT)."""
_PACKAGE = Path(__file__).parents[1]
_READERS = ("records", "schema")
"""Parts of the package that decide whether a record is valid."""
Identity = tuple[int, int, int, int, int]
"""Size, time of content, time of change, inode, device."""


class Facts(Model):
    """What the judge of a campaign's cells needs of a valid record."""

    digest: str
    """Digest of the record."""
    round_id: str
    """Identity of the round in which it was measured."""
    fingerprint: str
    """Kind of machine that measured it."""
    freshness_key: str
    """Procedure and environment that made it."""
    departure: str | None
    """What it measured otherwise than the plan says."""


class Seen(Model):
    """A record as it was found valid."""

    identity: Identity
    """Of its file, just before it was read."""
    facts: Facts


class _File(Model):
    """Content of the file."""

    reader: str
    """Digest of the code that verified."""
    plan: str
    """Digest of the plan that records were held against."""
    seen: dict[str, Seen]
    """Path of the record below the checkout -> how it was found."""


class Verified:
    """Facts of a suite's records; each file is read only if it was touched since."""

    def __init__(self, layout: Layout, plan: Plan, suite: str) -> None:
        """Take over what the earlier look found, if the same code held it against the same plan."""
        self._path = layout.verified_path(plan.id, suite)
        self._plan = hashlib.sha256(plan.model_dump_json().encode()).hexdigest()
        self._before = self._earlier()
        self._now: dict[str, Seen] = {}

    def facts(self, name: str, path: Path, read: Callable[[Path], Facts]) -> Facts:
        """Facts of one record.

        Args:
            name: path of the record below the checkout.
            path: where it lies.
            read: reads and verifies it; what it raises goes to the caller.

        Raises:
            FileNotFoundError: if there is none.
        """
        identity, looked_at_ns = _identity(path), time.time_ns()
        known = self._before.get(name)
        untouched = known is not None and known.identity == identity
        seen = known if known and untouched else Seen(identity=identity, facts=read(path))
        if looked_at_ns - identity[2] > SETTLED_NS:
            self._now[name] = seen
        return seen.facts

    def keep(self) -> None:
        """Remember for the next look; where nothing can be written, that one reads all again."""
        if self._now == self._before:
            return
        content = _File(reader=_reader(), plan=self._plan, seen=self._now)
        with suppress(OSError):
            write_atomically(self._path, content.model_dump_json(), durable=False)

    def _earlier(self) -> dict[str, Seen]:
        try:
            found = parse_json_model(_File, self._path.read_bytes(), self._path.name)
        except (OSError, ConfigError, RecursionError):
            return {}
        return found.seen if (found.reader, found.plan) == (_reader(), self._plan) else {}


def _identity(path: Path) -> Identity:
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev


@cache
def _reader() -> str:
    """Digest of the code by which a record is valid or not."""
    wanted = (f"{part}/*.{kind}" for part in _READERS for kind in ("py", "json"))
    files = sorted(path for pattern in wanted for path in _PACKAGE.glob(pattern))
    content = b"".join(path.read_bytes() for path in files)
    return hashlib.sha256(content + pydantic.VERSION.encode()).hexdigest()
