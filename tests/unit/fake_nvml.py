"""A made-up NVML: GPUs with whatever a test wants of them."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class NvmlError(Exception):
    """What NVML refuses."""


def refuse(*_: object) -> Any:
    raise NvmlError("Not Supported")


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
    }
    assert not changes.keys() - answers.keys()
    constants = {"NVMLError": NvmlError, "NVML_CLOCK_SM": 1, "NVML_P2P_STATUS_OK": 0}
    return SimpleNamespace(**constants, **{**answers, **changes})
