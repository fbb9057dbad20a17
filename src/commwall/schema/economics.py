"""What a money answer rests on: prices, energy, people and work, each certain or a range.

Layer: schema. Models of `config/economics.yaml` and `config/scenarios/*.yaml`;
`commwall.economics.files` reads them.
"""

import datetime
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import GetCoreSchemaHandler, field_validator, model_validator
from pydantic_core import CoreSchema, core_schema

from commwall.schema.base import Model, Name, PositiveFloat, WorldSize
from commwall.schema.errors import UnitError
from commwall.schema.quantities import CURRENCIES, Quantity, dimension_text, unit_of

MONEY = "{currency}"
"""Stands for the file's currency in the unit of a key."""
_ENDS = ("value", "low", "likely", "high")


class Assumption(Model):
    """A number, certain or a range; a plain number in a file is its `value`.

    `low` and `high` alone: any number between them, all alike. With `likely`: most often near it,
    ever more seldom towards the ends.
    """

    value: float | None = None
    low: float | None = None
    likely: float | None = None
    high: float | None = None
    fact: str | None = None
    """Instead of a number: `FILE/ENTRY` of config/facts."""
    claim: str | None = None
    """Instead of a number: `FILE/CLAIM/NUMBER` of config/facts/claims."""
    unit: str | None = None
    """Of the number, where it is not the key's own; of a price it names the currency."""
    times: PositiveFloat = 1.0
    """Factor on all of it: eight of a price."""
    per_gpu: bool = False
    """True if it counts once for each GPU."""
    together: Name | None = None
    """Ranges of one name move together, low with low: two rents of one tier."""
    source: str | None = None
    """Where it is from; of what states none, that of the file."""
    date: datetime.date | None = None
    """When the source stated it; of what states none, that of the file."""

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, data: object) -> object:
        if isinstance(data, bool) or (isinstance(data, str) and data):
            raise ValueError("must be a number, or a mapping that states one")
        return {"value": data} if isinstance(data, int | float) else data

    @field_validator(*_ENDS, mode="before")
    @classmethod
    def _number(cls, value: object) -> object:
        if isinstance(value, bool):
            raise ValueError("must be a number")  # YAML reads yes and no as such, too
        return value

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        ranged = (self.low, self.likely, self.high) != (None, None, None)
        forms = [self.value is not None, ranged, self.fact is not None, self.claim is not None]
        if sum(forms) != 1:
            raise ValueError("needs one of: value; low and high; fact; claim")
        if self.unit and (self.fact or self.claim):
            raise ValueError("a fact or claim has its own unit, so that none is stated here")
        if ranged and (self.low is None or self.high is None):
            raise ValueError("a range needs low and high")
        if self.low is not None and self.high is not None:
            middle = self.low if self.likely is None else self.likely
            if not self.low <= middle <= self.high:
                raise ValueError(
                    f"the range is upside down: {self.low:g}, {middle:g}, {self.high:g}"
                )
        return self

    @property
    def numbers(self) -> Iterator[tuple[str, float]]:
        """The numbers that it states itself, by name."""
        stated = ((name, getattr(self, name)) for name in _ENDS)
        return ((name, number) for name, number in stated if number is not None)


@dataclass(frozen=True)
class Asked:
    """What a key asks for: words, unit, and between which ends its numbers make sense."""

    words: str
    unit: str
    """Of its numbers; MONEY stands for the file's currency."""
    least: float = 0.0
    most: float = math.inf
    open_below: bool = False
    """True if `least` itself makes no sense."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Check the bounds of what the annotated type has read."""
        return core_schema.no_info_after_validator_function(self.checked, handler(source))

    def checked(self, assumption: Assumption | None) -> Assumption | None:
        """The assumption as it stands.

        Raises:
            ValueError: if its unit is of another kind, or a number of it is out of bounds.
        """
        if assumption is None:
            return None
        scale = self.scale(assumption.unit) if assumption.unit else 1.0
        for name, number in assumption.numbers:
            self.bounded(name, number * scale)
        return assumption

    def bounded(self, name: str, number: float) -> None:
        """See that a number in the key's unit makes sense.

        Raises:
            ValueError: if it does not.
        """
        if number < self.least or (self.open_below and number == self.least):
            relation = "above" if self.open_below else "at least"
            raise ValueError(f"must be {relation} {self.least:g}, {name} is {number:g}")
        if number > self.most:
            raise ValueError(f"must be at most {self.most:g}, {name} is {number:g}")

    def scale(self, unit: str) -> float:
        """How many of the key's unit one of another unit is; currencies count as one.

        Raises:
            ValueError: if the unit is not known, or measures something else.
        """
        wanted = unit_of(self.unit.replace(MONEY, "$"))
        try:
            given = unit_of(unit)
        except UnitError as error:
            raise ValueError(f"{error.what}; {error.parts['expected']}") from error
        money = currency_of(given)
        dimension = tuple(
            sorted(("$" if base == money else base, n) for base, n in given.dimension)
        )
        if dimension != wanted.dimension:
            found, expected = dimension_text(given.dimension), self.unit.replace(MONEY, "currency")
            raise ValueError(f"unit {unit!r} is {found}, expected a unit of {expected}")
        return given.value / wanted.value


