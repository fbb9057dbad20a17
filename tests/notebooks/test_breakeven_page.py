"""The page on break-even: measured and modelled numbers are cells of its tables."""

import re
from html import unescape

import pandas as pd
import pytest

from commwall.analysis.breakeven import GAINS
from commwall.records.layout import Layout
from commwall.report.breakeven.page import curve_figure
from commwall.report.breakeven.whatif import COUNTS
from commwall.report.page import open_page
from tests.golden.build import CAMPAIGN, CASE
from tests.notebooks.test_campaign_pages import rows_below
from tests.notebooks.test_pages import SCALES, _cards, _untraced

PER_GB = (*SCALES, 1e9, 1e12, 1e9 / 60)
"""Seconds a byte are told as min, s or ms per GB."""


@pytest.fixture(scope="module")
def page(published: Layout) -> str:
    return unescape((published.notebooks_dir(CAMPAIGN) / "breakeven.html").read_text())


def table_of(layout: Layout, name: str) -> pd.DataFrame:
    return pd.read_csv(layout.tables_dir(CAMPAIGN) / f"{name}.csv")


def test_verdict_is_of_both_tables(published: Layout, page: str) -> None:
    points, crossings = (table_of(published, name) for name in ("breakeven", "crossings"))
    said, floor, measured, in_band, by_the_line = _cards(page)
    assert "is faster by 100 % (64 to 143, n = 5)" in said and "(A/A control)" in floor
    assert in_band == "All measured cases lie in the band."
    assert measured.startswith("1 case has the legs that the curve needs; its steps compute")
    cells = pd.concat([points.select_dtypes("number"), crossings.select_dtypes("number")])
    numbers = re.sub(r"1 case|per GB|than 5 %|more than 5", "", f"{measured} {by_the_line}")
    assert _untraced(numbers, cells, PER_GB) == []


def test_points_are_cells_of_breakeven(published: Layout, page: str) -> None:
    points = table_of(published, "breakeven")
    (row,) = rows_below(page, "Measured cases and the band of the line.")
    assert row[0].startswith(CASE)
    assert row[1:4] == ["8.00 MB", "92.0 ms", "11.5 s per GB"]
    assert row[5] == "83.3 to 96.4 %" and row[7] == "within"
    assert _untraced(" ".join(row[1:7]).replace("n = 5", ""), points, (*PER_GB, 1e-6)) == []
    assert "All measured cases lie in the band." in page


def test_crossings_are_cells_of_their_table(published: Layout, page: str) -> None:
    crossings = table_of(published, "crossings")
    rows = rows_below(page, "Modelled: a step that computes less for each GB")
    assert [row[1] for row in rows] == [f"{100 * gain:g} %" for gain in GAINS]
    for row in rows:
        own = crossings[crossings["gain_percent"] == float(row[1].removesuffix(" %"))]
        assert _untraced(" ".join(row[2:4]), own, PER_GB) == []
        assert row[2].endswith("beyond measured cases")
        # For the whole step of the case, whose gradients are 8 MB.
        times = own["compute_s_per_byte"] * 8e6
        whole = row[4].partition(": ")[2]
        assert _untraced(whole, times.to_frame(), (1, 1e3, 1 / 60)) == []


def test_what_is_not_measured_is_called_modelled(page: str) -> None:
    heads = re.findall(r"<h2[^>]*>([^<]+)", page)
    beyond = heads[heads.index("Where 1, 5 and 20 % are crossed") + 1 :]
    assert all("(modelled)" in head for head in beyond[:3])
    captions = re.findall(r"<caption><span>([^<]+)", page)
    assert sum("modelled" in caption.lower() for caption in captions) == 4
    assert "No example" in page  # processors of the golden campaign have no peak on file


def test_clusters_grow_to_1024_gpus(page: str) -> None:
    rows = rows_below(page, "nodes of 8 joined by InfiniBand 400 Gbit/s a GPU")
    assert [row[1] for row in rows[: len(COUNTS)]] == [f"{count:,}" for count in COUNTS]
    assert {row[0] for row in rows} == {"BERT-Large", "ViT-L/16", "7B decoder"}


def test_strategies_tell_their_bytes(page: str) -> None:
    """Gradients of 13.5 GB, or 4 all-reduces of 33.6 MB a layer and micro-batch, 32 of each."""
    rows = rows_below(page, "Bytes are those that a GPU gives to collectives in a step")
    told = {(row[0], row[1]): row[2] for row in rows}
    assert told["7B decoder, data parallel", "1,024"] == "13.5 GB"
    assert told["7B decoder, tensor 8, then data", "8"] == "137 GB"
    assert len(rows) == 14 and ("7B decoder, tensor 8, pipeline 8, then data", "8") not in told


def test_the_figure_shows_measured_cases_between_both_edges(published: Layout) -> None:
    figure = curve_figure(open_page(published.root, CAMPAIGN, 0.95))
    (axes,) = figure.axes
    marks = [
        line for line in axes.get_lines() if line.get_marker() == "o" and len(line.get_xdata())
    ]
    assert [float(mark.get_xdata()[0]) for mark in marks] == [pytest.approx(11_500)]
    assert [float(mark.get_ydata()[0]) for mark in marks] == [pytest.approx(100)]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["line, nothing hidden", "line, all hidden", "measured"]
    assert "(emulated links)" in figure.get_suptitle()
    assert axes.get_ylim()[0] < 0 and axes.get_xscale() == "log"
