"""Anchors: every heading, figure and table of a page can be linked to, for good.

An anchor is the English heading, or what the cell calls that shows the figure or table. So it is
the same in every language and in every run, whatever the numbers are.

Layer: report. Reads and writes no file.
"""

import ast
import re
from collections import Counter
from collections.abc import Sequence
from html import escape

from nbformat import NotebookNode

from commwall.language.markdown import paragraphs
from commwall.language.translate import tr

NAMES = "anchors"
"""Where a cell's metadata holds the anchors of its English text."""
_PLACE = re.compile(
    r"<(h[1-6]|figure|table)>(.*?)(</(?:h[1-6]|figcaption|span></caption)>)", re.DOTALL
)


class Anchors:
    """The anchors of one page, none of them twice."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    def put(self, markup: str, names: Sequence[str]) -> str:
        """Give each heading, figure and table an anchor, and a link to itself.

        Args:
            markup: HTML of one cell, made by this package.
            names: of the places in their order; the last one also of those that follow.
        """
        left = list(names)

        def named(place: re.Match[str]) -> str:
            tag, inner, end = place.groups()
            name = self._own(left.pop(0) if len(left) > 1 else left[0])
            return f'<{tag} id="{name}">{inner}{permalink(name)}{end}'

        return _PLACE.sub(named, markup)

    def _own(self, name: str) -> str:
        self._taken[name] += 1
        return name if self._taken[name] == 1 else f"{name}-{self._taken[name]}"


def permalink(name: str) -> str:
    """The link of a place to itself; stays hidden until it is pointed at or focused."""
    label = escape(tr("Permanent link to this place"))
    return f'<a class="anchor" href="#{name}" aria-label="{label}">¶</a>'


def slug(text: str) -> str:
    """A text as an anchor: "What this does not show" -> "What-this-does-not-show"."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")


def names_of(cell: NotebookNode) -> list[str]:
    """Anchors of a cell: its headings, or what it calls."""
    if cell.cell_type == "markdown":
        return [slug(text) for lead, text in paragraphs(cell.source) if lead.startswith("#")]
    return [_called(cell.source)]


def _called(source: str) -> str:
    """What the last line of a cell shows: "verdict-tables", "quantity-figure-mfu"."""
    call = ast.parse(source).body[-1:]
    shown = call[0].value if call and isinstance(call[0], ast.Expr) else None
    if not isinstance(shown, ast.Call):
        return "output"
    if shown.args and isinstance(shown.args[0], ast.Call):
        shown = shown.args[0]  # the figure of a picture
    function = ast.unparse(shown.func).rpartition(".")[2]
    constants = [
        node.value
        for node in ast.walk(shown)
        if isinstance(node, ast.Constant) and str(node.value).isidentifier()
    ]
    return slug("-".join([function, *map(str, constants)]))
