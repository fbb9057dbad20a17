"""Published claims as data: what a text says, its numbers, and what follows if it is right.

Layer: schema. Models only; `config/facts/claims/*.yaml` is read by `commwall.claims.files`. No
field holds a verdict: verdicts are reached by the rules of `commwall.claims`.
"""

import datetime
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from commwall.schema.base import Model, Name, PositiveFloat, PositiveInt
from commwall.schema.case import CollectivesCase, MemoryCase, TrainingCase
from commwall.schema.errors import UnitError
from commwall.schema.inference import InferenceCase
from commwall.schema.quantities import unit_of
from commwall.schema.strategies import StrategiesCase
from commwall.schema.treatment import LinkPath

Symbol = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
"""A name that expressions use."""
MEASURED_CASES = (TrainingCase, MemoryCase, CollectivesCase, StrategiesCase, InferenceCase)
"""What cells that stand beside a claim may be of."""
COUNTED = frozenset({"GPU", "link", "lane", "generation", "step", "stage", "layer", "rank"})
"""Units of things that are counted: a whole number of them is exact."""


def known_unit(text: str) -> str:
    """The unit as it stands.

    Raises:
        ValueError: if it is not known.
    """
    try:
        unit_of(text)
    except UnitError as error:
        raise ValueError(f"{error.what}; {error.parts['expected']}") from error
    return text


class Number(Model):
    """A number of the text, as it stands there."""

    value: float | int
    unit: str
    """As the text has it."""
    most: float | int | None = None
    """Upper end, if the text gives a range."""
    about_percent: PositiveFloat | None = None
    """How far it may be off, where the text says "about"; else half its last digit."""
    direction: Literal["one", "both", "unstated"] | None = None
    """Of a link's rate: of one direction, both added, or not told. None: no rate of a link."""
    reached: bool = False
    """The text calls it measured, real or effective."""
    gpus: PositiveInt | None = None
    """GPUs whose sum it is said to be."""
    place: str = "here"
    """Where the text states it; numbers of two places can contradict each other."""

    _unit = field_validator("unit")(known_unit)

    @field_validator("value", "most", mode="before")
    @classmethod
    def _counted(cls, value: object) -> object:
        if isinstance(value, bool):
            raise ValueError("must be a number")  # YAML reads yes and no as such, too
        return value

    @model_validator(mode="after")
    def _ordered(self) -> "Number":
        if self.most is not None and self.most < self.value:
            raise ValueError(f"`most` is {self.most:g}, below `value`, which is {self.value:g}")
        return self

    @property
    def half_width(self) -> float:
        """How far the true value may be off, in its own unit."""
        if self.about_percent is not None:
            return abs(float(self.value)) * self.about_percent / 100
        if isinstance(self.value, int):
            return 0.0 if self.unit in COUNTED else 0.5
        return 0.5 * 10.0 ** int(Decimal(repr(self.value)).as_tuple().exponent)


class Unknown(Model):
    """What the text does not tell, solved for."""

    unit: str
    equation: str
    """From which its value follows."""
    within: tuple[float, float]
    """Least and most that is possible at all, in its unit; none between them is impossible."""
    role: Literal["setting", "outcome", "step"]
    """setting: chosen by who runs it, so the claim holds on this condition; outcome: something
    the text should have measured and told; step: only used further on."""
    words: str
    """What it is."""

    _unit = field_validator("unit")(known_unit)


class Shown(Model):
    """A value that the reader should see beside the claim."""

    of: str
    unit: str
    words: str

    _unit = field_validator("unit")(known_unit)


class Formula(Model):
    """A formula of the text against the documented one."""

    text: str
    """As the text has it, over the names of `at`."""
    unit: str
    """Of its result."""
    at: dict[Symbol, tuple[float, str]]
    """Name -> value and unit at which both are looked at; each is also doubled."""
    documented: str | None = None
    """The formula that holds; None: only the unit of the text's one is looked at."""
    only_scaling: bool = False
    """The text only says how the result grows."""
    reads: dict[Symbol, Symbol] = {}
    """Name in the text -> name in the documented formula that it must stand for."""

    _unit = field_validator("unit")(known_unit)


class Measured(Model):
    """Cells of campaigns that can be set beside a claim."""

    number: Symbol | None = None
    """Beside which of its numbers; None if the text gives none."""
    metric: Literal[
        "busbw_bytes_per_s",
        "memory_bandwidth_bytes_per_s",
        "throughput_samples_per_s",
        "epoch_time_s",
        "strategy_tokens_per_s",
        "decode_tokens_per_s",
        "decode_tokens_per_s_per_gpu",
    ]
    case: dict[Symbol, str | None]
    """What the case must be: `collective: all_reduce`, `model: resnet` and `preset: "152"`."""
    gpu: Name
    """Key of `gpus.yaml`: cells of other GPUs are not looked at."""
    ranks: PositiveInt | None = None
    links: Annotated[tuple[LinkPath, ...], Field(max_length=2)] = ()
    """Ways of the traffic: none takes the value over each link, one that over this link, two the
    value over the first relative to that over the second. Beside a number in % that is by how much
    the first is better."""

    @field_validator("case")
    @classmethod
    def _of_a_case(cls, fields: dict[str, str | None]) -> dict[str, str | None]:
        if any(fields.keys() <= set(own.model_fields) for own in MEASURED_CASES):
            return fields
        raise ValueError(f"no case has {' and '.join(fields)}")

    @property
    def is_ratio(self) -> bool:
        """Whether two links are compared."""
        return len(self.links) == 2


class Claim(Model):
    """One statement of a text."""

    id: Name
    says: str
    """What it states, in the project's own words."""
    numbers: dict[Symbol, Number] = {}
    facts: dict[Symbol, str] = {}
    """Name -> place in config/facts: `gpus/h200-sxm/memory_bytes_per_s`."""
    relations: tuple[str, ...] = ()
    """What must hold if it is right: `a / b == c`, `rate <= bound`."""
    unknowns: dict[Symbol, Unknown] = {}
    """Solved in this order, before the relations are looked at."""
    formulas: tuple[Formula, ...] = ()
    words: dict[str, str] = {}
    """Word of the text -> the vocabulary that must hold it."""
    scope: dict[str, str] = {}
    """What the text says that it holds for."""
    context: dict[str, str] = {}
    """What it was found on; what `scope` does not restrict it to is a condition."""
    shown: dict[Symbol, Shown] = {}
    """Computed after the unknowns; may be used by what stands below it."""
    measured: tuple[Measured, ...] = ()


class ClaimsFile(Model):
    """Claims of one text."""

    title: str
    """What kind of text it is."""
    source: str
    """Where it can be read, or by whom it was read."""
    date: datetime.date | None = None
    """Of the text; None if it bears none."""
    claims: Annotated[tuple[Claim, ...], Field(min_length=1)]
