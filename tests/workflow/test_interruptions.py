"""Runs that are ended from outside: the next one completes, and no process is left."""

import contextlib
import os
import random
import signal
import subprocess

import pytest

from tests.workflow.checkout import Checkout, finish, wait_until
from tests.workflow.test_rerun import ALL, ROUND_1

DIES_WITHIN_S = 10
LONG = {"act": "sleep", "round": 2, "seconds": 60}


def _completes(checkout: Checkout, kept: dict[tuple[str, int], str]) -> None:
    """The next run measures what is missing and touches nothing that was whole."""
    checkout.wish()
    run = checkout.measure()
    assert run.code == 0, run.output
    assert set(checkout.records()) == ALL
    assert not checkout.measured_since(kept) & ROUND_1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("whom", ["group", "snakemake"])
def test_ended_while_measuring(warm: Checkout, number: signal.Signals, whom: str) -> None:
    kept = warm.records()
    warm.path("slow", 2).unlink()
    # Snakemake lets running jobs end when it alone is asked to stop politely.
    polite = whom == "snakemake" and number in (signal.SIGINT, signal.SIGTERM)
    warm.wish(LONG | {"seconds": 2} if polite else LONG)
    process = warm.start("--cores", "2", "measure")
    wait_until(warm.begun)
    (os.killpg if whom == "group" else os.kill)(process.pid, number)
    run = finish(process)
    assert run.code != 0, run.output
    wait_until(lambda: not warm.alive(), DIES_WITHIN_S)
    _completes(warm, kept)


@pytest.mark.parametrize("seed", range(10))
def test_killed_at_a_random_moment(warm: Checkout, seed: int) -> None:
    moment = random.Random(seed)
    kept = warm.records()
    warm.path("slow", 2).unlink()
    warm.wish({"act": "sleep", "seconds": 0.4})
    process = warm.start("--cores", "2", "measure")
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=moment.uniform(0.3, 4.5))
    victim = moment.choice(["group", "snakemake", "verb"])
    _kill(warm, process.pid, victim)
    finish(process)
    wait_until(lambda: not warm.alive(), DIES_WITHIN_S)
    _completes(warm, kept)


def _kill(checkout: Checkout, pid: int, victim: str) -> None:
    verbs = [text for text in checkout.alive() if " -m commwall measure " in text]
    if victim == "verb" and verbs:
        os.kill(int(verbs[0].split()[0]), signal.SIGKILL)
    elif victim == "snakemake":
        os.kill(pid, signal.SIGKILL)
    else:
        os.killpg(pid, signal.SIGKILL)


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


def test_second_run_is_refused_and_a_dry_run_is_not(warm: Checkout) -> None:
    warm.path("slow", 2).unlink()
    warm.wish({"act": "sleep", "round": 2, "seconds": 3})
    process = warm.start("--cores", "2", "measure")
    wait_until(warm.begun)
    second = warm.measure()
    dry = warm.snakemake("-n", "measure")
    first = finish(process)
    assert second.code != 0
    assert "Busy" in second.output
    assert second.jobs == {}
    assert dry.code == 0, dry.output
    assert first.code == 0, first.output
    assert set(warm.records()) == ALL
    assert warm.measure().jobs == {}
