"""Mitigations that cannot be run are refused when the campaign is read, with key and reason."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from commwall.analysis.mitigations.turns import tuned_platforms
from commwall.host.gpu_power import LEAST_MOVES
from commwall.judge.facts import read_variables
from commwall.measure.duration import expected_launch_s
from commwall.measure.planning.configuration import load_campaigns
from commwall.measure.planning.freezing import build_plan, plan_text
from commwall.measure.tuning.candidates import Place, choose
from commwall.schema.case import Windows
from commwall.schema.errors import ConfigError
from commwall.schema.mitigation import Mitigation, PriceCase, StepCase
from commwall.schema.plan import PlannedPlatform
from commwall.schema.record import GpuFacts, MachineFacts
from tests.samples import platform

ROOT = Path(__file__).parents[2]
MOVE_S = 0.1
"""Between two moves of the energy counter."""
CPU = "config/campaigns/cpu-mitigations.yaml"
GPU = "config/campaigns/mitigations.yaml"
CPUS = platform("slow", 2e7)
GPUS = CPUS.model_copy(update={"device": "cuda"})
MACHINE = MachineFacts(
    fingerprint="abcdef0123", cpu_model="Made-up 3000", cpu_count=2, numa_nodes=2
)
WORKLOAD: dict[str, Any] = {
    "model": "bert",
    "preset": "demo",
    "batch_per_gpu": 4,
    "sequence_length": 64,
    "dataset_samples": 8000,
    "windows": Windows(full_s=1, other_s=1, min_steps=3, warmup_max_s=1),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    return tmp_path


def refused(root: Path, name: str, old: str, new: str) -> str:
    path = root / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        (campaign,) = load_campaigns(root, [path.stem])
        build_plan(campaign, MACHINE, "words")
    return str(error.value)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "names no option"),
        ({"exchange": "powersgd"}, "mitigation.rank"),
        ({"exchange": "int8", "rank": 2}, "mitigation.rank"),
        ({"outer": "nesterov"}, "needs local_steps above 1"),
        ({"local_steps": 4, "exchange": "int8"}, "exchange no gradients"),
        ({"local_steps": 4, "accumulate": 2}, "goes without accumulate"),
        ({"static_graph": True, "accumulate": 2}, "order of gradients"),
    ],
)
def test_options_that_exclude_each_other(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        Mitigation(**options)


@pytest.mark.parametrize("mode", ["captured", "compiled_captured"])
def test_an_exchange_that_cannot_be_recorded(mode: str) -> None:
    powersgd = {"exchange": "powersgd", "rank": 2}
    with pytest.raises(ValidationError, match="cannot be recorded in a CUDA graph"):
        StepCase(step_mode=mode, mitigation=powersgd, **WORKLOAD)
    compiled = Mitigation(step_mode="compile", **powersgd)
    assert StepCase(step_mode=mode, mitigation=compiled, **WORKLOAD).mitigated_mode == "compile"


def test_a_mode_that_the_workload_has_anyway_is_no_mitigation() -> None:
    with pytest.raises(ValidationError, match="the workload itself has eager"):
        StepCase(mitigation=Mitigation(step_mode="eager"), **WORKLOAD)


def test_what_changes_no_arithmetic_has_no_price() -> None:
    with pytest.raises(ValidationError, match="changes no arithmetic"):
        PriceCase(mitigation=Mitigation(static_graph=True))
    with pytest.raises(ValidationError, match="no multiple of 7"):
        PriceCase(mitigation=Mitigation(accumulate=7), batches=240)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("{exchange: int8}}\n  bert-onebit", "{exchange: powersgd, rank: 2}}\n  bert-onebit",
         "cases.bert-int8.mitigation.exchange: powersgd needs device cuda"),
        ("{overlap_optimizer: true}", "{step_mode: captured}",
         "cases.bert-overlap.mitigation.step_mode: captured needs device cuda"),
        ("{numa: near}", "{numa: 2}", "cases.bert-near-node.mitigation.numa: node 2"),
        ("{accumulate: 4}}\n  bert-local", "{accumulate: 0}}\n  bert-local",
         "cases.bert-accumulate-4"),
    ],
)  # fmt: skip
def test_a_campaign_is_refused_with_its_key(root: Path, old: str, new: str, key: str) -> None:
    assert key in refused(root, CPU, old, new)


def test_capture_with_a_hook_that_cannot_be_captured(root: Path) -> None:
    told = refused(root, GPU, ", rank: 4, step_mode: compile}", ", rank: 4}")
    assert "cases.bert-powersgd: mitigation.exchange: powersgd cannot be recorded" in told
    assert "cases.transformer-xl-powersgd" in told  # all at once
    assert told.count("give the mitigation step_mode compile or eager") == 2


def test_no_case_leaves_its_energy_to_a_missed_move_of_the_counter() -> None:
    (campaign,) = load_campaigns(ROOT, ["mitigations"])
    blocks_s = {
        name: case.windows.full_s / 2
        for name, case in campaign.cases.items()
        if isinstance(case, StepCase)
    }
    told = {name for name, block_s in blocks_s.items() if block_s >= 2.5 * LEAST_MOVES * MOVE_S}
    assert {"bert-bfloat16", "transformer-xl-accumulate-4"} <= told
    assert all(1.05 * blocks_s[name] < LEAST_MOVES * MOVE_S for name in blocks_s.keys() - told)


@pytest.mark.parametrize(("name", "where"), [("mitigations", GPUS), ("cpu-mitigations", CPUS)])
def test_all_that_is_searched_is_priced(name: str, where: PlannedPlatform) -> None:
    (campaign,) = load_campaigns(ROOT, [name])
    priced = [c.mitigation.numerical for c in campaign.cases.values() if isinstance(c, PriceCase)]
    workload = campaign.cases["bert-bfloat16"]
    assert isinstance(workload, StepCase)
    tried = choose(workload, Place(where), "any", {}, read_variables(ROOT)).candidates
    asked = [c.mitigation.numerical for c in tried if c.mitigation and c.mitigation.numerical]
    assert [own for own in asked if own not in priced] == []


def test_settings_of_nccl_are_held_against_the_host_staged_platform() -> None:
    gpu = GpuFacts(name="NVIDIA H200", uuid_digest="0" * 12, memory_bytes=2**37)
    links = (("X", "NV18"), ("NV18", "X"))
    machine = MACHINE.model_copy(update={"gpus": (gpu, gpu), "link_matrix": links})
    (campaign,) = load_campaigns(ROOT, ["mitigations"])
    found = tuned_platforms(build_plan(campaign, machine, "words"))
    assert {base for base, _ in found.values()} == {"h200x2-hoststaged"}
    assert [settings for _, settings in found.values()] == [
        (("NCCL_MIN_CTAS", "16"),), (("NCCL_BUFFSIZE", "16777216"),), (("NCCL_SHM_LOCALITY", "2"),)
    ]  # fmt: skip


def test_the_plan_tells_what_is_tried_and_how_long_it_takes() -> None:
    (campaign,) = load_campaigns(ROOT, ["cpu-mitigations"])
    text = plan_text(build_plan(campaign, MACHINE, "words"))
    assert "with and without 4 local steps, 0.600 s each" in text
    assert "price of 8-bit exchange, 3 seeds a round, 240 batches each" in text
    price = PriceCase(mitigation=Mitigation(exchange="int8"), seeds=2, batches=100)
    one, two = (expected_launch_s([price] * number, "cpu") for number in (1, 2))
    assert two - one == pytest.approx(100 * 0.004 * 5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"exchange": "powersgd", "rank": 4}, "PowerSGD exchange, rank 4"),
        ({"exchange": "bfloat16", "bucket_bytes": 2**20}, "bfloat16 exchange, buckets of 1 MiB"),
        ({"local_steps": 8, "outer": "nesterov"}, "8 local steps, outer Nesterov"),
        ({"numa": 0}, "bound to node 0"),
    ],
)
def test_words(options: dict[str, Any], words: str) -> None:
    assert Mitigation(**options).words == words


def test_batches_between_two_exchanges_all_count() -> None:
    assert Mitigation(accumulate=3, batch_times=2).batches == 6
    assert Mitigation(local_steps=5).batches == 5
