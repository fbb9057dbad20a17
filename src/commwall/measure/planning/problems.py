"""What a campaign file asks for that cannot be, found when it is read.

Layer: measure. Reads and writes no file.
"""

from collections.abc import Iterator

from commwall.judge.lint import lint
from commwall.judge.variables import VariableFacts
from commwall.schema.case import CAPTURING, StepMode
from commwall.schema.config import (
    CampaignConfig,
    CaseConfig,
    PlatformConfig,
    StepCaseConfig,
    WorkloadConfig,
)
from commwall.schema.inference import InferenceCase
from commwall.schema.mitigation import NEEDS_GPUS
from commwall.schema.plan import Comparison
from commwall.schema.strategies import StrategiesCase
from commwall.schema.treatment import BETWEEN_MACHINES, NcclVariables


def campaign_problems(config: CampaignConfig, variables: VariableFacts | None) -> Iterator[str]:
    """Everything that cannot be, each with its key; some problems have several lines, some none.

    Args:
        config: content of a campaign file.
        variables: what is on file of NCCL variables; None where that cannot be read.
    """
    for name, platform in config.platforms.items():
        yield _platform_problems(f"platforms.{name}", platform, variables)
        yield _node_problems(f"platforms.{name}", platform, config)
    for comparison in config.comparisons:
        yield _comparison_problem(config, comparison)
    yield _mode_problems(config)
    yield _exchange_problems(config)


def _platform_problems(key: str, platform: PlatformConfig, variables: VariableFacts | None) -> str:
    """Treatments that the platform's device cannot have, and NCCL variables that cannot do what
    they say; one a line."""
    kind = platform.treatment.kind
    problems = []
    if kind == "emulated" and platform.device != "cpu":
        problems.append(f"{key}.treatment: links are emulated on device cpu only")
    if kind == "nccl" and platform.device != "cuda":
        problems.append(f"{key}.treatment: NCCL variables act on device cuda only")
    if platform.path and platform.device != "cuda":
        problems.append(f"{key}.path: the way of traffic is proven on device cuda only")
    if isinstance(platform.treatment, NcclVariables) and variables is not None:
        problems += [
            f"{key}.treatment.variables.{remark.variable}: {remark.says}"
            for remark in lint(platform.treatment.variables, variables)
            if remark.level == "error"
        ]
    return "\n".join(problems)


def _node_problems(key: str, platform: PlatformConfig, config: CampaignConfig) -> str:
    """What a platform cannot have on as many nodes as it has; one a line."""
    nodes, size = platform.nodes, platform.world_size
    if nodes == 1:
        alone = platform.path in BETWEEN_MACHINES[:-1]
        return f"{key}.path: {platform.path} joins machines; nodes is 1" if alone else ""
    problems = []
    if size != "all" and size % nodes:
        problems.append(f"{key}.world_size: {size} cannot be spread evenly over {nodes} nodes")
    if platform.treatment.kind == "emulated":
        problems.append(f"{key}.treatment: links are emulated within one machine only")
    if platform.path not in (None, *BETWEEN_MACHINES):
        joining = ", ".join(BETWEEN_MACHINES)
        problems.append(f"{key}.path: {platform.path} lies within a machine; {joining} join them")
    own = config.cases if platform.cases is None else platform.cases
    problems += [
        f"{key}.cases: {name} is of suite memory, whose copies stay within a machine; leave it out"
        for name in own
        if name in config.cases and config.cases[name].suite == "memory"
    ]
    return "\n".join(problems)


def _comparison_problem(config: CampaignConfig, comparison: Comparison) -> str:
    """A platform against itself, or a control whose sides are not the same but for the label."""
    if comparison.a == comparison.b:
        return f"comparisons: {comparison.a} is compared with itself"
    a, b = (
        config.platforms[side].model_dump(
            include={"device", "world_size", "nodes", "treatment"}, exclude={"treatment": {"label"}}
        )
        for side in (comparison.a, comparison.b)
    )
    differ = [key for key in a if a[key] != b[key]]
    if comparison.control and differ:
        pair = f"{comparison.a} and {comparison.b}"
        return f"comparisons: {pair} are a control but differ in {', '.join(differ)}"
    return ""


def _mode_problems(config: CampaignConfig) -> str:
    """Step modes that a platform's device cannot have; one a line."""
    cpu = [name for name, platform in config.platforms.items() if platform.device == "cpu"]
    return "\n".join(
        f"cases.{name}.{key}: {mode} needs device cuda, {cpu[0]} is on device cpu"
        for name, case in config.cases.items()
        for key, mode in _modes(case).items()
        if cpu and mode in CAPTURING
    )


def _exchange_problems(config: CampaignConfig) -> str:
    """Exchanges that a platform's device cannot have; one a line."""
    return "\n".join(
        f"cases.{name}.mitigation.exchange: {case.mitigation.exchange} needs device cuda, "
        f"{platform} is on device cpu: {NEEDS_GPUS[case.mitigation.exchange]}"
        for platform, own in config.platforms.items()
        for name, case in config.cases.items()
        if own.device == "cpu" and name in (own.cases or config.cases)
        if isinstance(case, StepCaseConfig) and case.mitigation.exchange in NEEDS_GPUS
    )


def _modes(case: CaseConfig) -> dict[str, StepMode | None]:
    """Step modes that a case asks for, by their keys."""
    own: dict[str, StepMode | None] = {}
    if isinstance(case, WorkloadConfig | StrategiesCase | InferenceCase):
        own["step_mode"] = case.step_mode
    if isinstance(case, StepCaseConfig):
        own["mitigation.step_mode"] = case.mitigation.step_mode
    return own
