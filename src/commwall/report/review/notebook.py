"""An executed notebook as the page that would be made of it, as far as a review looks.

Layer: report. Pure. Stands in for nbconvert, which takes a second to load and renders scripts.
"""

from collections.abc import Iterator
from html import escape
from typing import Any

from pydantic import BaseModel

from commwall.language.markdown import paragraphs
from commwall.schema.parsing import parse_json_model

_CODE_SIGN = "`"


class Output(BaseModel):
    """What a cell showed; other keys of the format are not looked at."""

    data: dict[str, Any] = {}
    text: str | list[str] = ""
    ename: str = ""
    evalue: str = ""


class Cell(BaseModel):
    """One cell."""

    cell_type: str
    source: str | list[str]
    outputs: list[Output] = []


class Notebook(BaseModel):
    """A notebook in version 4 of the format."""

    cells: list[Cell]


def page_of(text: str, where: str) -> str:
    """The page of a notebook: texts and outputs in order, then its code.

    Args:
        text: content of the file.
        where: its name, for the error.

    Raises:
        ConfigError: if it is no notebook.
    """
    cells = parse_json_model(Notebook, text, where).cells
    code = "".join(
        f"<pre>{escape(_whole(cell.source))}</pre>" for cell in cells if cell.cell_type == "code"
    )
    shown = "".join(part for cell in cells for part in _shown(cell))
    return f'{shown}<details class="code">{code}</details>'


def _shown(cell: Cell) -> Iterator[str]:
    if cell.cell_type == "markdown":
        for lead, piece in paragraphs(_whole(cell.source)):
            name = f"h{min(lead.count('#'), 6)}" if "#" in lead else "p"
            yield f"<{name}>{escape(piece.replace(_CODE_SIGN, ''))}</{name}>"
    for output in cell.outputs:
        yield f"<section>{_output(output)}</section>"


def _output(output: Output) -> str:
    if "text/html" in output.data:
        return _whole(output.data["text/html"])
    if "image/png" in output.data:
        return f'<img src="{escape(_whole(output.data["image/png"]))}">'
    words = _whole(output.data.get("text/plain", "")) or _whole(output.text)
    return f"<pre>{escape(words or f'{output.ename} {output.evalue}')}</pre>"


def _whole(text: Any) -> str:
    """A text that the format may hold as a list of lines."""
    return "".join(map(str, text)) if isinstance(text, list) else str(text)
