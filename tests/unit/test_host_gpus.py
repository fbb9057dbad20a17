"""GPUs from a made-up NVML: links, hiding, instances, strangers, energy."""

import itertools
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from commwall.host.gpm import UNSUPPORTED
from commwall.host.gpu_abilities import why_no_link_counters, why_no_monitoring
from commwall.host.gpu_links import link_matrix, peer_access
from commwall.host.gpu_meter import GpuMeter
from commwall.host.gpu_power import (
    PowerReader,
    Reading,
    counter_energy,
    found_of,
    why_no_counter,
)
from commwall.host.gpu_users import strangers_on
from commwall.host.gpus import probe_gpus, visible_handles
from commwall.host.link_counters import LinkTraffic
from commwall.host.secrecy import short_digest
from commwall.schema.device_metrics import DEVICE_METRICS
from commwall.schema.result import Gap
from tests.unit.fake_nvml import GPM, deny, fake_nvml, gpm_answers, refuse

SECOND = 10**9
DIGESTS = tuple(short_digest(f"GPU-{i}{i}aa-secret") for i in range(2))


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").touch()
    return tmp_path


def install(monkeypatch: pytest.MonkeyPatch, nvml: SimpleNamespace) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)


def test_links_through_a_switch_are_counted(driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, fake_nvml())
    probe = probe_gpus(driver)
    assert probe.link_matrix == (("X", "NV18"), ("NV18", "X"))
    assert (probe.peer_access, probe.gaps, probe.reason) == (True, (), None)
    assert [gpu.partitioned for gpu in probe.gpus] == [False, False]


def test_direct_links_count_only_towards_the_other_gpu() -> None:
    ends = {(0, 0): 1, (0, 1): 1, (0, 2): 2, (1, 0): 0, (1, 1): 0, (2, 0): 0}
    nvml = fake_nvml(
        3,
        nvmlDeviceGetNvLinkState=lambda handle, link: (handle, link) in ends,
        nvmlDeviceGetNvLinkRemotePciInfo=lambda handle, link: SimpleNamespace(
            busId=f"bus-{ends[handle, link]}"
        ),
        nvmlDeviceGetP2PStatus=lambda one, other, what: int({one, other} == {1, 2}),
    )
    matrix, gap = link_matrix(nvml, [0, 1, 2])
    assert matrix == (("X", "NV2", "NV1"), ("NV2", "X", "NODE"), ("NV1", "NODE", "X"))
    assert gap is None
    assert peer_access(nvml, [0, 1, 2]) is False


def test_links_whose_far_end_is_not_told_count() -> None:
    nvml = fake_nvml(nvmlDeviceGetNvLinkRemotePciInfo=refuse)
    assert link_matrix(nvml, [0, 1])[0] == (("X", "NV18"), ("NV18", "X"))


def test_links_that_nvml_does_not_tell_are_a_gap() -> None:
    nvml = fake_nvml(nvmlDeviceGetP2PStatus=refuse)
    matrix, gap = link_matrix(nvml, [0, 1])
    assert matrix is None and gap is not None and gap.what == "machine.link_matrix"
    assert peer_access(nvml, [0, 1]) is None


@pytest.mark.parametrize(
    ("hiding", "shown"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("1", [1]),
        ("2, 0", [2, 0]),
        ("0,7,1", [0]),
        ("-1", []),
        ("GPU-11aa", [1]),
        ("GPU-", []),
        ("MIG-11aa", []),
    ],
)
def test_hidden_gpus_are_read_as_cuda_does(hiding: str | None, shown: list[int]) -> None:
    assert visible_handles(fake_nvml(3), hiding) == shown


