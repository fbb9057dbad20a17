"""Write and read records and plans.

Layer: records. Writes `results/<campaign>/records/**/rNN.json` and reads it, `plan.json` and
`withdrawn.json`. A file appears whole or not at all: it is written beside, synchronised and
renamed. What is read may come from strangers: a plain file of limited size.
"""

import errno
import json
import os
import stat
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from commwall.records.freshness import acknowledged_since
from commwall.records.layout import Layout
from commwall.records.plausible import implausible
from commwall.records.quick import sealed_record
from commwall.schema.base import Model, digest
from commwall.schema.errors import ConfigError, PlanError, RecordError
from commwall.schema.parsing import parse_json, parse_json_model, parse_model
from commwall.schema.plan import PLAN_VERSION, Plan
from commwall.schema.record import RECORD_VERSION, Record

PART = ".part"
LARGEST_FILE_BYTES = 64 * 2**20
"""No record, plan or list is larger."""


class UnfitFile(OSError):
    """What lies at a path cannot be a record, plan or list, whatever it holds."""


class Withdrawal(Model):
    """One record that its owner no longer stands by."""

    digest: str
    """Digest of the record, as it stands in the record."""
    reason: str
    """Why, for the reader of the report."""


class Withdrawals(Model):
    """Content of `withdrawn.json`."""

    withdrawn: tuple[Withdrawal, ...] = ()


