"""A campaign between two nodes of a real Slurm, and what befalls them meanwhile."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.slurm.cluster import NODES, Cluster
from tests.workflow.checkout import Checkout, Run, wait_until

SOON = ("--slurm-init-seconds-before-status-checks", "5", "--slurm-status-command", "squeue")
MEASURE = "exec .envs/bench/bin/python -m commwall measure {campaign} collectives"
"""What the rule calls; here in a job of the user's own."""
PLATFORMS = {"network", "network-again"}
LAST = NODES[-1]
TOLD = re.compile("DUE TO NODE FAILURE|accident: node lost")
"""By Slurm, which ends the job, or by srun before that, which ends the launch: an accident."""


def records(checkout: Checkout) -> dict[tuple[str, str], dict[str, Any]]:
    """(suite, platform) -> its record."""
    found = checkout.root.glob("results/*/records/*/*/*/r01.json")
    return {(p.parts[-3], p.parts[-4]): json.loads(p.read_text(encoding="utf-8")) for p in found}


def launches(checkout: Checkout) -> list[Path]:
    """Logs of the launches that have begun."""
    return list(checkout.root.glob("logs/measure_suite/*/collectives/r01-*.log"))


def name_of(checkout: Checkout) -> str:
    """Identifier of the campaign."""
    (plan,) = checkout.root.glob("results/two-nodes-*/plan.json")
    return plan.parent.name


def lose_a_node_while_it_measures(cluster: Cluster, checkout: Checkout) -> None:
    command = MEASURE.format(campaign=name_of(checkout))
    output = checkout.root / "job.out"
    whole = ("--nodes=2", "--exclusive", "--no-requeue")
    place = (f"--chdir={checkout.root}", f"--output={output}")
    locks = f"--export=ALL,COMMWALL_LOCKS={checkout.environment()['COMMWALL_LOCKS']}"
    cluster.ask("sbatch", *whole, *place, locks, f"--wrap={command}")
    wait_until(lambda: len(launches(checkout)) == len(PLATFORMS) and cluster.works_on(LAST), 90)
    cluster.lose_node(LAST)
    wait_until(lambda: not cluster.runs_a_job(), 60)
    said = output.read_text(encoding="utf-8")
    assert TOLD.search(said), said
    wait_until(lambda: not checkout.alive())
    cluster.start_node(LAST)
    cluster.wait_idle()


@dataclass(frozen=True)
class Campaign:
    """What there was after a node was lost, and how the next run ended."""

    checkout: Checkout
    kept: set[tuple[str, str]]
    """Records that were there after the loss, as (suite, platform)."""
    run: Run
    """To the page that has every verdict."""


@pytest.fixture(scope="module")
def campaign(cluster: Cluster, checkout: Checkout) -> Campaign:
    """The campaign after a lost node and a run to its summary, one page for the time of all."""
    lose_a_node_while_it_measures(cluster, checkout)
    kept = {*records(checkout)}
    summary = f"results/{name_of(checkout)}/notebooks/summary.html"
    run = checkout.snakemake("--profile", "profiles/slurm", *SOON, "--", summary)
    return Campaign(checkout, kept, run)


def test_a_lost_node_costs_its_launch_and_the_next_run_goes_on(campaign: Campaign) -> None:
    assert len(campaign.kept) == 1, "what was measured before"
    assert campaign.run.code == 0, campaign.run.output


def test_both_suites_are_measured_between_nodes_of_one_kind(campaign: Campaign) -> None:
    found = records(campaign.checkout)
    assert found.keys() == {(s, p) for s in ("collectives", "training") for p in PLATFORMS}
    for record in found.values():
        assert record["status"]["state"] == "ok", record["status"]
        assert record["platform"]["nodes"] == len(NODES)
        (other,) = record["other_nodes"]
        assert other["fingerprint"] == record["machine"]["fingerprint"]
        variables, runtime = record["software"]["variables"], record["software"]["runtime"]
        assert len(runtime["device_names"]) == len(NODES)
        assert variables["OMP_NUM_THREADS"] == str(runtime["threads_per_rank"]), "the workers' own"


def test_the_report_tells_of_the_network_between_nodes(campaign: Campaign) -> None:
    published = campaign.checkout.commwall("site")
    assert published.returncode == 0, published.stderr
    folder = campaign.checkout.root / "results/site" / name_of(campaign.checkout)
    for page in ("index.html", "summary.html"):
        text = (folder / page).read_text(encoding="utf-8")
        assert "network between nodes" in text and "bert" in text
