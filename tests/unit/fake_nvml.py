"""A made-up NVML: GPUs with whatever a test wants of them."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any


class NvmlError(Exception):
    """What NVML refuses."""


def refuse(*_: object) -> Any:
    raise NvmlError("Not Supported")


def deny(*_: object) -> Any:
    raise NvmlError("Insufficient Permissions")


GPM = {2: 99.0, 5: 93.5, 10: 88.8, 20: 1.0, 21: 2.0, 60: 4.0, 61: 3.0}
"""What performance monitoring answers: per cent, or MiB/s, under the numbers of nvml.h."""


class GpmQuery:
    """Room for answers of performance monitoring."""

    def __init__(self) -> None:
        self.version = self.numMetrics = 0  # noqa: N815 - NVML's own name
        self.sample1 = self.sample2 = SimpleNamespace(taken=-2)
        self.metrics = [SimpleNamespace(metricId=0, nvmlReturn=0, value=0.0) for _ in range(9)]


def gpm_answers(values: Mapping[int, float]) -> Callable[[GpmQuery], GpmQuery]:
    """Monitoring that answers these numbers; the rest it does not support (error 3)."""

    def answer(query: GpmQuery) -> GpmQuery:
        assert query.sample1.taken == query.sample2.taken - 1, "the one before, then the new one"
        for metric in query.metrics[: query.numMetrics]:
            metric.nvmlReturn = 0 if metric.metricId in values else 3
            metric.value = values.get(metric.metricId, 0.0)
        return query

    return answer


def field(value: int, kind: int = 3, error: int = 0) -> SimpleNamespace:
    """A counter: `kind` 1 has 32 bits, 3 has 64."""
    return SimpleNamespace(
        nvmlReturn=error, valueType=kind, value=SimpleNamespace(uiVal=value, ullVal=value)
    )


def sampling(*refused: int) -> Callable[[int, Any], Any]:
    """Samples are numbered as they are taken, but for those that are refused."""
    numbers = {}

    def take(handle: int, sample: SimpleNamespace) -> SimpleNamespace:
        numbers[handle] = numbers.get(handle, 0) + 1
        if numbers[handle] in refused:
            return deny()
        sample.taken = numbers[handle]
        return sample

    return take


def fake_nvml(count: int = 2, **changes: Callable[..., Any]) -> SimpleNamespace:
    """`count` GPUs of one kind, joined by NVLink; a handle is the GPU's number."""
    answers: dict[str, Any] = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: b"580.1",
        "nvmlDeviceGetCount": lambda: count,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetName": lambda handle: "NVIDIA H200",
        "nvmlDeviceGetUUID": lambda handle: f"GPU-{handle}{handle}aa-secret",
        "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(total=1000),
        "nvmlDeviceGetEnforcedPowerLimit": lambda handle: 700_000,
        "nvmlDeviceGetMaxClockInfo": lambda handle, kind: 1980,
        "nvmlDeviceGetMaxPcieLinkGeneration": lambda handle: 5,
        "nvmlDeviceGetMaxPcieLinkWidth": lambda handle: 16,
        "nvmlDeviceGetMigMode": lambda handle: (0, 0),
        "nvmlDeviceGetP2PStatus": lambda one, other, capability: 0,
        "nvmlDeviceGetTopologyCommonAncestor": lambda one, other: 40,
        "nvmlDeviceGetPciInfo": lambda handle: SimpleNamespace(busId=f"bus-{handle}"),
        "nvmlDeviceGetNvLinkState": lambda handle, link: 1 if link < 18 else refuse(),
        "nvmlDeviceGetNvLinkRemotePciInfo": lambda h, link: SimpleNamespace(busId="a-switch"),
        "nvmlDeviceGetComputeRunningProcesses": lambda handle: [],
        "nvmlDeviceGetTotalEnergyConsumption": lambda handle: 0,
        "nvmlDeviceGetPowerUsage": lambda handle: 76_000,
        "nvmlDeviceGetCurrentClocksEventReasons": lambda handle: 0,
        "nvmlDeviceGetFieldValues": lambda handle, fields: [field(0) for _ in fields],
        "nvmlDeviceGetClockInfo": lambda handle, kind: {1: 1980, 2: 3201}[kind],
        "nvmlDeviceGetTemperature": lambda handle, sensor: 34,
        "nvmlDeviceGetCurrPcieLinkGeneration": lambda handle: 5,
        "nvmlDeviceGetCurrPcieLinkWidth": lambda handle: 16,
        "nvmlDeviceGetPcieThroughput": lambda handle, way: 0,
        "nvmlErrorString": lambda code: "Not Supported",
        "nvmlGpmQueryDeviceSupport": lambda handle: SimpleNamespace(isSupportedDevice=1),
        "nvmlGpmSampleAlloc": lambda: SimpleNamespace(taken=-2),
        "nvmlGpmSampleGet": sampling(),
        "nvmlGpmSampleFree": lambda sample: None,
        "nvmlGpmMetricsGet": gpm_answers(GPM),
    }
    assert not changes.keys() - answers.keys()
    constants = {
        "NVMLError": NvmlError,
        "NVML_CLOCK_SM": 1,
        "NVML_P2P_STATUS_OK": 0,
        "c_nvmlGpmMetricsGet_t": GpmQuery,
    }
    return SimpleNamespace(**constants, **{**answers, **changes})
