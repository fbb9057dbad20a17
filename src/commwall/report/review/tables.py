"""What differs between the tables of two pages: cells, rows, columns.

Layer: report. Pure.
"""

from collections.abc import Iterator, Sequence

from commwall.report.review.change import Change, OneSided, Spot, text_change, told
from commwall.report.review.content import Row, Table
from commwall.report.review.matching import Pairing
from commwall.report.review.numbers import template

Column = tuple[int, str]
"""Place of a column and its head."""
_MOST_NAME_CELLS = 4
"""First cells of a row that may be needed to tell it from others: case, platform, round …"""


def table_changes(old: Sequence[Table], new: Sequence[Table]) -> Iterator[Change]:
    """Everything that differs between the tables of two pages, but for their captions."""
    tables = Pairing(old, new)
    tables.by(lambda table: (table.section, table.caption))
    tables.by(lambda table: template(table.caption))
    tables.by(lambda table: (table.section, table.heads))
    for was, now in tables.pairs:
        yield from _changes_within(was, now)
    for table in tables.old:
        yield _whole(table, "vanished")
    for table in tables.new:
        yield _whole(table, "appeared")


def _changes_within(old: Table, new: Table) -> Iterator[Change]:
    """What differs between two versions of one table."""
    width = _name_width(old.rows, new.rows)
    rows = Pairing(old.rows, new.rows)
    rows.by(lambda row: (row.group, row.cells[:width]))
    rows.by(lambda row: row.cells[:1])
    columns = Pairing(enumerate(old.heads), enumerate(new.heads))
    columns.by(lambda column: column[1])
    columns.by(lambda column: template(column[1]))
    for (_, was), (_, now) in columns.pairs:
        if was != now:
            yield text_change(Spot(new.at, new.section, (new.caption, "column")), was, now)
    for was_row, now_row in rows.pairs:
        name = ", ".join(filter(None, (now_row.group, *now_row.cells[:width])))
        spot = Spot(new.at, new.section, (new.caption, name))
        if (len(was_row.cells), len(now_row.cells)) == (len(old.heads), len(new.heads)):
            yield from _cell_changes(spot, was_row, now_row, columns.pairs)
        elif was_row.cells != now_row.cells:
            yield text_change(spot, _text(was_row, width), _text(now_row, width))
    yield from _alone(old, "vanished", rows.old, columns.old)
    yield from _alone(new, "appeared", rows.new, columns.new)


def _cell_changes(
    spot: Spot, old: Row, new: Row, columns: Sequence[tuple[Column, Column]]
) -> Iterator[Change]:
    """Cells of one row that differ, each in the column of its head."""
    for (was, _), (now, head) in columns:
        if old.cells[was] != new.cells[now]:
            place = (*spot.place, head)
            yield text_change(Spot(spot.at, spot.section, place), old.cells[was], new.cells[now])


def _alone(
    table: Table, kind: OneSided, rows: Sequence[Row], columns: Sequence[Column]
) -> Iterator[Change]:
    """Rows and columns that only one version of a table has."""
    spot = Spot(table.at, table.section, (table.caption,))
    for _, head in columns:
        yield told(kind, spot, f"column {head}")
    for row in rows:
        yield told(kind, spot, _text(row, 0))


def _whole(table: Table, kind: OneSided) -> Change:
    text = f"table of {len(table.rows)} rows: {table.caption}"
    return told(kind, Spot(table.at, table.section), text)


def _text(row: Row, width: int) -> str:
    """A row in one line, without its first cells."""
    return " | ".join(row.cells[width:])


def _name_width(*versions: Sequence[Row]) -> int:
    """How many first cells tell the rows of each version apart."""
    for width in range(1, _MOST_NAME_CELLS):
        names = [{(row.group, row.cells[:width]) for row in rows} for rows in versions]
        if all(len(own) == len(rows) for own, rows in zip(names, versions, strict=True)):
            return width
    return 1
