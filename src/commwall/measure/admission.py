"""May this machine and this environment measure this plan?

Layer: measure. Reads `envs/bench.lock` and `config/facts/nccl-variables.yaml`; writes nothing.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from commwall.host.lockfiles import lock_digest, lock_path, read_lock
from commwall.host.machine import Machine
from commwall.host.software import packages_digest, this_interpreter
from commwall.host.survey import shared_memory
from commwall.judge.facts import read_variables
from commwall.judge.lint import lint
from commwall.measure.supervisor import KEPT_VARIABLES
from commwall.records.layout import Layout
from commwall.records.predictions import is_published
from commwall.schema.environment import Manifest
from commwall.schema.plan import Plan, PlannedPlatform
from commwall.schema.treatment import NcclVariables
from commwall.schema.variables import nccl_variables

NCCL_PACKAGE = "nvidia-nccl"
REMAKE = "make it anew with: commwall provision bench"


def refusal(root: Path, plan: Plan, machine: Machine, manifest: Manifest | None) -> str | None:
    """Why nothing may be measured; None if it may.

    Args:
        root: the checkout.
        plan: the campaign's plan.
        machine: this machine.
        manifest: of the environment that measures, None where it is not made.

    Raises:
        ProvisionError: if envs/bench.lock is absent.
    """
    if machine.facts.fingerprint != plan.fingerprint:
        return _foreign(plan, machine)
    if is_published(Layout(root), plan.id):
        return (
            f"campaign {plan.id} is published: its predictions are fixed, and with them its "
            f"records; `commwall replicate {plan.id}` measures it again under another name"
        )
    if manifest is None:
        return "the environment bench is not made yet; run: commwall provision bench"
    if packages_digest(this_interpreter().packages) != manifest.packages_digest:
        return (
            "the packages of this interpreter are not those of .envs/bench/manifest.json; "
            f"measure with .envs/bench/bin/python, or {REMAKE}"
        )
    locked = lock_digest(read_lock(lock_path(root, "bench")))
    if manifest.mode == "installed" and manifest.lock_digest != locked:
        return f"envs/bench.lock has changed since the environment bench was made; {REMAKE}"
    on_gpus = tuple(platform for platform in plan.platforms if platform.device == "cuda")
    if not on_gpus:
        return None
    return gpu_refusal(on_gpus, machine, os.environ) or variable_refusal(
        root, on_gpus, manifest.packages
    )


def gpu_refusal(
    platforms: tuple[PlannedPlatform, ...],
    machine: Machine,
    environment: Mapping[str, str],
    memory: Path = Path("/dev/shm"),
) -> str | None:
    """Why these platforms cannot be measured on the GPUs as they are; None if they can.

    Args:
        platforms: those on GPUs.
        machine: this machine.
        environment: variables of this process.
        memory: where processes share memory.
    """
    most = max(platform.per_node for platform in platforms)
    for index, gpu in enumerate(machine.facts.gpus[:most]):
        if gpu.partitioned:
            return (
                f"GPU {index} is divided into instances (MIG): NCCL cannot use its links, and a "
                f"part is not the GPU of the plan; as root: nvidia-smi -i {index} -mig 0"
            )
    room = shared_memory(memory)
    if most > 1 and not room.available:
        return f"/dev/shm is too small, {room.found}; {room.next_step}"
    return next((told for p in platforms if (told := _overruled(p, environment))), None)


def variable_refusal(
    root: Path, platforms: tuple[PlannedPlatform, ...], packages: Mapping[str, str]
) -> str | None:
    """Why the treatments' variables cannot do what they say in this release of NCCL; None if
    nothing is known against them.

    Args:
        root: the checkout.
        platforms: those on GPUs.
        packages: of the environment that measures, by name, with their versions.

    Raises:
        ConfigError: if the facts of NCCL's variables are absent or malformed.
    """
    found = (version for name, version in packages.items() if name.startswith(NCCL_PACKAGE))
    version = next(found, None)
    facts = read_variables(root)
    for platform in platforms:
        if isinstance(platform.treatment, NcclVariables):
            for remark in lint(platform.treatment.variables, facts, version=version):
                if remark.level == "error":
                    release = f" (NCCL {version})" if version else ""
                    wrong = f"{remark.variable}={remark.value}: {remark.says}"
                    return f"platform {platform.name}, {wrong}{release}"
    return None


def _overruled(platform: PlannedPlatform, environment: Mapping[str, str]) -> str | None:
    """A treatment against a setting by which the host protects itself."""
    chosen = nccl_variables(platform.treatment)
    for name in KEPT_VARIABLES:
        if name in chosen and environment.get(name, chosen[name]) != chosen[name]:
            return (
                f"platform {platform.name} asks for {name}={chosen[name]}, but the host sets "
                f"{name}={environment[name]}, which no treatment overrules"
            )
    return None


def _foreign(plan: Plan, machine: Machine) -> str:
    unread = "; ".join(f"{gap.what}: {gap.reason}" for gap in machine.gaps)
    return (
        f"campaign {plan.id} belongs to another kind of machine: {plan.machine}. "
        f"This one is {machine.words}"
        + (f" (not read here: {unread})" if unread else "")
        + ". Its records are evidence to read; a campaign of this machine has an id of its own "
        "(commwall plan auto)."
    )
