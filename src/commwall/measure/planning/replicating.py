"""From a published campaign's plan to a campaign file that measures it again.

Layer: measure. Writes `config/campaigns/<published>-replica.yaml`. The published campaign is only
read: the file makes a campaign with an identifier of its own, measured like any other.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from commwall.measure.planning.configuration import CAMPAIGNS_NAME
from commwall.measure.planning.fitting import name_prefix
from commwall.records.files import write_atomically
from commwall.schema.case import Case, SuiteName, Windows
from commwall.schema.config import CampaignConfig
from commwall.schema.errors import ConfigError, PlanError
from commwall.schema.parsing import parse_model, parse_yaml
from commwall.schema.plan import Plan, PlannedPlatform, PlannedSuite, Replicated
from commwall.schema.predictions import Predictions
from commwall.schema.record import MachineFacts, Record
from commwall.schema.treatment import NcclVariables
from commwall.schema.workload import Workload

ENDING = "-replica"
HEAD = """# Written by `commwall replicate {published}`: that campaign once more, on a
# machine of its kind, under a name of its own. Platforms that only serve as control are left out.
# What is changed here in a case or a treatment does not count as a replication.
"""
OF_FILES = re.compile("_PLUGIN|_FILE")
"""In the names of NCCL's variables that name a library to load, or a file to read or write."""
_UNUSED = Windows(full_s=1, other_s=1, min_steps=1, warmup_max_s=1)
"""A campaign file needs windows; each training case has its own, and no other suite has any."""


def replica_name(published: str) -> str:
    """Name of the campaign file that measures a published campaign again, if none is chosen."""
    return published + ENDING


def check_own(name: str, machine: MachineFacts, there: Iterable[Record]) -> None:
    """Refuse to plan over what other machines have measured.

    Args:
        name: identifier of the replication.
        machine: this machine.
        there: records of that name that are here already.

    Raises:
        PlanError: if none of them was measured by a GPU of this machine.
    """
    own = {gpu.uuid_digest for gpu in machine.gpus}
    others = {gpu.uuid_digest for record in there for gpu in record.machine.gpus}
    if others and not own & others:
        raise PlanError(
            "another machine's replication has this name",
            where=f"results/{name}",
            found="records of other GPUs than this machine's",
            next_step="choose another name with --name; to go on with that replication, measure it "
            "without planning it anew",
        )


def replica_config(
    published: Plan,
    predictions: Predictions,
    machine: MachineFacts,
    rounds: int,
    suites: Collection[SuiteName],
) -> CampaignConfig:
    """The campaign file's content.

    Args:
        published: plan of the published campaign.
        predictions: what it predicts.
        machine: this machine.
        rounds: of each suite.
        suites: those to measure.

    Raises:
        PlanError: if this machine is of another kind, the campaign has none of the suites, or
            asks to load or write files.
        ConfigError: if no campaign file can ask for what it planned.
    """
    if machine.fingerprint != published.fingerprint:
        raise _other_kind(published, machine)
    wanted = [suite for suite in published.suites if suite.suite in suites]
    if not wanted:
        raise _no_suite(published, suites)
    compared = {s for pair in published.comparisons if not pair.control for s in (pair.a, pair.b)}
    platforms = [platform for platform in published.platforms if platform.name in compared]
    _refuse_foreign_files(published, platforms)
    names = {platform.name: _file_name(platform, machine) for platform in platforms}
    asked: dict[str, Any] = {
        "title": f"Replication of {published.id}: {published.title}",
        "seed": published.seed,
        "replicates": Replicated(campaign=published.id, predictions=predictions.digest),
        "rounds": dict.fromkeys((suite.suite for suite in wanted), rounds),
        "windows": _UNUSED,
        "platforms": {names[p.name]: _platform(p, wanted) for p in platforms},
        "comparisons": [
            {"a": names[pair.a], "b": names[pair.b]}
            for pair in published.comparisons
            if not pair.control
        ],
        "cases": {name: _case(case) for suite in wanted for name, case in suite.cases.items()},
    }
    return parse_model(CampaignConfig, asked, f"results/{published.id}/plan.json")


def write_replica(root: Path, name: str, config: CampaignConfig) -> Path:
    """Write the campaign file; one that is there may differ in its rounds only.

    Args:
        root: the checkout.
        name: of the file, without `.yaml`.
        config: its content.

    Raises:
        ConfigError: if another file of that name is there.
        OSError: if the file system refuses.
    """
    where = f"{CAMPAIGNS_NAME}/{name}.yaml"
    path = root / where
    if path.exists():
        text = path.read_text(encoding="utf-8")
        there = parse_model(CampaignConfig, parse_yaml(text, where), where)
        if there.model_copy(update={"rounds": config.rounds}) != config:
            raise ConfigError(
                "another campaign file stands where the replication's would",
                where=where,
                found="a file that differs in more than its rounds",
                next_step="measure it as it is, or choose another name with --name",
            )
    content = config.model_dump(mode="json", exclude_none=True)
    text = yaml.safe_dump(content, sort_keys=False, width=100)
    assert config.replicates is not None  # `replica_config` says what it replicates
    write_atomically(path, HEAD.format(published=config.replicates.campaign) + text)
    return path


def _file_name(platform: PlannedPlatform, machine: MachineFacts) -> str:
    """A platform's name without the words that planning puts before it."""
    gpus = machine.gpus[: platform.per_node]
    return platform.name.removeprefix(name_prefix(platform.device, gpus, platform.nodes))


def _platform(platform: PlannedPlatform, suites: Sequence[PlannedSuite]) -> dict[str, Any]:
    kept = platform.model_dump(include={"device", "world_size", "nodes", "treatment", "path"})
    cases = [case for suite in suites for case in suite.platforms.get(platform.name, ())]
    return {**kept, "cases": cases}


def _case(case: Case) -> dict[str, Any]:
    """A case of a campaign file; what configuration adds to it is left out."""
    return case.model_dump(exclude={"dataset_samples"} if isinstance(case, Workload) else None)


def _refuse_foreign_files(published: Plan, platforms: Sequence[PlannedPlatform]) -> None:
    """Raise PlanError where a stranger's plan would have NCCL load code, or read or write files."""
    asked = [
        f"{name}={value}"
        for platform in platforms
        if isinstance(platform.treatment, NcclVariables)
        for name, value in platform.treatment.variables.items()
        if OF_FILES.search(name)
    ]
    if asked:
        raise PlanError(
            "a campaign that names files of its publisher's machine is not replicated",
            where=f"results/{published.id}/plan.json, platforms",
            found=", ".join(dict.fromkeys(asked)),
            expected="treatments without plugins and files",
            next_step="if you trust the files, write a campaign of your own that names them",
        )


def _no_suite(published: Plan, suites: Collection[SuiteName]) -> PlanError:
    return PlanError(
        "a campaign does not measure what is to be replicated",
        where=f"results/{published.id}/plan.json",
        found=", ".join(suites),
        expected=f"one of: {', '.join(suite.suite for suite in published.suites)}",
    )


def _other_kind(published: Plan, machine: MachineFacts) -> PlanError:
    return PlanError(
        "a campaign can be replicated on a machine of its kind only",
        where=f"results/{published.id}/plan.json, fingerprint",
        found=machine.fingerprint,
        expected=f"{published.fingerprint}: {published.machine}",
        next_step="the same CPU model and count, GPU models, memory and power limits make a kind; "
        "`commwall plan auto` shows what can be measured here",
    )
