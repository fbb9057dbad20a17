"""Take in a bundle that somebody else made: everything in it is suspect until it is checked.

Layer: records. Reads a `.tar.gz`; writes below `results/<campaign>/`. Nothing is placed before
all of it is read, of known names and sizes, and valid. Nothing is unpacked by tarfile itself:
names only choose among known places, contents are parsed as JSON models, and nothing is
executed or unpickled.
"""

import gzip
import io
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from commwall.records.bundle import LIST_NAME, BundleError, BundleList, entry, kind_of
from commwall.records.comparable import not_as_planned
from commwall.records.layout import TAKEN, Layout
from commwall.records.predictions import (
    basis,
    is_published,
    parse_predictions,
    read_predictions,
)
from commwall.records.state import read_attempt
from commwall.records.store import (
    Withdrawal,
    Withdrawals,
    model_text,
    read_plan,
    read_record,
    read_withdrawals,
    same_plan,
    write_atomically,
)
from commwall.schema.environment import Manifest
from commwall.schema.errors import CommwallError, ConfigError, PlanError, RecordError
from commwall.schema.parsing import parse_json_model
from commwall.schema.plan import Plan

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


@dataclass(frozen=True)
class Arrival:
    """What an import did."""

    campaign: str
    placed: int
    """Records that were not here before."""
    known: int
    """Records that were here already."""
    departing: int
    """Records of the bundle that were measured otherwise than its plan says."""


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
            raise _refused("it unpacks to more than is allowed")
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
            raise _refused(f"a header extended by {header.size} byte")
        return header


def is_imported(layout: Layout, campaign: str) -> bool:
    """Whether a campaign was measured elsewhere and taken in: it is then evidence to read."""
    return layout.origin_path(campaign).exists()


def is_evidence(layout: Layout, campaign: str) -> bool:
    """Whether a campaign is only read here, though its plan may fit: imported, or published."""
    return is_imported(layout, campaign) or is_published(layout, campaign)


def take_in(layout: Layout, path: Path, limits: Limits | None = None) -> Arrival:
    """Check a bundle and place its campaign.

    A campaign that is here already only grows: its plan must be the same, and so must every
    record that both sides have. Whole rounds of a case are added, also where each side has some
    that the other lacks; of one round, one side must have all that the other has, because what
    was not measured back to back is no round. Otherwise nothing is written.

    Args:
        layout: the checkout.
        path: the bundle.
        limits: how much it may hold; None takes the defaults.

    Raises:
        BundleError: if it is damaged, too large, holds anything but a campaign's files, or
            differs from what is here.
    """
    listed, files = read_files(path, limits or Limits())
    if listed.campaign in TAKEN:
        raise _refused(f"a campaign of the name {listed.campaign!r}", "no folder of the pages")
    results = layout.root / "results"
    results.mkdir(exist_ok=True)
    # Inside results/, so that placing is a rename; campaigns are looked for one level higher.
    with tempfile.TemporaryDirectory(prefix=".import-", dir=results) as folder:
        staged = Layout(Path(folder))
        _stage(staged, listed.campaign, files)
        plan, departing = _checked(staged, listed.campaign, files)
        if layout.campaign_dir(plan.id).exists():
            return Arrival(plan.id, *_merge(layout, staged, plan.id, files), departing)
        staged.campaign_dir(plan.id).rename(layout.campaign_dir(plan.id))
    return Arrival(plan.id, len(_records(files)), 0, departing)


def read_files(path: Path, limits: Limits) -> tuple[BundleList, dict[str, bytes]]:
    """Contents of a bundle by name, each as long and with the digest its list says.

    Raises:
        BundleError: if it is damaged or holds what a bundle must not.
        OSError: if it cannot be read.
    """
    if path.stat().st_size > limits.packed_bytes:
        raise _refused(f"{path.stat().st_size} byte", f"at most {limits.packed_bytes} byte")
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
        raise _refused(f"{name!r} is a link, folder, device or sparse file", "regular files only")
    if name in files:
        raise _refused(f"{name!r} stands twice", "each name once")
    if name != LIST_NAME and kind_of(name) is None:
        raise _refused(f"a file of the name {name!r}", "names of a campaign's files only")
    if member.size > limits.file_bytes:
        raise _refused(f"{name!r} of {member.size} byte", f"at most {limits.file_bytes} byte")
    if len(files) >= limits.files:
        raise _refused(f"more than {limits.files} files")


