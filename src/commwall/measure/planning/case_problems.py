"""Cases that a platform's device cannot have, found when the campaign is read.

Layer: measure. Reads and writes no file.
"""

from commwall.schema.case import CAPTURING, StepMode
from commwall.schema.config import CampaignConfig, CaseConfig, StepCaseConfig, WorkloadConfig
from commwall.schema.inference import InferenceCase
from commwall.schema.mitigation import NEEDS_GPUS
from commwall.schema.strategies import StrategiesCase


def mode_problems(config: CampaignConfig) -> str:
    """Step modes that a platform's device cannot have; one a line."""
    cpu = [name for name, platform in config.platforms.items() if platform.device == "cpu"]
    return "\n".join(
        f"cases.{name}.{key}: {mode} needs device cuda, {cpu[0]} is on device cpu"
        for name, case in config.cases.items()
        for key, mode in _modes(case).items()
        if cpu and mode in CAPTURING
    )


def exchange_problems(config: CampaignConfig) -> str:
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
