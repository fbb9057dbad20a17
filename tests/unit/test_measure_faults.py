"""What changes under a campaign while it is measured: its environment, the time of day."""

from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from commwall.host.environments import Manifest, manifest_path
from commwall.host.lockfiles import lock_digest
from commwall.measure import supervisor, tally
from commwall.measure.rounds import measure_suite
from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.records.state import read_attempt, read_state
from commwall.records.store import read_record
from commwall.records.texts import model_text
from commwall.schema.record import Record
from tests.unit.test_measure_rounds import HERE, checkout, planned

OTHER_LOCK = "torch==2.14.0"


@pytest.fixture(autouse=True)
def _stand_in_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HERE))


def measured(root: Path) -> dict[str, Record]:
    folder = Layout(root).records_dir("demo")
    return {str(p.relative_to(folder)): read_record(p) for p in sorted(folder.rglob("r*.json"))}


def test_a_lock_that_changes_meanwhile_mixes_nothing(tmp_path: Path) -> None:
    lock = tmp_path / "envs/bench.lock"

    def change(line: str) -> None:
        if "(round 2 of" in line:
            lock.write_text(OTHER_LOCK + "\n", encoding="utf-8")

    order = replace(checkout(tmp_path, planned("ok-1", rounds=2)), say=change)
    assert measure_suite(order).measured == 4
    before = measured(tmp_path)
    keys = {record.protocol.freshness_key for record in before.values()}
    assert len(keys) == 1, "what was installed when the run began has measured all of it"
    refused = measure_suite(order)
    assert "envs/bench.lock has changed" in (refused.refused or "")
    assert measured(tmp_path) == before
    made = Manifest.model_validate_json(manifest_path(tmp_path, "bench").read_bytes())
    anew = made.model_copy(update={"lock_digest": lock_digest([OTHER_LOCK])})
    write_atomically(manifest_path(tmp_path, "bench"), model_text(anew))
    assert measure_suite(order).measured == 4
    after = {record.protocol.freshness_key for record in measured(tmp_path).values()}
    assert len(after) == 1 and not after & keys


def test_a_clock_set_back_while_measuring_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Falling(datetime):
        """Each look finds it a day earlier."""

        looks = 0

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            cls.looks += 1
            return datetime(2026, 6, 1, tzinfo=tz) - timedelta(days=cls.looks)

    for module in (supervisor, tally):
        monkeypatch.setattr(module, "datetime", Falling)
    order = checkout(tmp_path, planned("ok-1", rounds=2))
    attempt = measure_suite(order)
    assert (attempt.measured, attempt.accidents) == (4, ())
    assert attempt.ended_at < attempt.started_at and read_attempt(order.attempt) == attempt
    records = measured(tmp_path)
    first, second = (records[f"fast/training/ok-1/r0{round_}.json"] for round_ in (1, 2))
    assert second.measured_at < first.measured_at and second.id.round_id != first.id.round_id
    assert read_state(Layout(tmp_path).state_path("demo", "training")).due == ()
    assert measure_suite(order).measured == 0
