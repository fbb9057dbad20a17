"""What a user edits: config/config.yaml and config/campaigns/*.yaml.

Layer: schema. Models only; `commwall.measure.planning.configuration` reads the files.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from commwall.schema.base import (
    Bytes,
    Duration,
    Model,
    Name,
    PositiveInt,
    Samples,
    Words,
    WorldSize,
)
from commwall.schema.case import (
    LEGS,
    CollectivesCase,
    MemoryCase,
    ModelName,
    StepMode,
    SuiteName,
    TrainingLeg,
    Windows,
)
from commwall.schema.inference import InferenceCase
from commwall.schema.mitigation import Mitigation, PriceCase
from commwall.schema.plan import Comparison, Replicated
from commwall.schema.strategies import StrategiesCase
from commwall.schema.treatment import LinkPath, Treatment

Language = Literal["en", "zh"]
AUTO = "auto"
"""Name that stands for the campaign which fits the machine."""
Count = Annotated[Samples, Field(strict=True)]
"""A number of samples or tokens; `true` and `4.0` are none."""
Rounds = Annotated[int, Field(strict=True, gt=0, le=1000)]
SlurmWord = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.,:&|*()\[\]-]*$")]
"""What Slurm takes for a name, a list or an expression; no blank, quote or sign of a shell."""
Seed = Annotated[int, Field(strict=True, gt=-(2**53), lt=2**53)]
"""Small enough that what the workers make of it, a seed of each rank, stays within 64 bit."""


class EnvironmentConfig(Model):
    """How one environment is made."""

    adopt: str | None = None
    """Path of a Python whose packages are used instead of installing the lock; null installs."""


class Environments(Model):
    """The environments the workflow provisions."""

    bench: EnvironmentConfig = EnvironmentConfig()
    """Runs the measurements (torch)."""
    report: EnvironmentConfig = EnvironmentConfig()
    """Renders tables, notebooks and pages."""


class Timeouts(Model):
    """When the supervisor gives a launch up; all are accidents, measured again next run."""

    startup_s: Duration = 180.0
    """From start to the first case [s]."""
    case_s: Duration = 900.0
    """For one case with all its legs [s]."""
    collective_s: Duration = 120.0
    """For one collective [s]."""


class Yardsticks(Model):
    """Programs of others that the user has and wants to run beside the own measurement."""

    nccl_tests: str | None = None
    """Folder with the programs of nccl-tests; null runs none."""


class Slurm(Model):
    """Where Slurm sends the measuring jobs; used with `--profile profiles/slurm` only."""

    node: str | None = None
    """File that says what a node is (`commwall probe` on one writes it); null where this machine
    itself measures."""
    partition: SlurmWord | None = None
    account: SlurmWord | None = None
    constraint: SlurmWord | None = None
    gres: SlurmWord | None = None
    """Generic resources of each node, such as `gpu:8`."""
    runtime_min: Annotated[PositiveInt, Field(strict=True, le=43200)] = 240
    """Time limit of a job [min]."""


class Config(Model):
    """The main configuration file."""

    campaigns: tuple[Name, ...] = Field(default=("auto",), min_length=1)
    """Campaigns to measure here: `auto` or names of files in config/campaigns/."""
    environments: Environments = Environments()
    timeouts: Timeouts = Timeouts()
    yardsticks: Yardsticks = Yardsticks()
    slurm: Slurm = Slurm()
    languages: tuple[Language, ...] = Field(default=("en", "zh"), min_length=1)
    """Languages of the pages; the first is the one that the landing page opens in."""
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    """Confidence level of all intervals."""


Where = Literal["nvlink", "no_nvlink", "several_gpus", "one_gpu"]
"""nvlink: several GPUs, NVLink between every two; no_nvlink: several GPUs, not so."""


class PlatformConfig(Model):
    """A platform of a campaign file."""

    device: Literal["cpu", "cuda"]
    world_size: Annotated[WorldSize, Field(strict=True)] | Literal["all"]
    """Processes of a launch, one a device; `all` takes all GPUs."""
    nodes: Annotated[WorldSize, Field(strict=True)] = 1
    """Machines that the processes are spread over evenly; several need Slurm."""
    where: Where | None = None
    """Machines on which the platform exists; null is every machine."""
    treatment: Treatment
    path: LinkPath | None = None
    """Way that the traffic must be seen to take; null claims none."""
    cases: tuple[Name, ...] | None = None
    """Cases to run on this platform; null runs all."""


class WorkloadConfig(Model):
    """A workload of a campaign file; what is left out takes the default."""

    model: ModelName
    preset: str
    batch_per_gpu: Count
    sequence_length: Count | None = None
    precision: Literal["float32", "bfloat16"] = "float32"
    step_mode: StepMode | None = None
    """How the step is run; null is `compiled_captured` in a campaign on GPUs, else `eager`."""
    bucket_bytes: Annotated[Bytes, Field(strict=True)] = 25 * 2**20
    dataset: str | None = None
    """Data set whose size states the epoch; null takes the model family's."""
    seed: Seed = 0
    windows: Windows | None = None
    """Overrides the campaign's windows for this case."""


class TrainingCaseConfig(WorkloadConfig):
    """A training case of a campaign file."""

    suite: Literal["training"]
    legs: tuple[TrainingLeg, ...] = LEGS


class StepCaseConfig(WorkloadConfig):
    """A workload's step with a mitigation, of a campaign file."""

    suite: Literal["mitigations"]
    kind: Literal["step"]
    mitigation: Mitigation


MitigationCaseConfig = Annotated[StepCaseConfig | PriceCase, Field(discriminator="kind")]
CaseConfig = Annotated[
    TrainingCaseConfig
    | MemoryCase
    | CollectivesCase
    | StrategiesCase
    | InferenceCase
    | MitigationCaseConfig,
    Field(discriminator="suite"),
]
"""A case of a campaign file; those that train no workload stand there fully resolved."""


MachineDigits = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8,64}$")]
"""How the fingerprint of a kind of machine begins."""


class CampaignConfig(Model):
    """A campaign file."""

    title: Words
    seed: Seed
    machine: MachineDigits | None = None
    """Kind of machine that alone may measure it, by the digits that end the identifiers of its
    campaigns; the identifier is then the file's name as it is. null is every kind."""
    replicates: Replicated | None = None
    """Published campaign that is measured again; `commwall replicate` writes such files."""
    rounds: dict[SuiteName, Rounds]
    """Rounds of each suite."""
    windows: Windows
    platforms: dict[Name, PlatformConfig] = Field(min_length=1)
    comparisons: tuple[Comparison, ...]
    cases: dict[Name, CaseConfig] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        for comparison in self.comparisons:
            for side in (comparison.a, comparison.b):
                if side not in self.platforms:
                    raise ValueError(f"comparisons: {side!r} is no platform of this campaign")
        for name, platform in self.platforms.items():
            strangers = set(platform.cases or ()) - set(self.cases)
            if strangers:
                raise ValueError(f"platforms.{name}.cases: {sorted(strangers)} are no cases here")
        for name, case in self.cases.items():
            if case.suite not in self.rounds:
                raise ValueError(f"cases.{name}: rounds of suite {case.suite!r} are not given")
        return self