def test_a_hidden_gpu_is_none_of_the_machines_and_told(
    driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, fake_nvml())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    probe = probe_gpus(driver)
    assert [gpu.uuid_digest for gpu in probe.gpus] == [DIGESTS[1]]
    assert [gap.reason for gap in probe.gaps] == ["CUDA_VISIBLE_DEVICES hides 1 of 2 GPUs"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert probe_gpus(driver).reason == "CUDA_VISIBLE_DEVICES hides 2 of 2 GPUs"


@pytest.mark.parametrize(("answer", "partitioned"), [((1, 1), True), ((0, 1), False)])
def test_instances_are_told(
    driver: Path, monkeypatch: pytest.MonkeyPatch, answer: tuple[int, int], partitioned: bool
) -> None:
    install(monkeypatch, fake_nvml(nvmlDeviceGetMigMode=lambda handle: answer))
    assert {gpu.partitioned for gpu in probe_gpus(driver).gpus} == {partitioned}
    install(monkeypatch, fake_nvml(nvmlDeviceGetMigMode=refuse))
    assert {gpu.partitioned for gpu in probe_gpus(driver).gpus} == {None}


def test_a_link_is_kept_as_gpu_and_slot_allow_it_not_as_an_idle_gpu_runs_it(
    driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = {
        "nvmlDeviceGetCurrPcieLinkGeneration": lambda handle: 1,
        "nvmlDeviceGetCurrPcieLinkWidth": lambda handle: 8,
    }
    install(monkeypatch, fake_nvml(**idle))
    links = {(gpu.pcie_generation, gpu.pcie_width) for gpu in probe_gpus(driver).gpus}
    assert links == {(5, 16)}


def test_strangers_are_told_by_gpu_and_process(
    driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    users: dict[int, list[Any]] = {0: [], 1: [SimpleNamespace(pid=4711)]}
    install(monkeypatch, fake_nvml(nvmlDeviceGetComputeRunningProcesses=users.__getitem__))
    assert strangers_on(DIGESTS, driver) == "GPU 1 is in use by process 4711"
    assert strangers_on(DIGESTS[:1], driver) is None
    install(monkeypatch, fake_nvml(nvmlDeviceGetComputeRunningProcesses=refuse))
    assert strangers_on(DIGESTS, driver) is None


def steady(power_w: float, polled_w: float | None = None, throttling: int = 0) -> list[Reading]:
    """20 s of a GPU whose counter moves every 100 ms, read every 20 ms."""
    return [
        Reading(
            number * SECOND // 50,
            power_w * (number // 5) / 10,
            (polled_w or power_w) if number % 5 == 0 else None,
            throttling if number > 500 else 0,
            polled=number % 5 == 0,
        )
        for number in range(1000)
    ]


def test_energy_is_that_of_the_window_whatever_its_ends() -> None:
    # the first move is seen at 2.1 s or before, so 500 W give 500 J a second
    for start_ns in (2 * SECOND, 2 * SECOND + 30_000_000, 2 * SECOND + 99_000_000):
        found = counter_energy(steady(500.0), start_ns, start_ns + 10 * SECOND)
        assert found == pytest.approx(5000.0)


def test_a_window_with_few_moves_of_the_counter_is_a_gap() -> None:
    found = counter_energy(steady(500.0), 0, SECOND // 2)
    assert "moved 5 times" in str(found)


@pytest.mark.parametrize(("polled_w", "doubtful"), [(500.0, False), (524.0, False), (530.0, True)])
def test_counter_and_poll_must_agree(polled_w: float, doubtful: bool) -> None:
    found, absent = found_of(1, steady(500.0, polled_w), {}, SECOND, 11 * SECOND)
    metrics = ["energy_j", "power_w", "power_time_s"]
    assert [(s.metric, s.rank) for s in found.series] == [(metric, 1) for metric in metrics]
    assert len(found.series[1].values) == 101
    assert found.series[2].values[::50] == (0.0, 5.0, 10.0), "since the window began"
    assert absent == {}
    assert [mark.name for mark in found.marks] == ["energy_doubtful"] * doubtful


@pytest.mark.parametrize(("window_s", "doubtful"), [(1.25, False), (1.65, True)])
def test_a_few_polled_readings_contradict_no_counter(window_s: float, doubtful: bool) -> None:
    """The driver's power is an average over a second: it tells from the second second on."""
    end_ns = SECOND + round(window_s * SECOND)
    found, _ = found_of(0, steady(500.0, 530.0), {}, SECOND, end_ns)
    assert [mark.name for mark in found.marks] == ["energy_doubtful"] * doubtful


def test_lowered_clocks_mark_the_window_that_saw_them() -> None:
    assert found_of(0, steady(500.0, throttling=0x40), {}, SECOND, 9 * SECOND)[0].marks == ()
    capped = found_of(0, steady(500.0, throttling=0x04), {}, SECOND, 19 * SECOND)[0].marks
    assert [mark.name for mark in capped] == ["power_capped"], "a limit is one of the settings"
    (mark,) = found_of(0, steady(500.0, throttling=0x40), {}, SECOND, 19 * SECOND)[0].marks
    assert mark.name == "throttled"
    assert "rank 0: hardware thermal slowdown in 50% of the readings" in mark.detail


def test_the_meter_reads_while_it_is_entered(driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = itertools.count()
    nvml = fake_nvml(nvmlDeviceGetTotalEnergyConsumption=lambda handle: 1000 * (next(count) // 2))
    install(monkeypatch, nvml)
    with PowerReader(DIGESTS, driver, period_s=0.002) as meter:
        start_ns = time.monotonic_ns()
        time.sleep(0.2)
        end_ns = time.monotonic_ns()
    found = meter.found(start_ns, end_ns)
    metrics = [(series.metric, series.rank) for series in found.series]
    assert metrics.count(("energy_j", 0)) == metrics.count(("energy_j", 1)) == 1
    assert ("idle_power_w", 1) in metrics
    assert found.gaps == ()


def test_all_readers_of_a_meter_run_while_it_is_entered(
    driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads of its own for what is slow; they end with it."""
    install(monkeypatch, fake_nvml())
    before = threading.active_count()
    with GpuMeter(DIGESTS, driver) as meter:
        time.sleep(0.5)
        start_ns = time.monotonic_ns()
        time.sleep(0.05)
        end_ns = time.monotonic_ns()
        time.sleep(0.5)
        assert threading.active_count() == before + 2, "PCIe need not be polled"
    assert threading.active_count() == before
    traffic = meter.traffic(start_ns, end_ns)
    assert isinstance(traffic, LinkTraffic)
    assert (traffic.nvlink_sent_bytes, traffic.gaps) == ((0, 0), ())
    assert min(traffic.pcie_sent_bytes_per_s or ()) > 2**20, "what came within 0.2 s or more"
    found = meter.found(start_ns - SECOND // 2, end_ns + SECOND // 2)
    assert {(s.metric, s.rank) for s in found.series} >= {("dram_active_share", 1)}


def test_the_doctor_knows_whether_there_is_a_counter(
    driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, fake_nvml())
    assert why_no_counter(driver) is None
    install(monkeypatch, fake_nvml(nvmlDeviceGetTotalEnergyConsumption=refuse))
    assert "Not Supported" in (why_no_counter(driver) or "")
    assert "no NVIDIA driver" in (why_no_counter(driver / "nothing") or "")


def reasons(meter: GpuMeter) -> dict[str, str]:
    return {gap.what: gap.reason for gap in meter.found(0, SECOND).gaps}


def test_without_nvml_everything_is_absent_with_its_reason(
    driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, fake_nvml())
    everything = {"energy_j", "power_w", "idle_power_w", "throttled", "power_capped", "contended"}
    everything |= {"link_degraded"}
    everything |= {metric.id for metric in DEVICE_METRICS}
    for digests, root, reason in (
        (("gone",), driver, "every GPU"),
        (DIGESTS, driver / "nothing", "no NVIDIA driver"),
    ):
        with GpuMeter(digests, root) as meter:
            pass
        told = reasons(meter)
        assert told.keys() == everything
        assert all(reason in text for text in told.values())
        traffic = meter.traffic(0, SECOND)
        assert isinstance(traffic, Gap) and reason in traffic.reason


def test_the_doctor_knows_what_is_counted_on_links(
    driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, fake_nvml())
    assert why_no_link_counters(driver) is None
    install(monkeypatch, fake_nvml(nvmlDeviceGetNvLinkState=lambda handle, link: handle == 0))
    assert why_no_link_counters(driver) == "GPU 1: no NVLink of the GPU is up"
    assert "no NVIDIA driver" in (why_no_link_counters(driver / "nothing") or "")
    install(monkeypatch, fake_nvml(0))
    assert why_no_link_counters(driver) == "no GPU is shown"


def test_the_doctor_knows_what_monitoring_answers(
    driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed: list[Any] = []
    install(monkeypatch, fake_nvml(nvmlGpmSampleFree=freed.append))
    assert why_no_monitoring(driver) is None
    assert len(freed) == 4, "two samples of two GPUs"
    some = {number: value for number, value in GPM.items() if number not in (20, 21)}
    install(monkeypatch, fake_nvml(nvmlGpmMetricsGet=gpm_answers(some)))
    told = "GPU 0: no PCIe rate, sent, PCIe rate, received: NVML: Not Supported"
    assert why_no_monitoring(driver) == told
    support = SimpleNamespace(isSupportedDevice=0)
    install(monkeypatch, fake_nvml(nvmlGpmQueryDeviceSupport=lambda handle: support))
    assert why_no_monitoring(driver) == f"GPU 0: {UNSUPPORTED}"
    install(monkeypatch, fake_nvml(nvmlGpmSampleGet=deny))
    assert why_no_monitoring(driver) == "GPU 0: NVML: Insufficient Permissions"
