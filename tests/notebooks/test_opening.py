"""Notebooks open in JupyterLab, run there as the README says, and are saved as they were.

JupyterLab itself is not installed: it opens text files through jupytext, which is asked here.
"""

import shutil
from pathlib import Path

import jupytext
import nbformat
import papermill
import pytest
from jupytext.config import load_jupytext_configuration_file

from tests.golden.build import CAMPAIGN, write_campaign
from tests.notebooks.conftest import REPOSITORY

FOLDER = REPOSITORY / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.py"))
USERS_KERNEL = "python3"
"""The one that JupyterLab offers first: that of its own environment."""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_is_a_notebook_with_one_cell_of_parameters(path: Path) -> None:
    opened = jupytext.read(path)
    nbformat.validate(opened)
    assert opened.metadata["kernelspec"]["name"] == USERS_KERNEL
    assert opened.cells[0].cell_type == "markdown"
    (parameters,) = [c for c in opened.cells if "parameters" in c.metadata.get("tags", ())]
    assert parameters.cell_type == "code"
    assert parameters.source.startswith("root = ")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_saving_changes_nothing(path: Path) -> None:
    settings = load_jupytext_configuration_file(str(FOLDER / "jupytext.toml"))
    opened = jupytext.read(path, config=settings)
    assert jupytext.writes(opened, fmt="py:percent", config=settings) == path.read_text("utf-8")


def test_one_runs_from_its_folder_with_the_users_kernel(tmp_path: Path) -> None:
    write_campaign(tmp_path)
    folder = tmp_path / "notebooks"
    shutil.copytree(FOLDER, folder)
    opened, executed = folder / "opened.ipynb", tmp_path / "executed.ipynb"
    jupytext.write(jupytext.read(folder / "method.py"), opened)
    papermill.execute_notebook(
        opened,
        executed,
        parameters={"root": "..", "campaign": CAMPAIGN, "confidence": 0.95},
        kernel_name=USERS_KERNEL,
        cwd=folder,
        progress_bar=False,
    )
    cells = [cell for cell in nbformat.read(executed, as_version=4).cells if "outputs" in cell]
    shown = [output for cell in cells for output in cell.outputs]
    assert len(shown) > 10
    assert all("text/html" in output.data for output in shown)
