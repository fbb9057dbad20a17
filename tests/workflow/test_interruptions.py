"""Runs that are ended from outside: the next one completes, and no process is left."""

import base64
import os
import random
import signal
import time
from concurrent.futures import Future

import pytest

from tests.workflow.checkout import Checkout, edit, finish, wait_until
from tests.workflow.conftest import Start
from tests.workflow.kills import DIES_WITHIN_S, VICTIMS, kill
from tests.workflow.test_rerun import ALL, ROUND_1

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
ENDINGS = tuple((whom, number) for whom in ("group", "snakemake") for number in SIGNALS)
SEEDS = tuple(range(10))
LONG = {"act": "sleep", "round": 2, "seconds": 60}


def _completes(checkout: Checkout, kept: dict[tuple[str, int], str]) -> None:
    """The next run measures what is missing and touches nothing that was whole."""
    checkout.wish()
    run = checkout.measure()
    assert run.code == 0, run.output
    assert set(checkout.records()) == ALL
    assert not checkout.measured_since(kept) & ROUND_1


def _is_ended_while_measuring(checkout: Checkout, key: tuple[str, signal.Signals]) -> None:
    whom, number = key
    kept = checkout.records()
    checkout.path("slow", 2).unlink()
    # Snakemake lets running jobs end when it alone is asked to stop politely.
    polite = whom == "snakemake" and number in (signal.SIGINT, signal.SIGTERM)
    checkout.wish(LONG | {"seconds": 1} if polite else LONG)
    process = checkout.start("--cores", "2", "measure")
    wait_until(checkout.begun)
    (os.killpg if whom == "group" else os.kill)(process.pid, number)
    run = finish(process)
    # Asked politely and alone, Snakemake now and then misses the signal and finishes its work.
    finished = polite and set(checkout.records()) == ALL
    assert run.code != 0 or finished, run.output
    wait_until(lambda: not checkout.alive(), DIES_WITHIN_S)
    _completes(checkout, kept)


def _is_killed_at_a_random_moment(checkout: Checkout, seed: int) -> None:
    """Even seeds: any moment from the start on; odd ones: from the first case on."""
    moment = random.Random(seed)
    kept = checkout.records()
    checkout.path("slow", 2).unlink()
    checkout.wish({"act": "sleep", "seconds": 0.4})
    process = checkout.start("--cores", "2", "measure")
    if seed % 2:
        wait_until(checkout.begun)
    time.sleep(moment.uniform(0, 2.5))
    kill(checkout, process.pid, moment.choice(VICTIMS))
    finish(process)
    wait_until(lambda: not checkout.alive(), DIES_WITHIN_S)
    _completes(checkout, kept)


@pytest.fixture(scope="module")
def endings(scenarios: Start) -> dict[tuple[str, signal.Signals], Future[None]]:
    return scenarios(_is_ended_while_measuring, ENDINGS)


@pytest.fixture(scope="module")
def kills(scenarios: Start) -> dict[int, Future[None]]:
    return scenarios(_is_killed_at_a_random_moment, SEEDS)


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda key: f"{key[1].name} to {key[0]}")
def test_ended_while_measuring(endings, ending: tuple[str, signal.Signals]) -> None:
    endings[ending].result()


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_at_a_random_moment(kills, seed: int) -> None:
    kills[seed].result()


def test_orphan_holds_the_device_until_it_is_gone(warm: Checkout) -> None:
    kept = warm.records()
    warm.path("slow", 2).unlink()
    warm.wish({"act": "outlive", "round": 2})
    process = warm.start("--cores", "2", "measure")
    wait_until(warm.begun)
    os.killpg(process.pid, signal.SIGKILL)
    finish(process)
    orphans = [int(text.split()[0]) for text in warm.alive()]
    assert orphans, "the stand-in should have outlived its supervisor"
    warm.wish()
    blocked = warm.measure()
    assert blocked.code != 0
    assert {accident["cause"] for accident in warm.attempt["accidents"]} == {"contended"}
    assert str(orphans[0]) in blocked.output or str(orphans[0]) in str(warm.attempt)
    assert not warm.measured_since(kept)
    for pid in orphans:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not warm.alive(), DIES_WITHIN_S)
    _completes(warm, kept)


def test_a_job_killed_after_its_last_word_hides_no_work(warm: Checkout) -> None:
    """Snakemake had not yet cleared its own marker of the job that made the environment."""
    kept = warm.records()
    warm.path("slow", 2).unlink()
    marker = base64.b64encode(b".envs/bench/manifest.json").decode()
    (warm.root / ".snakemake/incomplete" / marker).touch()
    _completes(warm, kept)


def _own_files(checkout: Checkout) -> dict[str, bytes]:
    """Files by which a run is steered."""
    root = checkout.root
    names = ("results/*/plan.json", ".cw/*.json", ".cw/*/*.state", ".cw/code/*", ".envs/*/*.json")
    paths = [path for pattern in names for path in root.glob(pattern)]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def test_second_run_is_refused_and_a_dry_run_is_not(warm: Checkout) -> None:
    warm.path("slow", 2).unlink()
    warm.wish(LONG)
    process = warm.start("--cores", "2", "measure")
    wait_until(warm.begun)
    before = _own_files(warm)
    edit(warm.root / "config/campaigns/tiny.yaml", "training: 2", "training: 3")
    second = warm.measure("--config", 'environments={"bench": {"adopt": null}}')
    dry = warm.snakemake("-n", "measure")
    assert _own_files(warm) == before
    edit(warm.root / "config/campaigns/tiny.yaml", "training: 3", "training: 2")
    warm.wake()
    first = finish(process)
    assert second.code != 0
    assert "Busy" in second.output
    assert second.jobs == {}
    assert dry.code == 0, dry.output
    assert first.code == 0, first.output
    assert set(warm.records()) == ALL
    assert warm.measure().jobs == {}
