"""Faults of the machine around a run: a clear error, nothing lost, and the next run completes."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.workflow.checkout import Checkout, edit, finish, make_newer, wait_until
from tests.workflow.disk import fill, read_only, small_disk
from tests.workflow.kills import DIES_WITHIN_S
from tests.workflow.test_rerun import ALL, ROUND_1, ROUND_2

pytestmark = pytest.mark.beside

DAY_S = 86_400
LONG = {"act": "sleep", "round": 2, "seconds": 60}
"""Until the test wakes the ranks."""
INSTALLER = "src/commwall/host/environments.py"


def _completes(checkout: Checkout, kept: dict[tuple[str, int], str]) -> None:
    run = checkout.measure()
    assert run.code == 0, run.output
    assert set(checkout.records()) == ALL
    assert not checkout.measured_since(kept) & ROUND_1


def test_a_clock_that_was_set_back_hides_no_work(warm: Checkout) -> None:
    before = warm.records()
    make_newer(warm, DAY_S)
    warm.path("slow", 2).unlink()
    run = warm.measure()
    assert run.code == 0, run.output
    assert warm.measured_since(before) == ROUND_2
    assert warm.measure().jobs == {}


def test_a_run_whose_reader_has_gone_ends_and_leaves_nothing(warm: Checkout) -> None:
    kept = warm.records()
    warm.path("slow", 2).unlink()
    warm.wish({"act": "sleep", "round": 2, "seconds": 1})
    process = warm.start("--cores", "2", "measure")
    wait_until(warm.begun)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=60) != 0
    wait_until(lambda: not warm.alive(), DIES_WITHIN_S)
    warm.wish()
    _completes(warm, kept)


def test_of_two_runs_that_start_at_once_one_measures(warm: Checkout) -> None:
    kept = warm.records()
    warm.path("slow", 2).unlink()
    warm.wish(LONG)
    both = [warm.start("--cores", "2", "measure") for _ in range(2)]
    wait_until(lambda: any(each.poll() is not None for each in both), 60)
    warm.wake()
    first, second = sorted(map(finish, both), key=lambda run: run.code)
    assert first.code == 0, first.output
    assert second.code != 0 and "Busy" in second.output and second.jobs == {}
    assert warm.measured_since(kept) == ROUND_2
    assert warm.measure().jobs == {}


def test_a_lock_that_changes_while_a_campaign_is_measured_mixes_nothing(fresh: Checkout) -> None:
    """With an environment of the lock's, but for its packages, which are adopted."""
    made, adopting = fresh.root / INSTALLER, f"_adopt(Path({sys.executable!r}), folder)"
    edit(made, " _install(root, name, folder, log, say)", f" {adopting}")
    fresh.configure(environments={})
    fresh.wish({"act": "sleep", "round": 1, "platform": "slow", "seconds": 60})
    process = fresh.start("--cores", "2", "measure")
    wait_until(fresh.begun, 60)
    lock = fresh.root / "envs/bench.lock"
    edit(lock, "typer==", "typer==1")
    fresh.wake()
    changed = finish(process)
    assert changed.code == 0, changed.output
    before, keys = fresh.records(), fresh.keys()
    assert set(before) == ALL and len(keys) == 1, "what ran when it changed has measured all"
    again = fresh.measure()
    assert again.code == 0, again.output
    assert "provision_environment" in again.started
    assert fresh.measured_since(before) == ALL
    assert len(fresh.keys()) == 1 and not fresh.keys() & keys


@pytest.mark.parametrize("begun", [False, True], ids=["from the start", "while measuring"])
def test_a_full_disk_is_told_and_costs_no_record(
    warm: Checkout, tmp_path: Path, begun: bool
) -> None:
    with small_disk(tmp_path / "disk", "200m") as disk:
        checkout = warm.copy(disk / "checkout")
        kept = checkout.records()
        checkout.path("slow", 2).unlink()
        checkout.wish(*[LONG] * begun)
        if not begun:
            filler = fill(disk)
        process = checkout.start("--cores", "2", "measure")
        if begun:
            wait_until(checkout.begun)
            filler = fill(disk)
            checkout.wake()
        run = finish(process)
        assert run.code != 0
        assert "No space left on device" in run.output, run.output
        assert checkout.alive() == []
        assert checkout.records() == {cell: kept[cell] for cell in checkout.records()}
        filler.unlink()
        checkout.wish()
        _completes(checkout, kept)


def test_results_that_cannot_be_written_are_told_and_stay_as_they_are(warm: Checkout) -> None:
    warm.path("slow", 2).unlink()
    before = warm.results()
    with read_only(warm.root / "results"):
        run = warm.measure()
        assert run.code != 0
        assert re.search("Read-only file system|Write-protected", run.output), run.output
        assert warm.alive() == []
        assert warm.results() == before
    shutil.rmtree(warm.root / "results-kept")
    _completes(warm, warm.records())
