"""What is measured after which change: only what is missing, invalid, stale or withdrawn."""

import json
import shutil
from concurrent.futures import Future
from pathlib import Path

import pytest

from commwall.records.layout import Layout
from commwall.records.store import read_record, write_record
from tests.workflow.checkout import Checkout, edit
from tests.workflow.conftest import Start

pytestmark = pytest.mark.beside

PLATFORMS = ("fast", "slow", "fast-again")
ROUND_1 = {(platform, 1) for platform in PLATFORMS}
ROUND_2 = {(platform, 2) for platform in PLATFORMS}
ALL = ROUND_1 | ROUND_2


def test_fresh_run_measures_every_cell_once(fresh: Checkout) -> None:
    run = fresh.measure()
    assert run.code == 0, run.output
    assert "No pages yet: `make report` makes them." in run.output
    assert set(fresh.records()) == ALL
    assert fresh.attempt["measured"] == len(ALL)
    for round_ in (1, 2):
        assert len({fresh.round_ids()[platform, round_] for platform in PLATFORMS}) == 1
    assert fresh.alive() == []


def test_second_run_does_nothing(warm: Checkout) -> None:
    run = warm.measure()
    assert run.code == 0, run.output
    assert run.jobs == {}


def test_measuring_needs_no_report_environment(warm: Checkout) -> None:
    assert (warm.root / ".envs/bench/manifest.json").exists()
    assert not (warm.root / ".envs/report").exists()


def test_clone_with_all_records_measures_nothing(warm: Checkout, tmp_path: Path) -> None:
    clone = warm.clone(tmp_path / "clone")
    run = clone.measure()
    assert run.code == 0, run.output
    assert clone.attempt["measured"] == 0
    assert clone.records() == warm.records()


def test_clone_with_all_records_makes_no_bench_environment(warm: Checkout, tmp_path: Path) -> None:
    clone = warm.clone(tmp_path / "clone")
    clone.configure(environments={})
    clone.snakemake("-n", "measure")
    _as_if_made_from_the_lock(clone)
    run = clone.measure()
    assert run.code == 0, run.output
    assert run.started == {"index_records", "check_complete"}
    assert clone.measure().jobs == {}


def _as_if_made_from_the_lock(checkout: Checkout) -> None:
    """Give all records the key that an installed bench environment would have given them."""
    key = checkout.state["key"]
    for path in checkout.root.glob("results/*/records/**/r*.json"):
        record = read_record(path)
        protocol = record.protocol.model_copy(update={"freshness_key": key})
        write_record(Layout(checkout.root), record.model_copy(update={"protocol": protocol}))


def test_clone_with_one_record_missing_measures_its_round(warm: Checkout, tmp_path: Path) -> None:
    before = warm.records()
    warm.path("slow", 2).unlink()
    clone = warm.clone(tmp_path / "clone")
    run = clone.measure()
    assert run.code == 0, run.output
    assert clone.measured_since(before) == ROUND_2


@pytest.mark.parametrize("metadata", ["kept", "lost"])
def test_edited_worker_is_measured_anew(warm: Checkout, metadata: str) -> None:
    before = warm.records()
    if metadata == "lost":
        shutil.rmtree(warm.root / ".snakemake")
    edit(warm.root / "src/commwall/workers/training.py", "STEPS = 12", "STEPS = 13")
    run = warm.measure()
    assert run.code == 0, run.output
    assert warm.measured_since(before) == ALL


def test_comment_in_a_worker_measures_nothing(warm: Checkout) -> None:
    before = warm.records()
    edit(warm.root / "src/commwall/workers/training.py", "STEPS = 12", "STEPS = 12  # timed")
    run = warm.measure()
    assert run.code == 0, run.output
    assert "measure_suite" not in run.started
    assert warm.records() == before


def test_rebuilt_environment_measures_nothing(warm: Checkout) -> None:
    before = warm.records()
    shutil.rmtree(warm.root / ".envs/bench")
    run = warm.measure()
    assert run.code == 0, run.output
    assert "provision_environment" in run.started
    assert warm.records() == before
    assert warm.measure().jobs == {}


def test_newer_environment_alone_starts_nothing(warm: Checkout) -> None:
    (warm.root / ".envs/bench/manifest.json").touch()
    shutil.rmtree(warm.root / ".snakemake")
    run = warm.measure()
    assert (run.code, run.jobs) == (0, {}), run.output


def _delete(path: Path) -> None:
    path.unlink()


