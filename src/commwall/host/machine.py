"""The machine as probed: CPUs, memory, boot, GPUs, and what could not be read.

Layer: host. Reads /proc, /sys and /sys/fs/cgroup; writes nothing. Nothing probed names the
host, its user or a serial: what must be told apart is kept as a digest.
"""

import math
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from commwall.host.gpus import GpuProbe, probe_gpus
from commwall.host.secrecy import short_digest
from commwall.schema.base import Model, digest
from commwall.schema.record import GpuFacts, MachineFacts
from commwall.schema.result import Gap
from commwall.schema.units import GIB


class Machine(Model):
    """What is known of a machine and what is not."""

    facts: MachineFacts
    gaps: tuple[Gap, ...] = ()

    @property
    def words(self) -> str:
        """The machine in one line, without anything that names it."""
        facts = self.facts
        memory = f", {facts.memory_bytes / GIB:.0f} GiB" if facts.memory_bytes else ""
        return f"{facts.cpu_count} CPUs ({facts.cpu_model}{memory}), {gpu_words(facts.gpus)}"


def probe_machine(root: Path = Path("/")) -> Machine:
    """Ask this machine what it is.

    Args:
        root: where /proc and /sys hang; another folder in tests.
    """
    cpu_model, cpu_gap = _cpu_model(root / "proc/cpuinfo")
    memory_bytes, memory_gap = _memory_bytes(root / "proc/meminfo")
    boot_digest, boot_gap = _boot_digest(root / "proc/sys/kernel/random/boot_id")
    numa_nodes, numa_gap = _numa_nodes(root / "sys/devices/system/node")
    cpu_count, probe = usable_cpus(root), probe_gpus(root)
    facts = MachineFacts(
        fingerprint=fingerprint(cpu_model, cpu_count, probe.gpus),
        cpu_model=cpu_model,
        cpu_count=cpu_count,
        numa_nodes=numa_nodes,
        memory_bytes=memory_bytes,
        boot_digest=boot_digest,
        gpus=probe.gpus,
        driver=probe.driver,
        link_matrix=probe.link_matrix,
        peer_access=probe.peer_access,
    )
    found = (cpu_gap, memory_gap, boot_gap, numa_gap, *_gpu_gaps(probe))
    return Machine(facts=facts, gaps=tuple(gap for gap in found if gap))


def fingerprint(cpu_model: str, cpu_count: int, gpus: Sequence[GpuFacts]) -> str:
    """Identity of the *kind* of machine: 64 hexadecimal digits.

    The same for two machines of one model and power setting; it holds no name and no serial.

    Args:
        cpu_model: as the kernel names it.
        cpu_count: CPUs this process may use.
        gpus: GPUs in the driver's order.
    """
    kinds = [[gpu.name, gpu.memory_bytes, gpu.power_limit_w] for gpu in gpus]
    return digest({"cpu_model": cpu_model, "cpu_count": cpu_count, "gpus": kinds})


def usable_cpus(root: Path = Path("/")) -> int:
    """CPUs this process may use: its affinity, or less where a control group limits its time.

    Source: Linux kernel, Documentation/admin-guide/cgroup-v2.rst, `cpu.max`.
    """
    allowed = len(os.sched_getaffinity(0))
    limit = root / "sys/fs/cgroup/cpu.max"
    if not limit.is_file():
        return allowed
    quota, period = limit.read_text(encoding="ascii").split()
    return allowed if quota == "max" else min(allowed, max(1, math.ceil(int(quota) / int(period))))


def gpu_words(gpus: Sequence[GpuFacts]) -> str:
    """`no GPU`, or the number of GPUs of each name."""
    names = sorted({gpu.name for gpu in gpus})
    counts = [f"{sum(gpu.name == name for gpu in gpus)} × {name}" for name in names]
    return ", ".join(counts) or "no GPU"


def _cpu_model(path: Path) -> tuple[str, Gap | None]:
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip(), None
    reason = "the kernel gives no 'model name' in /proc/cpuinfo; the architecture stands instead"
    return platform.machine() or "unknown", Gap(what="machine.cpu_model", reason=reason)


def _memory_bytes(path: Path) -> tuple[int | None, Gap | None]:
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("MemTotal:"):
                return int(line.split()[1]) * 1024, None
    return None, Gap(what="machine.memory_bytes", reason="no MemTotal in /proc/meminfo")


def _boot_digest(path: Path) -> tuple[str | None, Gap | None]:
    if path.is_file():
        return short_digest(path.read_text(encoding="ascii").strip()), None
    return None, Gap(what="machine.boot_digest", reason="the kernel shows no boot id")


def _numa_nodes(folder: Path) -> tuple[int | None, Gap | None]:
    nodes = len(list(folder.glob("node[0-9]*")))
    if nodes:
        return nodes, None
    return None, Gap(what="machine.numa_nodes", reason="the kernel shows no NUMA nodes")


def _gpu_gaps(probe: GpuProbe) -> tuple[Gap, ...]:
    if probe.reason is None:
        return probe.gaps
    return (Gap(what="machine.gpus", reason=probe.reason), *probe.gaps)
