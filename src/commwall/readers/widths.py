"""Lines that a screen may have cut at its width.

Layer: readers. Reads no file. A cut line ends where all other cut lines end, and none is longer.
So the longest lines of a text may lack their end, though a line feed follows; a whole text has
longest lines too, so that what stands at their end is in doubt and not wrong.
"""

from collections.abc import Iterable


def longest(lines: Iterable[str]) -> int:
    """Characters of the longest line."""
    return max(map(len, lines), default=0)


def without_ends_in_doubt(text: str) -> str:
    """The text without its longest lines and a last line that has no line feed."""
    lines = text.split("\n")
    width = longest(lines)
    return "\n".join(line if len(line) < width else "" for line in lines[:-1]) + "\n"
