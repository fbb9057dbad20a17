"""Words for readers that schema gives: English as they are, and open to translation.

Layer: schema. Reads and writes no file. `commwall.language.translate.said` tells a phrase in the
language spoken; `str` tells it in English.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Phrase:
    """A message with names in braces, and what stands there."""

    message: str
    values: tuple[tuple[str, object], ...] = ()
    """Name -> words, a number or another phrase."""

    def __str__(self) -> str:
        return self.message.format(**dict(self.values))


def phrase(message: str, /, **values: object) -> Phrase:
    """A phrase; its message is written out at the call, so that catalogues can be made of it."""
    return Phrase(message, tuple(values.items()))
