"""What may be shown of a text that others wrote, on a terminal, a page or paper.

Layer: schema. Reads and writes no file.
"""

import unicodedata

INSTEAD = "\ufffd"
LINES = "\n\t"
"""Characters that lay out a text of several lines."""


def printable(text: str, kept: str = "") -> str:
    """A text with a mark for each character that hides or turns what stands beside it.

    Such are the controls of terminals and of the direction of writing. Spaces of any width stay:
    Chinese has one of its own.

    Args:
        text: anything.
        kept: further characters that stay.

    Source: The Unicode Standard, section 4.5, general categories C and Z.
    """
    if text.isprintable():
        return text
    return "".join(c if _is_shown(c) or c in kept else INSTEAD for c in text)


def _is_shown(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"
