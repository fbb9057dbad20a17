"""Values of claims in words.

Layer: claims. Reads and writes no file.
"""

from commwall.schema.quantities import Dimension, Quantity, dimension_text, unit_of
from commwall.schema.units import rate_text, significant, time_text, volume_text

_TEXTS = {"byte/s": rate_text, "byte": volume_text, "s": time_text, "1": significant}
_READABLE = (
    ("EFLOP/s", 1e18), ("PFLOP/s", 1e15), ("TFLOP/s", 1e12), ("k$", 1e4), ("$/h", 0.0),
    ("sample/Wh", 0.0),
)  # fmt: skip
"""Unit in which a value is told, and the least value in base units for which it is."""


def told(value: Quantity) -> str:
    """A quantity in words: `2.63 h`, `352 MB`, `55.4 GB/s`."""
    name = dimension_text(value.dimension)
    if name in _TEXTS:
        return _TEXTS[name](value.value)
    for unit, least in _READABLE:
        one = unit_of(unit)
        if one.dimension == value.dimension and abs(value.value) >= least:
            return f"{significant(value.value / one.value)} {unit}"
    return f"{significant(value.value)} {_plural(name, value.value)}"


def told_range(values: list[float], dimension: Dimension) -> str:
    """One value, or its least and most where they differ by more than a thousandth."""
    least, most = (told(Quantity(end, dimension)) for end in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"


def _plural(name: str, value: float) -> str:
    return f"{name}s" if name.isalpha() and value != 1 else name
