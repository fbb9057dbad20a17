"""The page of mitigations, from golden records by the real path; every number is in its table."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from commwall.records.layout import Layout
from commwall.report import mitigations
from commwall.report.page import open_page
from tests.golden import build
from tests.golden.mitigations import CAMPAIGN, write_campaign
from tests.notebooks.conftest import publishing

NUMBER = re.compile(r"[+−]?\d+\.\d+")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    layout = write_campaign(tmp_path_factory.mktemp("checkout"))
    with publishing(layout, [(CAMPAIGN, "mitigations"), (CAMPAIGN, "summary")]):
        yield layout


def page_of(layout: Layout, name: str = "mitigations") -> str:
    return unescape((layout.notebooks_dir(CAMPAIGN) / f"{name}.html").read_text())


def rows_of(page: str) -> dict[str, list[str]]:
    """Cells of the table of effects on the slow link, by mitigation."""
    body = page.partition("in turns;")[2].partition("</table>")[0]
    slow = body.partition("slow link")[2].partition("fast link")[0]
    rows = re.findall(r"<tr><th scope=.row.>(.*?)</tr>", slow, re.DOTALL)
    cells = [re.sub(r"<[^>]+>", "|", row).strip("|") for row in rows]
    return {row.split("|")[0]: [c for c in row.split("|")[1:] if c] for row in cells}


def test_what_to_do_first_stands_first(published: Layout) -> None:
    page = page_of(published)
    places = [page.index(mark) for mark in ('id="Verdict"', 'id="What-this-does-not-show"')]
    assert places == sorted(places)
    card = page.partition('class="card"')[2].partition("</div>")[0]
    assert "bert demo, 4 per process, on slow link, emulated: first bfloat16 exchange" in card
    assert "it wins back 50.0 % (25.2 to 74.8) of the gap to fast link, emulated, n = 3" in card
    assert "8-bit" not in card and 'class="error"' not in page


def test_each_row_has_gain_forecast_and_price_beside_each_other(published: Layout) -> None:
    rows = rows_of(page_of(published))
    assert list(rows) == ["8-bit exchange", "bfloat16 exchange", "2 batches a step", "static graph"]
    share, speedup, forecast, energy, price, error, n = rows["bfloat16 exchange"]
    assert share == "50.0 % (25.2 to 74.8)"
    assert speedup.startswith("1.34 (") and forecast == "1.60"
    assert (energy, error, n) == ("unknown", "0.20", "3")
    assert price == "+0.0000 (−0.0099 to +0.0099); 3 seeds"
    assert rows["8-bit exchange"][4] == "+0.0300 (+0.0052 to +0.0548), a loss; 3 seeds"
    assert rows["2 batches a step"][3] == "0.750"
    assert rows["static graph"][4] == "none: same arithmetic"


def test_every_number_of_the_rows_is_one_of_the_table(published: Layout) -> None:
    table = pd.read_csv(published.tables_dir(CAMPAIGN) / "mitigations.csv")
    kept = [v for v in table.select_dtypes("number").to_numpy().flatten() if v == v]
    for name, cells in rows_of(page_of(published)).items():
        for cell in cells[:-1]:
            for text in NUMBER.findall(cell):
                value = float(text.replace("−", "-")) / (100 if "%" in cell else 1)
                near = 0.6 * 10 ** -len(text.partition(".")[2]) / (100 if "%" in cell else 1)
                assert any(abs(value - other) <= near for other in kept), f"{name}: {text}"


def test_without_a_price_it_is_named_as_missing_and_not_listed(published: Layout) -> None:
    page = page_of(published)
    assert "1-bit exchange" not in rows_of(page)
    assert "No price, and so not listed: its price was not measured" in page
    assert "(onebit on slow link, emulated)" in page


def test_the_summary_says_what_is_left_of_the_gap(published: Layout) -> None:
    page = page_of(published, "summary")
    assert "Training with a mitigation on both sides" in page
    assert "has higher throughput with the mitigation" in page


def test_a_campaign_without_the_suite_says_so(tmp_path: Path) -> None:
    page = open_page(build.write_campaign(tmp_path).root, build.CAMPAIGN, 0.95)
    for piece in (mitigations.first_card(page), mitigations.effects_table(page)):
        assert mitigations.NOTHING in piece.markup
    assert "No forecast" in mitigations.forecast_note(page).markup
    assert not mitigations.effects_figure(page).axes
