"""Models as JSON, as it lies on disk.

Layer: records. Reads and writes no file.
"""

import json
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from commwall.schema.record import Record

_ON_ONE_LINE = json.JSONEncoder(ensure_ascii=False)
_WITHOUT_BLANKS = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_quoted = lru_cache(maxsize=1024)(json.dumps)
"""Keys: an index of many records has the same few again and again."""


def model_text(model: BaseModel) -> str:
    """A model as JSON for people and version control: indented, fields in declared order.

    A list of numbers stays on one line, so that raw samples do not fill the page.
    """
    return _indented(model.model_dump(mode="json"), "") + "\n"


def record_text(record: Record) -> str:
    """A record as JSON: as `model_text`, but each series, check and mark is a line without blanks.

    They are most of a record, and of what a checkout holds.
    """
    rows = [
        f"  {_quoted(key)}: {_lines(item) if isinstance(item, list) else _indented(item, '  ')}"
        for key, item in record.model_dump(mode="json").items()
    ]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _indented(value: Any, indent: str) -> str:
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        rows = [f"{deeper}{_quoted(key)}: {_indented(item, deeper)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return "[\n" + ",\n".join(deeper + _indented(i, deeper) for i in value) + f"\n{indent}]"
    return _ON_ONE_LINE.encode(value)


def _lines(items: list[Any]) -> str:
    rows = [f"    {_WITHOUT_BLANKS.encode(item)}" for item in items]
    return "[\n" + ",\n".join(rows) + "\n  ]" if rows else "[]"
