"""A campaign between two nodes of a real Slurm, and what befalls them meanwhile."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.slurm.cluster import NODES, Cluster
from tests.workflow.checkout import Checkout, finish, wait_until

pytestmark = pytest.mark.slurm

SOON = ("--slurm-init-seconds-before-status-checks", "5", "--slurm-status-command", "squeue")
PLATFORMS = {"network", "network-again"}
LAST = NODES[-1]
TOLD = re.compile("NODE_FAIL|node_lost")
"""By Slurm, which ends the job, or by srun before that, which ends the launch: an accident."""


def start(checkout: Checkout, target: str) -> "subprocess.Popen[str]":
    return checkout.start("--profile", "profiles/slurm", *SOON, "--", target)


def records(checkout: Checkout) -> dict[str, dict[str, Any]]:
    """Platform -> its record."""
    found = checkout.root.glob("results/*/records/*/collectives/all-reduce/r01.json")
    return {path.parts[-4]: json.loads(path.read_text(encoding="utf-8")) for path in found}


def launches(checkout: Checkout) -> list[Path]:
    """Logs of the launches that have begun, in their order."""
    found = checkout.root.glob("logs/measure_suite/*/collectives/r01-*.log")
    return sorted(found, key=lambda path: path.stat().st_mtime)


def test_a_lost_node_costs_its_launch_and_the_next_run_goes_on(
    cluster: Cluster, checkout: Checkout
) -> None:
    process = start(checkout, "measure")
    wait_until(lambda: len(launches(checkout)) == len(PLATFORMS) and cluster.works_on(LAST), 90)
    cluster.lose_node(LAST)
    run = finish(process)
    assert run.code != 0
    assert TOLD.search(run.output), run.output
    assert len(records(checkout)) == 1, "what was measured before is kept"
    wait_until(lambda: not checkout.alive())
    cluster.start_node(LAST)
    cluster.wait_idle()
    run = finish(start(checkout, "tables"))
    assert run.code == 0, run.output
    found = records(checkout)
    assert found.keys() == PLATFORMS
    for record in found.values():
        assert record["status"]["state"] == "ok", record["status"]
        assert record["platform"]["nodes"] == len(NODES)
        (other,) = record["other_nodes"]
        assert other["fingerprint"] == record["machine"]["fingerprint"]
        assert len(record["software"]["runtime"]["device_names"]) == 2
    assert list(checkout.root.glob("results/two-nodes-*/tables/ratios.csv"))
