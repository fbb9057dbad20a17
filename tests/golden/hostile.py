"""Puts a text that is no harmless one into every free word of a campaign's plan and records.

A word is free if the model takes the text in its place; identifiers, metrics and units are not.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import ValidationError

from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.records.store import read_plan, read_record, write_record
from commwall.records.texts import model_text
from commwall.schema.base import Model
from commwall.schema.record import Record
from commwall.schema.result import Series
from tests.samples import write_index

TEXT = (
    '<script>alert(1)</script>"\'&amp;<img src=x onerror=alert(2)>" onmouseover="alert(3)" \''
    " onfocus='alert(4)' javascript:alert(5) [m](javascript:alert(6)) ${alert(7)} $\\frac{x$ "
    "{{ 7*7 }} {% raw %} \x1b[31m\x1b]0;title\x07\x9b2J\r\u202e </style></details></main>"
)
"""Markup, ends of attributes, addresses that run, templates, formulas, escapes of terminals."""
KEPT = frozenset({"digest", "metric", "unit"})
Place = tuple[str | int, ...]
M = TypeVar("M", bound=Model)
_free: dict[Place, bool] = {}


def poison(layout: Layout, campaign: str) -> None:
    """Write plan, records and index of a campaign anew, with the text wherever it can stand."""
    path = layout.plan_path(campaign)
    write_atomically(path, model_text(poisoned(read_plan(path))))
    for record in map(read_record, layout.records_dir(campaign).rglob("r*.json")):
        write_record(layout, _with_strangers(poisoned(record)))
    write_index(layout, campaign)


def poisoned(model: M) -> M:
    """A model with the text before each of its free words."""
    data = model.model_dump(mode="json")
    for place in list(_words(data)):
        *above, last = place
        inside = data
        for key in above:
            inside = inside[key]
        before = inside[last]
        inside[last] = TEXT + before
        if not _is_free(type(model), place, data):
            inside[last] = before
    return type(model).model_validate(data)


def _with_strangers(record: Record) -> Record:
    """A record that also names a variable and a metric that nobody knows."""
    series = Series(metric=TEXT, unit=TEXT, leg=None, values=(1.0,))
    software = record.software.model_copy(update={"variables": {TEXT: TEXT}})
    return record.model_copy(update={"software": software, "series": (*record.series, series)})


def _words(data: Any, place: Place = ()) -> Iterator[Place]:
    """Where words stand in a value."""
    if isinstance(data, str):
        yield place
    elif isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            if key not in KEPT:
                yield from _words(value, (*place, key))


def _is_free(kind: type[Model], place: Place, data: Any) -> bool:
    """Whether the model takes the data; asked once for all items of a list."""
    general = (kind.__name__, *("*" if isinstance(key, int) else key for key in place))
    if general not in _free:
        try:
            kind.model_validate(data)
            _free[general] = True
        except ValidationError:
            _free[general] = False
    return _free[general]
