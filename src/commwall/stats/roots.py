"""Where a function changes its sign.

Layer: stats. Reads and writes no file. Written out because scipy is not in every environment.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

Function = Callable[[float], float]
_HALVINGS = 200
"""More than the doubles between any two numbers need."""


def bisect(function: Function, low: float, high: float) -> float:
    """A number between two at which a continuous function is 0.

    Args:
        function: of other signs at the two ends, or 0 at one of them.
        low: one end.
        high: the other.

    Raises:
        ValueError: if both ends have one sign.
    """
    below, above = function(low), function(high)
    if below * above > 0:
        raise ValueError(f"no change of sign between {low:g} and {high:g}")
    if below == 0 or above == 0:  # halving would only creep towards that end
        return low if below == 0 else high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if (function(middle) > 0) == (above > 0):
            high = middle
        else:
            low = middle
    return (low + high) / 2


class Change(NamedTuple):
    """Where a function changes its sign, seen from a number."""

    at: float
    rises: bool
    """Whether the number has to rise to get there."""


def nearest_change(function: Function, start: float, places: Sequence[float]) -> Change | None:
    """The change between "above 0" and "not above 0" that is nearest to a number.

    Args:
        function: continuous between the places.
        start: from where it is sought, in both directions.
        places: numbers at which the function is looked at.

    Returns:
        None if there is none at these places.
    """
    above = sorted(place for place in places if place > start)
    below = sorted((place for place in places if place < start), reverse=True)
    found = [_first(function, start, above, True), _first(function, start, below, False)]
    known = [change for change in found if change]
    return min(known, key=lambda change: abs(change.at - start), default=None)


def _first(function: Function, start: float, places: list[float], rises: bool) -> Change | None:
    """The first change on the way from a number over some places."""
    last, sign = start, function(start) > 0
    for place in places:
        if (function(place) > 0) != sign:
            return Change(bisect(function, last, place), rises)
        last = place
    return None