def _check_list(files: dict[str, bytes]) -> BundleList:
    """Take the list out of the files and hold them against it."""
    if LIST_NAME not in files:
        raise _refused(f"no {LIST_NAME}", "a file that `commwall bundle` wrote")
    try:
        listed = parse_json_model(BundleList, files.pop(LIST_NAME), LIST_NAME)
    except ConfigError as error:
        raise _refused(f"a {LIST_NAME} that cannot be read: {error}") from error
    absent, strange = listed.files.keys() - files.keys(), files.keys() - listed.files.keys()
    if absent or strange:
        name = min(absent or strange)
        raise _refused(f"{name!r} is {'missing' if absent else 'not in the list'}")
    for name, content in files.items():
        if entry(content) != listed.files[name]:
            raise _refused(f"{name!r} differs from the list: it was damaged or edited")
        if not _is_text(content):
            raise _refused(f"{name!r} is no UTF-8 text")
    return listed


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _stage(staged: Layout, campaign: str, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = staged.campaign_dir(campaign) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _checked(staged: Layout, campaign: str, files: Mapping[str, bytes]) -> tuple[Plan, int]:
    """The plan, once every file is what its name says, and how many records depart from it."""
    if "plan.json" not in files:
        raise _refused("no plan.json", "a campaign with its plan")
    folder = staged.campaign_dir(campaign)
    try:
        plan = read_plan(folder / "plan.json")
        read_withdrawals(staged, campaign)
        if "predictions.json" in files:
            basis(staged, read_predictions(staged, campaign))
        for name in files:
            if kind_of(name) == "attempt":
                read_attempt(folder / name)
            elif kind_of(name) == "environment":
                parse_json_model(Manifest, files[name], name)
        departing = sum(_departs(folder / name, name, plan) for name in _records(files))
    except BundleError:
        raise
    except CommwallError as error:
        place = Path(error.parts["where"] or LIST_NAME).name
        found = f"{place}: {error.what}: {error.parts['found']}"
        raise _refused(found, "valid files only") from error
    return plan, departing


def _departs(path: Path, name: str, plan: Plan) -> bool:
    """Whether a record, which must belong to the plan, was measured otherwise than it says."""
    record = read_record(path)
    if record.machine.fingerprint != plan.fingerprint:
        raise _refused(f"{name} was measured on another kind of machine than the plan names")
    place = record.id
    planned = {suite.suite: suite for suite in plan.suites}.get(place.suite)
    cases = planned.platforms.get(place.platform, ()) if planned else ()
    if planned is None or place.case not in cases or place.round > planned.rounds:
        raise _refused(f"{name} is a record that the plan does not ask for")
    return not_as_planned(record, plan) is not None


def _merge(
    layout: Layout, staged: Layout, campaign: str, files: Mapping[str, bytes]
) -> tuple[int, int]:
    """Add what is new to a campaign that is here already, or refuse; records added and known."""
    _refuse_other_plan(layout, staged, campaign)
    new, old = _digests(staged, campaign), _digests(layout, campaign)
    _refuse_conflicts(campaign, new, old)
    _refuse_other_predictions(layout, campaign, files)
    withdrawn = read_withdrawals(staged, campaign), read_withdrawals(layout, campaign)
    if set(withdrawn[0]) - set(withdrawn[1]):
        both = (withdrawn[0] | withdrawn[1]).items()  # a reason given here stays
        told = Withdrawals(withdrawn=tuple(Withdrawal(digest=d, reason=r) for d, r in both))
        write_atomically(layout.withdrawn_path(campaign), model_text(told))
    # This machine's words for the plan stay, and what it has begun to measure stays its own.
    kept = {"plan", "environment"} if old else {"plan"}
    for name in files:
        path = layout.campaign_dir(campaign) / name
        if kind_of(name) in kept:
            continue
        damaged = kind_of(name) == "record" and name not in old
        if damaged or not path.exists():
            write_atomically(path, files[name].decode())
    return len(set(new) - set(old)), len(set(new) & set(old))


def _refuse_other_plan(layout: Layout, staged: Layout, campaign: str) -> None:
    try:
        here = read_plan(layout.plan_path(campaign))
    except PlanError as error:
        raise _differs(campaign, "its plan cannot be read") from error
    if not same_plan(here, read_plan(staged.plan_path(campaign))):
        raise _differs(campaign, "its plan is another one")


def _refuse_other_predictions(layout: Layout, campaign: str, files: Mapping[str, bytes]) -> None:
    name = "predictions.json"
    if name not in files or not is_published(layout, campaign):
        return
    here = read_predictions(layout, campaign)
    if parse_predictions(files[name], campaign).digest != here.digest:
        raise _differs(campaign, "its predictions are others")


def _refuse_conflicts(campaign: str, new: Mapping[str, str], old: Mapping[str, str]) -> None:
    for name in sorted(new.keys() & old.keys()):
        if new[name] != old[name]:
            raise _differs(campaign, f"{name} is another measurement than the one here")
    sides = [_by_round(names) for names in (new, old)]
    for round_ in sides[0].keys() & sides[1].keys():
        if sides[0][round_] - sides[1][round_] and sides[1][round_] - sides[0][round_]:
            place = f"round {round_[2]} of {round_[0]}/{round_[1]}"
            raise _differs(campaign, f"each side has evidence of {place} that the other lacks")


def _by_round(names: Iterable[str]) -> dict[tuple[str, str, int], set[str]]:
    """Suite, case and round -> names of its records."""
    found: dict[tuple[str, str, int], set[str]] = {}
    for name in names:
        *_, suite, case, file = Path(name).parts
        found.setdefault((suite, case, int(Path(file).stem[1:])), set()).add(name)
    return found


def _digests(layout: Layout, campaign: str) -> dict[str, str]:
    """Name -> digest of the readable records; a damaged file is no evidence."""
    found, folder = {}, layout.campaign_dir(campaign)
    for path in sorted(layout.records_dir(campaign).rglob("r*.json")):
        try:
            found[str(path.relative_to(folder))] = read_record(path).digest
        except RecordError:
            continue
    return found


def _records(files: Mapping[str, bytes]) -> list[str]:
    return [name for name in files if kind_of(name) == "record"]


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        found = f"it is damaged, cut short or no bundle: {error}"
        raise _refused(found, "a whole file as `commwall bundle` wrote it") from error


def _refused(found: str, expected: str | None = None) -> BundleError:
    return BundleError(
        "a bundle is not taken in",
        found=found,
        expected=expected,
        next_step="nothing was written; fetch the file again, or ask its maker for a new one",
    )


def _differs(campaign: str, found: str) -> BundleError:
    return BundleError(
        "a campaign of this name is here and differs",
        where=f"results/{campaign}",
        found=found,
        expected="the same plan, and records that are the same wherever both have one",
        next_step=f"nothing was written; move results/{campaign} away to take the bundle instead",
    )