def currency_of(quantity: Quantity) -> str | None:
    """The currency in which a quantity is; None if it is no price."""
    return next((base for base, _ in quantity.dimension if base in CURRENCIES), None)


PRICE = Asked("price", MONEY)
RENT = Asked("rent of a GPU", MONEY + "/GPU/h", open_below=True)
SPEEDUP = Asked("speed-up", "1", open_below=True)
SHORTER = Asked("share by which a training is shorter", "1", most=0.999)


class Side(Model):
    """What one side of the decision costs."""

    words: str
    """What is bought or rented."""
    purchase: dict[Name, Annotated[Assumption, PRICE]] = {}
    """The bill: server, switch, cables …"""
    rent: Annotated[Assumption | None, RENT] = None


class StatedGain(Model):
    """What the faster link gives a workload, by somebody's word or model."""

    kind: Literal["published", "modelled"]
    speedup: Annotated[Assumption | None, SPEEDUP] = None
    shorter_share: Annotated[Assumption | None, SHORTER] = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.speedup is None) == (self.shorter_share is None):
            raise ValueError("needs one of: speedup; shorter_share")
        return self


class Rate(Model):
    """What one of another currency is worth in the file's."""

    value: PositiveFloat
    source: str
    date: datetime.date


class Economics(Model):
    """Everything a money answer rests on; what is left out is left out of the sums, and named."""

    title: str
    difference: str
    """Which difference in purchase or rent the gain stands for, and what it does not."""
    currency: Literal["$", "EUR", "GBP", "CHF", "CNY", "JPY"]
    """Of all results, and of every price without unit."""
    source: str
    """Of every number that states none."""
    date: datetime.date
    """Likewise."""
    a: Side
    """With the faster link."""
    b: Side
    """With the other link."""
    rates: dict[str, Rate] = {}
    """Currency -> its worth in the file's."""
    gpus: WorldSize | None = None
    """GPUs of each side; those of the campaign where one is judged."""
    gains: dict[Name, StatedGain] = {}
    """Workload -> its gain, where no campaign has measured it."""
    mix: dict[Name, PositiveFloat] | None = None
    """Workload -> its share of machine time over the slower link, in any unit; null takes equal
    shares."""
    price_level: Annotated[
        Assumption | None, Asked("price level, paid / billed", "1", most=10.0, open_below=True)
    ] = None
    trainings_per_month: Annotated[Assumption | None, Asked("number of trainings", "1/month")] = (
        None
    )
    training_h: Annotated[
        Assumption | None, Asked("length of a training", "h", open_below=True)
    ] = None
    published_payback_months: Annotated[
        Assumption | None, Asked("pay-back time that a text states", "month", open_below=True)
    ] = None
    """The hours of a training that this needs are solved for, instead of `training_h`."""
    engineer_per_h: Annotated[Assumption | None, Asked("engineer's hour", MONEY + "/h")] = None
    waiting_share: Annotated[
        Assumption | None, Asked("share in which an engineer waits", "1", most=1.0)
    ] = None
    freed_share: Annotated[
        Assumption | None,
        Asked("share of freed time that would else be rented", "1", most=1.0),
    ] = None
    energy_price: Annotated[Assumption | None, Asked("price of electricity", MONEY + "/kWh")] = None
    pue: Annotated[Assumption | None, Asked("PUE", "1", least=1.0, most=5.0)] = None
    carbon: Annotated[Assumption | None, Asked("carbon dioxide of the grid", "kg/kWh")] = None
    utilisation: Annotated[
        Assumption | None,
        Asked("busy share of all hours", "1", most=1.0, open_below=True),
    ] = None
    depreciation_years: Annotated[
        Assumption | None, Asked("time of use", "year", most=30.0, open_below=True)
    ] = None
    discount_rate: Annotated[Assumption | None, Asked("discount rate", "1/year", most=1.0)] = None

    @model_validator(mode="after")
    def _hours_once(self) -> Self:
        if self.training_h is not None and self.published_payback_months is not None:
            raise ValueError("training_h is what published_payback_months solves for: name one")
        return self


def asked_keys() -> dict[str, Asked]:
    """Every key of the file itself that takes an assumption."""
    return {
        name: found
        for name, field in Economics.model_fields.items()
        if (found := _asked(field.metadata))
    }


def _asked(metadata: list[Any]) -> Asked | None:
    return next((each for each in metadata if isinstance(each, Asked)), None)
