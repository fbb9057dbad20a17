"""The page on scaling, from golden records of 2, 4 and 8 GPUs by the real path."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commwall.analysis.scaling.tables import Scaling, scaling_tables
from commwall.language.translate import speaking
from commwall.records.layout import Layout
from commwall.report.page import Page, open_page
from commwall.report.pages import pages_for
from commwall.report.scaling import page as scaling
from commwall.report.scaling.figure import scaling_figure
from commwall.report.switch import switch_note
from commwall.schema.units import time_text
from tests.golden import build
from tests.golden.scaling import CAMPAIGN, CASES, SIZES, write_campaign
from tests.notebooks.conftest import publishing

NAME = "scaling"
FAR_OFF = "−41.5\xa0%"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    layout = write_campaign(tmp_path_factory.mktemp("checkout"))
    with publishing(layout, [(CAMPAIGN, NAME)]):
        yield layout


@pytest.fixture(scope="module")
def text(published: Layout) -> str:
    return unescape((published.notebooks_dir(CAMPAIGN) / f"{NAME}.html").read_text())


@pytest.fixture(scope="module")
def page(published: Layout) -> Page:
    return open_page(published.root, CAMPAIGN, 0.95)


@pytest.fixture(scope="module")
def found(page: Page) -> Scaling:
    return scaling_tables(page.analysis)


def cells(text: str, caption: str) -> list[list[str]]:
    """Cells of the rows of the table with that caption, titles of groups among them."""
    (table,) = re.findall(rf"{re.escape(caption)}<.*?</thead>(.*?)</table>", text, re.DOTALL)
    rows = re.findall(r"<tr.*?>(.*?)</tr>", table, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_only_campaigns_of_several_sizes_have_the_page() -> None:
    assert NAME not in pages_for({"training"})
    assert NAME in pages_for({"training"}, several_sizes=True)
    assert NAME not in pages_for({"memory"}, several_sizes=True)


def test_verdict_first_then_curve_then_predictions(text: str) -> None:
    marks = ['id="Verdict"', "<figure ", 'id="Foretold-from-fewer"']
    marks += ['id="What-this-does-not-show"', 'id="Provenance"']
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert 'class="error"' not in text


def test_the_verdict_says_what_eight_gpus_bring(text: str) -> None:
    # 8 x 11.2 / 17 and 18 ms over NVLink, / 41 and 42 host-staged
    assert "NVLink: 8 GPUs train 4.98 to 5.27 times as fast as one, 62.2 to 65.9 % of 8." in text
    assert "host-staged: 8 GPUs train 2.13 to 2.19 times as fast as one, 26.7 to 27.3 %" in text
    assert "From 4 to 8 GPUs throughput grows 1.05 to 1.07 times; 2.00 would be all." in text
    assert "The rate of the exchange on 8 GPUs is 50.0 % of that on 2." in text


def test_every_number_of_the_curve_is_a_cell_of_its_table(published: Layout, text: str) -> None:
    table = pd.read_csv(published.tables_dir(CAMPAIGN) / "scaling.csv")
    rows = [row for row in cells(text, "launches with the fewest.") if len(row) > 1]
    assert len(rows) == len(table) == 2 * len(CASES) * (1 + len(SIZES))
    for row, (_, line) in zip(rows, table.iterrows(), strict=True):
        assert (row[0], row[-1]) == (str(line["ranks"]), str(line["n"]))
        assert row[1].startswith(f"{line['samples_per_s']:,.0f} sample/s (")
        if line["ranks"] > 1:
            assert row[2].startswith(f"{100 * line['efficiency']:.1f} %")
            assert row[3].startswith(f"{line['busbw_bytes_per_s'] / 1e6:.0f} MB/s")


def test_predictions_stand_beside_what_was_measured(published: Layout, text: str) -> None:
    table = pd.read_csv(published.tables_dir(CAMPAIGN) / "scaled_steps.csv")
    rows = [row for row in cells(text, "lies outside the interval.") if len(row) > 1]
    assert len(rows) == len(table) == 2 * len(CASES) * 3
    for row, (_, line) in zip(rows, table.iterrows(), strict=True):
        assert row[0] == f"{line['target_ranks']} from {line['source_ranks']}"
        assert row[1].startswith(time_text(line["predicted_s"]))
        assert row[2] == time_text(line["measured_s"])
    assert "host-staged, 8 GPUs from 2: steps are off by 41.5 % in the median, by −42.9 %" in text
    (miss,) = {tuple(row[3:7]) for row in rows if row[0] == "8 from 2" and row[3] == FAR_OFF}
    assert miss == (FAR_OFF, "0.0\xa0%", FAR_OFF, "0.0\xa0%"), "all of it by the exchange"


def test_what_switching_the_switch_off_means(page: Page, text: str) -> None:
    assert "NCCL_NVLS_ENABLE=0 stands in the environment of 90 of 90 records." in text
    assert "Others reached 480 GB/s of bus bandwidth with it on 8 such GPUs and 367 GB/s by" in text
    assert "would take about 76.5 % of what they take here" in text
    assert "On 2 to 4 NVIDIA H100" in text and "rings reached as much" in text


def test_nothing_is_said_of_the_switch_where_it_was_left_alone(tmp_path: Path) -> None:
    layout = build.write_campaign(tmp_path)
    assert switch_note(open_page(layout.root, build.CAMPAIGN, 0.95), layout.root).markup == ""


def test_each_link_is_one_line_beside_the_ideal_one(page: Page, found: Scaling) -> None:
    figure = scaling_figure(page, found)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"case {c}" for c in CASES]
    curves = [line for line in figure.axes[0].lines if np.size(line.get_xdata()) == 1 + len(SIZES)]
    assert [list(np.asarray(line.get_xdata())) for line in curves] == [[1, *SIZES]] * 2
    assert [line.get_color() for line in curves] == [
        page.looks[name].color for name in ("nvlink8", "hoststaged8")
    ]
    (ideal,) = (line for line in figure.axes[0].lines if line.get_linestyle() == ":")
    assert np.asarray(ideal.get_ydata())[1] == pytest.approx(8 * 4 / 11.2e-3)


def test_a_campaign_of_one_size_says_so(tmp_path: Path) -> None:
    page = open_page(build.write_campaign(tmp_path).root, build.CAMPAIGN, 0.95)
    none = scaling_tables(page.analysis)
    assert "No link has a usable round" in scaling.verdict(page, none).markup
    assert "no case runs with several numbers" in scaling.foretold(page, none).markup
    assert scaling.predictions(page, none).markup == scaling.rule(none).markup == ""
    assert "No link was measured" in scaling.curve(page, none).markup
    assert str(scaling_figure(page, none).get_label()).startswith("Scaling: no link")


def test_the_page_speaks_chinese(page: Page, found: Scaling) -> None:
    with speaking("zh"):
        shown = scaling.verdict(page, found).markup + scaling.foretold(page, found).markup
    assert re.search("[\u4e00-\u9fff]", shown) and " times as fast" not in shown
