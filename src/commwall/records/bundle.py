"""A campaign as one file: what is needed to judge and render it where it was not measured.

Layer: records. Writes a `.tar.gz` whose first member, `bundle.json`, lists all others with
size and SHA-256: plan, withdrawals, predictions, readable records, attempts, and of the origin
the manifest of the environment that measured and the logs that explain accidents. The digests
show damage, not who made the bundle. `commwall.records.archive` reads it.
"""

import gzip
import hashlib
import io
import json
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from commwall.records.files import content_of, part_of
from commwall.records.layout import Layout
from commwall.records.store import read_plan, read_record
from commwall.records.texts import model_text
from commwall.records.todo import READABLE, examine
from commwall.schema.base import Model, Name
from commwall.schema.errors import CommwallError
from commwall.schema.plan import Plan

BUNDLE_VERSION: Literal[1] = 1
LIST_NAME = "bundle.json"
_WORD = r"[a-z0-9]+(?:[.-][a-z0-9]+)*"
_LOG = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,80}\.log"
MEMBERS: dict[str, re.Pattern[str]] = {
    kind: re.compile(pattern)
    for kind, pattern in {
        "plan": r"plan\.json",
        "withdrawals": r"withdrawn\.json",
        "predictions": r"predictions\.json",
        "record": rf"records/{_WORD}/[a-z]+/{_WORD}/r[0-9]{{2,4}}\.json",
        "attempt": r"attempts/[a-z]+\.json",
        "environment": r"origin/bench\.json",
        "log": rf"origin/logs/[a-z]+/{_LOG}",
    }.items()
}
"""What a bundle may hold, under which names; nothing else is written, and nothing else read."""


class BundleError(CommwallError):
    """A bundle that cannot be written, or that must not be unpacked."""


class Entry(Model):
    """One file of a bundle."""

    size_bytes: int
    """Its size [byte]."""
    sha256: str
    """Of its content, 64 hexadecimal digits."""


class BundleList(Model):
    """Content of `bundle.json`."""

    schema_version: Literal[1] = BUNDLE_VERSION
    campaign: Name
    files: dict[str, Entry]
    """Name -> file, in the order in which they follow."""


def collect(layout: Layout, campaign: str) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Files of a campaign by their names in a bundle, and what is left out, each with its reason.

    Raises:
        PlanError: if the plan cannot be read.
        ConfigError: if `withdrawn.json` is malformed.
        BundleError: if there is no such campaign.
    """
    path = layout.plan_path(campaign)
    if not path.exists():
        known = ", ".join(layout.campaigns()) or "none"
        where = f"results/{campaign}"
        raise BundleError("there is no such campaign", where=where, expected=f"one of: {known}")
    plan = read_plan(path)
    records, left_out = _records(layout, plan)
    optional = {
        "withdrawn.json": layout.withdrawn_path(campaign),
        "predictions.json": layout.predictions_path(campaign),
        **{
            f"attempts/{suite.suite}.json": layout.attempt_path(campaign, suite.suite)
            for suite in plan.suites
        },
        **_kept_origin(layout, campaign),
    }
    others = {name: content_of(own) for name, own in optional.items() if own.exists()}
    return {"plan.json": content_of(path), **others, **records}, left_out


def write_bundle(target: Path, campaign: str, files: Mapping[str, bytes]) -> None:
    """Write a bundle; the same files give the same bytes.

    Args:
        target: the file to write; it appears whole or not at all.
        campaign: whose files they are.
        files: name in the bundle -> content.

    Raises:
        BundleError: if a name is none that a bundle may hold.
        OSError: if the file cannot be written.
    """
    strangers = [name for name in files if kind_of(name) is None]
    if strangers:
        raise BundleError("a bundle cannot hold this file", where=strangers[0])
    listed = BundleList(campaign=campaign, files={n: entry(own) for n, own in files.items()})
    with (
        part_of(target) as part,
        part.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, content in {LIST_NAME: model_text(listed).encode(), **files}.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))


def kind_of(name: str) -> str | None:
    """What a name in a bundle stands for, or None if a bundle may hold no such file."""
    return next((kind for kind, pattern in MEMBERS.items() if pattern.fullmatch(name)), None)


def entry(content: bytes) -> Entry:
    """Size and digest of a file's content."""
    return Entry(size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def without_path(manifest: bytes) -> bytes:
    """An environment's manifest without the path of the interpreter that was adopted.

    Raises:
        ValueError: if it is no JSON object.
    """
    content: dict[str, Any] = json.loads(manifest)
    return (json.dumps({**content, "adopted_from": None}, indent=2) + "\n").encode()


def _records(layout: Layout, plan: Plan) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Readable records, withdrawn ones too: they are evidence as well."""
    found, left_out = {}, []
    for finding in (f for suite in plan.suites for f in examine(layout, plan, suite.suite, None)):
        path = layout.root / finding.path
        name = str(path.relative_to(layout.campaign_dir(plan.id)))
        if finding.standing in {*READABLE, "withdrawn"}:
            read_record(path)
            found[name] = content_of(path)
        elif finding.standing != "missing":
            left_out.append(f"{name}: {finding.standing}, {finding.reason}")
    return found, tuple(left_out)


def _kept_origin(layout: Layout, campaign: str) -> dict[str, Path]:
    """What an earlier import brought along, so that a bundle of it is whole again."""
    folder = layout.campaign_dir(campaign)
    paths = sorted((folder / "origin").rglob("*")) if (folder / "origin").is_dir() else []
    named = {str(path.relative_to(folder)): path for path in paths if path.is_file()}
    return {name: path for name, path in named.items() if kind_of(name)}
