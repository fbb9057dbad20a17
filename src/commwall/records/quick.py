"""A stored record, read and held against its digest without writing its numbers anew.

Layer: records. Reads no file. Most of a record are series: a head, and values. In the canonical
text, of which the digest is taken, the values stand as they stand in the file, and heads recur from
record to record. So values are taken as they are, each head is brought into
canonical form once, and only the rest of a record is worked on. Whatever looks otherwise than
`commwall.records.texts.record_text` writes it is left to the careful reader there, which also words
what is wrong.
"""

import hashlib
from functools import lru_cache
from typing import Any

from pydantic_core import from_json

from commwall.records.plausible import implausible
from commwall.schema.base import canonical_json
from commwall.schema.parsing import MOST_VALUES
from commwall.schema.record import Record

_BEFORE_SERIES = b'\n  "series": [\n    {'
_BETWEEN_SERIES = b"]},\n    {"
_AFTER_SERIES = b"]}\n  ],\n"
_VALUES = b'"values":['
_OF_NUMBERS = b"0123456789+-.eE,"
"""All that lists of numbers are written with."""
_QUOTES_OF_DIGEST = 4
_LONGEST_HEAD = 1000
"""Characters; those of today have 200."""


def sealed_record(text: bytes) -> Record | None:
    """The record that a text holds, if it matches the digest that stands in it.

    Args:
        text: the file, as it is.

    Returns:
        None if this way cannot tell, which says nothing against the record.
    """
    if len(text) > MOST_VALUES and text.count(b",") > MOST_VALUES:
        return None
    try:
        record = Record.model_validate_json(text)
        canonical = _canonical_record(text)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    matches = hashlib.sha256(canonical).hexdigest() == record.digest
    plausible = matches and not implausible([series.values for series in record.series])
    return record if plausible else None


def _canonical_record(text: bytes) -> bytes:
    """The canonical text of a record without its digest, if the text is laid out as expected.

    Raises:
        ValueError: if it is not, or this way cannot tell.
    """
    before, _, others = text.partition(_BEFORE_SERIES)
    series, _, after = others.partition(_AFTER_SERIES)
    rest = _canonical(before + b'"series":0,' + after, without="digest")
    start, place, end = rest.partition(b'"series":0')
    own = b",".join(map(_canonical_series, series.split(_BETWEEN_SERIES)))
    return b"%b%b[%b]%b" % (start, place[:-1], own, end)


def _canonical_series(text: bytes) -> bytes:
    head, _, values = text.partition(_VALUES)
    if values.translate(None, _OF_NUMBERS):
        raise ValueError("something else than numbers stands among the values")
    return b"%b%b]}" % (_canonical_head(head), values)


@lru_cache(maxsize=4096)
def _canonical_head(head: bytes) -> bytes:
    """The canonical text of a series up to its first value; by the alphabet, values come last."""
    if len(head) > _LONGEST_HEAD:
        raise ValueError("too long a head to be kept")
    start, place, end = _canonical(b"{" + head + b'"values":0}').rpartition(b'"values":0')
    if not place or end != b"}":
        raise ValueError("values do not come last")
    return start + place[:-1] + b"["


def _canonical(text: bytes, without: str | None = None) -> bytes:
    """The canonical text of an object.

    Args:
        text: the object in another form.
        without: a key to be left out, whose value is a text.

    Raises:
        ValueError: if a key may stand twice, which the count of quotes would show, or a number is
            beyond all bounds.
    """
    content: dict[str, Any] = from_json(text, allow_inf_nan=False)
    left_out = content.pop(without) if without else None
    canonical = canonical_json(content).encode()
    missing = text.count(b'"') - canonical.count(b'"')
    if missing != (_QUOTES_OF_DIGEST if left_out else 0) or rb"\u0022" in text:
        raise ValueError("a key may stand twice")
    if implausible(content):
        raise ValueError("a number is beyond all bounds")
    return canonical
