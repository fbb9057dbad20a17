"""The name that somebody who mistyped one may have meant.

Layer: schema. Reads and writes no file.
"""

from collections.abc import Iterable

from commwall.schema.parsing import nearest


def suggestion(word: str, known: Iterable[str]) -> str | None:
    """A question after the nearest of some names: "did you mean 'h200'?"; None if none is near."""
    near = nearest(word, known)
    return f"did you mean {near!r}?" if near else None
