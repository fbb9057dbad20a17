"""From numbers with units as people write them to SI values with a dimension.

Layer: schema. Reads and writes no file. What is counted keeps its name: images are not sequences,
parameters are not bytes. GPUs, links, layers and the like are plain numbers.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from commwall.schema.errors import UnitError

Dimension = tuple[tuple[str, int], ...]
"""Base and exponent, sorted by base; empty for plain numbers."""
SAMPLES = frozenset({"image", "sequence", "token", "sample"})
"""Bases that count what a model is trained on."""
CURRENCIES = frozenset({"$", "EUR", "GBP", "CHF", "CNY", "JPY"})
"""Bases of money: they are no scales of each other, a rate has its day."""

_BYTES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_LARGE = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_PLAIN = [
    "1",
    "x",
    "GPU",
    "link",
    "lane",
    "generation",
    "step",
    "stage",
    "layer",
    "training",
    "micro-batch",
    "rank",
    "name",
    "copy",
]
_SCALES: dict[str, tuple[float, str]] = {
    **dict.fromkeys(_PLAIN, (1.0, "")),
    "%": (0.01, ""),
    "B": (1.0, "byte"),
    "byte": (1.0, "byte"),
    **{f"{prefix}B": (scale, "byte") for prefix, scale in (_BYTES | _BINARY).items()},
    "bit": (1 / 8, "byte"),
    **{f"{prefix}b": (scale / 8, "byte") for prefix, scale in _BYTES.items()},
    "s": (1.0, "s"),
    "ms": (1e-3, "s"),
    "µs": (1e-6, "s"),
    "us": (1e-6, "s"),
    "ns": (1e-9, "s"),
    "min": (60.0, "s"),
    "h": (3600.0, "s"),
    "day": (86400.0, "s"),
    "J": (1.0, "J"),
    "Wh": (3600.0, "J"),
    "kWh": (3.6e6, "J"),
    "MWh": (3.6e9, "J"),
    "g": (1e-3, "kg"),
    "kg": (1.0, "kg"),
    "FLOP": (1.0, "FLOP"),
    **{f"{prefix}FLOP": (scale, "FLOP") for prefix, scale in _LARGE.items()},
    "MAC": (1.0, "MAC"),
    "GMAC": (1e9, "MAC"),
    "$": (1.0, "$"),
    "k$": (1e3, "$"),
    "USD": (1.0, "$"),
    **{name: (1.0, name) for name in CURRENCIES - {"$"}},
    **{name: (1.0, name) for name in (*SAMPLES, "parameter", "month", "year")},
    "img": (1.0, "image"),
    "seq": (1.0, "sequence"),
}
"""Unit -> its size in base units, and its base.

Source: BIPM, The International System of Units; IEC 80000-13 for the binary prefixes.
"""
_COMPOUND = {"W": "J/s", "kW": "kWh/h", "Hz": "1/s"} | {
    f"{prefix}FLOPS": f"{prefix}FLOP/s" for prefix in ("", *_LARGE)
}


@dataclass(frozen=True)
class Quantity:
    """A value in SI base units with its dimension."""

    value: float
    dimension: Dimension = ()

    def __mul__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.value * other.value, _combined(self.dimension, other.dimension, 1))

    def __truediv__(self, other: "Quantity") -> "Quantity":
        value = self.value / other.value if other.value else math.inf
        return Quantity(value, _combined(self.dimension, other.dimension, -1))

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.value + other.value, self._same(other))

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.value - other.value, self._same(other))

    def __pow__(self, exponent: int) -> "Quantity":
        return Quantity(
            self.value**exponent, tuple((base, power * exponent) for base, power in self.dimension)
        )

    def _same(self, other: "Quantity") -> Dimension:
        if self.dimension != other.dimension:
            raise UnitError(
                "values of two kinds cannot be added",
                found=f"{dimension_text(self.dimension)} and {dimension_text(other.dimension)}",
                expected="one kind",
            )
        return self.dimension


def unit_of(text: str) -> Quantity:
    """One of a unit: `GB/s`, `sample/Wh`, `$/GPU/h`.

    Raises:
        UnitError: if a part of it is not known.
    """
    first, *divisors = text.strip().split("/")
    found = _product(first)
    for part in divisors:
        found = found / _product(part)
    return found


def dimension_text(dimension: Dimension) -> str:
    """A dimension in words: `byte/s`; `1` for a plain number."""
    above = [_power(base, power) for base, power in dimension if power > 0]
    below = [_power(base, -power) for base, power in dimension if power < 0]
    return "/".join(["·".join(above) or "1", *below])


def _product(text: str) -> Quantity:
    found = Quantity(1.0)
    for word in re.split(r"[·*]", text.strip()):
        found = found * _word(word.strip())
    return found


def _word(word: str) -> Quantity:
    if word in _COMPOUND:
        return unit_of(_COMPOUND[word])
    singular = word if word in _SCALES else word.removesuffix("s")
    if singular not in _SCALES:
        raise UnitError(
            f"unknown unit {word!r}",
            found=word,
            expected=f"one of {', '.join(sorted({*_SCALES, *_COMPOUND}))}, or a/b of them",
        )
    scale, base = _SCALES[singular]
    return Quantity(scale, ((base, 1),) if base else ())


def _combined(one: Dimension, other: Dimension, sign: int) -> Dimension:
    powers = dict(one)
    for base, power in other:
        powers[base] = powers.get(base, 0) + sign * power
    return _sorted(powers.items())


def _sorted(powers: Iterable[tuple[str, int]]) -> Dimension:
    return tuple(sorted((base, power) for base, power in powers if power))


def _power(base: str, power: int) -> str:
    return base if power == 1 else f"{base}^{power}"
