"""The numbers of a sentence: which changed, by how much, and whether they left their old range.

Layer: report. Pure.
"""

import re
from dataclasses import dataclass

from commwall.schema.units import quantity_text, volume_text

_SCALED = {
    "s": (1e-9, 1e-6, 1e-3, 1.0, 120.0, 7200.0),
    "byte/s": (1.0, 1e3, 1e6, 1e9, 1e12),
    "byte": (2**10, 2**20, 2**30),
    "Hz": (1.0, 1e3, 1e6, 1e9),
}
"""Unit as stored -> a value for each unit that pages show it in."""


def _units_shown() -> dict[str, tuple[float, str]]:
    """Unit on a page -> how much of the stored unit it is, and that unit."""
    shown = [(quantity_text(v, unit), v, unit) for unit, own in _SCALED.items() for v in own]
    moved = [(volume_text(v), v, "byte") for v in _SCALED["byte/s"]]
    return {
        unit: (value / float(number), stored)
        for text, value, stored in (*shown, *moved)
        for number, unit in [text.split(" ")]
    }


_PERCENT = "%"
_SHOWN = _units_shown() | {_PERCENT: (1.0, _PERCENT)}
_UNITS = "|".join(sorted(map(re.escape, _SHOWN), key=len, reverse=True))
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.,:/−-])"  # no part of a name, a date, a version, a share "3/4"
    r"([-−+]?(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?+(?:e[+-]?\d++)?+)"
    r"(?![A-Za-z0-9_]|[.,:/-]\d)"
    rf"(?: ({_UNITS})(?![A-Za-z0-9_/]))?+"
)
_BEFORE_RANGE = re.compile(r" ?[^\s()（）]{0,20} ?[(（]")
_WITHIN_RANGE = frozenset({" to ", " 至 "})
_STAND_IN = "\0"
_LONGEST = 20_000
"""Characters of a text that is looked through for numbers; no sentence is longer."""


@dataclass(frozen=True)
class Quantity:
    """A number where it stands, with the unit behind it."""

    text: str
    value: float
    """In the base unit of its dimension, or as it stands where its unit is not scaled."""
    unit: str | None
    """Unit as shown, if it is one that is scaled, or a percent sign."""
    start: int
    end: int


@dataclass(frozen=True)
class NumberChange:
    """One number of a sentence, before and after."""

    old: Quantity
    new: Quantity
    old_range: str | None = None
    """What stood in brackets behind the old number: an interval, or least to most."""
    inside: bool | None = None
    """Whether the new number lies in the old range; None where there is none."""

    @property
    def relative(self) -> float | None:
        """Change as a share of the old value [1]; None of percentages, and if that is 0."""
        if self.points is not None or self.old.value == 0:
            return None
        return (self.new.value - self.old.value) / abs(self.old.value)

    @property
    def points(self) -> float | None:
        """Difference of two percentages [percentage points]; None of all else."""
        percent = self.old.unit == self.new.unit == _PERCENT
        return self.new.value - self.old.value if percent else None


def template(text: str) -> str:
    """A sentence without its numbers: equal for sentences that differ in nothing else."""
    if len(text) > _LONGEST:
        return text
    return _NUMBER.sub(lambda found: _STAND_IN + _SHOWN.get(found[2], (0, ""))[1], text)


def number_changes(old: str, new: str) -> tuple[NumberChange, ...]:
    """Numbers that differ between two sentences with one template, in reading order."""
    before, after = quantities(old), quantities(new)
    return tuple(
        _change(old, before, place, now)
        for place, (was, now) in enumerate(zip(before, after, strict=True))
        if was.text != now.text or was.value != now.value
    )


def quantities(text: str) -> tuple[Quantity, ...]:
    """Numbers of a sentence; ends of a range without a unit have that of their neighbour."""
    found = list(_NUMBER.finditer(text))
    units = [match[2] for match in found]
    spans = [match.span() for match in found]
    for place in range(len(found) - 1):
        if _joins(text, spans[place], spans[place + 1]):
            units[place] = units[place] or units[place + 1]
            if place and _opens(text, spans[place - 1], spans[place]):
                units[place] = units[place] or units[place - 1]
            units[place + 1] = units[place + 1] or units[place]
    return tuple(
        Quantity(match[0], _value(match[1], unit), unit, *match.span())
        for match, unit in zip(found, units, strict=True)
    )


def _change(text: str, before: tuple[Quantity, ...], place: int, now: Quantity) -> NumberChange:
    was, ends = before[place], _range_behind(text, before, place)
    if ends is None:
        return NumberChange(was, now)
    low, high = ends
    return NumberChange(was, now, text[low.start : high.end], low.value <= now.value <= high.value)


def _range_behind(
    text: str, found: tuple[Quantity, ...], place: int
) -> tuple[Quantity, Quantity] | None:
    """The two ends of "(low to high" behind a number, if they differ."""
    if place + 2 >= len(found):
        return None
    own, low, high = found[place : place + 3]
    spans = [(number.start, number.end) for number in (own, low, high)]
    ranges = _opens(text, spans[0], spans[1]) and _joins(text, spans[1], spans[2])
    return (low, high) if ranges and low.value < high.value else None


def _opens(text: str, own: tuple[int, int], low: tuple[int, int]) -> bool:
    """Whether a bracket stands between a number and the next, with nothing but a unit before it."""
    return bool(_BEFORE_RANGE.fullmatch(text, own[1], low[0]))


def _joins(text: str, low: tuple[int, int], high: tuple[int, int]) -> bool:
    return text[low[1] : high[0]] in _WITHIN_RANGE


def _value(number: str, unit: str | None) -> float:
    factor = _SHOWN[unit][0] if unit else 1.0
    return factor * float(number.replace(",", "").replace("−", "-"))
