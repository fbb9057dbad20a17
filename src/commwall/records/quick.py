"""A stored record held against its digest without writing its numbers anew.

Layer: records. Reads no file. Most of a record are lists of values. In the canonical text, of which
the digest is taken, they stand as they stand in the file, but for blanks. Here they are set aside
while the rest is brought into canonical form, and put back as they are, which is several times
faster than reading and writing each number. Whatever looks otherwise than
`commwall.records.store.model_text` writes it is left to the careful reader there, which also words
what is wrong.
"""

import hashlib
import re
from typing import Any

from pydantic_core import from_json

from commwall.schema.base import canonical_json
from commwall.schema.errors import ConfigError
from commwall.schema.parsing import MOST_VALUES, parse_json

_STORED = b'"values": ['
_PLACE = re.compile(rb'"values":(\d+)')
_BETWEEN = b"],["
_OF_LISTS = b"0123456789+-.eE,[]"
"""All that lists of numbers are written with."""


def verified_content(text: bytes) -> dict[str, Any] | None:
    """The content of a record whose text matches the digest that stands in it.

    Args:
        text: the file, as it is.

    Returns:
        The whole content, the digest too; None if this way cannot tell, which says nothing
        against the record.
    """
    rest, lists = _set_aside(text)
    compact = _BETWEEN.join(lists).replace(b", ", b",")
    if compact.translate(None, _OF_LISTS) or text.count(b",") > MOST_VALUES:
        return None
    try:
        content = parse_json(rest, "")
        told = content.pop("digest")
        canonical = _put_back(canonical_json(content).encode(), compact.split(_BETWEEN))
        if hashlib.sha256(canonical).hexdigest() != told:
            return None
        values = from_json(b"[[" + compact + b"]]")
        for series, own in zip(content["series"], values, strict=True):
            series["values"] = own
    except (ConfigError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return {**content, "digest": told}


def _set_aside(text: bytes) -> tuple[bytes, list[bytes]]:
    """The text with a number in the place of each list of values, and these lists."""
    first, *others = text.split(_STORED)
    kept, lists = [first], []
    for number, part in enumerate(others):
        values, _, rest = part.partition(b"]")
        kept += [b'"values": %d' % number, rest]
        lists.append(values)
    return b"".join(kept), lists


def _put_back(canonical: bytes, lists: list[bytes]) -> bytes:
    """The canonical text with its lists.

    Raises:
        ValueError: unless each has one place, in the order of the text.
    """
    parts = _PLACE.split(canonical)
    if parts[1::2] != [b"%d" % number for number in range(len(lists))]:
        raise ValueError("another key than that of series holds a list of this name")
    parts[1::2] = [b'"values":[' + values + b"]" for values in lists]
    return b"".join(parts)
