"""The money page: verdict first, a unit in every cell, every number one that was computed."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from commwall.cli.main import main
from commwall.economics.costs import Cost, costs
from commwall.economics.wording import cost_texts, flips_text, sentence
from commwall.records.layout import Layout
from commwall.report.money.page import (
    MoneyPage,
    costs_table,
    open_money,
    results_picture,
    swings_picture,
    verdict_cards,
)
from tests.golden.gpus import CAMPAIGN, CASE, write_campaign
from tests.golden.test_money import assume
from tests.notebooks.conftest import publishing
from tests.notebooks.test_campaign_pages import rows_below

RANGES = {
    "waiting_share": {"low": 0, "likely": 0.02, "high": 0.3},
    "training_h": {"low": 2, "high": 6},
    "gains": {"my-own": {"kind": "modelled", "speedup": 1.01}},
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    layout = write_campaign(tmp_path_factory.mktemp("checkout"))
    assume(layout.root, **RANGES)
    with publishing(layout, [(CAMPAIGN, "money")]):
        yield layout


@pytest.fixture(scope="module")
def money(published: Layout) -> MoneyPage:
    return open_money(published.root, CAMPAIGN, 0.95)


@pytest.fixture(scope="module")
def markup(published: Layout) -> str:
    return unescape((published.notebooks_dir(CAMPAIGN) / "money.html").read_text(encoding="utf-8"))


def test_a_buyer_reads_the_mix_first(markup: str, money: MoneyPage) -> None:
    heads = re.findall(r"<h2[^>]*>([^<]+)", markup)
    assert heads[1] == "Verdict" and heads[-2:] == ["What this does not show", "Provenance"]
    cards = re.findall(r'<p class="verdict">(.*?)</p>', markup)
    (answer,) = money.answers
    assert answer.foremost is not None and answer.foremost.subject.name == "mix"
    assert cards == [sentence(answer.foremost, each) for each in answer.foremost.answers]
    assert "Largest driver: " in markup and flips_text(answer.foremost.answers[0]) in markup
    assert answer.scenario.difference in markup


def test_every_workload_has_its_verdict_and_evidence(markup: str) -> None:
    rows = {row[0]: row[1:] for row in rows_below(markup, "NVLink [golden-nvlink] against")}
    assert rows.keys() == {CASE, "my-own", "mix"}
    assert rows[CASE][0].endswith("measured, n = 3")
    assert rows["my-own"][0] == "1.01, modelled"
    assert rows["my-own"][1].startswith("do not take the faster link: -")
    assert all(re.search(r"EUR|never", row[1]) for row in rows.values())


def test_units_and_currency_stand_in_every_cell_of_costs(markup: str, money: MoneyPage) -> None:
    shown = costs_table(money).markup
    found = [c for _, judged in money.judged for c in costs(judged, 0.95)]
    values = [cost for cost in found if isinstance(cost, Cost)]
    assert len(values) > 12
    for cost in values:
        a, b, _ = cost_texts(cost)
        assert a.split(" (")[0].endswith(cost.unit) and b.split(" (")[0].endswith(cost.unit)
        assert f"<td>{a}</td><td>{b}</td>" in shown
        assert f"<td>{a}</td><td>{b}</td>" in markup
    assert len(re.findall(r"<tr><th", shown)) == len(values) + 1


def test_assumptions_have_unit_source_and_day(markup: str) -> None:
    rows = {row[0]: row[1:] for row in rows_below(markup, "In round numbers. Results are in EUR.")}
    assert rows["engineer's hour"] == ["100 EUR/h", "a test", "2026-11-30"]
    assert rows["length of a training"][0] == "4 h (2 to 6)"
    assert rows[f"speed-up of {CASE}"][1] == f"campaign {CAMPAIGN}"


def test_figures_show_the_draws_and_zero(money: MoneyPage) -> None:
    panels = results_picture(money).axes
    assert [len(axes.get_yticklabels()) for axes in panels] == [3, 3]
    for axes in (*panels, *swings_picture(money).axes):
        low, high = axes.get_xlim()
        assert low <= 0 <= high and axes.get_xlabel()
    assert "[EUR]" in panels[0].get_xlabel()
    labels = [label.get_text() for label in swings_picture(money).axes[0].get_yticklabels()]
    assert "engineer waits" in labels[0].replace("\n", " ")


def test_wrong_assumptions_stand_on_the_page_and_stop_nothing(tmp_path: Path) -> None:
    layout = write_campaign(tmp_path)
    assume(tmp_path, utilisation=2)
    page = open_money(layout.root, CAMPAIGN, 0.95)
    told = unescape(verdict_cards(page).markup)
    assert "No verdict: " in told and "utilisation: must be at most 1" in told
    assert results_picture(page).axes == []


def test_the_verb_says_the_same(
    published: Layout, money: MoneyPage, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cost", "--campaign", CAMPAIGN]) == 0
    told = capsys.readouterr().out
    for _, judged in money.judged:
        assert all(sentence(judged, answer) in told for answer in judged.answers)
    assert main(["cost", "--campaign", CAMPAIGN, "--brief"]) == 0
    assert "assumptions" not in capsys.readouterr().out
