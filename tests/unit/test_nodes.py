"""Platforms on several nodes: what may be asked, who plans, what proves the way between nodes."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import yaml

from commwall.host.machine import Machine, probe_machine
from commwall.host.meter import Metered
from commwall.host.one_node import OneNodeMeter
from commwall.host.slurm import JOB_VARIABLE
from commwall.measure.nodes import other_nodes, planned_machine
from commwall.measure.planning.configuration import load_campaigns
from commwall.measure.planning.fitting import fit
from commwall.measure.planning.freezing import build_plan, plan_text
from commwall.measure.proof.nccl_log import Logged, log_variables, read_log
from commwall.measure.proof.network import network_finding
from commwall.measure.startup import prepare
from commwall.records.comparable import differences
from commwall.report.page import Page
from commwall.report.platforms.same_machine import same_machine_lines
from commwall.schema.errors import ConfigError
from commwall.schema.plan import Plan, PlannedPlatform
from commwall.schema.record import Record
from commwall.schema.result import Check, Gap, Mark
from commwall.schema.treatment import LinkPath
from commwall.workers.start import between_nodes, interface_to, launch_environment
from tests import samples
from tests.golden.gpus import DIRECT, record as gpu_record
from tests.unit.test_path_proof import on_gpus
from tests.unit.test_plan_building import H200X2
from tests.unit.test_supervisor import request_for

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests/data/corpus"
LOGS = {"ib": "nl-2.10-2node-gdrdma.log", "roce": "nl-2.12-roce-no-gdr-env.log"}


def on_nodes(platform: PlannedPlatform, nodes: int = 2) -> PlannedPlatform:
    return platform.model_copy(update={"nodes": nodes})


# What may be asked --------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("config", "envs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def spread(root: Path, **changes: object) -> None:
    """A campaign of this name whose first platform is `wide`, on two nodes unless told else."""
    asked = yaml.safe_load((ROOT / "config/campaigns/gpu.yaml").read_text(encoding="utf-8"))
    platform = next(iter(asked["platforms"].values()))
    wide = {"nodes": 2, "world_size": "all", "cases": ["all-reduce"], "where": None, "path": None}
    platform.update(wide | changes)
    asked |= {"platforms": {"wide": platform, "again": dict(platform)}, "comparisons": []}
    (root / "config/campaigns/nodes.yaml").write_text(yaml.safe_dump(asked), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"world_size": 3}, "platforms.wide.world_size: 3 cannot be spread evenly over 2 nodes"),
        ({"path": "nvlink"}, "platforms.wide.path: nvlink lies within a machine; ib, roce, socket"),
        ({"nodes": 1, "path": "ib"}, "platforms.wide.path: ib joins machines; nodes is 1"),
        ({"cases": ["copy"]}, "platforms.wide.cases: copy is of suite memory"),
        ({"nodes": 0}, "platforms.wide.nodes"),
    ],
)
def test_what_nodes_cannot_have_is_told_with_its_key(
    root: Path, changes: dict[str, object], told: str
) -> None:
    spread(root, **changes)
    with pytest.raises(ConfigError) as error:
        load_campaigns(root, ["nodes"])
    assert told in str(error.value)


def test_an_emulated_link_stays_within_a_machine(root: Path) -> None:
    path = root / "config/campaigns/cpu-demo.yaml"
    text = path.read_text(encoding="utf-8").replace("world_size: 2", "world_size: 2\n    nodes: 2")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load_campaigns(root, ["cpu-demo"])
    assert "cpux2-fastlink.treatment: links are emulated within one machine" in str(error.value)
    assert "cpux2-fastlink.cases: ram-copy is of suite memory" in str(error.value)


def test_a_plan_counts_the_gpus_of_all_nodes_and_names_them(root: Path) -> None:
    spread(root, path="ib")
    (campaign,) = load_campaigns(root, ["nodes"])
    wide = fit(campaign, H200X2).platforms["wide"]
    assert (wide.name, wide.world_size, wide.per_node) == ("h200x2-2nodes-wide", 4, 2)
    text = plan_text(build_plan(campaign, H200X2, "words"))
    assert "4 processes on cuda, 2 on each of 2 nodes" in text
    assert "path ib to be proven" in text


@pytest.mark.parametrize("word", ["gpu; rm", "a b", "'x'", "$(x)", "-p"])
def test_words_for_slurm_hold_nothing_that_a_shell_would_read(root: Path, word: str) -> None:
    (root / "config/config.yaml").write_text(json.dumps({"slurm": {"partition": word}}))
    with pytest.raises(ConfigError) as error:
        prepare(root)
    assert "slurm.partition" in str(error.value)


# Who plans -----------------------------------------------------------------------------


def describe(root: Path, machine: Machine, node: str = "config/node.json") -> None:
    (root / node).write_text(machine.model_dump_json(), encoding="utf-8")
    (root / "config/config.yaml").write_text(json.dumps({"slurm": {"node": node}}))


def test_the_workflow_plans_for_the_described_node(root: Path) -> None:
    here = probe_machine()
    facts = here.facts.model_copy(update={"fingerprint": "f" * 64, "cpu_count": 1000})
    describe(root, Machine(facts=facts))
    (mine,) = prepare(root).mine
    assert mine.id == "cpu-demo-ffffffff"
    assert mine.nodes == {}
    assert "1000 CPUs" in planned_machine(root).words


@pytest.mark.parametrize("text", [None, "", "srun: job 7 queued", '{"facts": {}}'])
def test_a_description_that_is_none_is_told_with_the_command_that_makes_one(
    root: Path, text: str | None
) -> None:
    (root / "config/config.yaml").write_text("slurm: {node: config/node.json}\n")
    if text is not None:
        (root / "config/node.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        prepare(root)
    assert "commwall probe > config/node.json" in str(error.value)


def wide_plan() -> Plan:
    plan = samples.plan()
    spread_out = tuple(on_nodes(platform) for platform in plan.platforms)
    return plan.model_copy(update={"platforms": spread_out})


def test_several_nodes_need_a_job_of_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(JOB_VARIABLE, raising=False)
    assert other_nodes(samples.plan(), "training") == ()
    refused = other_nodes(wide_plan(), "training")
    assert "is measured on 2 nodes, here is 1" in str(refused)
    assert "profiles/slurm" in str(refused)


def test_records_of_other_nodes_are_not_compared() -> None:
    plan = wide_plan()
    a, b = (samples.record(plan, platform.name, 1) for platform in plan.platforms[:2])
    other = a.machine.model_copy(update={"boot_digest": "0" * 12})
    a, b = (
        a.model_copy(update={"other_nodes": (other,)}),
        b.model_copy(update={"other_nodes": (other.model_copy(update={"boot_digest": "1" * 12}),)}),
    )
    assert "other_nodes" in {difference.field for difference in differences(a, b, "round")}
    one = b.model_copy(update={"platform": on_nodes(b.platform, 1), "other_nodes": ()})
    assert "platform.nodes" in {difference.field for difference in differences(a, one, "across")}


def test_the_page_of_platforms_tells_of_all_nodes() -> None:
    plan = wide_plan()
    record = samples.record(plan, plan.platforms[0].name, 1)
    nodes = [record.machine.model_copy(update={"boot_digest": boot}) for boot in ("a", "b", "c")]
    told, strange = (
        record.model_copy(update={"machine": nodes[0], "other_nodes": (other,)})
        for other in nodes[1:]
    )
    assert any("the same 2 machines, each of one boot" in line for line in lines_of(told, told))
    assert any("training round 1 mix boots" in line for line in lines_of(told, strange))


def test_boots_and_gpus_of_suites_are_told_apart() -> None:
    """Two suites, each of one boot and of GPUs of its own, then training of two boots."""
    one, two = (gpu_record(DIRECT, round_) for round_ in (1, 2))
    gpus = tuple(gpu.model_copy(update={"uuid_digest": "f" * 12}) for gpu in one.machine.gpus)
    other = one.machine.model_copy(update={"boot_digest": "b" * 12, "gpus": gpus})
    memory = one.model_copy(
        update={"id": one.id.model_copy(update={"suite": "memory"}), "machine": other}
    )
    first, boots, uuids = lines_of(one, two, memory)
    assert "those of each suite from one" in boots
    assert uuids == "Suites ran on different GPUs, by their uuids: training; memory."
    moved = two.model_copy(update={"machine": other})
    assert "rounds of training contains" in lines_of(one, moved)[1]


def lines_of(*records: Record) -> list[str]:
    evidence = SimpleNamespace(records=records)
    page = SimpleNamespace(analysis=SimpleNamespace(evidence=evidence))
    return list(same_machine_lines(cast(Page, page)))


# How they meet, and what is said of them ----------------------------------------------------


def test_launchers_meet_on_the_first_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = request_for(tmp_path)
    wide = request.model_copy(update={"platform": on_nodes(request.platform)})
    monkeypatch.setenv("SLURM_NODEID", "1")
    monkeypatch.setenv("SLURM_LAUNCH_NODE_IPADDR", "192.0.2.1")
    assert between_nodes(wide, 4000) == [
        *("--nnodes=2", "--node-rank=1", "--master-addr=192.0.2.1", "--master-port=4000")
    ]


def test_the_interface_is_that_of_the_way_to_the_first_node(tmp_path: Path) -> None:
    assert interface_to("127.0.0.1") == "lo"
    variables = launch_environment(request_for(tmp_path), "eth7")
    assert (variables["GLOO_SOCKET_IFNAME"], variables["NCCL_SOCKET_IFNAME"]) == ("eth7", "eth7")
    assert "GLOO_SOCKET_IFNAME" not in launch_environment(request_for(tmp_path), None)


ENDS_AT_ONCE = """
import os, subprocess, sys
words = ["-m", "commwall.host.tied", str(os.getpid()), sys.executable, "-c", sys.argv[1]]
subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE).stdout.readline()
"""
WAITS = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))
print("ready", flush=True)
signal.pause()
"""


