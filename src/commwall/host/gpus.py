"""The NVIDIA GPUs of this machine, asked through NVML.

Layer: host; the only module that uses pynvml, and only where an NVIDIA driver is loaded.
Reads /proc/driver/nvidia; writes nothing.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from commwall.host.secrecy import short_digest
from commwall.schema.record import GpuFacts
from commwall.schema.result import Gap

T = TypeVar("T")
MHZ = 1e6
MILLIWATT = 1e-3


@dataclass(frozen=True)
class GpuProbe:
    """GPUs found, or why none could be asked."""

    gpus: tuple[GpuFacts, ...] = ()
    driver: str | None = None
    gaps: tuple[Gap, ...] = ()
    reason: str | None = None
    """Why there are no GPUs in the list; None if there are some."""
    next_step: str | None = None


def probe_gpus(root: Path = Path("/")) -> GpuProbe:
    """Ask the NVIDIA driver for its GPUs; without a driver nothing is asked.

    Args:
        root: where /proc hangs; another folder in tests.
    """
    if not (root / "proc/driver/nvidia/version").exists():
        return GpuProbe(reason="no NVIDIA driver is loaded", next_step="load the driver")
    try:
        nvml = importlib.import_module("pynvml")
    except ModuleNotFoundError:
        return GpuProbe(
            reason="an NVIDIA driver is loaded, but this environment lacks pynvml to ask it",
            next_step="install nvidia-ml-py into the environment, or use its lock",
        )
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return GpuProbe(reason=f"NVML does not start: {error}", next_step="run nvidia-smi")
    try:
        return _ask(nvml)
    finally:
        nvml.nvmlShutdown()


def _ask(nvml: Any) -> GpuProbe:
    count = nvml.nvmlDeviceGetCount()
    asked = [_gpu(nvml, index) for index in range(count)]
    return GpuProbe(
        gpus=tuple(facts for facts, _ in asked),
        driver=_text(nvml.nvmlSystemGetDriverVersion()),
        gaps=tuple(gap for _, gaps in asked for gap in gaps),
        reason=None if count else "the NVIDIA driver shows no GPU",
    )


def _gpu(nvml: Any, index: int) -> tuple[GpuFacts, list[Gap]]:
    """Facts of one GPU; what the driver does not tell is a gap."""
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    gaps: list[Gap] = []

    def optional(field: str, ask: Callable[[], T]) -> T | None:
        try:
            return ask()
        except nvml.NVMLError as error:
            gaps.append(Gap(what=f"machine.gpus.{index}.{field}", reason=f"NVML: {error}"))
            return None

    limit = optional("power_limit_w", lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle))
    clock = optional(
        "max_sm_clock_hz", lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)
    )
    facts = GpuFacts(
        name=_text(nvml.nvmlDeviceGetName(handle)),
        uuid_digest=short_digest(_text(nvml.nvmlDeviceGetUUID(handle))),
        memory_bytes=nvml.nvmlDeviceGetMemoryInfo(handle).total,
        power_limit_w=None if limit is None else limit * MILLIWATT,
        max_sm_clock_hz=None if clock is None else clock * MHZ,
        pcie_generation=optional(
            "pcie_generation", lambda: nvml.nvmlDeviceGetMaxPcieLinkGeneration(handle)
        ),
        pcie_width=optional("pcie_width", lambda: nvml.nvmlDeviceGetMaxPcieLinkWidth(handle)),
    )
    return facts, gaps


def _text(value: str | bytes) -> str:
    """NVML's older bindings answer in bytes."""
    return value.decode() if isinstance(value, bytes) else value
