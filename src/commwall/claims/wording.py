"""Values of claims in words.

Layer: claims. Reads and writes no file.
"""

from collections.abc import Iterable

from commwall.language.translate import span_text
from commwall.schema.quantities import Dimension, Quantity, dimension_text, unit_of
from commwall.schema.units import rate_text, significant, time_text, volume_text

_TEXTS = {"byte/s": rate_text, "byte": volume_text, "s": time_text}
_READABLE = (("EFLOP/s", 1e18), ("PFLOP/s", 1e15), ("TFLOP/s", 1e12), ("k$", 1e4))
"""Unit in which a value is told, and the least value in base units for which it is."""
MOST_PLAIN = 1_000_000
"""A whole number below it is told with all its digits."""


def told(value: Quantity) -> str:
    """A quantity in words, in the unit a reader expects: `352 MB`, `55.4 GB/s`."""
    name = dimension_text(value.dimension)
    if name in _TEXTS:
        return _TEXTS[name](value.value)
    for unit, least in _READABLE:
        one = unit_of(unit)
        if one.dimension == value.dimension and abs(value.value) >= least:
            return f"{significant(value.value / one.value)} {unit}"
    return _with_unit(value.value, "" if name == "1" else name)


def told_range(values: Iterable[float], dimension: Dimension) -> str:
    """One value, or its least and most where they differ in words."""
    found = list(values)
    return span_text(told(Quantity(min(found), dimension)), told(Quantity(max(found), dimension)))


def told_in(values: Iterable[float], unit: str) -> str:
    """The same in a given unit, from values in base units."""
    scale = unit_of(unit).value
    found = [value / scale for value in values]
    shown = "" if unit in ("1", "x") else unit
    return span_text(_with_unit(min(found), shown), _with_unit(max(found), shown))


def _with_unit(value: float, unit: str) -> str:
    whole = abs(value) < MOST_PLAIN and value == int(value)
    number = f"{value:,.0f}" if whole else significant(value)
    word = unit.isalpha() and unit.islower() and len(unit) > 3 and unit != "byte"
    return f"{number} {unit}{'s' if word and value != 1 else ''}".strip()
