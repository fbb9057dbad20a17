"""Mitigations that cannot be run are refused when the campaign is read, with key and reason."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from commwall.analysis.mitigations.turns import tuned_platforms
from commwall.host.gpu_power import LEAST_MOVES
from commwall.judge.facts import read_variables
from commwall.measure.duration import expected_cases_s, expected_suite_s
from commwall.measure.kernels import compiled_part
from commwall.measure.planning.configuration import load_campaigns
from commwall.measure.planning.freezing import build_plan, plan_text
from commwall.measure.tuning.candidates import Place, choose
from commwall.schema.base import canonical_json
from commwall.schema.case import Windows
from commwall.schema.errors import ConfigError
from commwall.schema.mitigation import Mitigation, PriceCase, StepCase
from commwall.schema.plan import Plan, PlannedPlatform
from commwall.schema.record import GpuFacts, MachineFacts
from tests.samples import platform

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/guide/mitigations.md"
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


def on_two_gpus() -> Plan:
    gpu = GpuFacts(name="NVIDIA H200", uuid_digest="0" * 12, memory_bytes=2**37)
    links = (("X", "NV18"), ("NV18", "X"))
    machine = MACHINE.model_copy(update={"gpus": (gpu, gpu), "link_matrix": links})
    (campaign,) = load_campaigns(ROOT, ["mitigations"])
    return build_plan(campaign, machine, "words")


def test_settings_of_nccl_are_held_against_the_host_staged_platform() -> None:
    found = tuned_platforms(on_two_gpus())
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
    first_s, next_s = expected_cases_s([price] * 2, "cpu")
    assert first_s == pytest.approx(100 * 0.004 * 5)  # twice two seeds, gradients once
    assert next_s == pytest.approx(100 * 0.004 * 3)  # without it they were trained already


def test_parts_of_the_campaign_take_as_long_as_the_guide_says() -> None:
    text, plan = GUIDE.read_text(encoding="utf-8"), on_two_gpus()
    parts = re.findall(r"(\d+)\s+minutes[^`]*```\n((?:\$measure [^\n]+\n)+)", text)
    assert [int(minutes) for minutes, _ in parts] == [24, 24, 13]
    for minutes, commands in parts:
        told = [line.split(" --cases ") for line in commands.splitlines()]
        cases = {suite.removeprefix("$measure "): expanded(names) for suite, names in told}
        expected_s = sum(part_s(plan, suite, own) for suite, own in cases.items())
        assert expected_s == pytest.approx(60 * int(minutes), abs=30)
        if "training" in cases:
            tried = [name for name in cases["mitigations"] if not name.startswith("price-")]
            assert len(tried) == 9 and "bfloat16" in tried[1]


def expanded(names: str) -> tuple[str, ...]:
    """What a shell makes of them."""
    echo = subprocess.run(["bash", "-c", f"echo {names}"], capture_output=True, check=True)
    return tuple(echo.stdout.decode().split())


def part_s(plan: Plan, suite: str, names: tuple[str, ...]) -> float:
    """Expected time of all rounds of some cases, each of which the plan must have [s]."""
    (planned,) = [each for each in plan.suites if each.suite == suite]
    assert set(names) <= planned.cases.keys()
    kept = {
        platform: tuple(name for name in own if name in names)
        for platform, own in planned.platforms.items()
    }
    own = {platform: cases for platform, cases in kept.items() if cases}
    return expected_suite_s(plan, planned.model_copy(update={"platforms": own}))


def test_what_changes_neither_batch_nor_mode_needs_no_kernels_of_its_own() -> None:
    (campaign,) = load_campaigns(ROOT, ["mitigations"])
    cases = {n: c for n, c in campaign.cases.items() if n.startswith("bert-")}
    parts = {name: canonical_json(compiled_part(case)) for name, case in cases.items()}
    own = {name for name in parts if list(parts.values()).count(parts[name]) == 1}
    assert own == {"bert-batch-2"} and len(set(parts.values())) == 3
    assert parts["bert-powersgd"] == parts["bert-compile"] != parts["bert-int8"]


def test_the_plain_step_is_expected_to_be_built_once_where_cases_follow_that_share_it() -> None:
    first = StepCase(mitigation=Mitigation(static_graph=True), **WORKLOAD)
    other = first.model_copy(update={"mitigation": Mitigation(exchange="int8")})
    larger = first.model_copy(update={"batch_per_gpu": 8})
    price = PriceCase(mitigation=Mitigation(exchange="int8"))
    for device, saved_s in (("cpu", 1 - 0.5), ("cuda", 7 - 1)):
        one, kept = expected_cases_s([first, other], device)
        assert one - kept == pytest.approx(saved_s)
        assert expected_cases_s([first, larger, first], device) == pytest.approx([one] * 3)
        assert expected_cases_s([first, price, other], device)[2] == pytest.approx(one)


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
