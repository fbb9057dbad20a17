"""Bundles: what goes out comes in the same, and nothing hostile comes in at all."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commwall.analysis.result import analyse_campaign
from commwall.cli.main import main
from commwall.records.archive import Limits, read_files
from commwall.records.arrival import is_imported, take_in
from commwall.records.bundle import (
    LIST_NAME,
    BundleError,
    BundleList,
    collect,
    entry,
    write_bundle,
)
from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.records.store import Withdrawal, Withdrawals, read_plan, read_record, read_withdrawals
from commwall.records.texts import model_text
from commwall.records.todo import examine, todo
from commwall.schema.base import digest
from commwall.schema.plan import Plan
from commwall.schema.record import Record
from tests.samples import KEY, plan, record, write_campaign, write_index

CAMPAIGN = "golden"
Members = dict[str, bytes]


def written(root: Path, rounds: int = 2, own: Plan | None = None) -> Layout:
    asked = own or plan(CAMPAIGN, rounds)
    records = [
        record(asked, name, round_) for name in ("fast", "slow") for round_ in range(1, rounds + 1)
    ]
    return write_campaign(root, asked, records)


def bundled(layout: Layout, path: Path) -> Path:
    write_bundle(path, CAMPAIGN, collect(layout, CAMPAIGN)[0])
    return path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return bundled(written(tmp_path / "origin"), tmp_path / "bundle.tar.gz")


@pytest.fixture
def here(tmp_path: Path) -> Layout:
    (tmp_path / "here").mkdir()
    return Layout(tmp_path / "here")


def tree(layout: Layout) -> Members:
    paths = [path for path in (layout.root / "results").rglob("*") if path.is_file()]
    return {str(path.relative_to(layout.root)): path.read_bytes() for path in paths}


def repacked(bundle: Path, change: Callable[[Members], Members], *, listed: bool = True) -> Path:
    """The bundle with other files in it, and a list that agrees with them unless told not to."""
    named, files = read_files(bundle, Limits())
    files = change(files)
    entries = {n: entry(c) for n, c in files.items()} if listed else named.files
    text = model_text(BundleList(campaign=CAMPAIGN, files=entries)).encode()
    return packed(bundle, [(tarfile.TarInfo(n), c) for n, c in {LIST_NAME: text, **files}.items()])


def packed(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member, content in members:
            member.size = len(content) if member.isreg() else 0
            archive.addfile(member, io.BytesIO(content) if member.isreg() else None)
    return path


def refused(here: Layout, path: Path, limits: Limits | None = None) -> str:
    before = tree(here)
    with pytest.raises(BundleError) as error:
        take_in(here, path, limits)
    assert tree(here) == before, "a refused bundle leaves no trace"
    return str(error.value)


def test_what_goes_out_comes_in_the_same(bundle: Path, here: Layout, tmp_path: Path) -> None:
    arrival = take_in(here, bundle)
    assert (arrival.campaign, arrival.placed, arrival.known) == (CAMPAIGN, 4, 0)
    assert tree(here) == tree(Layout(tmp_path / "origin"))
    again = bundled(here, tmp_path / "again.tar.gz")
    assert again.read_bytes() == bundle.read_bytes()


@pytest.mark.parametrize("wrong", [b"{}", b"no JSON", b'{"name": "bench", "mode": "adopted"}'])
def test_an_origin_that_is_no_manifest_is_refused(bundle: Path, here: Layout, wrong: bytes) -> None:
    path = repacked(bundle, lambda files: {**files, "origin/bench.json": wrong})
    assert "bench.json" in refused(here, path)


def test_a_second_import_changes_nothing(bundle: Path, here: Layout) -> None:
    take_in(here, bundle)
    before = tree(here)
    assert (take_in(here, bundle).placed, tree(here)) == (0, before)


def test_more_of_the_same_evidence_is_added_and_less_of_it_changes_nothing(
    here: Layout, bundle: Path, tmp_path: Path
) -> None:
    take_in(here, bundle)
    gone = here.record_path(CAMPAIGN, "slow", "training", "bert-demo-b4", 2)
    gone.unlink()
    less = bundled(here, tmp_path / "less.tar.gz")
    assert (take_in(here, bundle).placed, gone.exists()) == (1, True)
    assert (take_in(here, less).placed, gone.exists()) == (0, True)


def test_a_damaged_record_is_replaced(here: Layout, bundle: Path) -> None:
    take_in(here, bundle)
    damaged = here.record_path(CAMPAIGN, "slow", "training", "bert-demo-b4", 2)
    damaged.write_text("{", encoding="utf-8")
    assert take_in(here, bundle).placed == 1
    read_record(damaged)


def test_each_side_with_evidence_of_its_own_is_refused(here: Layout, bundle: Path) -> None:
    take_in(here, bundle)
    for platform, path in (("slow", here), ("fast", Layout(bundle.parent / "origin"))):
        path.record_path(CAMPAIGN, platform, "training", "bert-demo-b4", 2).unlink()
    bundled(Layout(bundle.parent / "origin"), bundle)
    assert "the other lacks" in refused(here, bundle)


def rounds_of(layout: Layout) -> set[tuple[str, str]]:
    found = layout.records_dir(CAMPAIGN).rglob("r*.json")
    return {(path.parts[-4], path.stem) for path in found}


def test_rounds_of_two_machines_of_one_kind_become_one_campaign(
    here: Layout, tmp_path: Path
) -> None:
    asked = plan(CAMPAIGN, 3)
    other_words = asked.model_copy(update={"machine": "the same with 1 GiB less"})

    def of_machine(own: Plan, rounds: tuple[int, ...], boot: str) -> Iterator[Record]:
        for name in ("fast", "slow", "fast-again"):
            for round_ in rounds:
                made = record(own, name, round_)
                machine = made.machine.model_copy(update={"boot_digest": boot})
                yield made.model_copy(update={"machine": machine}).sealed()

    one = write_campaign(tmp_path / "one", asked, of_machine(asked, (1, 2), "a" * 12))
    two = write_campaign(tmp_path / "two", other_words, of_machine(other_words, (3,), "b" * 12))
    take_in(here, bundled(one, tmp_path / "one.tar.gz"))
    arrival = take_in(here, bundled(two, tmp_path / "two.tar.gz"))
    assert (arrival.placed, arrival.known) == (3, 0)
    assert len(rounds_of(here)) == 9
    assert read_plan(here.plan_path(CAMPAIGN)) == asked
    findings = examine(here, asked, "training", KEY)
    assert {finding.standing for finding in findings} == {"fresh"}
    assert todo(asked, "training", findings) == ()
    write_index(here, CAMPAIGN)
    (pairing, control) = analyse_campaign(here, CAMPAIGN, 0.95).pairings
    assert [len(own.pairs) for own in (pairing, control)] == [3, 3]


def test_half_a_round_of_each_machine_is_no_round(here: Layout, tmp_path: Path) -> None:
    asked = plan(CAMPAIGN, 1)
    for name in ("fast", "slow"):
        half = record(asked, name, 1, round_id=f"round-on-{name}")
        origin = write_campaign(tmp_path / name, asked, [half])
        bundled(origin, tmp_path / f"{name}.tar.gz")
    take_in(here, tmp_path / "fast.tar.gz")
    told = refused(here, tmp_path / "slow.tar.gz")
    assert "each side has evidence of round 1 of training/bert-demo-b4 that the other lacks" in told


def test_another_measurement_or_plan_of_the_same_name_is_refused(
    here: Layout, bundle: Path
) -> None:
    asked = plan(CAMPAIGN, 2)
    write_campaign(here.root, asked, [record(asked, "fast", 1, round_id="another")])
    assert "is another measurement" in refused(here, bundle)
    write_atomically(here.plan_path(CAMPAIGN), model_text(plan(CAMPAIGN, 3)))
    assert "its plan is another one" in refused(here, bundle)


def test_withdrawals_travel(here: Layout, tmp_path: Path) -> None:
    origin = written(tmp_path / "origin")
    bad = read_record(origin.record_path(CAMPAIGN, "fast", "training", "bert-demo-b4", 1))
    listed = Withdrawals(withdrawn=(Withdrawal(digest=bad.digest, reason="a loose cable"),))
    write_atomically(origin.withdrawn_path(CAMPAIGN), model_text(listed))
    assert take_in(here, bundled(origin, tmp_path / "bundle.tar.gz")).placed == 4
    assert "a loose cable" in here.withdrawn_path(CAMPAIGN).read_text(encoding="utf-8")


def test_what_was_written_here_stays(here: Layout, tmp_path: Path) -> None:
    origin = written(tmp_path / "origin")
    digest, other = (
        read_record(origin.record_path(CAMPAIGN, name, "training", "bert-demo-b4", 1)).digest
        for name in ("fast", "slow")
    )

    def withdraw(layout: Layout, **reasons: str) -> None:
        told = tuple(Withdrawal(digest=d, reason=r) for d, r in reasons.items())
        write_atomically(layout.withdrawn_path(CAMPAIGN), model_text(Withdrawals(withdrawn=told)))

    take_in(here, bundled(origin, tmp_path / "first.tar.gz"))
    withdraw(here, **{digest: "seen here"})
    own = here.attempt_path(CAMPAIGN, "training")
    write_atomically(own, "{}")
    withdraw(origin, **{digest: "seen there", other: "fan"})
    take_in(here, bundled(origin, tmp_path / "second.tar.gz"))
    assert read_withdrawals(here, CAMPAIGN) == {digest: "seen here", other: "fan"}
    assert own.read_text() == "{}"


@pytest.mark.parametrize("name", ["plan.json", "no/such/folder/x.tar.gz"])
def test_a_bundle_is_written_as_a_bundle_only(
    bundle: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(bundle.parent / "origin")
    before = tree(Layout(Path()))
    assert main(["bundle", CAMPAIGN, "--output", f"results/{CAMPAIGN}/{name}"]) == 2
    assert "cannot write the bundle" in capsys.readouterr().err
    assert tree(Layout(Path())) == before


def test_an_unreadable_record_stays_behind_with_its_reason(tmp_path: Path) -> None:
    origin = written(tmp_path / "origin")
    path = origin.record_path(CAMPAIGN, "fast", "training", "bert-demo-b4", 1)
    path.write_text("{", encoding="utf-8")
    files, left_out = collect(origin, CAMPAIGN)
    assert sum(name.startswith("records/") for name in files) == 3
    assert len(left_out) == 1 and "invalid" in left_out[0]


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 0.999])
def test_a_truncated_bundle_is_refused(here: Layout, bundle: Path, share: float) -> None:
    content = bundle.read_bytes()
    bundle.write_bytes(content[: int(share * len(content))])
    assert "nothing was written" in refused(here, bundle)


def test_a_flipped_byte_is_refused(here: Layout, bundle: Path) -> None:
    content = bytearray(bundle.read_bytes())
    content[-6] ^= 1  # of gzip's checksum: only a reader that goes to the end sees it
    bundle.write_bytes(content)
    assert "damaged" in refused(here, bundle)


def edited(name: str, change: Callable[[dict], object]) -> Callable[[Members], Members]:  # type: ignore[type-arg]
    def apply(files: Members) -> Members:
        content = json.loads(files[name])
        change(content)
        return {**files, name: json.dumps(content).encode()}

    return apply


RECORD = "records/fast/training/bert-demo-b4/r01.json"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (edited(RECORD, lambda r: r.update(measured_at="2026-01-02T00:00:00Z")), "edited"),
        (edited(RECORD, lambda r: r.update(surprise=1)), "surprise"),
        (edited("plan.json", lambda p: p.pop("seed")), "seed"),
        (edited("plan.json", lambda p: p.update(id="other")), "wrong folder"),
        (lambda files: {**files, "plan.json": b"["}, "plan.json"),
        (lambda files: {n: c for n, c in files.items() if n != "plan.json"}, "no plan.json"),
        (lambda files: {**files, "attempts/training.json": b"{}"}, "training.json"),
        (lambda files: {**files, "withdrawn.json": b'{"withdrawn": 1}'}, "withdrawn"),
        (lambda files: {**files, RECORD.replace("r01", "r02"): files[RECORD]}, "another place"),
        (lambda files: {**files, RECORD: b"[" * 100_000}, "nested too deeply"),
        (lambda files: {**files, RECORD: files[RECORD].decode().encode("utf-16")}, "UTF-8"),
        (lambda files: {**files, "index.json": b"{}"}, "index.json"),
        (lambda files: {**files, "records/fast/training/x/r01.pkl": b""}, "r01.pkl"),
    ],
)
def test_what_is_not_valid_is_refused_even_if_listed(
    here: Layout, bundle: Path, change: Callable[[Members], Members], word: str
) -> None:
    assert word in refused(here, repacked(bundle, change))


def test_records_of_another_campaign_or_machine_are_refused(here: Layout, bundle: Path) -> None:
    other = record(plan("other"), "fast", 1)
    alien = record(plan(CAMPAIGN).model_copy(update={"fingerprint": "0" * 64}), "fast", 1)
    for stranger, word in ((other, "another place"), (alien, "another kind of machine")):
        text = model_text(stranger).encode()
        assert word in refused(here, repacked(bundle, lambda files, t=text: {**files, RECORD: t}))


def test_a_list_that_disagrees_is_refused(here: Layout, bundle: Path) -> None:
    kept = bundle.read_bytes()
    drop = repacked(bundle, lambda f: {n: c for n, c in f.items() if n != RECORD}, listed=False)
    assert "is missing" in refused(here, drop)
    bundle.write_bytes(kept)
    more = repacked(bundle, lambda f: {**f, "withdrawn.json": b"{}"}, listed=False)
    assert "not in the list" in refused(here, more)
    bundle.write_bytes(kept)
    swap = repacked(bundle, lambda f: {**f, RECORD: f[RECORD] + b" "}, listed=False)
    assert "differs from the list" in refused(here, swap)
    assert "no bundle.json" in refused(here, packed(bundle, []))


@pytest.mark.parametrize(
    "name",
    [
        "../plan.json",
        "/plan.json",
        "records/../../plan.json",
        "records/fast/training/../../../../r01.json",
        "origin/logs/training/..log",
        "origin/logs/training/a\x00.log",
        "plan.json/",
        "./plan.json",
        "records/fast/training/bert-demo-b4/r01.json\n",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(here: Layout, bundle: Path, name: str) -> None:
    packed(bundle, [(tarfile.TarInfo(name), b"{}")])
    assert "nothing was written" in refused(here, bundle)
    assert [path.name for path in here.root.parent.glob("*.json")] == []


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_links_devices_and_folders_are_refused(here: Layout, bundle: Path, kind: bytes) -> None:
    member = tarfile.TarInfo("plan.json")
    member.type, member.linkname = kind, "../../../outside"
    packed(bundle, [(member, b"")])
    assert "regular files only" in refused(here, bundle)


def test_a_name_that_stands_twice_is_refused(here: Layout, bundle: Path) -> None:
    packed(bundle, [(tarfile.TarInfo("plan.json"), b"{}"), (tarfile.TarInfo("plan.json"), b"[]")])
    assert "stands twice" in refused(here, bundle)


@pytest.mark.parametrize(
    ("limits", "word"),
    [
        (Limits(packed_bytes=100), "at most 100 byte"),
        (Limits(file_bytes=100), "at most 100 byte"),
        (Limits(total_bytes=2000), "more than is allowed"),
        (Limits(files=2), "more than 2 files"),
    ],
)
def test_too_much_is_refused(here: Layout, bundle: Path, limits: Limits, word: str) -> None:
    assert word in refused(here, bundle, limits)


def test_a_header_that_claims_more_than_there_may_be_is_not_believed(
    here: Layout, bundle: Path
) -> None:
    claim = tarfile.TarInfo("plan.json")
    claim.size = 2**40
    bomb = gzip.compress(claim.tobuf() + bytes(2**20))
    bundle.write_bytes(bomb)
    assert "1099511627776 byte" in refused(here, bundle)
    extended = tarfile.TarInfo("plan.json")
    extended.type, extended.size = tarfile.XHDTYPE, 2**24
    bundle.write_bytes(gzip.compress(extended.tobuf() + bytes(2**24)))
    assert "a header extended by 16777216 byte" in refused(here, bundle)


def test_the_verbs_write_and_take_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    origin = written(tmp_path / "origin")
    manifest = {
        "name": "bench", "mode": "adopted", "adopted_from": "/secret/python3", "python": "3.12.1",
        "lock_digest": "0" * 64, "packages": {}, "packages_digest": digest({}), "differences": [],
    }  # fmt: skip
    write_atomically(origin.root / ".envs/bench/manifest.json", json.dumps(manifest))
    log = "logs/measure_suite/golden/training/r01-fast-1.log"
    write_atomically(origin.root / log, f"{origin.root.resolve()}/x broke\n")
    accident = {"round": 1, "platform": "fast", "cases": [], "cause": "killed", "detail": "d"}
    attempt = {
        "campaign": CAMPAIGN, "suite": "training", "measured": 0,
        "started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:00Z",
        "accidents": [{**accident, "log": log}],
    }  # fmt: skip
    write_atomically(origin.attempt_path(CAMPAIGN, "training"), json.dumps(attempt))
    monkeypatch.chdir(origin.root)
    assert main(["bundle", CAMPAIGN, "--output", str(tmp_path / "b.tar.gz")]) == 0
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["import", str(tmp_path / "b.tar.gz")]) == 0
    assert "4 records are new" in capsys.readouterr().out
    kept = Layout(tmp_path / "here").campaign_dir(CAMPAIGN) / "origin"
    assert "secret" not in (kept / "bench.json").read_text(encoding="utf-8")
    told = (kept / "logs/training/r01-fast-1.log").read_text(encoding="utf-8")
    assert told == "x broke\n"
    accident["log"] = str(tmp_path / "secret.log")
    write_atomically(tmp_path / "secret.log", "secret")
    for place in (
        str(tmp_path / "secret.log"),
        "logs/measure_suite/golden/training/../../secret.log",
    ):
        changed = attempt | {"accidents": [{**accident, "log": place}]}
        write_atomically(origin.attempt_path(CAMPAIGN, "training"), json.dumps(changed))
        monkeypatch.chdir(origin.root)
        assert main(["bundle", CAMPAIGN, "--output", str(tmp_path / "b.tar.gz")]) == 0
        assert not [n for n in read_files(tmp_path / "b.tar.gz", Limits())[1] if n.endswith(".log")]
    assert main(["import", str(tmp_path / "gone.tar.gz")]) == 2
    assert main(["bundle", "nothing"]) == 2


def test_a_plan_that_comes_without_records_is_to_be_measured_not_rendered(
    here: Layout,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bundled(write_campaign(tmp_path / "planner", plan(CAMPAIGN), []), tmp_path / "plan.tar.gz")
    monkeypatch.chdir(here.root)
    assert main(["import", str(tmp_path / "plan.tar.gz")]) == 0
    told = capsys.readouterr().out
    assert f"commwall measure {CAMPAIGN} SUITE" in told and "renders" not in told


def test_only_what_was_measured_elsewhere_keeps_its_origin(
    here: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def carried(origin: Layout) -> str | None:
        """The lock that a bundle of the campaign names, made in that folder."""
        monkeypatch.chdir(origin.root)
        assert main(["bundle", CAMPAIGN, "--output", str(tmp_path / "b.tar.gz")]) == 0
        files = read_files(tmp_path / "b.tar.gz", Limits())[1]
        named = files.get("origin/bench.json")
        return json.loads(named)["lock_digest"][0] if named else None

    host, planner = Layout(tmp_path / "host"), here
    for layout, lock in ((host, "a"), (planner, "b")):
        manifest = {
            "name": "bench", "mode": "installed", "adopted_from": None, "python": "3.12.1",
            "lock_digest": lock * 64, "packages": {}, "packages_digest": digest({}),
            "differences": [],
        }  # fmt: skip
        write_atomically(layout.root / ".envs/bench/manifest.json", json.dumps(manifest))
    asked = plan(CAMPAIGN, 2)
    write_campaign(planner.root, asked, [])
    assert carried(planner) is None, "a plan was measured nowhere"
    take_in(host, tmp_path / "b.tar.gz")
    write_campaign(host.root, asked, [record(asked, name, 1) for name in ("fast", "slow")])
    assert carried(host) == "a"
    take_in(planner, tmp_path / "b.tar.gz")
    assert (is_imported(host, CAMPAIGN), is_imported(planner, CAMPAIGN)) == (False, True)
    assert carried(planner) == "a"
    take_in(host, tmp_path / "b.tar.gz")
    assert not is_imported(host, CAMPAIGN), "what is measured here goes on here"


def test_a_record_that_the_plan_does_not_ask_for_is_refused(here: Layout, bundle: Path) -> None:
    def less(files: Members) -> Members:
        """The plan without its second round, or without a platform."""
        content = json.loads(files["plan.json"])
        content["suites"][0]["orders"] = content["suites"][0]["orders"][:1]
        return {**files, "plan.json": json.dumps(content).encode()}

    assert "r02.json is a record that the plan does not ask for" in refused(
        here, repacked(bundle, less)
    )


def test_records_that_depart_from_an_edited_plan_are_counted_and_told(
    here: Layout,
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def edit(content: Members) -> object:
        (case,) = content["suites"][0]["cases"].values()  # type: ignore[call-overload,index]
        return case.update(batch_per_gpu=64)

    repacked(bundle, edited("plan.json", edit))
    monkeypatch.chdir(here.root)
    assert main(["import", str(bundle)]) == 0
    assert "4 of its records were measured otherwise" in capsys.readouterr().out
    findings = examine(here, read_plan(here.plan_path(CAMPAIGN)), "training", None)
    assert {finding.standing for finding in findings} == {"stale", "missing"}
