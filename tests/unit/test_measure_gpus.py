"""GPU campaigns without a GPU: what a machine allows, and what is refused by name."""

from dataclasses import replace
from pathlib import Path

import pytest

from commwall.host.energy import EnergySampler
from commwall.host.machine import Machine, fingerprint
from commwall.measure import session
from commwall.measure.admission import gpu_refusal, variable_refusal
from commwall.measure.duration import expected_plan_s
from commwall.measure.planning.configuration import Campaign, load_campaigns
from commwall.measure.planning.fitting import machine_kind
from commwall.measure.planning.freezing import build_plan, plan_text
from commwall.measure.rounds import measure_suite
from commwall.measure.supervisor import worker_environment
from commwall.records.layout import Layout
from commwall.records.store import read_record
from commwall.schema.case import Leg
from commwall.schema.device_metrics import DEVICE_METRICS
from commwall.schema.plan import Plan
from commwall.schema.record import GpuFacts, MachineFacts
from commwall.schema.result import Mark
from commwall.schema.treatment import Label, NcclVariables
from tests.unit.test_measure_rounds import causes, checkout, planned
from tests.unit.test_supervisor import request_for

ROOT = Path(__file__).parents[2]
NVLINK = (("X", "NV18"), ("NV18", "X"))
PCIE = (("X", "NODE"), ("NODE", "X"))


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return load_campaigns(ROOT, ["gpu"])[0]


def gpus(count: int, name: str = "NVIDIA H200") -> tuple[GpuFacts, ...]:
    return tuple(
        GpuFacts(name=name, uuid_digest=f"{i}" * 12, memory_bytes=141 * 10**9) for i in range(count)
    )


def machine(count: int, **facts: object) -> MachineFacts:
    own = gpus(count)
    return MachineFacts(
        fingerprint=fingerprint("cpu", 32, own), cpu_model="cpu", cpu_count=32, gpus=own, **facts
    )  # type: ignore[arg-type]


def names(plan: Plan) -> list[str]:
    return [platform.name for platform in plan.platforms]


def pairs(plan: Plan) -> list[tuple[str, str, bool]]:
    return [(pair.a, pair.b, pair.control) for pair in plan.comparisons]


def test_nvlink_stands_against_host_staged(campaign: Campaign) -> None:
    plan = build_plan(campaign, machine(2, link_matrix=NVLINK), "words")
    assert names(plan) == ["h200x2-nvlink", "h200x2-nvlink-again", "h200x2-hoststaged"]
    assert pairs(plan) == [
        ("h200x2-nvlink", "h200x2-hoststaged", False),
        ("h200x2-nvlink", "h200x2-nvlink-again", True),
    ]
    assert {platform.world_size for platform in plan.platforms} == {2}
    staged = plan.platform("h200x2-hoststaged").treatment
    assert "bound" in staged.label.stands_for
    assert "pcie" not in staged.label.title.lower()
    text = plan_text(plan)
    assert "platform p2p: NVLink joins every two GPUs: X NV18; NV18 X" in text


def test_each_way_between_gpus_is_to_be_proven(campaign: Campaign) -> None:
    two = machine(2, link_matrix=NVLINK)
    claimed = {p.name: p.path for p in build_plan(campaign, two, "words").platforms}
    assert claimed == {
        "h200x2-nvlink": "nvlink",
        "h200x2-nvlink-again": "nvlink",
        "h200x2-hoststaged": "host_staged",
    }
    plan = build_plan(load_campaigns(ROOT, ["paths"])[0], two, "words")
    assert [(p.name, p.path) for p in plan.platforms] == [
        ("h200x2-nvlink", "nvlink"),
        ("h200x2-hoststaged", "host_staged"),
        ("h200x2-hoststaged-copyengine", "host_staged"),
        ("h200x2-socket", "socket"),
    ]
    assert expected_plan_s(plan) < 2 * 60
    assert "NCCL_SHM_DISABLE=1; path socket to be proven" in plan_text(plan)


def test_without_nvlink_the_direct_path_stands_against_host_staged(campaign: Campaign) -> None:
    plan = build_plan(campaign, machine(2, link_matrix=PCIE, peer_access=True), "words")
    assert names(plan) == ["h200x2-p2p", "h200x2-p2p-again", "h200x2-hoststaged"]
    assert "no NVLink between every two GPUs: X NODE; NODE X" in plan_text(plan)


