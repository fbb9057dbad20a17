"""Lines of text in figures, by the room that they take: a Chinese character takes two columns.

Layer: report. Reads and writes no file.
"""

import re
import textwrap
from unicodedata import east_asian_width

_WIDE, _CLOSING = "\u2e80-\u9fff\uff00-\uff60", "，。；：、）"
_PIECE = re.compile(rf"\s+|（*(?:[^\s{_WIDE}]+|[{_WIDE}])[{_CLOSING}]*\s*")
"""What stands together: a Latin word or one wide character, with its signs and spaces."""


def columns_of(text: str) -> int:
    """Room that a text takes, a Latin letter as unit."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def wrapped(text: str, columns: int) -> list[str]:
    """Lines of a text, each no wider than that many columns where words allow it."""
    if not re.search(f"[{_WIDE}]", text):
        return textwrap.wrap(text, columns)
    lines = [""]
    for piece in _PIECE.findall(text):
        if columns_of(lines[-1] + piece.rstrip()) > columns and lines[-1].strip():
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines]
