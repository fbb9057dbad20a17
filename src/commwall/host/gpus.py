"""The NVIDIA GPUs of this machine, asked through NVML.

Layer: host; the only module that loads pynvml, and only where an NVIDIA driver is loaded.
Reads /proc/driver/nvidia; writes nothing. A GPU that CUDA_VISIBLE_DEVICES hides is none of
this machine's: the workers would not see it either.
"""

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from commwall.host.gpu_links import link_matrix, peer_access
from commwall.host.secrecy import short_digest
from commwall.schema.record import GpuFacts
from commwall.schema.result import Gap

T = TypeVar("T")
MHZ = 1e6
MILLIWATT = 1e-3
HIDING_VARIABLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True)
class GpuProbe:
    """GPUs found, or why none could be asked."""

    gpus: tuple[GpuFacts, ...] = ()
    driver: str | None = None
    link_matrix: tuple[tuple[str, ...], ...] | None = None
    peer_access: bool | None = None
    gaps: tuple[Gap, ...] = ()
    reason: str | None = None
    """Why there are no GPUs in the list; None if there are some."""
    next_step: str | None = None


class NvmlMissing(Exception):
    """NVML cannot be asked.

    Args:
        reason: why.
        next_step: what to do about it.
    """

    def __init__(self, reason: str, next_step: str) -> None:
        super().__init__(reason)
        self.reason, self.next_step = reason, next_step


@contextmanager
def opened_nvml(root: Path = Path("/")) -> Iterator[Any]:
    """NVML's Python bindings, started.

    Args:
        root: where /proc hangs; another folder in tests.

    Raises:
        NvmlMissing: if there is no driver, no bindings, or NVML does not start.
    """
    if not (root / "proc/driver/nvidia/version").exists():
        raise NvmlMissing("no NVIDIA driver is loaded", "load the driver")
    try:
        nvml = importlib.import_module("pynvml")
    except ModuleNotFoundError as error:
        raise NvmlMissing(
            "an NVIDIA driver is loaded, but this environment lacks pynvml to ask it",
            "install nvidia-ml-py into the environment, or use its lock",
        ) from error
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise NvmlMissing(f"NVML does not start: {error}", "run nvidia-smi") from error
    try:
        yield nvml
    finally:
        nvml.nvmlShutdown()


def probe_gpus(root: Path = Path("/")) -> GpuProbe:
    """Ask the NVIDIA driver for its GPUs; without a driver nothing is asked.

    Args:
        root: where /proc hangs; another folder in tests.
    """
    try:
        with opened_nvml(root) as nvml:
            return _ask(nvml)
    except NvmlMissing as missing:
        return GpuProbe(reason=missing.reason, next_step=missing.next_step)


def visible_handles(nvml: Any, hiding: str | None) -> list[Any]:
    """Handles of the GPUs that CUDA shows, in its order.

    Args:
        nvml: the bindings, started.
        hiding: CUDA_VISIBLE_DEVICES, None if it is not set.

    Source: NVIDIA CUDA Programming Guide, "CUDA Environment Variables": a list of numbers or
    uuids (or beginnings of them), which ends at the first that does not exist.
    """
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
    if hiding is None:
        return handles
    uuids = [text_of(nvml.nvmlDeviceGetUUID(handle)) for handle in handles]
    shown: list[Any] = []
    for word in (part.strip() for part in hiding.split(",")):
        numbers = (
            [int(word)]
            if word.isdecimal()
            else [i for i, uuid in enumerate(uuids) if word and uuid.startswith(word)]
        )
        if len(numbers) != 1 or numbers[0] >= len(handles):
            break
        shown.append(handles[numbers[0]])
    return shown


def text_of(value: str | bytes) -> str:
    """NVML's older bindings answer in bytes."""
    return value.decode() if isinstance(value, bytes) else value


def _ask(nvml: Any) -> GpuProbe:
    count, hiding = nvml.nvmlDeviceGetCount(), os.environ.get(HIDING_VARIABLE)
    handles = visible_handles(nvml, hiding)
    asked = [_gpu(nvml, index, handle) for index, handle in enumerate(handles)]
    matrix, matrix_gap = link_matrix(nvml, handles)
    gaps = [gap for _, own in asked for gap in own]
    gaps += [matrix_gap] if matrix_gap else []
    hidden = f"{HIDING_VARIABLE} hides {count - len(handles)} of {count} GPUs"
    if 0 < len(handles) < count:
        gaps.append(Gap(what="machine.gpus", reason=hidden))
    return GpuProbe(
        gpus=tuple(facts for facts, _ in asked),
        driver=text_of(nvml.nvmlSystemGetDriverVersion()),
        link_matrix=matrix,
        peer_access=peer_access(nvml, handles),
        gaps=tuple(gaps),
        reason=None if handles else hidden if count else "the NVIDIA driver shows no GPU",
        next_step=f"unset {HIDING_VARIABLE}, or name GPUs in it" if count and not handles else None,
    )


def _gpu(nvml: Any, index: int, handle: Any) -> tuple[GpuFacts, list[Gap]]:
    """Facts of one GPU; what the driver does not tell is a gap."""
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
        name=text_of(nvml.nvmlDeviceGetName(handle)),
        uuid_digest=short_digest(text_of(nvml.nvmlDeviceGetUUID(handle))),
        memory_bytes=nvml.nvmlDeviceGetMemoryInfo(handle).total,
        power_limit_w=None if limit is None else limit * MILLIWATT,
        max_sm_clock_hz=None if clock is None else clock * MHZ,
        pcie_generation=optional(
            "pcie_generation", lambda: nvml.nvmlDeviceGetMaxPcieLinkGeneration(handle)
        ),
        pcie_width=optional("pcie_width", lambda: nvml.nvmlDeviceGetMaxPcieLinkWidth(handle)),
        partitioned=_partitioned(nvml, handle),
    )
    return facts, gaps


def _partitioned(nvml: Any, handle: Any) -> bool | None:
    """Whether MIG is on; None for a GPU that does not know it."""
    try:
        current, _ = nvml.nvmlDeviceGetMigMode(handle)
    except nvml.NVMLError:
        return None
    return bool(current)
