"""Small pieces of HTML that notebooks show and pages embed.

Layer: report. Reads and writes no file. All text is escaped here.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from commwall.language.translate import listed, tr
from commwall.schema.printable import LINES, printable

_CODE = re.compile("`([^`\n]+)`")


@dataclass(frozen=True, repr=False)
class Html:
    """A piece of HTML that Jupyter shows as it is."""

    markup: str

    def __repr__(self) -> str:
        return f"<{len(self.markup)} characters of HTML>"

    def _repr_html_(self) -> str:
        return self.markup


@dataclass(frozen=True)
class Group:
    """Rows of a table below one title."""

    title: str
    rows: Sequence[tuple[str, Sequence[str]]]
    """CSS class and cells of each row; with fewer cells than heads the last one spans the rest."""


def escaped(text: str) -> str:
    """A text as a page may show it: no markup, and nothing that turns what stands beside it."""
    return escape(printable(text, kept=LINES))


def paragraph(text: str, kind: str = "") -> Html:
    """One paragraph; `kind` is its CSS class."""
    return Html(f'<p class="{escaped(kind)}">{_inline(text)}</p>')


def code(text: str) -> Html:
    """Something to type."""
    return Html(f"<pre><code>{escaped(text)}</code></pre>")


def heading(text: str) -> Html:
    """A heading below the page's title."""
    return Html(f"<h2>{escaped(text)}</h2>")


def bullets(lines: Iterable[str]) -> Html:
    """A list, one line an item."""
    items = "".join(f"<li>{_inline(line)}</li>" for line in lines)
    return Html(f"<ul>{items}</ul>")


def links(targets: Iterable[tuple[str, str]]) -> Html:
    """A list of links; each an address and its words."""
    items = "".join(
        f'<li><a href="{escaped(address)}">{escaped(words)}</a></li>' for address, words in targets
    )
    return Html(f"<ul>{items}</ul>")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> Html:
    """A table that scrolls on narrow screens; the first cell of a row heads it."""
    return _table(heads, f"<tbody>{''.join(_row(row) for row in rows)}</tbody>", caption)


def grouped_table(heads: Sequence[str], groups: Iterable[Group], caption: str) -> Html:
    """A table whose rows stand in groups, each below its own title."""
    return _table(heads, "".join(_group(group, len(heads)) for group in groups), caption)


def refused_cells(reason: str, cases: Sequence[str], *, of: int) -> tuple[str, str]:
    """Cells of the one row for all cases of a table that one reason keeps out of it.

    Args:
        reason: why they have no value.
        cases: their names, at least one.
        of: cases of the whole table.
    """
    if len(cases) == 1:
        return cases[0], tr("none: {reason}", reason=reason)
    n = len(cases)
    head = tr("all {n}", n=n) if n == of else tr("{n} more", n=n)
    named = listed(cases)
    return head, tr("none: {reason} ({cases})", reason=reason, cases=named)


def folded(title: str, content: Html) -> Html:
    """Content that a reader opens; its title stays in sight."""
    return Html(f"<details><summary>{escaped(title)}</summary>{content.markup}</details>")


def joined(parts: Iterable[Html], kind: str = "") -> Html:
    """Several pieces in one block of the CSS class `kind`."""
    return Html(f'<div class="{escaped(kind)}">{"".join(part.markup for part in parts)}</div>')


def _inline(text: str) -> str:
    """Escaped text; what stands between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escaped(text))


def _table(heads: Sequence[str], bodies: str, caption: str) -> Html:
    """A table that the keyboard can scroll, too."""
    head = "".join(f'<th scope="col">{escaped(text)}</th>' for text in heads)
    title = f"<caption><span>{escaped(caption)}</span></caption>"
    return Html(
        f'<div class="scroll" tabindex="0"><table>{title}'
        f"<thead><tr>{head}</tr></thead>{bodies}</table></div>"
    )


def _group(group: Group, columns: int) -> str:
    text = escaped(group.title)
    head = f'<tr class="group"><th scope="rowgroup" colspan="{columns}">{text}</th></tr>'
    title = head if group.title else ""
    rows = "".join(_row(cells, kind, columns) for kind, cells in group.rows)
    return f"<tbody>{title}{rows}</tbody>"


def _row(cells: Sequence[str], kind: str = "", columns: int = 0) -> str:
    first, *others = cells
    data = "".join(f"<td>{_inline(text)}</td>" for text in others)
    if columns > len(cells):
        span = f'<td colspan="{columns - len(cells) + 1}">{_inline(others[-1])}</td>'
        data = "".join(f"<td>{_inline(text)}</td>" for text in others[:-1]) + span
    start = f'<tr class="{escaped(kind)}">' if kind else "<tr>"
    return f'{start}<th scope="row">{escaped(first)}</th>{data}</tr>'
