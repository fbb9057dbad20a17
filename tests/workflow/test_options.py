"""No option of Snakemake deletes, moves or renews a record that is whole."""

import pytest

from tests.workflow.checkout import Checkout

OPTIONS = {
    "forceall": ("--cores", "2", "--forceall", "measure"),
    "forcerun": ("--cores", "2", "--forcerun", "measure_suite", "--", "measure"),
    "touch": ("--cores", "2", "--touch", "measure"),
    "delete all output": ("--cores", "2", "--delete-all-output", "measure"),
    "rerun incomplete": ("--cores", "2", "--rerun-incomplete", "measure"),
    "unlock": ("--unlock",),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_records_stay_as_they_are(warm: Checkout, name: str) -> None:
    before = warm.results()
    run = warm.snakemake(*OPTIONS[name])
    assert run.code == 0, run.output
    assert warm.results() == before
    after = warm.measure()
    assert after.code == 0, after.output
    assert warm.results() == before


def test_lost_metadata_measures_nothing(warm: Checkout) -> None:
    before = warm.results()
    attempt = f"results/{warm.campaign}/attempts/training.json"
    run = warm.snakemake("--cleanup-metadata", attempt, f"results/{warm.campaign}/index.json")
    assert run.code == 0, run.output
    assert warm.measure().code == 0
    assert warm.results() == before


def test_touch_does_not_settle_owed_work(warm: Checkout) -> None:
    before = warm.records()
    warm.path("slow", 2).unlink()
    warm.snakemake("--cores", "2", "--touch", "measure")
    run = warm.measure()
    assert run.code == 0, run.output
    assert {round_ for _, round_ in warm.measured_since(before)} == {2}