def test_a_tied_program_is_told_to_end_with_the_process_that_asked_for_it() -> None:
    command = [sys.executable, "-c", ENDS_AT_ONCE, WAITS]
    # It writes to the same stream of errors, so that this waits for its end as well.
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True, timeout=20)
    assert done.stderr == "told to end\n"


class Found:
    """A meter that has found a doubt."""

    def found(self, start_ns: int, end_ns: int) -> Metered:
        own = samples.series("energy_j", "J", (1.0,), "full")
        return Metered((own,), (Mark(name="throttled", detail="hot"),))

    def disturbances(self, start_ns: int, end_ns: int, leg: object) -> tuple[Mark, ...]:
        return ()

    def states(self, start_ns: int, end_ns: int, leg: object) -> Metered:
        raise AssertionError("a step goes with the slowest GPU of all nodes")

    def traffic(self, start_ns: int, end_ns: int) -> Gap:
        raise AssertionError("the links of one node are not asked")


def test_one_nodes_meter_doubts_but_gives_no_sums() -> None:
    meter = OneNodeMeter(Found(), 2)
    found = meter.found(0, 1)
    assert (found.series, [mark.name for mark in found.marks]) == ((), ["throttled"])
    reasons = {gap.what: gap.reason for gap in found.gaps}
    assert reasons["energy_j"] == "the counters of one node are read, the launch ran on 2"
    assert meter.traffic(0, 1).what == "traffic"
    assert meter.states(0, 1, "nosync") == Metered()


