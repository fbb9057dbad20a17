"""A cluster of two nodes, and a checkout that its nodes measure."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.cluster import Cluster, running, why_not
from tests.workflow.checkout import DRIVER, SOURCE, Checkout

CAMPAIGN = Path(__file__).with_name("two-nodes.yaml")
NODE = "config/node.json"
PLUGIN = re.compile(r"snakemake-executor-plugin-slurm.*|throttler.*")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes; this process and what it starts find it, and may use one processor only.

    So it is a login node, which is another kind of machine than the nodes are.
    """
    reason = why_not()
    if reason:
        pytest.skip(f"no Slurm here: {reason}")
    usable = os.sched_getaffinity(0)
    if len(usable) < 2:
        pytest.skip("no Slurm here: with one processor the login node is like the others")
    with (
        running(tmp_path_factory.mktemp("slurm")) as cluster,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in cluster.environment.items():
            patch.setenv(name, value)
        os.sched_setaffinity(0, {min(usable)})
        try:
            yield cluster
        finally:
            os.sched_setaffinity(0, usable)


@pytest.fixture(scope="module")
def checkout(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A clone with the real workers, in which the campaign is planned for the nodes."""
    checkout = Checkout.fresh(tmp_path_factory.mktemp("behind") / "checkout", CAMPAIGN, None)
    _add_plugin(checkout.root / ".envs/driver")
    told = cluster.ask("srun", "--nodes=1", str(checkout.root / DRIVER), "-m", "commwall", "probe")
    (checkout.root / NODE).write_text(told, encoding="utf-8")
    slurm = {"node": NODE, "partition": "tests", "gres": "gpu:1", "runtime_min": 5}
    timeouts = {"startup_s": 90, "case_s": 60, "collective_s": 30}
    checkout.configure(campaigns=["two-nodes"], languages=["en"], slurm=slurm, timeouts=timeouts)
    planned = checkout.snakemake("-n", "--", "measure")
    assert planned.code == 0, planned.output
    provisioned = checkout.commwall("provision", "bench")
    assert provisioned.returncode == 0, provisioned.stderr
    return checkout


def _add_plugin(environment: Path) -> None:
    """Snakemake's plug-in as envs/slurm.lock pins it; every start of Snakemake would import it, so
    it is no part of the environment of all tests."""
    lines = (SOURCE / "envs/slurm.lock").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if PLUGIN.fullmatch(line)]
    site = next(environment.glob("lib/python3*/site-packages"))
    words = ["install", "--quiet", "--no-deps", "--target", str(site), *pins]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
