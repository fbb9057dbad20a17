"""An earlier look spares reading, and lets no changed record pass."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from commwall.records import todo as todo_module, verified as verified_module
from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.records.store import read_record, write_record
from commwall.records.texts import model_text
from commwall.records.todo import Finding, examine
from commwall.schema.plan import Plan
from commwall.schema.record import Record
from tests import samples

CASE = "bert-demo-b4"


@pytest.fixture
def plan() -> Plan:
    return samples.plan()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every record that is read, in order."""
    found: list[Path] = []

    def read(path: Path) -> Record:
        found.append(path)
        return read_record(path)

    monkeypatch.setattr(todo_module, "read_record", read)
    return found


@pytest.fixture
def layout(tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A campaign whose files have settled, looked at once."""
    monkeypatch.setattr(verified_module, "SETTLED_NS", -1)
    names = [platform.name for platform in plan.platforms]
    layout = samples.write_campaign(
        tmp_path, plan, (samples.record(plan, name, round_) for name in names for round_ in (1, 2))
    )
    examine(layout, plan, "training", None)
    return layout


def path_of(layout: Layout) -> Path:
    return layout.record_path("golden", "slow", "training", CASE, 2)


def of(found: tuple[Finding, ...], layout: Layout) -> Finding:
    return next(f for f in found if layout.root / f.path == path_of(layout))


def test_untouched_records_are_not_read_again(
    layout: Layout, plan: Plan, reads: list[Path]
) -> None:
    first = examine(layout, plan, "training", None)
    assert reads == []
    assert [finding.standing for finding in first] == ["valid"] * 6
    layout.verified_path("golden", "training").unlink()
    assert examine(layout, plan, "training", None) == first
    assert len(reads) == 6


def flip(path: Path) -> None:
    """Another digit in place, with the old times put back."""
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b'"cpu_count": 2', b'"cpu_count": 3'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def swap(path: Path) -> None:
    """Another file of the same size and time in its place."""
    other = path.with_name("other")
    other.write_bytes(path.read_bytes().replace(b'"cpu_count": 2', b'"cpu_count": 3'))
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.rename(path)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2])


@pytest.mark.parametrize("change", [flip, swap, truncate])
def test_a_changed_record_is_read_again(
    layout: Layout, plan: Plan, reads: list[Path], change: Callable[[Path], None]
) -> None:
    change(path_of(layout))
    found = examine(layout, plan, "training", None)
    assert reads == [path_of(layout)]
    assert of(found, layout).standing == "invalid"
    assert of(examine(layout, plan, "training", None), layout).standing == "invalid"
    assert len(reads) == 2  # what is not valid is never remembered


def test_a_replaced_record_is_seen_as_it_is_now(layout: Layout, plan: Plan) -> None:
    write_record(layout, samples.record(plan, "slow", 2, round_id="later"))
    assert of(examine(layout, plan, "training", None), layout).round_id == "later"


def test_a_removed_record_is_missing(layout: Layout, plan: Plan) -> None:
    path_of(layout).unlink()
    assert of(examine(layout, plan, "training", None), layout).standing == "missing"


def test_a_file_that_was_changed_just_now_is_read_again(
    layout: Layout, plan: Plan, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a tick of the file system's clock, a second change would show no other time."""
    monkeypatch.setattr(verified_module, "SETTLED_NS", 60_000_000_000)
    path_of(layout).touch()
    for _ in range(2):
        examine(layout, plan, "training", None)
    assert reads.count(path_of(layout)) == 2


def test_another_plan_has_the_records_read_again(
    layout: Layout, plan: Plan, reads: list[Path]
) -> None:
    suite = plan.suites[0]
    case = samples.CASE.model_copy(update={"batch_per_gpu": 8})
    other = plan.model_copy(update={"suites": (suite.model_copy(update={"cases": {CASE: case}}),)})
    found = examine(layout, other, "training", None)
    assert len(reads) == 6
    assert {finding.standing for finding in found} == {"stale"}


def test_other_code_has_the_records_read_again(
    layout: Layout, plan: Plan, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verified_module, "_reader", lambda: "0" * 64)
    examine(layout, plan, "training", None)
    assert len(reads) == 6


@pytest.mark.parametrize("text", ["", "{", "[]", '{"seen": 1}', "[" * 100_000])
def test_a_damaged_memory_is_no_memory(
    layout: Layout, plan: Plan, reads: list[Path], text: str
) -> None:
    layout.verified_path("golden", "training").write_text(text)
    assert {f.standing for f in examine(layout, plan, "training", None)} == {"valid"}
    assert len(reads) == 6


def test_a_place_that_cannot_be_written_stops_nothing(
    layout: Layout, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, text: str, *, durable: bool) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(verified_module, "write_atomically", refuse)
    path_of(layout).touch()
    assert {f.standing for f in examine(layout, plan, "training", None)} == {"valid"}


def test_withdrawing_and_another_key_count_at_once(
    layout: Layout, plan: Plan, reads: list[Path]
) -> None:
    digest = read_record(path_of(layout)).digest
    text = json.dumps({"withdrawn": [{"digest": digest, "reason": "fan failed"}]})
    write_atomically(layout.withdrawn_path("golden"), text)
    found = examine(layout, plan, "training", "another key")
    assert of(found, layout).standing == "withdrawn"
    assert {finding.standing for finding in found} == {"withdrawn", "stale"}
    assert reads == []


def test_the_memory_of_one_campaign_is_none_of_another(
    layout: Layout, plan: Plan, reads: list[Path]
) -> None:
    other = samples.plan("silver")
    write_atomically(layout.plan_path("silver"), model_text(other))
    write_record(layout, samples.record(other, "slow", 2))
    memory = layout.verified_path("golden", "training").read_text()
    write_atomically(layout.verified_path("silver", "training"), memory)
    examine(layout, other, "training", None)
    assert len(reads) == 1


def test_looking_twice_writes_once(layout: Layout, plan: Plan) -> None:
    before = layout.verified_path("golden", "training").stat().st_mtime_ns
    time.sleep(0.01)
    examine(layout, plan, "training", None)
    assert layout.verified_path("golden", "training").stat().st_mtime_ns == before
