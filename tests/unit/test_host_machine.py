"""The machine as probed from made-up /proc and /sys trees."""

import sys
from pathlib import Path

import pytest

from commwall.host.gpus import probe_gpus
from commwall.host.machine import fingerprint, probe_machine, usable_cpus
from commwall.schema.record import GpuFacts
from tests.unit.fake_nvml import fake_nvml, refuse

GPU = GpuFacts(name="H200", uuid_digest="0" * 12, memory_bytes=141 * 10**9, power_limit_w=700.0)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path / "proc/cpuinfo", "processor : 0\nmodel name\t: Made-up 3000\n")
    write(tmp_path / "proc/meminfo", "MemTotal:       2097152 kB\nMemFree: 1 kB\n")
    write(tmp_path / "proc/sys/kernel/random/boot_id", "1b4e28ba-2fa1-11d2-883f-0016d3cca427\n")
    (tmp_path / "sys/devices/system/node/node0").mkdir(parents=True)
    (tmp_path / "sys/devices/system/node/node1").mkdir()
    return tmp_path


def test_a_machine_is_read_from_proc_and_sys(tree: Path) -> None:
    machine = probe_machine(tree)
    assert machine.facts.cpu_model == "Made-up 3000"
    assert machine.facts.memory_bytes == 2 * 2**30
    assert machine.facts.numa_nodes == 2
    assert [gap.what for gap in machine.gaps] == ["machine.gpus"]
    assert "Made-up 3000, 2 GiB), no GPU" in machine.words


def test_the_boot_id_is_kept_as_a_digest_only(tree: Path) -> None:
    text = probe_machine(tree).facts.model_dump_json()
    assert "1b4e28ba" not in text
    assert len(probe_machine(tree).facts.boot_digest or "") == 12


def test_what_cannot_be_read_is_a_gap_with_a_reason(tmp_path: Path) -> None:
    machine = probe_machine(tmp_path)
    assert {gap.what for gap in machine.gaps} == {
        "machine.cpu_model",
        "machine.memory_bytes",
        "machine.boot_digest",
        "machine.numa_nodes",
        "machine.gpus",
    }
    assert all(gap.reason for gap in machine.gaps)
    assert machine.facts.memory_bytes is None


def test_the_fingerprint_is_of_the_kind_and_not_of_the_piece() -> None:
    other_piece = GPU.model_copy(update={"uuid_digest": "1" * 12})
    other_limit = GPU.model_copy(update={"power_limit_w": 500.0})
    assert fingerprint("cpu", 8, [GPU]) == fingerprint("cpu", 8, [other_piece])
    assert fingerprint("cpu", 8, [GPU]) != fingerprint("cpu", 8, [other_limit])
    assert fingerprint("cpu", 8, [GPU]) != fingerprint("cpu", 8, [GPU, GPU])
    assert fingerprint("cpu", 8, []) != fingerprint("cpu", 4, [])


@pytest.mark.parametrize(("limit", "cpus"), [("50000 100000", 1), ("max 100000", None)])
def test_a_control_group_that_limits_cpu_time_counts(
    tmp_path: Path, limit: str, cpus: int | None
) -> None:
    write(tmp_path / "sys/fs/cgroup/cpu.max", limit)
    unlimited = usable_cpus(tmp_path / "nothing")
    assert usable_cpus(tmp_path) == (cpus or unlimited)


def test_a_driver_without_bindings_is_told_apart_from_no_gpu(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tree / "proc/driver/nvidia/version", "NVRM version")
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert "lacks pynvml" in (probe_gpus(tree).reason or "")
    assert probe_gpus(tree / "elsewhere").reason == "no NVIDIA driver is loaded"


def test_a_gpu_is_told_in_si_units_and_what_nvml_refuses_is_a_gap(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tree / "proc/driver/nvidia/version", "NVRM version")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    nvml = fake_nvml(1, nvmlDeviceGetMaxPcieLinkGeneration=refuse)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    probe = probe_gpus(tree)
    assert probe.driver == "580.1"
    assert probe.gpus[0].power_limit_w == pytest.approx(700)
    assert probe.gpus[0].max_sm_clock_hz == pytest.approx(1.98e9)
    assert probe.gpus[0].pcie_generation is None
    assert [gap.what for gap in probe.gaps] == ["machine.gpus.0.pcie_generation"]
    assert "secret" not in probe.gpus[0].model_dump_json()
