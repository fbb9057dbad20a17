"""What the user asks for: config.yaml, the campaign files it names and the facts they use.

Layer: measure. Reads `config/config.yaml`, `config/campaigns/*.yaml`, `config/facts/*.yaml`
and `.cw/config.json`. Every problem of every file is told at once, before anything starts.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from commwall.judge.facts import read_variables
from commwall.judge.variables import VariableFacts
from commwall.measure.facts import Dataset, read_datasets, read_text
from commwall.measure.planning.problems import campaign_problems
from commwall.measure.planning.sweeps import unrolled
from commwall.schema.base import canonical_json, digest
from commwall.schema.case import MODELS, Case, StepMode, TrainingCase
from commwall.schema.config import (
    AUTO,
    CampaignConfig,
    CaseConfig,
    Config,
    StepCaseConfig,
    WorkloadConfig,
)
from commwall.schema.errors import ConfigError
from commwall.schema.mitigation import StepCase
from commwall.schema.parsing import parse_model, parse_yaml
from commwall.schema.suggestion import suggestion

CONFIG_NAME = "config/config.yaml"
CAMPAIGNS_NAME = "config/campaigns"
COMMAND_LINE = "command line"
"""Where a problem lies whose key was set above config.yaml."""
RESOLVED_NAME = ".cw/config.json"
T = TypeVar("T")


@dataclass(frozen=True)
class Campaign:
    """A campaign file with every parameter of its cases resolved."""

    name: str
    """Name of the file without `.yaml`."""
    config: CampaignConfig
    cases: dict[str, Case]


@dataclass(frozen=True)
class Configuration:
    """All that the user asked for, checked."""

    config: Config
    campaigns: tuple[Campaign, ...]


class _Problems:
    """Collects errors of several files.

    Args:
        told: keys of the main configuration that the command line has set.
    """

    def __init__(self, told: Collection[str]) -> None:
        self._told, self._found = told, list[tuple[str, str]]()

    def attempt(self, read: Callable[[], T]) -> T | None:
        """The value, or None with its problem noted."""
        try:
            return read()
        except ConfigError as error:
            self.add(str(error.parts["where"]), str(error.parts["found"] or error.what))
            return None

    def add(self, where: str, found: str) -> None:
        """Note problems, one a line of `found`."""
        self._found += [(self._place(where, line), line) for line in found.splitlines()]

    def _place(self, where: str, line: str) -> str:
        key = line.partition(":")[0].partition(".")[0]
        return COMMAND_LINE if where == CONFIG_NAME and key in self._told else where

    def raise_if_any(self) -> None:
        """Tell all problems in one error."""
        if not self._found:
            return
        places = sorted({where for where, _ in self._found})
        raise ConfigError(
            f"{len(self._found)} problem(s) in {len(places)} place(s)",
            where=", ".join(places),
            found="\n".join(f"{where}: {line}" for where, line in self._found),
            next_step="correct them and run again; nothing was started",
        )


def load(
    root: Path, overrides: Mapping[str, Any] | None = None, *, has_gpu: bool = False
) -> Configuration:
    """Read and check everything the configuration names.

    Args:
        root: the checkout.
        overrides: keys to set above config.yaml, nested as there.
        has_gpu: whether `auto` may choose the campaign for GPUs.

    Raises:
        ConfigError: naming every problem of every file.
    """
    problems = _Problems(overrides or {})
    data = problems.attempt(lambda: merged(root, overrides or {}))
    config = None
    if data is not None:
        config = problems.attempt(lambda: parse_model(Config, data, CONFIG_NAME))
    if config:
        problems.add(CONFIG_NAME, _yardstick_problem(config.yardsticks.nccl_tests))
    names = _campaign_names(root, config.campaigns if config else _asked(data), has_gpu)
    campaigns = _load_campaigns(root, names, problems)
    problems.raise_if_any()
    assert config is not None  # else it would have been among the problems
    return Configuration(config, campaigns)


def load_campaigns(root: Path, names: Iterable[str]) -> tuple[Campaign, ...]:
    """Read and check campaign files alone.

    Args:
        root: the checkout.
        names: of the files, without `.yaml`, as the command line named them.

    Raises:
        ConfigError: naming every problem.
    """
    problems = _Problems({"campaigns"})
    campaigns = _load_campaigns(root, names, problems)
    problems.raise_if_any()
    return campaigns


def load_config(root: Path, overrides: Mapping[str, Any] | None = None) -> Config:
    """Read and check the main configuration alone.

    Raises:
        ConfigError: naming every problem.
    """
    return parse_model(Config, merged(root, overrides or {}), CONFIG_NAME)


def resolved_config(root: Path) -> Config:
    """The configuration of the workflow's last start, overrides included, if it still holds.

    A job must see what its workflow was told on the command line; once config.yaml has been
    edited, the file counts again.

    Raises:
        ConfigError: naming every problem.
    """
    # Derived and written anew at every start: what cannot be used counts as absent.
    with suppress(ConfigError, ValueError, KeyError, TypeError):
        kept = json.loads(read_text(root, RESOLVED_NAME))
        if kept["source"] == digest(read_text(root, CONFIG_NAME)):
            return parse_model(Config, kept["config"], RESOLVED_NAME)
    return load_config(root)


def resolved_text(root: Path, config: Config) -> str:
    """Content of `.cw/config.json`."""
    source = digest(read_text(root, CONFIG_NAME))
    return canonical_json({"source": source, "config": config.model_dump(mode="json")}) + "\n"


def auto_name(root: Path, has_gpu: bool) -> str:
    """The campaign file `auto` stands for on this machine."""
    return "gpu" if has_gpu and _campaign_path(root, "gpu").exists() else "cpu-demo"


def merged(root: Path, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """config.yaml with keys set above it, not yet checked.

    Raises:
        ConfigError: if the file is absent, malformed or no mapping.
    """
    data = parse_yaml(read_text(root, CONFIG_NAME), CONFIG_NAME)
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise ConfigError(
            "cannot use a configuration file",
            where=CONFIG_NAME,
            found=f"{type(data).__name__} {data!r}",
            expected="a mapping of keys to values",
        )
    return _over(data, _with_nulls(overrides))


def _with_nulls(told: Any) -> Any:
    """The values of `--config`, whose YAML knows words only: `null` is nothing, not a word."""
    if isinstance(told, Mapping):
        return {key: _with_nulls(value) for key, value in told.items()}
    if isinstance(told, list):
        return [_with_nulls(value) for value in told]
    return None if told in ("null", "~") else told


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for key, value in above.items():
        deeper = result.get(key)
        if isinstance(deeper, Mapping) and isinstance(value, Mapping):
            result[key] = _over(deeper, value)
        else:
            result[key] = value
    return result


def _asked(data: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Campaigns of a configuration that has other problems, so that theirs are told as well."""
    asked = (data or {}).get("campaigns", [AUTO])
    whole = isinstance(asked, list) and all(isinstance(name, str) for name in asked)
    return tuple(asked) if whole else ()


