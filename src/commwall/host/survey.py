"""What can be measured here: each ability with what was found, or why it is missing.

Layer: host. Reads /proc, /sys and environment manifests; writes nothing.
"""

import os
import shutil
from pathlib import Path
from typing import Literal

from commwall.host.energy import POWERCAP, Domain, find_domains
from commwall.host.environments import ENVIRONMENTS, read_manifest
from commwall.host.gpu_abilities import why_no_link_counters, why_no_monitoring
from commwall.host.gpu_power import why_no_counter
from commwall.host.gpus import GpuProbe, probe_gpus
from commwall.host.locks import FOLDER_VARIABLE, lock_folder
from commwall.host.machine import gpu_words, usable_cpus
from commwall.schema.base import Model
from commwall.schema.errors import CommwallError
from commwall.schema.units import size_text

DEMO_RANKS = 2
DISK_NEEDED_BYTES = 4 * 2**30
SHM_NEEDED_BYTES = 256 * 2**20


Group = Literal["links", "evidence", "needs", "environments"]
"""links: what can be compared; evidence: what can be told beside times, left out where it is not
available; needs: without which nothing is measured; environments: made where they are missing."""


class Ability(Model):
    """One thing that measuring may need."""

    name: str
    available: bool
    found: str
    """What is there, or why it is not."""
    next_step: str | None = None
    """What to do about it; None if nothing need be done."""
    group: Group = "needs"


def survey(root: Path) -> tuple[Ability, ...]:
    """Look at everything that measuring may need.

    Args:
        root: the checkout.
    """
    return (
        *_grouped("links", _cpus(), _gpus()),
        *_grouped("evidence", _energy(), _gpu_energy(), _gpu_monitoring(), _link_counters()),
        *_grouped("needs", _disk(root), shared_memory(), _locks()),
        *_grouped("environments", *(_environment(root, name) for name in ENVIRONMENTS)),
    )


def _grouped(group: Group, *abilities: Ability) -> tuple[Ability, ...]:
    return tuple(ability.model_copy(update={"group": group}) for ability in abilities)


def _cpus() -> Ability:
    count = usable_cpus()
    if count >= DEMO_RANKS:
        found = f"{count} usable, enough for emulated links between processes"
        return Ability(name="CPU", available=True, found=found)
    return Ability(
        name="CPU",
        available=False,
        found=f"{count} usable",
        next_step=f"give this process {DEMO_RANKS} CPUs: the demo runs that many ranks, "
        "which on one CPU wait for each other",
    )


def _gpus() -> Ability:
    probe = probe_gpus()
    return Ability(
        name="GPU",
        available=bool(probe.gpus),
        found=probe.reason or "; links ".join(_gpu_texts(probe)),
        next_step=probe.next_step and f"to measure GPUs: {probe.next_step}",
    )


def _gpu_texts(probe: GpuProbe) -> list[str]:
    """The GPUs, and how they are linked where there are several."""
    rows = [", ".join(row) for row in probe.link_matrix or ()]
    return [gpu_words(probe.gpus), *([" / ".join(rows)] if rows else [])]


def _gpu_energy() -> Ability:
    without = "without it the energy of GPUs is left out, with this reason"
    return _told("GPU energy counters", why_no_counter(), "NVML's total-energy counter", without)


def _gpu_monitoring() -> Ability:
    told = "NVML tells use of memory and processors, and rates of links"
    without = "what is not told is left out, with this reason; GPUs from Hopper on tell it"
    return _told("GPU monitoring", why_no_monitoring(), told, without)


def _link_counters() -> Ability:
    told = "NVML counts the payload of each link"
    without = "without them the way of the traffic is judged by NCCL's log and PCIe alone"
    return _told("NVLink counters", why_no_link_counters(), told, without)


def _told(name: str, why_not: str | None, told: str, without: str) -> Ability:
    """What GPUs tell of themselves, or why they do not and what follows."""
    return Ability(
        name=name,
        available=why_not is None,
        found=why_not or told,
        next_step=without if why_not else None,
    )


def _energy() -> Ability:
    domains, gap = find_domains(POWERCAP)
    if gap is None:
        return Ability(name="energy counters", available=True, found=_names(domains))
    readable = "only root" in gap.reason
    return Ability(
        name="energy counters",
        available=False,
        found=gap.reason,
        next_step=f"as root: chmod a+r {POWERCAP}/intel-rapl:*/energy_uj"
        if readable
        else "measure on bare metal; without counters energy is left out, with this reason",
    )


def _names(domains: tuple[Domain, ...]) -> str:
    return ", ".join(domain.name for domain in domains)


def _disk(root: Path) -> Ability:
    needed = size_text(DISK_NEEDED_BYTES)
    advice = f"free {needed}: the environments need about that much"
    return _room("disk", root, DISK_NEEDED_BYTES, advice)


def shared_memory(folder: Path = Path("/dev/shm")) -> Ability:
    """Whether NCCL has room to stage data between processes."""
    if not folder.is_dir():
        return Ability(
            name="shared memory",
            available=False,
            found="there is no /dev/shm",
            next_step="mount one: NCCL stages data between GPUs through it",
        )
    advice = f"give it {size_text(SHM_NEEDED_BYTES)} (containers: --shm-size)"
    return _room("shared memory", folder, SHM_NEEDED_BYTES, advice)


def _room(name: str, folder: Path, needed_bytes: int, advice: str) -> Ability:
    """Whether a file system has room; `advice` is for where it has not."""
    free = shutil.disk_usage(folder).free
    enough = free >= needed_bytes
    return Ability(
        name=name,
        available=enough,
        found=f"{size_text(free)} free",
        next_step=None if enough else advice,
    )


def _locks() -> Ability:
    folder = lock_folder()
    parent = folder if folder.exists() else folder.parent
    writable = parent.is_dir() and os.access(parent, os.W_OK)
    return Ability(
        name="device locks",
        available=writable,
        found="can be written" if writable else f"{parent} cannot be written",
        next_step=None
        if writable
        else f"set {FOLDER_VARIABLE} to one folder in which all users may write",
    )


def _environment(root: Path, name: str) -> Ability:
    try:
        manifest = read_manifest(root, name)
    except CommwallError as error:
        return _absent(name, str(error.parts["found"]))
    if manifest is None:
        return _absent(name, "not made yet")
    pieces = [manifest.mode, f"Python {manifest.python}", f"{len(manifest.packages)} packages"]
    if manifest.differences:
        pieces.append(f"{len(manifest.differences)} depart from the lock")
    torch = manifest.packages.get("torch")
    found = ", ".join([*pieces, f"torch {torch}"] if torch else pieces)
    return Ability(name=f"environment {name}", available=True, found=found)


def _absent(name: str, reason: str) -> Ability:
    return Ability(
        name=f"environment {name}",
        available=False,
        found=reason,
        next_step=f"run `make report`, or: .venv/bin/commwall provision {name}",
    )
