"""Numbers that nothing can have measured: with them a record is no evidence.

Layer: records. Reads no file. A digest shows damage, not who sealed a record. What is finite
and of the right type may still be beyond all bounds; such a number would overflow in sums,
ratios and squares, far from the file that holds it.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

LARGEST = 1e18
"""Above all that is stored here: bytes, operations, nanoseconds since boot, rates [1]."""
SMALLEST = 1e-60
"""Below all that is stored here but zero; float32 ends at 1e-45 [1]."""


def implausible(content: Any) -> str | None:
    """The first number beyond all bounds, with its place; None if there is none.

    Args:
        content: a record, or a part of one, as JSON gives it; lists may be tuples.
    """
    return None if _within(content) else next(_beyond(content, ""), None)


def _within(content: Any) -> bool:
    """Whether nothing is beyond the bounds; asks lists of numbers for their ends only."""
    found = [content]
    for value in found:  # which grows meanwhile
        kind = type(value)
        if kind is dict:
            found.extend(value.values())
        elif kind is list or kind is tuple:
            found.extend(() if _within_ends(value) else value)
        elif kind is not float and kind is not int:
            continue
        elif not SMALLEST <= value <= LARGEST and _is_beyond(value):
            return False
    return True


def _within_ends(values: Sequence[Any]) -> bool:
    """True for positive numbers within the bounds; False says nothing."""
    try:
        return bool(min(values) >= SMALLEST and max(values) <= LARGEST)
    except (TypeError, ValueError):  # not only numbers, or none at all
        return False


def _beyond(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _beyond(item, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            if isinstance(item, dict | list | tuple) or _is_beyond(item):
                yield from _beyond(item, f"{place}.{number}")
    elif _is_beyond(value):
        told = abs(value) <= sys.float_info.max
        shown = f"{value:.4g}" if told else "an integer of hundreds of digits"
        yield (
            f"{place.lstrip('.')}: {shown} is no number that can have been measured; sizes lie "
            f"between {SMALLEST:g} and {LARGEST:g}"
        )


def _is_beyond(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) > LARGEST or 0 < abs(value) < SMALLEST
