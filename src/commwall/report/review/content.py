"""What a page says, taken apart: sentences, tables, pictures, code.

Layer: report. Pure: the caller reads the file.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from commwall.report.review.markup import Tag, tokens

MOST_TAGS = 300_000
"""Of one page; so many take a few seconds. A campaign's largest page has some thousands."""
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_INLINE = frozenset(("a", "abbr", "b", "bdi", "cite", "code", "data", "dfn", "em", "i", "kbd",
                     "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u",
                     "var", "wbr"))  # fmt: skip
"""Elements that do not end a sentence."""
_PARTS_OF_A_TABLE = frozenset(("table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td"))
_PERMALINK = "¶"
"""The link of a place to itself."""
_PARAMETERS = "# Parameters\n"
"""How papermill begins the cell with the values that were given."""


@dataclass(frozen=True)
class Sentence:
    """A paragraph, an item of a list, a caption, a heading."""

    at: int
    """Place in reading order."""
    section: str
    text: str


@dataclass(frozen=True)
class Row:
    """One row of a table."""

    group: str
    """Title above the rows among which it stands."""
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table with its caption."""

    at: int
    section: str
    caption: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Picture:
    """A figure: what stands for it where it cannot be seen, and its digest."""

    at: int
    section: str
    caption: str
    digest: str


@dataclass(frozen=True)
class Content:
    """Everything that a page says."""

    sentences: tuple[Sentence, ...]
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    code: tuple[str, ...]


class TooMuch(ValueError):
    """A page with more in it than any report has."""


def content_of_page(page: str) -> Content:
    """Take an HTML page apart.

    Raises:
        TooMuch: if it holds more than `MOST_TAGS` tags.
    """
    reader = _Reader()
    for count, token in enumerate(tokens(page)):
        if count > 2 * MOST_TAGS:  # a text stands before each tag
            raise TooMuch(f"more than {MOST_TAGS:,} tags")
        if isinstance(token, str):
            reader.text.append(token)
        elif token.closes:
            reader.close(token)
        else:
            reader.open(token)
    reader.end_sentence()
    return Content(
        tuple(reader.sentences), tuple(reader.tables), tuple(reader.pictures), tuple(reader.code)
    )


@dataclass
class _OpenTable:
    """A table whose end has not come yet."""

    caption: str
    rows: list[Row] = field(default_factory=list)
    heads: tuple[str, ...] = ()
    group: str = ""
    cells: list[str] = field(default_factory=list)
    in_head: bool = False
    is_group: bool = False

    def end_row(self) -> None:
        """Take the cells read as head, title of a group or row."""
        cells = tuple(self.cells)
        self.cells.clear()
        if self.in_head:
            self.heads = self.heads or cells
        elif self.is_group:
            self.group = " ".join(cells)
        elif cells:
            self.rows.append(Row(self.group, cells))


class _Reader:
    """Where in a page one is, and what was found so far."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.sentences: list[Sentence] = []
        self.tables: list[Table] = []
        self.pictures: list[Picture] = []
        self.code: list[str] = []
        self._headings: list[tuple[int, str]] = []
        self._table: _OpenTable | None = None
        self._in_code = False
        self._blocks = 0

    def open(self, tag: Tag) -> None:
        """Begin an element."""
        if tag.name in _INLINE:
            return
        if tag.name in ("img", "svg"):
            self._picture(tag)
            return
        if tag.name == "br" or self._within_cell(tag):
            self.text.append(" ")
            return
        self.end_sentence()
        classes = tag.attributes.get("class", "").split()
        if tag.name == "details" and "code" in classes:
            self._in_code = True
        elif tag.name == "table":
            self._table = _OpenTable(self._last_sentence())
        elif self._table and tag.name == "thead":
            self._table.in_head = True
        elif self._table and tag.name == "tr":
            self._table.is_group = "group" in classes

    def close(self, tag: Tag) -> None:
        """End an element."""
        if tag.name in _INLINE or self._within_cell(tag):
            return
        if self._in_code:
            self._end_code(tag)
        elif self._table and tag.name in ("td", "th"):
            self._table.cells.append(self._taken())
        elif self._table and tag.name == "caption":
            self._table.caption = self.end_sentence()
        elif tag.name in _HEADINGS:
            self._heading(int(tag.name[1]))
        else:
            self.end_sentence()
            self._end_part(tag.name)

    def _end_code(self, tag: Tag) -> None:
        """Take a piece of code, or end the place where code stands; its title is not looked at."""
        if tag.name == "pre":
            self.code.append("".join(self.text).strip("\n"))
        self._in_code = tag.name != "details"
        self.text.clear()

    def _end_part(self, name: str) -> None:
        """End what groups cells."""
        if self._table and name == "thead":
            self._table.in_head = False
        elif self._table and name == "tr":
            self._table.end_row()
        elif self._table and name == "table":
            open_, self._table = self._table, None
            self.tables.append(
                Table(self._place(), self._section(), open_.caption, open_.heads, tuple(open_.rows))
            )

    def end_sentence(self) -> str:
        """Take the text read so far as one sentence."""
        if text := self._taken():
            self.sentences.append(Sentence(self._place(), self._section(), text))
        return text

    def _heading(self, level: int) -> None:
        text = self._taken()
        self._headings = [known for known in self._headings if known[0] < level]
        self.sentences.append(Sentence(self._place(), self._section(), text))
        self._headings.append((level, text))

    def _picture(self, tag: Tag) -> None:
        shown = tag.content or tag.attributes.get("src", "")
        words = tag.attributes.get("alt") or tag.attributes.get("aria-label", "")
        digest = hashlib.sha256(shown.encode(errors="replace")).hexdigest()
        self.pictures.append(Picture(self._place(), self._section(), words, digest))

    def _section(self) -> str:
        """Headings above this place, but for the page's own title."""
        return " / ".join(text for level, text in self._headings if level > 1)

    def _last_sentence(self) -> str:
        """What stands before a table: its caption."""
        return self.sentences[-1].text if self.sentences else ""

    def _taken(self) -> str:
        text = " ".join("".join(self.text).replace(_PERMALINK, "").split())
        self.text.clear()
        return text

    def _within_cell(self, tag: Tag) -> bool:
        """Whether an element stands in a table, where cells end sentences and nothing else does."""
        return self._table is not None and tag.name not in _PARTS_OF_A_TABLE

    def _place(self) -> int:
        """Place of the next block in reading order."""
        self._blocks += 1
        return self._blocks


def parameters_of(code: Iterable[str]) -> dict[str, str]:
    """Parameters that a page was rendered with: name -> value as it stands in the code."""
    lines = [line for cell in code if cell.startswith(_PARAMETERS) for line in cell.splitlines()]
    parts = [line.partition(" = ") for line in lines]
    return {name: value for name, found, value in parts if found}
