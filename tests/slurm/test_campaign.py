"""A campaign between two nodes of a real Slurm, and what befalls them meanwhile."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.slurm.cluster import NODES, Cluster
from tests.workflow.checkout import Checkout, wait_until

pytestmark = pytest.mark.slurm

SOON = ("--slurm-init-seconds-before-status-checks", "5", "--slurm-status-command", "squeue")
MEASURE = "exec .envs/bench/bin/python -m commwall measure {campaign} collectives"
"""What the rule calls; here in a job of the user's own."""
PLATFORMS = {"network", "network-again"}
LAST = NODES[-1]
TOLD = re.compile("DUE TO NODE FAILURE|accident: node lost")
"""By Slurm, which ends the job, or by srun before that, which ends the launch: an accident."""


def records(checkout: Checkout) -> dict[str, dict[str, Any]]:
    """Platform -> its record."""
    found = checkout.root.glob("results/*/records/*/collectives/all-reduce/r01.json")
    return {path.parts[-4]: json.loads(path.read_text(encoding="utf-8")) for path in found}


def launches(checkout: Checkout) -> list[Path]:
    """Logs of the launches that have begun."""
    return list(checkout.root.glob("logs/measure_suite/*/collectives/r01-*.log"))


def lose_a_node_while_it_measures(cluster: Cluster, checkout: Checkout) -> None:
    (plan,) = checkout.root.glob("results/two-nodes-*/plan.json")
    command = MEASURE.format(campaign=plan.parent.name)
    output = checkout.root / "job.out"
    whole = ("--nodes=2", "--exclusive", "--no-requeue")
    place = (f"--chdir={checkout.root}", f"--output={output}")
    cluster.ask("sbatch", *whole, *place, f"--wrap={command}")
    wait_until(lambda: len(launches(checkout)) == len(PLATFORMS) and cluster.works_on(LAST), 90)
    cluster.lose_node(LAST)
    wait_until(lambda: not cluster.runs_a_job(), 60)
    said = output.read_text(encoding="utf-8")
    assert TOLD.search(said), said
    wait_until(lambda: not checkout.alive())
    cluster.start_node(LAST)
    cluster.wait_idle()


def test_a_lost_node_costs_its_launch_and_the_next_run_goes_on(
    cluster: Cluster, checkout: Checkout
) -> None:
    lose_a_node_while_it_measures(cluster, checkout)
    assert len(records(checkout)) == 1, "what was measured before is kept"
    run = checkout.snakemake("--profile", "profiles/slurm", *SOON, "--", "tables")
    assert run.code == 0, run.output
    found = records(checkout)
    assert found.keys() == PLATFORMS
    for record in found.values():
        assert record["status"]["state"] == "ok", record["status"]
        assert record["platform"]["nodes"] == len(NODES)
        (other,) = record["other_nodes"]
        assert other["fingerprint"] == record["machine"]["fingerprint"]
        variables, runtime = record["software"]["variables"], record["software"]["runtime"]
        assert len(runtime["device_names"]) == len(NODES)
        assert variables["OMP_NUM_THREADS"] == str(runtime["threads_per_rank"]), "the workers' own"
    assert list(checkout.root.glob("results/two-nodes-*/tables/ratios.csv"))
