"""Metrics of what GPUs tell of themselves; part of the registry in `commwall.schema.metrics`.

Layer: schema. Reads and writes no file.
"""

from commwall.schema.metric import Metric

_GPM = "NVML, GPU performance monitoring (nvmlGpmMetricsGet), {}; Hopper and later"
POWER_AVERAGED_S = 1.0
"""A polled power is the mean of the second before, so the first second of a window is not yet the
window's own [s].

Source: NVML API Reference, nvmlDeviceGetPowerUsage, of Ampere (but GA100) and later GPUs."""
_DURING = "one value for each interval between two looks during the timed window of leg `full`"


def _share(metric_id: str, label: str, what: str, source: str) -> Metric:
    return Metric(
        id=metric_id,
        unit="1",
        direction="neither",
        kind="measured",
        label=label,
        definition=f"{what}; {_DURING}, on one GPU.",
        source=_GPM.format(source),
    )


def _rate(link: str, way: str) -> Metric:
    name = {"nvlink": "NVLink", "pcie": "PCIe"}[link]
    return Metric(
        id=f"{link}_{way}_bytes_per_s",
        unit="byte/s",
        direction="neither",
        kind="measured",
        label=f"{name} rate, {way}",
        definition=f"Bytes that one GPU has {way} over all its {name} lanes or links, divided by "
        f"time; {_DURING}. Whether protocol is counted beside payload is the source's to say.",
        source=_GPM.format(f"{name} throughput per second"),
    )


def _state(
    metric_id: str, unit: str, label: str, what: str, source: str, leg: str = "a leg"
) -> Metric:
    return Metric(
        id=metric_id,
        unit=unit,
        direction="neither",
        kind="measured",
        label=label,
        definition=f"{what} of one GPU at each look during the timed window of {leg}.",
        source=f"NVML, {source}",
    )


DEVICE_METRICS = (
    _share(
        "dram_active_share",
        "device memory in use",
        "Share of the device memory's nominal bandwidth that is used",
        "DRAM bandwidth utilisation",
    ),
    _share(
        "sm_active_share",
        "multiprocessors in use",
        "Share of time in which multiprocessors have work, averaged over them",
        "SM utilisation",
    ),
    _share(
        "tensor_active_share",
        "tensor cores in use",
        "Share of time in which tensor cores work, averaged over the multiprocessors",
        "any tensor utilisation",
    ),
    *(_rate(link, way) for link in ("nvlink", "pcie") for way in ("sent", "received")),
    _state("sm_clock_hz", "Hz", "processor clock", "Clock of the multiprocessors",
           "nvmlDeviceGetClockInfo"),
    _state("memory_clock_hz", "Hz", "memory clock", "Clock of the device memory",
           "nvmlDeviceGetClockInfo"),
    _state("temperature_c", "°C", "temperature", "Temperature", "nvmlDeviceGetTemperature"),
    _state("power_time_s", "s", "time of the power reading",
           "Time since the window began at which power_w was polled",
           "nvmlDeviceGetPowerUsage; CLOCK_MONOTONIC", "leg `full`"),
)  # fmt: skip