def _truncate(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: len(text) // 2], encoding="utf-8")


def _change_a_value(path: Path) -> None:
    record = json.loads(path.read_text(encoding="utf-8"))
    record["series"][0]["values"][0] *= 0.5
    path.write_text(json.dumps(record), encoding="utf-8")


def _change_the_version(path: Path) -> None:
    record = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(record | {"schema_version": 99}), encoding="utf-8")


def _withdraw(path: Path) -> None:
    digest = json.loads(path.read_text(encoding="utf-8"))["digest"]
    text = json.dumps({"withdrawn": [{"digest": digest, "reason": "a fan had failed"}]})
    (path.parents[4] / "withdrawn.json").write_text(text, encoding="utf-8")


HARMS = {
    "deleted": _delete,
    "truncated": _truncate,
    "edited": _change_a_value,
    "of another version": _change_the_version,
    "withdrawn": _withdraw,
}


def _harmed_record_is_measured_anew(checkout: Checkout, harm: str) -> None:
    before = checkout.records()
    HARMS[harm](checkout.path("slow", 1))
    run = checkout.measure()
    assert run.code == 0, run.output
    assert checkout.measured_since(before) == ROUND_1
    assert len({checkout.round_ids()[cell] for cell in ROUND_1}) == 1


@pytest.fixture(scope="module")
def harms(scenarios: Start) -> dict[str, Future[None]]:
    return scenarios(_harmed_record_is_measured_anew, tuple(HARMS))


@pytest.mark.parametrize("harm", HARMS)
def test_harmed_record_is_measured_anew_on_all_platforms(harms, harm: str) -> None:
    harms[harm].result()


def test_withdrawn_record_is_replaced_once(warm: Checkout) -> None:
    _withdraw(warm.path("slow", 1))
    assert warm.measure().code == 0
    assert warm.measure().jobs == {}


def test_named_target_notices_a_deleted_record(warm: Checkout) -> None:
    before = warm.records()
    warm.path("fast", 1).unlink()
    run = warm.snakemake("--cores", "2", f"results/{warm.campaign}/index.json")
    assert run.code == 0, run.output
    assert warm.measured_since(before) == ROUND_1


def test_new_round_measures_only_that(warm: Checkout) -> None:
    before = warm.records()
    edit(warm.root / "config/campaigns/tiny.yaml", "training: 2", "training: 3")
    run = warm.measure()
    assert run.code == 0, run.output
    assert warm.measured_since(before) == {(platform, 3) for platform in PLATFORMS}


def test_new_case_measures_only_that(warm: Checkout) -> None:
    before = warm.records()
    path = warm.root / "config/campaigns/tiny.yaml"
    text = path.read_text(encoding="utf-8")
    case = text[text.index("  bert-a:") :]
    path.write_text(text + case.replace("bert-a", "bert-b"), encoding="utf-8")
    run = warm.measure()
    assert run.code == 0, run.output
    assert warm.records() == before
    assert all(warm.path(platform, 2, case="bert-b").exists() for platform in PLATFORMS)


def test_moved_folder_makes_nothing_anew(warm: Checkout, tmp_path: Path) -> None:
    moved = Checkout(warm.root.rename(tmp_path / "moved"))
    run = moved.measure()
    assert (run.code, run.jobs) == (0, {}), run.output


def test_moved_folder_measures_with_its_own_code(warm: Checkout, tmp_path: Path) -> None:
    moved = Checkout(warm.root.rename(tmp_path / "moved"))
    before = moved.records()
    moved.path("fast", 2).unlink()
    run = moved.measure()
    assert run.code == 0, run.output
    assert moved.measured_since(before) == ROUND_2


def test_misspelt_key_starts_no_job(warm: Checkout) -> None:
    warm.configure(campains=["tiny"])
    warm.path("fast", 2).unlink()
    run = warm.measure()
    assert run.code != 0
    assert run.jobs == {}
    assert "config/config.yaml" in run.output
    assert "campains" in run.output
    assert "'campaigns'" in run.output or "campaigns?" in run.output


def test_misspelt_override_starts_no_job(warm: Checkout) -> None:
    run = warm.measure("--config", "timeoutz=3", "--forceall")
    assert run.code != 0
    assert run.jobs == {}
    assert "timeoutz" in run.output


@pytest.mark.alone
def test_override_reaches_the_verb(fresh: Checkout) -> None:
    fresh.wish({"act": "hang", "platform": "slow", "round": 1})
    run = fresh.measure("--config", "timeouts={'startup_s': 1, 'case_s': 1, 'collective_s': 1}")
    assert run.code != 0
    assert [accident["cause"] for accident in fresh.attempt["accidents"]] == ["timeout"]