# What proves the way between nodes ----------------------------------------------------------


def logged(name: str, folder: Path) -> Logged:
    shutil.copy(CORPUS / LOGS[name], folder / "nccl.n1.1.log")
    return read_log(folder, {})


def finding(path: LinkPath | None, log: Logged, ranks: int) -> Check | Gap | None:
    return network_finding(on_nodes(on_gpus(path, ranks=ranks)), log)


@pytest.mark.parametrize(
    ("there", "ranks", "words"),
    [
        ("ib", 4, "NET/IB on cards of kind IB, with GPUDirect RDMA on 3 of 3 hops"),
        ("roce", 8, "NET/IB on cards of kind RoCE, with GPUDirect RDMA on 0 of 2 hops"),
    ],
)
def test_the_cards_of_every_hop_tell_ib_from_roce(
    tmp_path: Path, there: str, ranks: int, words: str
) -> None:
    log = logged(there, tmp_path)
    for path in ("ib", "roce", "socket"):
        found = finding(path, log, ranks)
        assert isinstance(found, Check)
        assert found.passed == (path == there)
        assert words in found.found
    assert finding(None, log, ranks) is None


def test_what_the_log_does_not_tell_is_a_gap(tmp_path: Path) -> None:
    log = logged("ib", tmp_path)
    assert log.ways is not None and log.ways.transports is not None
    one_way = log.ways.model_copy(update={"transports": log.ways.transports[:2]})
    silent = log.ways.model_copy(update={"cards": None})
    for told, reason in (
        (Logged(), "NCCL wrote no log"),
        (Logged(ways=one_way), "ib is not proven"),
        (Logged(ways=silent), "the kind of every card"),
    ):
        found = finding("ib", told, 4)
        assert isinstance(found, Gap) and reason in found.reason
    assert isinstance(finding("ib", log, 8), Gap), "not every node is heard"


def test_processes_of_several_nodes_log_into_files_of_their_own(tmp_path: Path) -> None:
    request = request_for(tmp_path).model_copy(
        update={"suite": "training", "platform": on_nodes(on_gpus("ib"))}
    )
    assert log_variables(request, {})["NCCL_DEBUG_FILE"].endswith("nccl.%h.%p.log")
