"""What `commwall tune` tries: useful combinations of mitigations and NCCL variables.

Layer: measure. Reads `config/tuning.yaml`; writes nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from commwall.judge.lint import lint
from commwall.judge.variables import VariableFacts
from commwall.measure.facts import read_text
from commwall.schema.base import Model, Name
from commwall.schema.mitigation import NEEDS_GPUS, UNCAPTURABLE, Mitigation, StepCase
from commwall.schema.parsing import parse_model, parse_yaml
from commwall.schema.plan import PlannedPlatform
from commwall.schema.treatment import EmulatedLink, NcclVariables

FILE_NAME = "config/tuning.yaml"
PriceLevel = Literal["none", "rounding", "any"]
"""none: what changes no arithmetic; rounding: also gradients rounded to 16 bit; any: also what
loses more of them, or updates more rarely."""
PRICE_LEVELS: tuple[PriceLevel, ...] = get_args(PriceLevel)
LARGER_BUCKETS = 4
"""Chosen: large buckets relative to the workload's."""


class TuningFile(Model):
    """Content of `config/tuning.yaml`."""

    settings: dict[Name, dict[str, str]]
    """Name -> NCCL variables that are set together."""


@dataclass(frozen=True)
class Candidate:
    """A combination to try."""

    mitigation: Mitigation | None
    """Options of the step; None leaves it as it is."""
    variables: tuple[tuple[str, str], ...] = ()
    """NCCL variables besides the platform's own."""

    @property
    def words(self) -> str:
        """The combination for a reader."""
        settings = [f"{name}={value}" for name, value in self.variables]
        return ", ".join([*([self.mitigation.words] if self.mitigation else []), *settings])


@dataclass(frozen=True)
class Choice:
    """What is tried, and what is not."""

    candidates: tuple[Candidate, ...]
    left_out: tuple[str, ...]
    """Settings and why they are not tried, one a line."""


def read_settings(root: Path) -> TuningFile:
    """NCCL variables worth a try.

    Raises:
        ConfigError: if the file is absent or malformed.
    """
    return parse_model(TuningFile, parse_yaml(read_text(root, FILE_NAME), FILE_NAME), FILE_NAME)


def choose(
    workload: StepCase,
    platform: PlannedPlatform,
    price: PriceLevel,
    settings: Mapping[str, Mapping[str, str]],
    facts: VariableFacts,
) -> Choice:
    """Useful combinations for a workload on a platform.

    Args:
        workload: any case that trains it.
        platform: where.
        price: what may be lost.
        settings: NCCL variables to try, by name; none on other links than NCCL's.
        facts: what is on file of NCCL variables.
    """
    options = tuple(_options(workload, platform, price))
    usable, left_out = [], []
    for name, chosen in settings.items():
        why = _why_not(platform, chosen, facts)
        if why:
            left_out.append(f"{name}: {why}")
        else:
            usable.append(tuple(chosen.items()))
    halved = Mitigation(exchange="bfloat16")
    beside = (None,) if price == "none" else (None, halved)
    return Choice(
        (*map(Candidate, options), *(Candidate(m, v) for v in usable for m in beside)),
        tuple(left_out),
    )


def _options(
    workload: StepCase, platform: PlannedPlatform, price: PriceLevel
) -> Iterator[Mitigation]:
    """Combinations of options, single ones and those that may add up."""
    larger = {"bucket_bytes": LARGER_BUCKETS * workload.bucket_bytes}
    beside = {"overlap_optimizer": True}
    plain: list[dict[str, Any]] = [larger, beside, {"static_graph": True}]
    rounded: list[dict[str, Any]] = [
        {"exchange": "bfloat16"} | more for more in ({}, larger, beside, larger | beside)
    ]
    lossy: list[dict[str, Any]] = [
        {"exchange": "int8"},
        {"exchange": "onebit"},
        {"exchange": "powersgd", "rank": 4, "step_mode": "compile"},
        {"accumulate": 4},
        {"accumulate": 4, "exchange": "bfloat16"},
        {"local_steps": 8, "outer": "nesterov"},
        {"batch_times": 2},
    ]
    for level, options in zip(PRICE_LEVELS, (plain, rounded, lossy), strict=True):
        if PRICE_LEVELS.index(level) <= PRICE_LEVELS.index(price):
            yield from (Mitigation(**own) for own in options if _possible(own, workload, platform))


def _possible(own: Mapping[str, Any], workload: StepCase, platform: PlannedPlatform) -> bool:
    """Whether the platform's device and the workload's way to run a step allow it."""
    if own.get("exchange") in NEEDS_GPUS and platform.device == "cpu":
        return False
    return own.get("step_mode") != workload.step_mode or own.get("exchange") not in UNCAPTURABLE


def _why_not(
    platform: PlannedPlatform, chosen: Mapping[str, str], facts: VariableFacts
) -> str | None:
    """Why variables are not worth a try on a platform; None if they are."""
    if isinstance(platform.treatment, EmulatedLink) or platform.device == "cpu":
        return "the platform's link is not NCCL's"
    own = platform.treatment.variables if isinstance(platform.treatment, NcclVariables) else {}
    if taken := own.keys() & chosen.keys():
        return f"the platform's treatment sets {', '.join(sorted(taken))} itself"
    remarks = lint({**own, **chosen}, facts, way=platform.path)
    wrong = [r.says for r in remarks if r.variable in chosen and r.level != "note"]
    return "; ".join(wrong) or None
