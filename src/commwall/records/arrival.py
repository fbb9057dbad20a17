"""Take in a bundle that somebody else made: everything in it is suspect until it is checked.

Layer: records. Writes below `results/<campaign>/`. Nothing is placed before all of it is read
(`commwall.records.archive`) and valid: contents are parsed as JSON models, and nothing is executed
or unpickled.
"""

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from commwall.records.archive import Limits, read_files, refused
from commwall.records.bundle import LIST_NAME, BundleError, kind_of
from commwall.records.comparable import not_as_planned
from commwall.records.files import write_atomically
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
    read_plan,
    read_record,
    read_withdrawals,
    same_plan,
)
from commwall.records.texts import model_text
from commwall.schema.environment import Manifest
from commwall.schema.errors import CommwallError, PlanError, RecordError
from commwall.schema.parsing import parse_json_model
from commwall.schema.plan import Plan


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


def is_imported(layout: Layout, campaign: str) -> bool:
    """Whether a campaign was measured elsewhere and taken in: it is then evidence to read."""
    return layout.origin_path(campaign).exists()


def is_evidence(layout: Layout, campaign: str) -> bool:
    """Whether a campaign is only read here, though its plan may fit: imported, or published."""
    return is_imported(layout, campaign) or is_published(layout, campaign)


def was_tried(layout: Layout, campaign: str) -> bool:
    """Whether a campaign is more than a plan: records, an attempt at some, or evidence to read."""
    folder = layout.campaign_dir(campaign)
    found = (path for part in ("records", "attempts") for path in folder.glob(f"{part}/**/*.json"))
    return is_evidence(layout, campaign) or any(found)


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
        raise refused(f"a campaign of the name {listed.campaign!r}", "no folder of the pages")
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


def _stage(staged: Layout, campaign: str, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = staged.campaign_dir(campaign) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _checked(staged: Layout, campaign: str, files: Mapping[str, bytes]) -> tuple[Plan, int]:
    """The plan, once every file is what its name says, and how many records depart from it."""
    if "plan.json" not in files:
        raise refused("no plan.json", "a campaign with its plan")
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
        raise refused(found, "valid files only") from error
    return plan, departing


def _departs(path: Path, name: str, plan: Plan) -> bool:
    """Whether a record, which must belong to the plan, was measured otherwise than it says."""
    record = read_record(path)
    if record.machine.fingerprint != plan.fingerprint:
        raise refused(f"{name} was measured on another kind of machine than the plan names")
    place = record.id
    planned = {suite.suite: suite for suite in plan.suites}.get(place.suite)
    cases = planned.platforms.get(place.platform, ()) if planned else ()
    if planned is None or place.case not in cases or place.round > planned.rounds:
        raise refused(f"{name} is a record that the plan does not ask for")
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


def _differs(campaign: str, found: str) -> BundleError:
    return BundleError(
        "a campaign of this name is here and differs",
        where=f"results/{campaign}",
        found=found,
        expected="the same plan, and records that are the same wherever both have one",
        next_step=f"nothing was written; move results/{campaign} away to take the bundle instead",
    )
