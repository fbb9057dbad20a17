"""Machines that measure what another one plans: a node, or several, of a Slurm job.

Layer: measure. Reads config/config.yaml and the file that it names of a node; writes nothing.
A cluster's login node is of another kind than its nodes: the workflow, which starts there, plans
for what the file describes; the measuring verb looks at the node itself.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from commwall.host.machine import Machine, probe_machine
from commwall.host.slurm import allocated_nodes, probe_nodes
from commwall.measure.admission import gpu_refusal
from commwall.measure.facts import read_text
from commwall.measure.planning.configuration import load_config
from commwall.schema.case import SuiteName
from commwall.schema.errors import ConfigError
from commwall.schema.parsing import parse_json_model
from commwall.schema.plan import Plan
from commwall.schema.record import MachineFacts


def planned_machine(root: Path, overrides: Mapping[str, Any] | None = None) -> Machine:
    """The machine that campaigns are planned for: a node where one is described, else this one.

    Args:
        root: the checkout.
        overrides: keys set above config.yaml, nested as there.

    Raises:
        ConfigError: if the node's file is absent or malformed.
    """
    node = None
    with suppress(ConfigError):  # told with all other problems when the campaigns are read
        node = load_config(root, overrides).slurm.node
    return probe_machine() if node is None else read_node(root, node)


def read_node(root: Path, name: str) -> Machine:
    """What `commwall probe` said on a node.

    Raises:
        ConfigError: if the file is absent or malformed.
    """
    try:
        return parse_json_model(Machine, read_text(root, name).encode(), name)
    except ConfigError as error:
        raise ConfigError(
            "the description of a node cannot be used (config/config.yaml, slurm.node)",
            where=name,
            found=error.parts["found"],
            expected="what `commwall probe` prints on a node",
            next_step="srun --nodes=1 --exclusive --cpu-bind=none … "
            f".venv/bin/commwall probe > {name}",
        ) from error


def most_nodes(plan: Plan, suite: SuiteName) -> int:
    """Nodes of the job that measures a suite: as many as its widest platform has."""
    return max(plan.platform(name).nodes for name in plan.suite(suite).platforms)


def other_nodes(plan: Plan, suite: SuiteName) -> tuple[MachineFacts, ...] | str:
    """The other nodes of this job that a suite is measured on, or why it cannot be.

    Raises:
        LaunchError: if Slurm or a node does not answer.
    """
    needed = most_nodes(plan, suite)
    if needed == 1:
        return ()
    here = allocated_nodes()
    if here < needed:
        return (
            f"suite {suite} of campaign {plan.id} is measured on {needed} nodes, here "
            f"{'is 1' if here == 1 else f'are {here}'}: run it behind Slurm "
            "(snakemake --profile profiles/slurm)"
        )
    others = probe_nodes(needed)[1:]
    told = (_refusal(plan, number, machine) for number, machine in enumerate(others, 2))
    return next(filter(None, told), None) or tuple(machine.facts for machine in others)


def _refusal(plan: Plan, number: int, machine: Machine) -> str | None:
    """Why a node cannot take part; None if it can."""
    if machine.facts.fingerprint != plan.fingerprint:
        return (
            f"node {number} of the job is of another kind: {machine.words}; the plan's is "
            f"{plan.machine}. Have Slurm choose nodes alike (config/config.yaml, slurm.constraint)"
        )
    on_gpus = tuple(platform for platform in plan.platforms if platform.device == "cuda")
    told = gpu_refusal(on_gpus, machine, os.environ) if on_gpus else None
    return told and f"node {number} of the job: {told}"
