"""Execute a notebook and write its page.

Layer: report. Reads `notebooks/<name>.py`; writes `results/<campaign>/notebooks/<name>.ipynb`
and `.html`, or both below `results/pages` where the notebook is of no campaign.
"""

import ast
from pathlib import Path

import jupytext
from nbconvert import HTMLExporter
from nbformat import NotebookNode

from commwall.language.markdown import translated
from commwall.language.translate import ENGLISH, speaking, spoken, tr
from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.report.rendering.anchors import NAMES, Anchors, names_of
from commwall.report.rendering.execution import Parameters, RenderError, execute
from commwall.schema.parsing import nearest
from commwall.schema.suggestion import suggestion

NOTEBOOKS = Path("notebooks")
TEMPLATES = Path(__file__).parents[1] / "templates"
PUBLISHED_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
"""Kernel that published notebooks name: it exists wherever Jupyter does."""


def render(
    layout: Layout,
    campaign: str | None,
    notebook: str,
    confidence: float,
    timeout_s: float,
    language: str = ENGLISH,
) -> tuple[Path, Path]:
    """Execute a notebook.

    Args:
        layout: the checkout.
        campaign: which campaign to read; None for a notebook that is of no campaign.
        notebook: name of the notebook, without suffix.
        confidence: level of all intervals.
        timeout_s: longest time the whole notebook may take [s].
        language: language of the page, for notebooks that declare such a parameter.

    Returns:
        Paths of the executed notebook and of its page.

    Raises:
        RenderError: if there is no such notebook, a parameter is unknown or missing, a cell
            fails or the time is over.
        LanguageError: if there is no such language.
    """
    node = jupytext.read(_source(layout.root, notebook), fmt="py:percent")
    parameters: Parameters = {"root": ".", "confidence": confidence}
    if campaign is not None:
        parameters = {**parameters, "campaign": campaign}
    if "language" in _declared(node):
        parameters = {**parameters, "language": language}
    check_parameters(node, parameters, notebook)
    with speaking(language):
        _translate_text(node)
    source = f"{NOTEBOOKS / notebook}.py"
    executed = _cleaned(execute(node, parameters, layout.root, source, timeout_s))
    folder = layout.notebooks_dir(campaign, language) if campaign else layout.general_dir(language)
    paths = folder / f"{notebook}.ipynb", folder / f"{notebook}.html"
    write_atomically(paths[0], jupytext.writes(executed, fmt="ipynb"))
    title = f"{campaign or 'commwall'}: {notebook}"
    write_atomically(paths[1], page_of(executed, title, language))
    return paths


def page_of(executed: NotebookNode, title: str, language: str = ENGLISH) -> str:
    """The self-contained HTML page of an executed notebook."""
    exporter = HTMLExporter(template_name="commwall", extra_template_basedirs=[str(TEMPLATES)])
    exporter.exclude_anchor_links = True  # they would follow the language
    exporter.register_filter("anchored", Anchors().put)
    for cell in executed.cells:
        cell.metadata.setdefault(NAMES, names_of(cell))
    css = (TEMPLATES / "page.css").read_text(encoding="utf-8")
    resources = {"page_css": css, "page_title": title, "page_language": language}
    with speaking(language):
        resources["code_title"] = tr("Code of this page")
        page: str = exporter.from_notebook_node(executed, resources=resources)[0]
    return page


def check_parameters(node: NotebookNode, given: Parameters, notebook: str) -> None:
    """Compare given parameters with those that the cell tagged `parameters` declares.

    Raises:
        RenderError: naming every parameter that is unknown or missing.
    """
    declared = _declared(node)
    unknown = [
        f"unknown: {name} (nearest: {nearest(name, declared)})" for name in given.keys() - declared
    ]
    missing = [f"missing: {name}" for name in declared - given.keys()]
    if unknown or missing:
        raise RenderError(
            f"notebook {notebook} takes other parameters",
            where=f"{NOTEBOOKS / notebook}.py, cell tagged 'parameters'",
            found="\n".join(sorted(unknown + missing)),
            expected=", ".join(sorted(declared)) or "no parameters",
        )


def _source(root: Path, notebook: str) -> Path:
    known = sorted(path.stem for path in (root / NOTEBOOKS).glob("*.py"))
    if notebook not in known:
        raise RenderError(
            f"there is no notebook {notebook!r}",
            where=f"{NOTEBOOKS}/{notebook}.py",
            found="no such file",
            expected=f"one of: {', '.join(known) or '(none is here)'}",
            next_step=suggestion(notebook, known) or "name one of these, without suffix",
        )
    return root / NOTEBOOKS / f"{notebook}.py"


def _translate_text(node: NotebookNode) -> None:
    """Put the markdown cells of a notebook into the language spoken."""
    for cell in node.cells:
        if cell.cell_type == "markdown" and spoken() != ENGLISH:
            cell.metadata[NAMES] = names_of(cell)
            cell.source = translated(cell.source)


def _declared(node: NotebookNode) -> set[str]:
    """Names that cells tagged `parameters` assign."""
    texts = [c.source for c in node.cells if "parameters" in c.metadata.get("tags", [])]
    assigned = [item for text in texts for item in ast.parse(text).body]
    targets = [t for item in assigned if isinstance(item, ast.Assign) for t in item.targets]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _cleaned(node: NotebookNode) -> NotebookNode:
    """Without paths and times of this run, and with a kernel name that opens everywhere."""
    for key in ("papermill", "jupytext"):
        node.metadata.pop(key, None)
    node.metadata["kernelspec"] = PUBLISHED_KERNEL
    for cell in node.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
    return node