def test_nvlink_between_some_gpus_only_is_not_called_nvlink(campaign: Campaign) -> None:
    some = (("X", "NV4", "PHB"), ("NV4", "X", "PHB"), ("PHB", "PHB", "X"))
    assert names(build_plan(campaign, machine(3, link_matrix=some), "words"))[0] == "h200x3-p2p"
    unknown = build_plan(campaign, machine(2), "words")
    assert names(unknown)[0] == "h200x2-p2p"
    assert "NVML does not tell the links" in plan_text(unknown)


def test_where_peers_have_no_access_nothing_is_called_peer(campaign: Campaign) -> None:
    plan = build_plan(campaign, machine(2, link_matrix=PCIE, peer_access=False), "words")
    assert (names(plan), pairs(plan)) == (["h200x2-hoststaged"], [])
    assert "allows no access between GPUs" in plan_text(plan)


def test_one_gpu_gets_its_leg_and_the_rest_is_named(campaign: Campaign) -> None:
    plan = build_plan(campaign, machine(1), "words")
    assert (names(plan), pairs(plan)) == (["h200x1-alone"], [])
    assert {case.legs for case in plan.suite("training").cases.values()} == {("single",)}
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
    text = plan_text(plan)
    assert "platform hoststaged: it needs two GPUs, here is 1" in text
    assert "legs comm, full, nosync, packed: one process exchanges nothing" in text


def test_the_default_plan_takes_at_most_25_minutes(campaign: Campaign) -> None:
    plan = build_plan(campaign, machine(2, link_matrix=NVLINK), "words")
    assert expected_plan_s(plan) < 25 * 60


def test_every_model_has_a_control_and_bfloat16(campaign: Campaign) -> None:
    suite = build_plan(campaign, machine(2, link_matrix=NVLINK), "words").suite("training")
    twice = {suite.cases[name].model for name in suite.platforms["h200x2-nvlink-again"]}
    assert twice == {"bert", "resnet", "swin", "transformer_xl"}
    assert {case.precision for case in suite.cases.values()} == {"bfloat16"}


def test_steps_are_compiled_and_recorded(campaign: Campaign) -> None:
    training = [case for case in campaign.cases.values() if case.suite == "training"]
    assert {case.step_mode for case in training} == {"compiled_captured"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("NVIDIA H200", "h200x2"),
        ("NVIDIA H100 80GB HBM3", "h100x2"),
        ("NVIDIA A100-SXM4-80GB", "a100x2"),
        ("NVIDIA GeForce RTX 4090", "rtx4090x2"),
        ("NVIDIA RTX A6000", "rtxa6000x2"),
        ("Tesla T4", "t4x2"),
        ("NVIDIA", "gpux2"),
    ],
)
def test_platforms_are_called_after_the_gpus(name: str, kind: str) -> None:
    assert machine_kind(gpus(2, name)) == kind
    assert machine_kind((*gpus(1, name), *gpus(1, "another 1"))) == "gpux2"


def refused(campaign: Campaign, own: Machine, memory: Path, **environment: str) -> str | None:
    facts = own.facts.model_copy(update={"link_matrix": NVLINK})
    return gpu_refusal(build_plan(campaign, facts, "words").platforms, own, environment, memory)


@pytest.mark.parametrize(
    ("nccl", "words"),
    [
        ("2.28.9", None),
        (
            "2.30.7",
            "NCCL_SHM_USE_CUDA_MEMCPY=1: NCCL reads it up to release 2.29 only (NCCL 2.30.7)",
        ),
        (None, None),
    ],
)
def test_a_variable_that_this_nccl_ignores_is_refused(nccl: str | None, words: str | None) -> None:
    (paths,) = load_campaigns(ROOT, ["paths"])
    plan = build_plan(paths, machine(2, link_matrix=NVLINK), "words")
    packages = {"torch": "2.13.0"} | ({"nvidia-nccl-cu13": nccl} if nccl else {})
    refusal = variable_refusal(ROOT, plan.platforms, packages)
    assert (refusal is None) == (words is None)
    assert (words or "") in (refusal or "")


def test_instances_and_little_shared_memory_are_refused_by_name(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Machine(facts=machine(2))
    assert refused(campaign, whole, tmp_path) is None
    divided = tuple(gpu.model_copy(update={"partitioned": i == 1}) for i, gpu in enumerate(gpus(2)))
    mig = Machine(facts=whole.facts.model_copy(update={"gpus": divided}))
    assert "GPU 1 is divided into instances (MIG)" in (refused(campaign, mig, tmp_path) or "")
    assert "there is no /dev/shm" in (refused(campaign, whole, tmp_path / "nothing") or "")
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("U", (), {"free": 64 * 2**20}))
    told = refused(campaign, whole, tmp_path) or ""
    assert "/dev/shm is too small, 64 MiB free; give it 256 MiB" in told


