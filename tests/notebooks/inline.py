"""Runs a notebook in this process: its cells and the template are real, only the kernel is not.

A page costs a second so, and two with papermill and a kernel of its own, whose tests are others.
"""

import ast
from pathlib import Path
from typing import Any

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_output

from commwall.language.translate import ENGLISH, speaking
from commwall.report.rendering.render import page_of
from tests.notebooks.conftest import REPOSITORY


def executed(name: str, root: Path, campaign: str, language: str = ENGLISH) -> NotebookNode:
    """A notebook of this repository after its code cells have run on a campaign."""
    node = jupytext.read(REPOSITORY / "notebooks" / f"{name}.py", fmt="py:percent")
    names: dict[str, Any] = {}
    with speaking(language):  # the cells themselves speak from then on
        for cell in (cell for cell in node.cells if cell.cell_type == "code"):
            if "parameters" in cell.metadata.get("tags", []):
                names.update(root=root, campaign=campaign, confidence=0.95, language=language)
            else:
                cell.outputs = _run(cell.source, names)
    return node


def page(name: str, root: Path, campaign: str, language: str = ENGLISH) -> str:
    """The page of a notebook."""
    return page_of(executed(name, root, campaign, language), f"{campaign}: {name}", language)


def _run(source: str, names: dict[str, Any]) -> list[NotebookNode]:
    """What a cell shows: the value of its last expression, as Jupyter would ask for it."""
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        statements, last = [*statements, last], ast.Expr(ast.Constant(None))
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    if value is None:
        return []
    shown = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        shown["text/html"] = value._repr_html_()
    return [new_output("execute_result", data=shown, execution_count=1)]
