"""The bindings that the lock pins are what the made-up NVML takes them for."""

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest

from commwall.host.gpm import QUERY_VERSION, QUESTIONS, Monitor
from commwall.host.gpu_state import MEMORY_CLOCK, SM_CLOCK, TEMPERATURE_SENSOR
from commwall.host.gpu_telemetry import RECEIVED, SENT
from commwall.host.link_counters import (
    ALL_LINKS,
    MEMBERS,
    NARROW,
    RECEIVED_FIELD,
    SENT_FIELD,
    read_links,
)
from commwall.host.nvml_reader import AskedGpu
from tests.unit.fake_nvml import GPM, fake_nvml

pynvml = pytest.importorskip("pynvml")


def test_every_made_up_function_exists() -> None:
    missing = [name for name in vars(fake_nvml()) if not hasattr(pynvml, name)]
    assert missing == []


def test_numbers_are_those_of_the_bindings() -> None:
    names = {
        "sm_active_share": "SM_UTIL",
        "tensor_active_share": "ANY_TENSOR_UTIL",
        "dram_active_share": "DRAM_BW_UTIL",
        "pcie_sent_bytes_per_s": "PCIE_TX_PER_SEC",
        "pcie_received_bytes_per_s": "PCIE_RX_PER_SEC",
        "nvlink_received_bytes_per_s": "NVLINK_TOTAL_RX_PER_SEC",
        "nvlink_sent_bytes_per_s": "NVLINK_TOTAL_TX_PER_SEC",
    }
    own = {metric: getattr(pynvml, f"NVML_GPM_METRIC_{name}") for metric, name in names.items()}
    assert own == {metric: number for metric, (number, _) in QUESTIONS.items()}
    assert pynvml.NVML_GPM_METRICS_GET_VERSION == QUERY_VERSION
    assert (pynvml.NVML_CLOCK_SM, pynvml.NVML_CLOCK_MEM) == (SM_CLOCK, MEMORY_CLOCK)
    assert pynvml.NVML_TEMPERATURE_GPU == TEMPERATURE_SENSOR
    assert (pynvml.NVML_PCIE_UTIL_TX_BYTES, pynvml.NVML_PCIE_UTIL_RX_BYTES) == (SENT, RECEIVED)
    assert pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX == SENT_FIELD
    assert pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX == RECEIVED_FIELD
    assert pynvml.NVML_VALUE_TYPE_UNSIGNED_INT == NARROW
    members = {name for name, _ in pynvml.c_nvmlValue_t._fields_}
    assert set(MEMBERS.values()) <= members
    assert pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG in MEMBERS


def test_monitoring_goes_through_the_real_structures(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = [pynvml.struct_c_nvmlGpmSample_t() for _ in range(2)]
    room = iter(memory)

    def answer(query: Any) -> Any:
        assert query.version == QUERY_VERSION
        places = [ctypes.addressof(sample.contents) for sample in (query.sample1, query.sample2)]
        assert len(set(places)) == len(places)
        for metric in query.metrics[: query.numMetrics]:
            metric.value = GPM[metric.metricId]
            metric.nvmlReturn = 3 if metric.metricId == 10 else 0
        return query

    replies = {
        "nvmlGpmQueryDeviceSupport": lambda handle: SimpleNamespace(isSupportedDevice=1),
        "nvmlGpmSampleAlloc": lambda: pynvml.c_nvmlGpmSample_t(next(room)),
        "nvmlGpmSampleGet": lambda handle, sample: sample,
        "nvmlGpmSampleFree": lambda sample: None,
        "nvmlGpmMetricsGet": answer,
        "nvmlErrorString": lambda code: b"Not Supported",
    }
    for name, reply in replies.items():
        monkeypatch.setattr(pynvml, name, reply)
    gpu = AskedGpu(pynvml, 0, {})
    monitor = Monitor(gpu)
    assert monitor.look() is None, "nothing to compare with"
    for _ in range(2):
        interval = monitor.look()
        assert interval is not None
        assert interval.values["tensor_active_share"] == pytest.approx(0.935)
        assert interval.values["nvlink_sent_bytes_per_s"] == 3 * 2**20
        assert "dram_active_share" not in interval.values
    assert gpu.refusals == {"dram_active_share": "NVML: Not Supported"}


def test_links_go_through_the_real_structures(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the bindings fill them: fields are (number, scope), answers an array of structures."""

    def answer(handle: int, fields: list[tuple[int, int]]) -> Any:
        values = (pynvml.c_nvmlFieldValue_t * len(fields))()
        for value, (number, link) in zip(values, fields, strict=True):
            value.valueType = pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
            assert pynvml.c_nvmlFieldValue_t(scopeId=link).scopeId == ALL_LINKS
            value.value.ullVal = 2**40 * (number - 137)
        return values

    monkeypatch.setattr(pynvml, "nvmlDeviceGetFieldValues", answer)
    reading = read_links(AskedGpu(pynvml, 0, {}))
    assert reading is not None and not reading.narrow
    assert list(reading.counters_kib) == [2**40, 2**41]