def with_variable(campaign: Campaign, value: str) -> Campaign:
    label = Label(title="t", stands_for="s", does_not_cover="d")
    treatment = NcclVariables(label=label, variables={"NCCL_NVLS_ENABLE": value})
    changed = campaign.config.platforms["hoststaged"].model_copy(update={"treatment": treatment})
    platforms = {**campaign.config.platforms, "hoststaged": changed}
    return replace(campaign, config=campaign.config.model_copy(update={"platforms": platforms}))


def test_no_treatment_overrules_the_hosts_own_protection(
    campaign: Campaign, tmp_path: Path
) -> None:
    whole = Machine(facts=machine(2))
    asked = with_variable(campaign, "1")
    assert refused(asked, whole, tmp_path) is None
    told = refused(asked, whole, tmp_path, NCCL_NVLS_ENABLE="0") or ""
    assert "h200x2-hoststaged asks for NCCL_NVLS_ENABLE=1, but the host sets" in told
    assert refused(with_variable(campaign, "0"), whole, tmp_path, NCCL_NVLS_ENABLE="0") is None


def test_the_hosts_protection_reaches_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    protection = {
        "NCCL_NVLS_ENABLE": "0",
        "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
        "NVSHMEM_DISABLE_NVLS": "1",
    }
    for name, value in {**protection, "NCCL_ALGO": "Tree"}.items():
        monkeypatch.setenv(name, value)
    found = worker_environment(request_for(Path("unused"), "ok-1"), "mark")
    assert protection.items() <= found.items()
    assert "NCCL_ALGO" not in found


@pytest.mark.parametrize("set_by_user", [{}, {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}])
def test_workers_number_gpus_as_nvml_does_whatever_the_user_has_set(
    monkeypatch: pytest.MonkeyPatch, set_by_user: dict[str, str]
) -> None:
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    for name, value in set_by_user.items():
        monkeypatch.setenv(name, value)
    found = worker_environment(request_for(Path("unused"), "ok-1"), "mark")
    assert found["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_a_gpu_in_use_is_an_accident_before_the_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = checkout(tmp_path, planned("ok-1"))
    monkeypatch.setattr(session.Session, "_gpus", lambda self, visit: ("digest",))
    monkeypatch.setattr(session, "strangers_on", lambda gpus: f"GPU {gpus[0]} is in use")
    monkeypatch.setattr(session, "FORGETTING_S", 0.1)
    attempt = measure_suite(order)
    assert causes(attempt) == [("fast", "contended", ("ok-1",)), ("slow", "contended", ("ok-1",))]
    assert attempt.accidents[0].detail == "GPU digest is in use"
    assert not order.logs.exists(), "nothing was launched"


def test_a_stranger_that_comes_during_a_launch_marks_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is listed once, as workers are that have just ended, is none."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    order = checkout(tmp_path, planned("ok-1"))
    stay = "GPU 0 is in use by process 7"
    answers = iter([stay, None, *[stay] * 100])
    monkeypatch.setattr(session.Session, "_gpus", lambda self, visit: ("digest",))
    monkeypatch.setattr(session, "strangers_on", lambda gpus: next(answers))
    monkeypatch.setattr(session, "FORGETTING_S", 0.1)
    assert causes(measure_suite(order)) == [("slow", "contended", ("ok-1",))]
    record = read_record(Layout(tmp_path).record_path("demo", "fast", "training", "ok-1", 1))
    assert [(mark.name, mark.detail) for mark in record.marks] == [("contended", stay)]
    assert {gap.what for gap in record.gaps} >= {"energy_j"}


def test_disturbances_of_legs_and_of_cases_without_legs_reach_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    spans: list[tuple[int, int]] = []

    def disturbed(self: EnergySampler, start: int, end: int, leg: Leg | None) -> tuple[Mark, ...]:
        spans.append((start, end))
        return (Mark(name="throttled", leg=leg, detail="hot"),)

    monkeypatch.setattr(EnergySampler, "disturbances", disturbed)
    measure_suite(checkout(tmp_path, planned("ok-1", "whole-1")))
    assert all(start < end for start, end in spans)
    layout, places = Layout(tmp_path), {"ok-1": "nosync", "whole-1": None}
    for case, leg in places.items():
        record = read_record(layout.record_path("demo", "fast", "training", case, 1))
        assert [mark.leg for mark in record.marks] == [leg]
        absent = {gap.what for gap in record.gaps}
        assert absent >= {"energy_j", *(metric.id for metric in DEVICE_METRICS)}
