"""Kill a run at random moments, again and again: `python -m tests.workflow.kills --count 50`.

Each run starts in a clone in which nothing has run. One kill comes at any moment of it, to
Snakemake, its process group or the measuring verb; the next run must complete, keep every round
that was whole, and leave no process. The suite does the same a few times (test_interruptions);
many more are for whoever changes how runs begin, end or write. With --whole the pages are made too.
"""

import argparse
import itertools
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from commwall.records.store import read_record
from tests.workflow.checkout import Checkout, finish, wait_until
from tests.workflow.test_rerun import ALL, PLATFORMS

DIES_WITHIN_S = 10.0
TINY = Path(__file__).with_name("tiny.yaml")
VICTIMS = ("group", "snakemake", "verb")
MEASURE = ("--cores", "2", "measure")
WHOLE = ("--cores", "2")
SLOWLY = {"act": "sleep", "seconds": 1.0}
"""What the stand-in does, so that many moments fall into a round."""
Digests = dict[tuple[str, int], str]


def kill(checkout: Checkout, pid: int, victim: str) -> None:
    """Send SIGKILL to the process group, to Snakemake alone or to the measuring verb.

    Args:
        checkout: where the run works.
        pid: of Snakemake, which leads its group.
        victim: one of VICTIMS; where there is no verb the group takes its place.
    """
    verbs = [text for text in checkout.alive() if " -m commwall measure " in text]
    if victim == "verb" and verbs:
        os.kill(int(verbs[0].split()[0]), signal.SIGKILL)
    elif victim == "snakemake":
        os.kill(pid, signal.SIGKILL)
    else:
        os.killpg(pid, signal.SIGKILL)


def whole_rounds(checkout: Checkout) -> Digests:
    """Digests of the records of rounds that all platforms have, measured back to back."""
    if not list(checkout.root.glob("results/*/plan.json")):
        return {}
    digests, ids = checkout.records(), checkout.round_ids()
    rounds = {round_ for _, round_ in digests}
    whole = {
        round_
        for round_ in rounds
        if {(name, round_) for name in PLATFORMS} <= digests.keys()
        and len({ids[name, round_] for name in PLATFORMS}) == 1
    }
    return {cell: digest for cell, digest in digests.items() if cell[1] in whole}


def survive(
    checkout: Checkout, dice: random.Random, words: tuple[str, ...], lasts_s: float
) -> tuple[bool, str]:
    """Kill one run and complete it.

    Args:
        checkout: a clone in which nothing has run.
        dice: choose moment and victim.
        words: of the command line.
        lasts_s: how long a run takes that nobody kills [s].

    Returns:
        Whether the run was killed before its end; what was killed and when, in words.

    Raises:
        AssertionError: if the next run does not complete, or something is lost or left.
    """
    moment_s, victim = dice.uniform(0, lasts_s), dice.choice(VICTIMS)
    checkout.wish(SLOWLY)
    process = checkout.start(*words)
    time.sleep(moment_s)
    if process.poll() is None:
        kill(checkout, process.pid, victim)
    killed = finish(process).code != 0
    wait_until(lambda: not checkout.alive(), DIES_WITHIN_S)
    kept = whole_rounds(checkout)
    checkout.wish()
    run = checkout.snakemake(*words)
    assert run.code == 0, run.output
    assert checkout.records().keys() == ALL
    assert not checkout.measured_since(kept) & kept.keys(), "a whole round was measured again"
    assert checkout.state["due"] == []
    assert checkout.alive() == []
    for path in checkout.root.glob("results/*/records/**/r*.json"):
        read_record(path)
    ended = f"{victim} killed" if killed else "ended before it was killed"
    return killed, f"{ended} at {moment_s:.1f} s, {len(kept)} of {len(ALL)} records were whole"


def main() -> int:
    """Kill and complete as often as asked for, and count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first run; default: %(default)s"
    )
    parser.add_argument("--whole", action="store_true", help="make the pages, too")
    wanted = parser.parse_args()
    words, killed, failed = WHOLE if wanted.whole else MEASURE, 0, 0
    with tempfile.TemporaryDirectory(prefix="commwall-kills-") as name:
        fresh = Checkout.fresh(Path(name) / "fresh", TINY)
        started = time.monotonic()
        fresh.wish(SLOWLY)
        run = fresh.copy(Path(name) / "timed").snakemake(*words)
        assert run.code == 0, run.output
        lasts_s = time.monotonic() - started
        for seed in itertools.count(wanted.seed):
            if killed == wanted.count:
                break
            checkout = fresh.copy(Path(name) / f"run-{seed}")
            try:
                counts, told = survive(checkout, random.Random(seed), words, lasts_s)
            except (AssertionError, TimeoutError) as error:
                counts, told = True, f"FAILED: {error}"
                failed += 1
            killed += counts
            print(f"seed {seed}: {told}", file=sys.stderr, flush=True)
    print(f"{killed - failed} of {killed} killed runs were completed by the next", file=sys.stderr)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
