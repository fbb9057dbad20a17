"""A record appears whole, says what it is, and cannot be changed unnoticed."""

import json
import os
from pathlib import Path

import pytest

from commwall.records.files import clear_parts, write_atomically, write_if_different
from commwall.records.layout import Layout
from commwall.records.store import read_plan, read_record, write_record
from commwall.records.texts import model_text
from commwall.schema.base import digest
from commwall.schema.errors import PlanError, RecordError
from tests import samples


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    record = samples.record(
        samples.plan(),
        "fast",
        1,
        measured=(samples.series("step_time_s", "s", (0.1, 0.2), "full"),),
    )
    return write_record(Layout(tmp_path), record)


def test_a_record_comes_back_as_it_was_written(stored: Path) -> None:
    record = read_record(stored)
    assert record.series[0].values == (0.1, 0.2)
    assert record.digest == record.content_digest()


def test_schema_version_stands_first_and_samples_stay_on_one_line(stored: Path) -> None:
    lines = stored.read_text().splitlines()
    assert lines[1].strip() == '"schema_version": 1,'
    assert any("[0.1,0.2]" in line for line in lines)


def test_an_edited_value_is_found(stored: Path) -> None:
    stored.write_text(stored.read_text().replace("0.1", "0.05"))
    with pytest.raises(RecordError, match="it was edited"):
        read_record(stored)


@pytest.mark.parametrize("value", [1e308, -1e200, 5e-324])
def test_a_sealed_number_beyond_all_bounds_is_found(stored: Path, value: float) -> None:
    content = json.loads(stored.read_text())
    content["series"][0]["values"][1] = value
    content["digest"] = digest({k: v for k, v in content.items() if k != "digest"})
    stored.write_text(json.dumps(content))
    with pytest.raises(RecordError, match=r"series\.0\.values\.1: .* is no number that can have"):
        read_record(stored)


@pytest.mark.parametrize("keep", [0, 1, 200, -2])
def test_a_truncated_record_is_found(stored: Path, keep: int) -> None:
    stored.write_bytes(stored.read_bytes()[:keep])
    with pytest.raises(RecordError):
        read_record(stored)


def test_another_version_is_named(stored: Path) -> None:
    content = json.loads(stored.read_text())
    content["schema_version"] = 2
    stored.write_text(json.dumps(content))
    with pytest.raises(RecordError, match="schema_version 2, this commwall reads 1"):
        read_record(stored)


def test_an_unknown_key_is_refused(stored: Path) -> None:
    content = json.loads(stored.read_text())
    content["mean"] = 0.15
    stored.write_text(json.dumps(content))
    with pytest.raises(RecordError, match="mean: unknown key"):
        read_record(stored)


def test_a_record_in_another_round_s_place_is_found(stored: Path) -> None:
    moved = stored.rename(stored.with_name("r02.json"))
    with pytest.raises(RecordError, match="another place"):
        read_record(moved)


def test_a_plan_must_lie_in_its_own_folder(tmp_path: Path) -> None:
    layout = samples.write_campaign(tmp_path, samples.plan(), ())
    assert read_plan(layout.plan_path("golden")).id == "golden"
    other = layout.plan_path("silver")
    write_atomically(other, model_text(samples.plan()))
    with pytest.raises(PlanError, match="wrong folder"):
        read_plan(other)


def test_a_failed_write_leaves_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state"
    write_atomically(path, "old")

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space") as refused:
        write_atomically(path, "new")
    assert refused.value.filename == str(path)
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["state"]


def test_what_a_killed_write_left_is_cleared(tmp_path: Path) -> None:
    (tmp_path / "state.part").write_text("ha")
    clear_parts(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_same_text_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "state"
    assert write_if_different(path, "a")
    before = path.stat().st_mtime_ns
    assert not write_if_different(path, "a")
    assert path.stat().st_mtime_ns == before
    assert write_if_different(path, "b")


def test_a_record_written_before_a_field_existed_stays_valid(stored: Path) -> None:
    content = json.loads(stored.read_text())
    del content["gaps"], content["digest"]
    content["digest"] = digest(content)
    stored.write_text(json.dumps(content))
    assert read_record(stored).gaps == ()


def test_a_record_of_another_campaign_is_in_the_wrong_place(stored: Path) -> None:
    campaign = stored.parents[4]
    copy = campaign.rename(campaign.with_name("copy")) / stored.relative_to(campaign)
    with pytest.raises(RecordError, match="another place"):
        read_record(copy)


def test_a_folder_in_a_record_s_place_is_told_when_reading_and_writing(tmp_path: Path) -> None:
    record = samples.record(samples.plan(), "fast", 1)
    path = write_record(Layout(tmp_path), record)
    path.unlink()
    path.mkdir()
    with pytest.raises(RecordError, match="Is a directory"):
        read_record(path)
    with pytest.raises(RecordError, match="cannot be written"):
        write_record(Layout(tmp_path), record)


def test_deeply_nested_text_is_no_record(stored: Path) -> None:
    stored.write_text("[" * 200_000)
    with pytest.raises(RecordError, match="nested too deeply"):
        read_record(stored)