def write_atomically(path: Path, text: str, *, durable: bool = True) -> None:
    """Put a text into a file so that a reader sees the old content or the new, never a part.

    Args:
        path: the file.
        text: its new content.
        durable: wait until the disk has it; else a power failure may leave a part of it.

    Raises:
        OSError: if the file system refuses (no space, say); the old content is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + PART)
    with part.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        if durable:
            os.fsync(stream.fileno())
    part.rename(path)


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


def model_text(model: BaseModel) -> str:
    """A model as JSON for people and version control: indented, fields in declared order.

    A list of numbers stays on one line, so that raw samples do not fill the page.
    """
    return _indented(model.model_dump(mode="json"), "") + "\n"


def record_text(record: Record) -> str:
    """A record as JSON: as `model_text`, but each series, check and mark is a line without blanks.

    They are most of a record, and of what a checkout holds.
    """
    rows = [
        f"  {_quoted(key)}: {_lines(item) if isinstance(item, list) else _indented(item, '  ')}"
        for key, item in record.model_dump(mode="json").items()
    ]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def write_record(layout: Layout, record: Record) -> Path:
    """Seal a record with its digest and write it to its place.

    Returns:
        The path written.

    Raises:
        RecordError: if a folder stands in its place, or a file where a folder should be.
        OSError: if the file system refuses otherwise.
    """
    path = layout.path_of(record.id)
    try:
        write_atomically(path, record_text(record.sealed()))
    except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
        raise RecordError(
            "a record cannot be written",
            where=_short(path),
            found=error.strerror,
            expected="a free place, or an earlier record",
            next_step="move what stands there away and run again; nothing else is lost",
        ) from error
    return path


def read_record(path: Path) -> Record:
    """Read one record and verify it.

    The digest is that of the stored text, so that a field added to the format later does not
    invalidate what was written before. The protocol is the one that its code is acknowledged as
    now, if nobody had acknowledged it when it measured.

    Raises:
        RecordError: if it is truncated, edited, of another version, in the wrong place, holds
            numbers beyond all bounds or is no readable file.
        FileNotFoundError: if there is none.
    """
    try:
        text = content_of(path)
    except (IsADirectoryError, PermissionError, UnfitFile) as error:
        raise _record_error(path, f"it cannot be read: {error.args[-1]}") from error
    record = sealed_record(text) or _carefully_read(text, path)
    if Layout(Path()).path_of(record.id).parts[-6:] != path.parts[-6:]:
        raise _record_error(path, "its id names another place")
    return acknowledged_since(record)


def _carefully_read(text: bytes, path: Path) -> Record:
    """A record in any layout, or in words what is wrong with it."""
    data = None
    try:
        data = parse_json(text, path.name)
        record = parse_model(Record, data, path.name)
    except ConfigError as error:
        raise _record_error(path, _version_or(data, error, RECORD_VERSION)) from error
    if found := implausible(data):
        raise _record_error(path, found)
    if not _is_sealed(data):
        raise _record_error(path, "its content does not match its digest: it was edited")
    return record


def _is_sealed(data: dict[str, Any]) -> bool:
    content = {key: value for key, value in data.items() if key != "digest"}
    return digest(content) == str(data["digest"])


def read_plan(path: Path) -> Plan:
    """Read a campaign's plan.

    Raises:
        PlanError: if it is malformed, of another version or in another campaign's folder.
    """
    data = None
    try:
        data = parse_json(content_of(path), path.name)
        plan = parse_model(Plan, data, path.name)
    except ConfigError as error:
        found = _version_or(data, error, PLAN_VERSION)
        raise PlanError("cannot read a plan", where=_short(path), found=found) from error
    except OSError as error:
        found = str(error.args[-1])
        raise PlanError("cannot read a plan", where=_short(path), found=found) from error
    if plan.id != path.parent.name:
        raise PlanError(
            "a plan lies in the wrong folder",
            where=_short(path),
            found=plan.id,
            expected=path.parent.name,
        )
    return plan


def same_plan(a: Plan, b: Plan) -> bool:
    """Whether two plans are one, but for their words for the machine.

    Machines of one kind may differ in those, in the memory that the kernel leaves, say.
    """
    return a.model_copy(update={"machine": b.machine}) == b


def read_withdrawals(layout: Layout, campaign: str) -> dict[str, str]:
    """Digests of withdrawn records with their reasons.

    Raises:
        ConfigError: if the file is malformed.
    """
    path = layout.withdrawn_path(campaign)
    if not path.exists():
        return {}
    try:
        content = parse_json_model(Withdrawals, content_of(path), _short(path))
    except OSError as error:
        raise ConfigError(
            "cannot read the withdrawn records", where=_short(path), found=str(error.args[-1])
        ) from error
    return {item.digest: item.reason for item in content.withdrawn}


def clear_parts(folder: Path) -> None:
    """Remove what an interrupted write left beside its target."""
    for part in folder.rglob(f"*{PART}"):
        part.unlink(missing_ok=True)


_ON_ONE_LINE = json.JSONEncoder(ensure_ascii=False)
_WITHOUT_BLANKS = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_quoted = lru_cache(maxsize=1024)(json.dumps)
"""Keys: an index of many records has the same few again and again."""


def _indented(value: Any, indent: str) -> str:
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        rows = [f"{deeper}{_quoted(key)}: {_indented(item, deeper)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return "[\n" + ",\n".join(deeper + _indented(i, deeper) for i in value) + f"\n{indent}]"
    return _ON_ONE_LINE.encode(value)


def _lines(items: list[Any]) -> str:
    rows = [f"    {_WITHOUT_BLANKS.encode(item)}" for item in items]
    return "[\n" + ",\n".join(rows) + "\n  ]" if rows else "[]"


def _record_error(path: Path, found: str) -> RecordError:
    return RecordError(
        "a record cannot be trusted",
        where=_short(path),
        found=found,
        expected=f"a record of version {RECORD_VERSION} as it was written",
        next_step="restore the file, or run the workflow again on its machine to measure it anew",
    )


def _version_or(data: Any, error: ConfigError, version: int) -> str:
    """The version problem of a file's content if it has one, else the error's own finding."""
    found = data.get("schema_version", version) if isinstance(data, dict) else version
    if isinstance(found, int) and found != version:
        return f"schema_version {found}, this commwall reads {version}"
    return error.parts["found"] or error.what


def _short(path: Path) -> str:
    """The path from `results/` on, so that messages do not depend on where the checkout lies."""
    parts = path.parts
    return str(Path(*parts[parts.index("results") :])) if "results" in parts else path.name
