"""The page on predicted steps, from golden records by the real path."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from commwall.analysis.tables.tidy import Tables
from commwall.records.layout import Layout
from commwall.report.page import Page, open_page
from commwall.report.prediction import page as prediction, rule as prediction_rule
from commwall.report.prediction.figure import prediction_figure
from commwall.report.style import picture
from commwall.schema.units import time_text
from tests.golden.steps import BESIDE, CAMPAIGN, NVLINK, STAGED, without, write_campaign
from tests.notebooks.conftest import publishing

NAME = "prediction"


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


def cells(text: str, caption: str) -> list[list[str]]:
    """Cells of the rows of the table with that caption, titles of groups among them."""
    (table,) = re.findall(rf"{re.escape(caption)}<.*?</thead>(.*?)</table>", text, re.DOTALL)
    rows = re.findall(r"<tr.*?>(.*?)</tr>", table, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def signed(percent: float) -> str:
    words = f"{percent:+.1f}".replace("-", "−")
    return (words[1:] if words[1:] == "0.0" else words) + "\xa0%"


def test_verdict_first_then_evidence_then_limits(text: str) -> None:
    marks = ['id="Verdict"', "<figure ", "Predicted and measured steps.", 'id="Where-it-misses"']
    marks += ['id="What-this-does-not-show"', 'id="Provenance"']
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert 'class="error"' not in text


def test_the_verdict_has_the_figures_of_the_table(text: str) -> None:
    # 0, 5.6, 8.7 and 6.3 % host-staged; 0, 7.1, 0 and 7.2 % on NVLink; the control's repeat nothing
    assert (
        "8 steps predicted from another link's training are off by 5.9 % in the median, by 8.7 % "
        "at worst (other-exchange, NVLink to host-staged)." in text
    )
    assert "8 of 8 measured steps lie in their 95 % interval" in text
    assert "(A/A) 2 steps are off by 0.0 % in the median" in text
    assert "Not predicted" not in text


def test_every_number_is_a_cell_of_its_table(published: Layout, text: str) -> None:
    table = pd.read_csv(published.tables_dir(CAMPAIGN) / "predicted_steps.csv")
    real = table[~table["control"]]
    shown = [row for row in cells(text, "Predicted and measured steps.") if len(row) > 1]
    assert len(shown) == len(real) == 10
    for row, (_, line) in zip(shown, real.iterrows(), strict=True):
        ends = [time_text(line[f"predicted_{end}_s"]).split()[0] for end in ("low", "high")]
        assert row == [
            f"{line['label_source']} to {line['label_target']}",
            time_text(line["packed_step_s"]),
            time_text(line["exchange_s"]),
            f"{time_text(line['predicted_s'])} ({ends[0]} to {ends[1]})",
            time_text(line["measured_s"]),
            signed(line["error_percent"]),
            "3",
        ]


def test_misses_name_what_was_off(text: str) -> None:
    words = "Predictions that are off by more than 5 %, or outside their interval."
    rows = {row[0]: row[1:] for row in cells(text, words)}
    assert len(rows) == 5
    zero = signed(0)
    assert rows["other-optimiser, NVLink to host-staged"] == [
        *(signed(-5.6), signed(-5.6), zero, zero),
        "compute takes longer on the target than on the source",
    ]
    assert rows["other-exchange, NVLink to host-staged"] == [
        *(signed(-8.7), zero, signed(-8.7), zero),
        "the target's exchange takes longer than its sweep says",
    ]
    assert rows["other-contention, NVLink to host-staged"][-1].startswith(
        "compute and exchange take less from each other"
    )


def test_the_model_shows_what_it_rests_on(text: str) -> None:
    rows = cells(text, "In brackets: the sweep's time against leg comm.")
    staged = next(row for row in rows if "10.0 ms (−20.0\xa0%)" in row)
    assert staged[:5] == ["host-staged", "4.00 ms", "10.0 ms", "12.0 ms", "18.6 ms"]
    assert staged[6:8] == ["0.20, 1.25", "1.00, +0.00"]


def test_larger_buckets_are_modelled(text: str) -> None:
    rows = cells(
        text, "Modelled step with buckets closed from that size on; larger ones to the right."
    )
    assert rows[0] == [
        "as-modelled, NVLink",
        "14.0 ms (512 KiB, 2 buckets)",
        "13.8 ms (2.50 MiB, 1 bucket)",
    ]


def test_the_figure_has_every_prediction_but_controls(page: Page) -> None:
    against, errors = prediction_figure(page).axes
    points = [line for line in against.lines if line.get_linestyle() == "None"]
    assert len(points) == 10
    assert {line.get_color() for line in points} >= {
        page.looks[platform].color for platform in (NVLINK, STAGED)
    }
    drawn = [line for line in errors.lines if line.get_marker() != "None"]
    assert sorted(line.get_xdata()[0] for line in drawn)[0] == pytest.approx(-8.72, abs=0.01)
    assert [label.get_text() for label in errors.get_yticklabels()][0] == "as-modelled"


def test_other_batches_stand_beside_what_was_measured(page: Page) -> None:
    assert "No two cases differ in their batch alone" in prediction.cases(page).markup
    line = {
        "case": "b8",
        "label": "NVLink",
        "source_case": "b4",
        "differs": "batch",
        "n": 3,
        "predicted_cost_s": 2e-3,
        "measured_cost_s": 3e-3,
        "predicted_s": 24e-3,
        "measured_s": 25e-3,
        "error_percent": -4.0,
    }
    tables = Tables(page.analysis, predicted_cases=pd.DataFrame([line]))
    shown = prediction.cases(replace(page, tables=tables)).markup
    (row,) = cells(shown, "Steps predicted from another case of the same platform.")
    assert row == [
        *("b8, NVLink", "b4 (another batch)", "2.00 ms", "3.00 ms", "24.0 ms", "25.0 ms"),
        *(signed(-4), "3"),
    ]


def test_a_step_outside_its_interval_is_told(page: Page) -> None:
    own = page.tables.predicted_steps
    outside = own.assign(inside=own["inside"] & (own["case"] != "as-modelled"))
    tables = Tables(page.analysis, predicted_steps=outside)
    strange = replace(page, tables=tables)
    assert prediction.predictions(strange).markup.count(", outside</td>") == 6
    assert "as-modelled, NVLink to host-staged" in prediction.reasons(strange).markup
    assert "as-modelled, NVLink to host-staged" not in prediction.reasons(page).markup


def test_a_campaign_without_leg_packed_says_so(tmp_path: Path) -> None:
    layout = write_campaign(tmp_path, without("packed"))
    page = open_page(layout.root, CAMPAIGN, 0.95)
    words = prediction.verdict(page).markup
    assert "No step is predicted and measured: leg packed has no step times." in unescape(words)
    assert picture(prediction_figure(page), "").markup == ""
    shown = (prediction.predictions, prediction.reasons, prediction_rule.rule, prediction.models,
             prediction.cases, prediction.bucket_sizes)  # fmt: skip
    assert {part(page).markup for part in shown} == {""}


def test_contention_that_is_carried_over_is_told(tmp_path: Path) -> None:
    layout = write_campaign(tmp_path, lambda own: None if own.id.case == BESIDE else own)
    page = open_page(layout.root, CAMPAIGN, 0.95)
    words = "12 of 12 predictions take the source's contention as it is: on one of their links no"
    assert words in unescape(prediction.verdict(page).markup)
    assert "not measured beside a load" in prediction.models(page).markup
