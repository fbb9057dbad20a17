"""Lines of text in figures, by the room that they take: a Chinese character takes two columns.

Layer: report. Reads and writes no file.
"""

import re
import textwrap
from unicodedata import east_asian_width

_WIDE = re.compile(r"([\u2e80-\u9fff\uff00-\uff60][，。；：、）]?)")
"""A character between two of which a line may end, with the sign that must not begin one."""


def columns_of(text: str) -> int:
    """Room that a text takes, a Latin letter as unit."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def wrapped(text: str, columns: int) -> list[str]:
    """Lines of a text, each no wider than that many columns where words allow it."""
    if not _WIDE.search(text):
        return textwrap.wrap(text, columns)
    lines = [""]
    for piece in _pieces(text):
        if columns_of(lines[-1] + piece.rstrip()) > columns and lines[-1].strip():
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines]


def _pieces(text: str) -> list[str]:
    """What stands together: a Latin word with its space, or one wide character."""
    return [piece for part in _WIDE.split(text) for piece in re.findall(r"\s+|\S+\s*", part)]
