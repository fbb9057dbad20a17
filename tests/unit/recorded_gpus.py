"""Two GPUs replayed on a clock of their own: 20 s of replies as two H200 GPUs give them.

They idle at 76 W for 2 s, then work at 650 W; the energy counter moves every 100 ms, and their
NVLinks send 1 MiB/s and receive 2 MiB/s. A test changes the replies it is about.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from commwall.host import gpu_users
from commwall.host.background import Background
from commwall.host.gpu_meter import GpuMeter
from commwall.host.processes import MARK_VARIABLE
from commwall.host.secrecy import short_digest
from tests.unit.fake_nvml import fake_nvml, field

SECOND = 10**9
START_NS, END_NS = 5 * SECOND, 15 * SECOND
"""The timed window."""
DURATION_NS = 20 * SECOND
IDLE_W, WORKING_W, IDLE_S = 76, 650, 2
DIGESTS = tuple(short_digest(f"GPU-{i}{i}aa-secret") for i in range(2))
MARK = "the launch"
OWN = (101, 102)
"""Processes of the ranks."""


class Clock:
    """Stands still but for what waits for it."""

    def __init__(self) -> None:
        self.ns = 0

    def wait(self, period_s: float) -> bool:
        self.ns += round(period_s * 1e9)
        return self.ns > DURATION_NS

    def energy_mj(self, now_ns: int | None = None) -> int:
        """The counter of a GPU, which moves with every tenth of a second."""
        now_s = (self.ns if now_ns is None else now_ns) // (SECOND // 10) / 10
        return round(1000 * (IDLE_W * min(now_s, IDLE_S) + WORKING_W * max(now_s - IDLE_S, 0)))

    def power_mw(self) -> int:
        return 1000 * (WORKING_W if self.ns >= IDLE_S * SECOND else IDLE_W)

    def links(self, fields: list[tuple[int, int]]) -> list[Any]:
        """KiB since the start over all links, which send (138) and receive (139)."""
        return [field(self.ns * 1024 * (number - 137) // SECOND) for number, _ in fields]


def replayed(
    patch: pytest.MonkeyPatch, root: Path, change: Callable[[Clock], dict[str, Any]]
) -> GpuMeter:
    """A meter that has read all replies.

    Args:
        patch: takes the clock, the bindings and /proc.
        root: where a driver seems to be loaded.
        change: replies that differ, by NVML's functions; None removes one from the bindings.
    """
    clock = Clock()
    (root / "proc/driver/nvidia").mkdir(parents=True, exist_ok=True)
    (root / "proc/driver/nvidia/version").touch()
    patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    patch.setattr(time, "monotonic_ns", lambda: clock.ns)
    patch.setattr(time, "monotonic", lambda: clock.ns / 1e9)
    patch.setattr(Background, "stopped_after", lambda self, period_s: clock.wait(period_s))
    known = {pid: {MARK_VARIABLE: MARK} for pid in OWN}
    patch.setattr(gpu_users, "environment_of", lambda pid: known.get(pid, {}))
    patch.setitem(sys.modules, "pynvml", _bindings(clock, change(clock)))  # may patch, too
    meter = GpuMeter(DIGESTS, root, MARK)
    for reader in (meter.power, meter.looks, meter.pcie):
        clock.ns = 0
        reader.read_on()
    return meter


def processes(*pids: int) -> list[SimpleNamespace]:
    return [SimpleNamespace(pid=pid) for pid in pids]


def _bindings(clock: Clock, changes: dict[str, Any]) -> SimpleNamespace:
    replies = {
        "nvmlDeviceGetTotalEnergyConsumption": lambda handle: clock.energy_mj(),
        "nvmlDeviceGetPowerUsage": lambda handle: clock.power_mw(),
        "nvmlDeviceGetFieldValues": lambda handle, fields: clock.links(fields),
        "nvmlDeviceGetComputeRunningProcesses": lambda handle: processes(OWN[handle]),
    }
    nvml = fake_nvml(**{**replies, **{name: own for name, own in changes.items() if own}})
    for name in (name for name, own in changes.items() if own is None):
        delattr(nvml, name)
    return nvml
