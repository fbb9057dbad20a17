"""Write and read records and plans.

Layer: records. Writes `results/<campaign>/records/**/rNN.json` and reads it, `plan.json` and
`withdrawn.json`.
"""

from pathlib import Path
from typing import Annotated, Any

from pydantic import StringConstraints

from commwall.records.files import UnfitFile, content_of, write_atomically
from commwall.records.freshness import acknowledged_since
from commwall.records.layout import Layout
from commwall.records.plausible import implausible
from commwall.records.quick import sealed_record
from commwall.records.texts import record_text
from commwall.schema.base import Model, digest
from commwall.schema.errors import ConfigError, PlanError, RecordError
from commwall.schema.parsing import parse_json, parse_json_model, parse_model
from commwall.schema.plan import PLAN_VERSION, Plan
from commwall.schema.record import RECORD_VERSION, Record


class Withdrawal(Model):
    """One record that its owner no longer stands by."""

    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    """Digest of the record, as it stands in the record."""
    reason: str
    """Why, for the reader of the report."""


class Withdrawals(Model):
    """Content of `withdrawn.json`."""

    withdrawn: tuple[Withdrawal, ...] = ()


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
