"""Accidents leave no record and are repeated; outcomes are records; nothing is lost."""

import pytest

from tests.workflow.checkout import Checkout, edit
from tests.workflow.test_rerun import ALL, PLATFORMS, ROUND_1, ROUND_2

pytestmark = pytest.mark.beside

KILL = {"act": "kill", "platform": "slow", "round": 2}


def test_accident_half_way_is_owed_and_repeated(fresh: Checkout) -> None:
    fresh.wish(KILL)
    first = fresh.measure()
    assert first.code != 0
    assert first.started == {"provision_environment", "measure_suite"} | {
        "index_records",
        "check_complete",
    }
    assert [accident["cause"] for accident in fresh.attempt["accidents"]] == ["killed"]
    assert ("slow", 2) not in fresh.records()
    kept = fresh.records()
    fresh.wish()
    second = fresh.measure()
    assert second.code == 0, second.output
    assert set(fresh.records()) == ALL
    assert not fresh.measured_since(kept) & ROUND_1


def test_run_that_owes_work_fails_again_without_help(fresh: Checkout) -> None:
    fresh.wish(KILL)
    quiet = fresh.measure("--quiet", "rules", "reason", "host")
    assert quiet.code != 0 and not quiet.jobs
    assert "case 1 of 6 " in quiet.output and "this machine owes records" in quiet.output
    again = fresh.measure()
    assert again.code != 0
    assert "measure_suite" in again.started
    assert "slow" in again.output, "the reader is told what is owed"


def test_accident_half_way_with_stale_records_loses_none(warm: Checkout) -> None:
    stale = warm.records()
    edit(warm.root / "src/commwall/workers/training.py", "STEPS = 12", "STEPS = 13")
    warm.wish(KILL)
    first = warm.measure()
    assert first.code != 0
    assert warm.records()["slow", 2] == stale["slow", 2], "old evidence stays until replaced"
    assert warm.measured_since(stale) >= ROUND_1
    renewed = warm.records()
    warm.wish()
    second = warm.measure()
    assert second.code == 0, second.output
    assert warm.measured_since(renewed) == ROUND_2


def test_one_of_a_pair_gone_plus_an_accident(warm: Checkout) -> None:
    before = warm.records()
    warm.path("fast", 2).unlink()
    warm.wish(KILL)
    assert warm.measure().code != 0
    assert warm.records()["slow", 2] == before["slow", 2]
    warm.wish()
    run = warm.measure()
    assert run.code == 0, run.output
    assert warm.measured_since(before) == ROUND_2
    assert len({warm.round_ids()[platform, 2] for platform in PLATFORMS}) == 1


@pytest.mark.parametrize(
    ("act", "cause"), [("nccl_fails", "launch_failed"), ("gpu_gone", "gpu_lost")]
)
def test_what_nccl_or_a_lost_gpu_ended_is_no_outcome_and_repeated(
    warm: Checkout, act: str, cause: str
) -> None:
    before = warm.records()
    warm.path("slow", 2).unlink()
    warm.wish({"act": act, "platform": "slow", "round": 2})
    assert warm.measure().code != 0
    assert [accident["cause"] for accident in warm.attempt["accidents"]] == [cause]
    assert set(warm.records()) == ALL - {("slow", 2)}
    warm.wish()
    run = warm.measure()
    assert run.code == 0, run.output
    assert warm.measured_since(before) == ROUND_2


@pytest.mark.alone
def test_hang_is_ended_and_repeated(warm: Checkout) -> None:
    warm.configure(timeouts={"startup_s": 2, "case_s": 2, "collective_s": 1})
    warm.path("slow", 2).unlink()
    warm.wish({"act": "hang", "platform": "slow", "round": 2})
    run = warm.measure()
    assert run.code != 0
    assert [accident["cause"] for accident in warm.attempt["accidents"]] == ["timeout"]
    assert warm.alive() == []
    warm.wish()
    assert warm.measure().code == 0


def test_out_of_memory_is_a_record_and_not_repeated(warm: Checkout) -> None:
    warm.path("slow", 2).unlink()
    warm.wish({"act": "out_of_memory", "platform": "slow"})
    first = warm.measure()
    assert first.code == 0, first.output
    assert '"out_of_memory"' in warm.path("slow", 2).read_text(encoding="utf-8")
    assert warm.measure().jobs == {}


@pytest.mark.parametrize("words", [("measure",), ()])
def test_foreign_campaign_owes_nothing_here(warm: Checkout, words: tuple[str, ...]) -> None:
    plan = warm.root / "results" / warm.campaign / "plan.json"
    foreign = warm.root / "results/far-away/plan.json"
    foreign.parent.mkdir()
    text = plan.read_text(encoding="utf-8").replace(warm.campaign, "far-away")
    foreign.write_text(text, encoding="utf-8")
    edit(foreign, '"fingerprint": "', '"fingerprint": "other-')
    run = warm.snakemake("-n", *words)
    assert run.code == 0, run.output
    assert "measure_suite" not in run.started
    check = warm.snakemake("--cores", "2", ".cw/far-away/complete")
    assert check.code == 0, check.output


def test_malformed_foreign_plan_is_a_named_gap(warm: Checkout) -> None:
    broken = warm.root / "results/broken/plan.json"
    broken.parent.mkdir()
    broken.write_text('{"schema_version": 1, ', encoding="utf-8")
    before = warm.records()
    warm.path("slow", 1).unlink()
    run = warm.measure()
    assert run.code == 0, run.output
    assert warm.measured_since(before) == ROUND_1
    listed = warm.snakemake("--cores", "2", ".cw/broken/complete")
    assert listed.code == 0, listed.output
    index = (warm.root / "results/broken/index.json").read_text(encoding="utf-8")
    assert "results/broken/plan.json" in index or "plan.json" in index
    assert warm.snakemake("-n").code == 0
