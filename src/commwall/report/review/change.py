"""One thing that differs between two pages.

Layer: report. Pure.
"""

import re
from dataclasses import dataclass
from typing import Literal

from commwall.report.review.numbers import NumberChange, number_changes, template

OneSided = Literal["appeared", "vanished"]
Kind = OneSided | Literal["number", "words", "moved", "picture", "digest", "parameter", "code"]
_DIGEST = re.compile(r"(?<![A-Za-z0-9])[0-9a-f]{12,64}(?![A-Za-z0-9])")
DIGEST_DIGITS = 12
"""First digits of a digest that tell records apart."""


@dataclass(frozen=True)
class Spot:
    """Where on a page something stands."""

    at: int
    """Place in reading order: of the new page, or of the old one for what has vanished."""
    section: str
    place: tuple[str, ...] = ()
    """Caption, row and column of a cell, or name of a parameter; empty for a sentence."""


@dataclass(frozen=True)
class Change:
    """One difference, with what stood there before and stands there now."""

    kind: Kind
    spot: Spot
    old: str
    new: str
    numbers: tuple[NumberChange, ...] = ()
    """Those that changed, if nothing else did."""


def changed_digests(old: str, new: str) -> list[tuple[str, str]]:
    """First digits of each digest that differs between two texts that are else the same."""
    pairs = zip(_DIGEST.findall(old), _DIGEST.findall(new), strict=False)
    return [(was[:DIGEST_DIGITS], now[:DIGEST_DIGITS]) for was, now in pairs if was != now]


def text_change(spot: Spot, old: str, new: str) -> Change:
    """How two texts that stand in one place differ: in numbers only, in a digest, or in words."""
    if _DIGEST.sub("", old) == _DIGEST.sub("", new):
        return Change("digest", spot, old, new)
    if template(old) == template(new):
        return Change("number", spot, old, new, number_changes(old, new))
    return Change("words", spot, old, new)


def told(kind: OneSided, spot: Spot, text: str) -> Change:
    """A text that only one version of a page has."""
    return Change(kind, spot, *((text, "") if kind == "vanished" else ("", text)))
