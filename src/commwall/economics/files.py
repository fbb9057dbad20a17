"""Read a scenario: its file, what it extends, the facts and claims it refers to, currencies.

Layer: economics. Reads `config/economics.yaml`, `config/scenarios/*.yaml`, files that the user
names, and of `config/facts` what they refer to.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from commwall.economics.formulas import HOURS_PER_MONTH
from commwall.economics.references import Book, Meant
from commwall.economics.scenario import Entry, Gain, Scenario
from commwall.economics.sums import WORK
from commwall.economics.uncertain import Shorter
from commwall.language.translate import tr
from commwall.schema.economics import (
    MONEY,
    PRICE,
    RENT,
    SHORTER,
    SPEEDUP,
    Asked,
    Assumption,
    Economics,
    asked_keys,
)
from commwall.schema.errors import CommwallError, ConfigError
from commwall.schema.parsing import parse_model, parse_yaml
from commwall.schema.suggestion import suggestion

DEFAULT = Path("config/economics.yaml")
FOLDER = Path("config/scenarios")
_EXTENDS = "extends"
_DEPTH = 5
"""Files that may extend one another in a row."""


def home_of(start: Path) -> Path:
    """The checkout whose assumptions count: the one at hand, else this package's own."""
    return start if (start / DEFAULT).exists() else Path(__file__).resolve().parents[3]


def shipped(root: Path) -> tuple[str, ...]:
    """Names of the scenarios in a checkout."""
    return tuple(sorted(path.stem for path in (root / FOLDER).glob("*.yaml")))


def read_scenario(root: Path, wanted: str | None = None, gpus: int | None = None) -> Scenario:
    """A scenario with everything resolved.

    Args:
        root: the checkout.
        wanted: name of a scenario, or a file; None for `config/economics.yaml`.
        gpus: GPUs of each side as a campaign has them; None takes the file's.

    Raises:
        ConfigError: naming every problem with file, key, found and expected.
    """
    path = _path_of(root, wanted)
    where = _shown(root, path)
    economics = parse_model(Economics, _data(root, path, _DEPTH), where)
    return _Resolver(economics, Book(root), gpus or economics.gpus).scenario(path.stem, where)


def _path_of(root: Path, wanted: str | None) -> Path:
    if wanted is None or wanted == DEFAULT.stem:
        return root / DEFAULT
    if wanted in shipped(root):
        return root / FOLDER / f"{wanted}.yaml"
    if Path(wanted).is_file():
        return Path(wanted)
    known = shipped(root)
    raise ConfigError(
        "there is no such scenario",
        found=wanted,
        expected=suggestion(wanted, known) or f"one of: {', '.join(known)}",
        next_step="name a file, or a scenario of config/scenarios",
    )


def _shown(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _data(root: Path, path: Path, depth: int) -> Any:
    """Content of a file over that of the file it extends; an empty key takes away."""
    where = _shown(root, path)
    try:
        own = parse_yaml(path.read_text(encoding="utf-8"), where)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("cannot read a scenario", where=where, found=str(error)) from error
    if not isinstance(own, dict) or _EXTENDS not in own:
        return own
    if depth == 0:
        raise ConfigError("scenarios extend one another without end", where=where)
    base = _data(root, _path_of(root, str(own.pop(_EXTENDS))), depth - 1)
    return {**base, **own} if isinstance(base, dict) else own


class _Resolver:
    """Turns the parts of one file into entries, and collects what is wrong with any."""

    def __init__(self, economics: Economics, book: Book, gpus: int | None) -> None:
        self.economics, self.book, self.gpus = economics, book, gpus
        self.problems: list[str] = []

    def scenario(self, name: str, where: str) -> Scenario:
        own = self.economics
        entries = dict(self._entries())
        gains = dict(self._gains())
        self.problems += _contradictions(entries, self.gpus)
        if self.problems:
            raise ConfigError(
                f"{len(self.problems)} problem(s) in {where}",
                where=where,
                found="\n".join(self.problems),
                next_step="correct the file and run again",
            )
        return Scenario(
            name=name,
            title=own.title,
            difference=own.difference,
            currency=own.currency,
            side_a=tr(own.a.words),
            side_b=tr(own.b.words),
            gpus=self.gpus,
            entries=entries,
            gains=gains,
            mix=own.mix,
        )

    def _entries(self) -> Iterator[tuple[str, Entry]]:
        for key, asked, assumption in self._stated():
            meant = self._meant(key, asked, assumption)
            if meant:
                yield (
                    key,
                    Entry(
                        key=key,
                        asked=asked,
                        amount=meant.amount,
                        unit=asked.unit.replace(MONEY, self.economics.currency),
                        source=meant.source,
                        date=meant.date,
                        together=assumption.together,
                    ),
                )

    def _stated(self) -> Iterator[tuple[str, Asked, Assumption]]:
        """Every assumption of the file with its key; those of gains apart."""
        own = self.economics
        for name, side in (("a", own.a), ("b", own.b)):
            for item, price in side.purchase.items():
                words = tr("price of {item}, {side}", item=item, side=tr(side.words))
                yield f"{name}.purchase.{item}", replace(PRICE, words=words), price
            if side.rent:
                words = tr("{what}, {side}", what=tr(RENT.words), side=tr(side.words))
                yield f"{name}.rent", replace(RENT, words=words), side.rent
        for key, asked in asked_keys().items():
            if assumption := getattr(own, key):
                yield key, asked, assumption

    def _gains(self) -> Iterator[tuple[str, Gain]]:
        for name, gain in self.economics.gains.items():
            field, asked = ("speedup", SPEEDUP) if gain.speedup else ("shorter_share", SHORTER)
            meant = self._meant(f"gains.{name}.{field}", asked, getattr(gain, field))
            if meant:
                speedup = meant.amount if gain.speedup else Shorter(meant.amount)
                yield name, Gain(gain.kind, speedup, meant.source, meant.date)

    def _meant(self, key: str, asked: Asked, assumption: Assumption) -> Meant | None:
        """What an assumption means in the key's unit; None where that is a problem."""
        own = self.economics
        try:
            meant = self.book.meant(assumption, asked, own)
            factor = assumption.times * self._count(assumption)
            for end in (meant.amount.low, meant.amount.high):
                asked.bounded("it", end * factor)
        except CommwallError as error:
            hint = error.parts["expected"]
            self.problems.append(f"{key}: {error.what}" + (f"; {hint}" if hint else ""))
        except ValueError as error:
            self.problems.append(f"{key}: {error}")
        else:
            return meant._replace(amount=meant.amount.scaled(factor))
        return None

    def _count(self, assumption: Assumption) -> int:
        if not assumption.per_gpu:
            return 1
        if self.gpus is None:
            raise ConfigError("counts for each GPU, and `gpus` is not stated")
        return self.gpus


def _contradictions(entries: Mapping[str, Entry], gpus: int | None) -> Iterator[str]:
    """What is possible for each number, and not for all of them together."""
    if gpus is None and {"a.rent", "b.rent"} & entries.keys():
        yield "gpus: must be stated where rents of a GPU are"
    if set(WORK) <= entries.keys():
        trainings, hours = (entries[key].amount.middle for key in WORK)
        if trainings * hours > HOURS_PER_MONTH:
            yield (
                f"{WORK[0]}: {trainings:g} of {hours:g} h each are {trainings * hours:g} h, "
                f"a month has {HOURS_PER_MONTH:g}; count the trainings of one machine"
            )