def _campaign_names(root: Path, asked: Iterable[str], has_gpu: bool) -> tuple[str, ...]:
    names = [auto_name(root, has_gpu) if name == AUTO else name for name in asked]
    return tuple(dict.fromkeys(names))


def _campaign_path(root: Path, name: str) -> Path:
    return root / CAMPAIGNS_NAME / f"{name}.yaml"


def _load_campaigns(root: Path, names: Iterable[str], problems: _Problems) -> tuple[Campaign, ...]:
    datasets = problems.attempt(lambda: read_datasets(root))
    variables = problems.attempt(lambda: read_variables(root))
    loaded = [_load_campaign(root, name, datasets, variables, problems) for name in names]
    return tuple(campaign for campaign in loaded if campaign)


def _load_campaign(
    root: Path,
    name: str,
    datasets: dict[str, Dataset] | None,
    variables: VariableFacts | None,
    problems: _Problems,
) -> Campaign | None:
    file_name = f"{CAMPAIGNS_NAME}/{name}.yaml"
    if not _campaign_path(root, name).exists():
        problems.add(CONFIG_NAME, _unknown_campaign(root, name))
        return None
    config = problems.attempt(lambda: _read_campaign(root, file_name))
    if config is None:
        return None
    for problem in campaign_problems(config, variables):
        problems.add(file_name, problem)
    cases = {
        case: problems.attempt(partial(_resolved, case, asked, config, datasets, file_name))
        for case, asked in config.cases.items()
    }
    return Campaign(name, config, {case: found for case, found in cases.items() if found})


def _read_campaign(root: Path, file_name: str) -> CampaignConfig:
    asked = parse_yaml(read_text(root, file_name), file_name)
    return parse_model(CampaignConfig, unrolled(asked, file_name), file_name)


def _yardstick_problem(folder: str | None) -> str:
    """A folder named for nccl-tests that does not hold its programs."""
    if folder is None or any(Path(folder).glob("*_perf")):
        return ""
    return (
        f"yardsticks.nccl_tests: {folder!r} holds no program of nccl-tests (all_reduce_perf and so "
        "on); name the folder in which they were built, or null"
    )


def _unknown_campaign(root: Path, name: str) -> str:
    known = sorted(path.stem for path in (root / CAMPAIGNS_NAME).glob("*.yaml"))
    hint = suggestion(name, [*known, AUTO]) or f"there are: {', '.join([AUTO, *known])}"
    return f"campaigns: there is no file {CAMPAIGNS_NAME}/{name}.yaml; {hint}"


def _default_mode(config: CampaignConfig) -> StepMode:
    """The fastest way to run a step that every platform of the campaign has."""
    on_gpus = all(platform.device == "cuda" for platform in config.platforms.values())
    return "compiled_captured" if on_gpus else "eager"


def _resolved(
    name: str,
    asked: CaseConfig,
    config: CampaignConfig,
    datasets: dict[str, Dataset] | None,
    file_name: str,
) -> Case | None:
    """A case with every parameter; None where the sizes of data sets cannot be read.

    Raises:
        ConfigError: with the case's key.
    """
    if not isinstance(asked, WorkloadConfig):
        return asked
    if datasets is None:
        return None
    dataset = asked.dataset or MODELS[asked.model].dataset
    if dataset not in datasets:
        hint = suggestion(dataset, datasets) or f"known: {', '.join(sorted(datasets))}"
        found = f"cases.{name}.dataset: {dataset!r} is not in config/facts; {hint}"
        raise ConfigError("unknown data set", where=file_name, found=found)
    resolved = asked.model_dump() | {
        "step_mode": asked.step_mode or _default_mode(config),
        "windows": (asked.windows or config.windows).model_dump(),
        "dataset": dataset,
        "dataset_samples": datasets[dataset].samples_of(asked.sequence_length),
    }
    kind: type[StepCase] | type[TrainingCase]
    kind = StepCase if isinstance(asked, StepCaseConfig) else TrainingCase
    return _with_key(name, lambda: parse_model(kind, resolved, file_name))


def _with_key(name: str, parse: Callable[[], T]) -> T:
    try:
        return parse()
    except ConfigError as error:
        lines = str(error.parts["found"]).replace("(the whole file): ", "").splitlines()
        found = "\n".join(f"cases.{name}: {line}" for line in lines)
        raise ConfigError(error.what, where=str(error.parts["where"]), found=found) from error
