"""All sourced constants under one kind of address, for claims to refer to.

Layer: claims. Reads `config/facts/*.yaml`. An address is `file/entry`, `file/entry/field`, or for
links `links/nvlink/4`; `busbw/NAME` is the highest rate of a series and
`busbw/NAME/67108864` that of a message size.
"""

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeVar

from pydantic import BaseModel, RootModel

from commwall.language.translate import tr, tr_later
from commwall.records.hardware import read_achieved, read_hardware
from commwall.schema.achieved import AchievedFile
from commwall.schema.base import Model, Name
from commwall.schema.errors import ConfigError
from commwall.schema.facts import Fact, Figure, FiguresFile, HardwareFacts, Source, Word
from commwall.schema.parsing import parse_model, parse_yaml
from commwall.schema.quantities import Quantity, unit_of
from commwall.schema.suggestion import suggestion

FOLDER = Path("config/facts")
FIGURES = ("copies", "models", "training", "protocols", "prices", "energy")
"""Files of figures; the others have models of their own."""
VOCABULARIES = "vocabularies"
NCCL_NAMES = "nccl-variables"
NCCL_NAME = re.compile(r"NCCL_[A-Z0-9_]+")
M = TypeVar("M", bound=BaseModel)


class Vocabulary(Model):
    """Words that a tool knows."""

    title: str
    """What the words are, in front of readers."""
    complete: bool
    """True if a word that is not listed does not exist."""
    words: tuple[str, ...]
    source: str
    date: datetime.date | None = None
    grade: Literal["primary", "secondary", "estimate"] = "secondary"


class VocabulariesFile(RootModel[dict[Name, Vocabulary]]):
    """Content of `vocabularies.yaml`."""


@dataclass(frozen=True)
class KnownValue:
    """A constant as claims use it."""

    address: str
    least: Quantity
    most: Quantity
    """The same, where it is no range."""
    source: str
    varies: bool = False
    """A price: no claim is wrong for differing from it."""

    @property
    def wide(self) -> bool:
        """Whether its range is so wide that one value of it says little of another machine."""
        return self.most.value > WIDE * self.least.value


WIDE = 1.25
"""Ratio of a range's ends from which on a single value within it is a matter of the machine."""


@dataclass(frozen=True)
class FactBook:
    """Constants and words."""

    values: Mapping[str, KnownValue]
    words: Mapping[str, Word]
    """Address -> a fact that is a name."""
    vocabularies: Mapping[str, Vocabulary]

    def value(self, address: str) -> KnownValue:
        """A constant.

        Raises:
            ConfigError: if there is none, with the nearest address.
        """
        if address in self.values:
            return self.values[address]
        near = suggestion(address, self.values)
        raise ConfigError(f"there is no fact {address!r}", expected=near)

    def vocabulary(self, name: str) -> Vocabulary:
        """The words of a tool, or the one word of a fact that is a name.

        Raises:
            ConfigError: if there is neither, with the nearest name.
        """
        if name in self.vocabularies:
            return self.vocabularies[name]
        if name in self.words:
            fact = self.words[name]
            return Vocabulary(
                title=tr("what is on file as {address}", address=name),
                complete=True,
                words=(fact.value,),
                source=f"{fact.source} ({fact.date})",
            )
        near = suggestion(name, [*self.vocabularies, *self.words])
        raise ConfigError(f"there is no vocabulary {name!r}", expected=near)


def read_factbook(root: Path) -> FactBook:
    """Everything in config/facts.

    Raises:
        ConfigError: if a file is malformed or states a unit that is not known.
    """
    facts: dict[str, Source] = {**_hardware(read_hardware(root))}
    for name in FIGURES:
        content = _read(root, name, FiguresFile)
        facts |= {f"{name}/{key}": each for key, each in (content.root if content else {}).items()}
    values = {k: known_value(k, each) for k, each in facts.items() if isinstance(each, Fact)}
    values |= _achieved(read_achieved(root))
    words = {address: each for address, each in facts.items() if isinstance(each, Word)}
    return FactBook(
        MappingProxyType(values), MappingProxyType(words), MappingProxyType(_vocabularies(root))
    )


def known_value(address: str, fact: Fact) -> KnownValue:
    """A fact with its unit, rates of links in one direction.

    Raises:
        ConfigError: if its unit is not known.
    """
    unit = unit_of(fact.unit)
    share = 0.5 if fact.direction == "both" else 1.0
    most = fact.most if isinstance(fact, Figure) and fact.most else fact.value
    lower, upper = (Quantity(end * share) * unit for end in (fact.value, most))
    varies = isinstance(fact, Figure) and fact.varies
    return KnownValue(address, lower, upper, f"{fact.source} ({fact.date})", varies)


def _hardware(facts: HardwareFacts) -> dict[str, Source]:
    gpus = {
        f"gpus/{key}/{field}": fact
        for key, peaks in facts.gpus.root.items()
        for field, fact in peaks
        if isinstance(fact, Source)
    }
    links = {
        f"links/{kind}/{generation}": fact
        for kind, table in facts.links
        for generation, fact in table.items()
    }
    return {**gpus, **links}


def _achieved(file: AchievedFile) -> dict[str, KnownValue]:
    rate = unit_of("byte/s").dimension
    found = {}
    for name, each in file.root.items():
        source = f"{each.source} ({each.date}); {each.condition}"
        largest = each.most_bytes_per_s or each.largest
        sizes = {f"/{size}": (value, value) for size, value in each.busbw_bytes_per_s.items()}
        for ending, ends in {"": (each.largest, largest), **sizes}.items():
            address = f"busbw/{name}{ending}"
            least, most = (Quantity(end, rate) for end in ends)
            found[address] = KnownValue(address, least, most, source)
    return found


def _vocabularies(root: Path) -> dict[str, Vocabulary]:
    own = _read(root, VOCABULARIES, VocabulariesFile)
    names = tuple(dict.fromkeys(_nccl_names(_data(root, NCCL_NAMES))))
    found = dict(own.root) if own else {}
    if names:
        found[NCCL_NAMES] = Vocabulary(
            title=tr_later("NCCL's variables"),
            complete=True,
            words=names,
            source="NVIDIA NCCL documentation and source",
        )
    return found


def _nccl_names(data: object) -> Iterator[str]:
    """Names of variables in a file: keys and items of lists, whatever else it says of them."""
    if isinstance(data, str) and NCCL_NAME.fullmatch(data):
        yield data
    if isinstance(data, Mapping | list):
        for key in data:
            yield from _nccl_names(key)
    if isinstance(data, Mapping):
        for below in data.values():
            if not isinstance(below, str):
                yield from _nccl_names(below)


def _read(root: Path, name: str, model: type[M]) -> M | None:
    data = _data(root, name)
    return None if data is None else parse_model(model, data, (FOLDER / f"{name}.yaml").as_posix())


def _data(root: Path, name: str) -> object:
    """Value of a YAML file; None where there is no file."""
    path = root / FOLDER / f"{name}.yaml"
    if not path.exists():
        return None
    return parse_yaml(path.read_text(encoding="utf-8"), (FOLDER / path.name).as_posix())
