"""Markdown cells of notebooks, piece by piece, so that a catalogue can hold their sentences.

Layer: language. Reads and writes no file.
"""

import re
from collections.abc import Iterator

from commwall.language.translate import tr

_LEAD = re.compile(r"^(?:#+ |- )")


def translated(markdown: str) -> str:
    """A markdown cell in the language spoken, signs of headings and items kept."""
    return "\n\n".join(f"{lead}{tr(text)}" for lead, text in paragraphs(markdown))


def paragraphs(markdown: str) -> Iterator[tuple[str, str]]:
    """What is translated of a markdown cell, piece by piece, in order.

    Yields:
        Sign before a piece (that of a heading or of an item), and its text in one line.
    """
    lines: list[str] = []
    for line in [*markdown.splitlines(), ""]:
        lead = _LEAD.match(line)
        if lines and (lead or not line.strip()):
            yield "", " ".join(lines)
            lines = []
        if lead:
            yield lead.group(), line[lead.end() :].strip()
        elif line.strip():
            lines.append(line.strip())
