"""What an assumption means: its own numbers, or those of the fact or claim it refers to.

Layer: economics. Reads files of figures in `config/facts` and of claims in `config/facts/claims`.
"""

import datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel

from commwall.economics.uncertain import Stated
from commwall.language.translate import tr
from commwall.schema.claims import ClaimsFile, Number
from commwall.schema.economics import Asked, Assumption, Economics, currency_of
from commwall.schema.errors import ConfigError
from commwall.schema.facts import Figure, FiguresFile
from commwall.schema.parsing import parse_model, parse_yaml
from commwall.schema.quantities import unit_of
from commwall.schema.suggestion import suggestion

FACTS = Path("config/facts")
FIGURES = ("prices", "energy")
"""Files of figures that assumptions may refer to."""
M = TypeVar("M", bound=BaseModel)


class Meant(NamedTuple):
    """An assumption in its key's unit and the file's currency."""

    amount: Stated
    source: str
    date: datetime.date


class _Found(NamedTuple):
    amount: Stated
    unit: str | None
    source: str
    date: datetime.date


class Book:
    """The facts and claims of a checkout, read when they are asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def meant(self, assumption: Assumption, asked: Asked, economics: Economics) -> Meant:
        """An assumption in the unit of its key and the currency of its file.

        Raises:
            ConfigError: if there is no such fact or claim, or no rate for its currency.
            ValueError: if its unit measures something else.
        """
        found = self._found(assumption, economics)
        if found.unit is None:
            return Meant(found.amount, found.source, found.date)
        scale = asked.scale(found.unit) * _rate(found.unit, economics)
        return Meant(found.amount.scaled(scale), found.source, found.date)

    def _found(self, assumption: Assumption, economics: Economics) -> _Found:
        if assumption.fact is not None:
            return self._fact(assumption.fact)
        source, date = assumption.source or economics.source, assumption.date or economics.date
        if assumption.claim is not None:
            number, title = self._claim(assumption.claim)
            most = number.value if number.most is None else number.most
            return _Found(Stated(float(number.value), float(most)), number.unit, title, date)
        if assumption.value is not None:
            return _Found(Stated.certain(assumption.value), assumption.unit, source, date)
        (low, high) = (dict(assumption.numbers)[end] for end in ("low", "high"))
        return _Found(Stated(low, high, assumption.likely), assumption.unit, source, date)

    def _fact(self, address: str) -> _Found:
        if address not in self._figures:
            raise _missing("fact", address, list(self._figures))
        figure = self._figures[address]
        most = figure.most or figure.value
        return _Found(Stated(figure.value, most), figure.unit, figure.source, figure.date)

    def _claim(self, address: str) -> tuple[Number, str]:
        if address not in self._claims:
            raise _missing("number of a claim", address, list(self._claims))
        return self._claims[address]

    @cached_property
    def _figures(self) -> dict[str, Figure]:
        return {
            f"{name}/{key}": figure
            for name in FIGURES
            if (self._root / FACTS / f"{name}.yaml").exists()
            for key, figure in self._read(FACTS / f"{name}.yaml", FiguresFile).root.items()
        }

    @cached_property
    def _claims(self) -> dict[str, tuple[Number, str]]:
        return {
            f"{path.stem}/{claim.id}/{name}": (
                number,
                tr("{text}, claim {claim}", text=file.title, claim=claim.id),
            )
            for path in sorted((self._root / FACTS / "claims").glob("*.yaml"))
            for file in [self._read(path.relative_to(self._root), ClaimsFile)]
            for claim in file.claims
            for name, number in claim.numbers.items()
        }

    def _read(self, path: Path, model: type[M]) -> M:
        text = (self._root / path).read_text(encoding="utf-8")
        return parse_model(model, parse_yaml(text, path.as_posix()), path.as_posix())


def _rate(unit: str, economics: Economics) -> float:
    """How many of the file's currency one of the unit's is; 1 where the unit is no price."""
    currency = currency_of(unit_of(unit))
    if currency in (None, economics.currency):
        return 1.0
    if currency not in economics.rates:
        raise ConfigError(
            f"is in {currency}, the file in {economics.currency}, and `rates` has none for it",
            expected=f"rates.{currency} with value, source and date",
        )
    return economics.rates[currency].value


def _missing(kind: str, address: str, known: list[str]) -> ConfigError:
    return ConfigError(f"there is no {kind} {address!r}", expected=suggestion(address, known))
