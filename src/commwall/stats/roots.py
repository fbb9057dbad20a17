"""Where a function changes its sign.

Layer: stats. Reads and writes no file. Written out because scipy is not in every environment.
"""

from collections.abc import Callable, Sequence

Function = Callable[[float], float]
_HALVINGS = 200
"""More than the doubles between any two numbers need."""


def bisect(function: Function, low: float, high: float) -> float:
    """A number between two at which a continuous function changes its sign.

    Args:
        function: of other signs at the two ends.
        low: one end.
        high: the other.

    Raises:
        ValueError: if both ends have one sign.
    """
    below, above = function(low), function(high)
    if below * above > 0:
        raise ValueError(f"no change of sign between {low:g} and {high:g}")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if (function(middle) > 0) == (above > 0):
            high = middle
        else:
            low = middle
    return (low + high) / 2


def nearest_change(function: Function, start: float, places: Sequence[float]) -> float | None:
    """The sign change nearest to a number, seen from it in both directions.

    Args:
        function: continuous between the places.
        start: where its sign is the present one.
        places: numbers at which it is looked at.

    Returns:
        None if its sign is the same at all places.
    """
    sign = function(start) > 0
    found = []
    for side in (sorted(p for p in places if p > start), sorted((p for p in places if p < start), reverse=True)):
        before = start
        for place in side:
            if (function(place) > 0) != sign:
                found.append(bisect(function, before, place))
                break
            before = place
    return min(found, key=lambda root: abs(root - start), default=None)
