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
from commwall.schema.mitigation import NEEDS_GPUS, Mitigation, StepCase
from commwall.schema.parsing import parse_model, parse_yaml
from commwall.schema.plan import PlannedPlatform
from commwall.schema.treatment import EmulatedLink, NcclVariables
from commwall.schema.workload import StepMode

FILE_NAME = "config/tuning.yaml"
PriceLevel = Literal["none", "rounding", "any"]
"""none: what changes no arithmetic; rounding: also gradients rounded to 16 bit; any: also what
loses more of them, or updates more rarely."""
PRICE_LEVELS: tuple[PriceLevel, ...] = get_args(PriceLevel)
BUCKET_FACTOR = 4
"""Chosen: how much larger and smaller buckets are tried than the workload's."""
RECORDED: tuple[StepMode, ...] = ("captured", "compiled_captured")
"""Step modes to try; without a recording the host may decide."""


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
    """What is likely to gain most first, NCCL variables last."""
    left_out: tuple[str, ...]
    """Settings and why they are not tried, one a line."""


def read_settings(root: Path) -> TuningFile:
    """NCCL variables worth a try.

    Raises:
        ConfigError: if the file is absent or malformed.
    """
    return parse_model(TuningFile, parse_yaml(read_text(root, FILE_NAME), FILE_NAME), FILE_NAME)


@dataclass(frozen=True)
class Place:
    """Where a workload is tuned, and what is known of it."""

    platform: PlannedPlatform
    nodes: int | None = None
    """NUMA nodes of the machine."""
    nccl: str | None = None
    """Release of NCCL, such as 2.28.9."""


def choose(
    workload: StepCase,
    place: Place,
    price: PriceLevel,
    settings: Mapping[str, Mapping[str, str]],
    facts: VariableFacts,
) -> Choice:
    """Useful combinations for a workload in a place.

    Args:
        workload: any case that trains it.
        place: where.
        price: what may be lost.
        settings: NCCL variables to try, by name; none on other links than NCCL's.
        facts: what is on file of NCCL variables.
    """
    offered = [Mitigation(**own) for own in _options(workload, price)]
    barred = {own: why for own in offered if (why := _barred(own, workload, place))}
    unset = {name: why for name, own in settings.items() if (why := _why_not(place, own, facts))}
    usable = [tuple(own.items()) for name, own in settings.items() if name not in unset]
    beside = (None,) if price == "none" else (None, Mitigation(exchange="bfloat16"))
    return Choice(
        (
            *(Candidate(own) for own in offered if own not in barred),
            *(Candidate(own, variables) for variables in usable for own in beside),
        ),
        (
            *(f"{own.words}: {why}" for own, why in barred.items()),
            *(f"{name}: {why}" for name, why in unset.items()),
        ),
    )


def _options(workload: StepCase, price: PriceLevel) -> Iterator[dict[str, Any]]:
    """Single options and those that may add up, what is likely to gain most first."""
    larger = {"bucket_bytes": BUCKET_FACTOR * workload.bucket_bytes}
    smaller = {"bucket_bytes": max(1, workload.bucket_bytes // BUCKET_FACTOR)}
    halved, rarer = {"exchange": "bfloat16"}, {"accumulate": 4}
    beside, static = {"overlap_optimizer": True}, {"static_graph": True}
    ranked: list[tuple[PriceLevel, dict[str, Any]]] = [
        ("rounding", halved),
        ("any", halved | rarer),
        ("any", {"local_steps": 8, "outer": "nesterov"}),
        ("rounding", halved | beside),
        ("none", beside),
        ("any", {"exchange": "int8"}),
        ("any", rarer),
        ("none", larger),
        ("rounding", halved | larger),
        ("none", static),
        ("none", {"numa": "near"}),
        ("any", {"batch_times": 2}),
        ("any", {"exchange": "onebit"}),
        ("any", {"exchange": "powersgd", "rank": 4, "step_mode": "compile"}),
        ("rounding", halved | larger | beside),
        ("rounding", {"exchange": "float16"}),
        ("none", smaller),
        ("rounding", halved | static),
        ("none", {"copied_gradients": True}),
        *(("none", {"step_mode": mode}) for mode in RECORDED if mode != workload.step_mode),
    ]
    allowed = PRICE_LEVELS[: PRICE_LEVELS.index(price) + 1]
    yield from (options for level, options in ranked if level in allowed)


def _barred(own: Mitigation, workload: StepCase, place: Place) -> str | None:
    """Why options are not worth a try; None if they are."""
    if place.platform.device == "cpu":
        if own.exchange in NEEDS_GPUS:
            return NEEDS_GPUS[own.exchange]
        if own.step_mode:
            return "the device has no CUDA graphs"
    if own.step_mode and own.step_mode == workload.step_mode:
        return f"the workload itself has step mode {own.step_mode}"
    if own.numa is not None and place.nodes == 1:
        return "the machine has one NUMA node"
    return None


def _why_not(place: Place, chosen: Mapping[str, str], facts: VariableFacts) -> str | None:
    """Why variables are not worth a try on a platform; None if they are."""
    platform = place.platform
    if isinstance(platform.treatment, EmulatedLink) or platform.device == "cpu":
        return "the platform's link is not NCCL's"
    own = platform.treatment.variables if isinstance(platform.treatment, NcclVariables) else {}
    if taken := own.keys() & chosen.keys():
        return f"the platform's treatment sets {', '.join(sorted(taken))} itself"
    remarks = lint({**own, **chosen}, facts, version=place.nccl, way=platform.path)
    wrong = [r.says for r in remarks if r.variable in chosen and r.level != "note"]
    return "; ".join(wrong) or None
