"""The summary of a replication: its section with every number traced, and none elsewhere."""

import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from commwall.cli.main import main
from tests.golden.build import CAMPAIGN
from tests.golden.replica import OWN, publish, replicate
from tests.notebooks.conftest import REPOSITORY, render_pages
from tests.notebooks.test_pages import SCALES, _numbers, _untraced


def test_the_section_of_a_replication(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = publish(tmp_path)
    replicate(layout)
    (tmp_path / "notebooks").symlink_to(REPOSITORY / "notebooks")
    monkeypatch.chdir(tmp_path)
    assert main(["tables", OWN]) == 0
    render_pages([(OWN, "summary"), (CAMPAIGN, "summary")])
    page, other = (
        unescape((layout.notebooks_dir(name) / "summary.html").read_text(encoding="utf-8"))
        for name in (OWN, CAMPAIGN)
    )
    assert ">Replication<" in page and ">Replication<" not in other
    section = page[page.index(">Replication<") :].split("</table>")[0]
    assert "1 of 1 ratios (100%) lie inside the intervals fixed beforehand" in section
    rows = re.findall(r"<tr[^>]*>(<th scope=.row.*?)</tr>", section)
    table = pd.read_csv(layout.tables_dir(OWN) / "replication.csv")
    assert len(rows) == len(table) == 3
    for row, (_, cells) in zip(rows, table.iterrows(), strict=True):
        assert len(_numbers(row)) >= 4
        assert _untraced(row, cells.to_frame().T.infer_objects(), SCALES) == []
