"""No option of Snakemake deletes, moves or renews a record that is whole."""

from concurrent.futures import Future

import pytest

from tests.workflow.checkout import Checkout
from tests.workflow.conftest import Start

pytestmark = pytest.mark.beside

OPTIONS = {
    "forceall": ("--cores", "2", "--forceall", "measure"),
    "forcerun": ("--cores", "2", "--forcerun", "measure_suite", "--", "measure"),
    "touch": ("--cores", "2", "--touch", "measure"),
    "delete all output": ("--cores", "2", "--delete-all-output", "measure"),
    "rerun incomplete": ("--cores", "2", "--rerun-incomplete", "measure"),
    "unlock": ("--unlock",),
}


def _records_stay_as_they_are(checkout: Checkout, name: str) -> None:
    before = checkout.results()
    run = checkout.snakemake(*OPTIONS[name])
    assert run.code == 0, run.output
    assert checkout.results() == before
    after = checkout.measure()
    assert after.code == 0, after.output
    assert checkout.results() == before


@pytest.fixture(scope="module")
def options(scenarios: Start) -> dict[str, Future[None]]:
    return scenarios(_records_stay_as_they_are, tuple(OPTIONS))


@pytest.mark.parametrize("name", OPTIONS)
def test_records_stay_as_they_are(options: dict[str, Future[None]], name: str) -> None:
    options[name].result()


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


def test_cluster_job_reads_what_the_main_process_prepared(warm: Checkout) -> None:
    warm.path("slow", 2).unlink()
    before = warm.state
    target = f"results/{warm.campaign}/index.json"
    words = ("--mode", "remote", "--allowed-rules", "index_records", "--force", "--", target)
    run = warm.snakemake("--cores", "1", *words)
    assert run.code == 0, run.output
    assert run.started == {"index_records"}
    assert warm.state == before
