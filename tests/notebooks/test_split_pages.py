"""Pages of suites strategies and inference, from golden records by the real path."""

from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from commwall.analysis.quantities import DECODE_TOKENS, HBM_SHARE, STRATEGY_TOKENS
from commwall.records.layout import Layout
from commwall.report import figures, overview, step_bytes
from commwall.report.page import open_page
from commwall.report.pages import pages_for
from tests.golden import splits
from tests.notebooks.conftest import publishing
from tests.notebooks.test_operation_pages import rows_of, verdict_rows

PAGES = ("strategies", "inference")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    layout = splits.write_campaign(tmp_path_factory.mktemp("checkout"))
    with publishing(layout, ((splits.CAMPAIGN, name) for name in PAGES)):
        yield layout


def page_of(layout: Layout, name: str) -> str:
    return unescape((layout.notebooks_dir(splits.CAMPAIGN) / f"{name}.html").read_text())


@pytest.mark.parametrize("name", PAGES)
def test_verdict_first_then_limits_then_provenance(published: Layout, name: str) -> None:
    page = page_of(published, name)
    order = ['id="Verdict"', 'id="What-this-does-not-show"', 'id="Provenance"']
    places = [page.index(mark) for mark in order]
    assert places == sorted(places)
    assert 'class="error"' not in page


def test_tokens_per_second_are_judged(published: Layout) -> None:
    _, rows = verdict_rows(page_of(published, "strategies"))
    assert rows[0].startswith("tensor|10.00 (5.745 to 17.41)|A is higher by 900 % (")
    assert "|10,000 token/s|1,000 token/s|" in rows[0]
    _, rows = verdict_rows(page_of(published, "inference"))
    assert "|4.000 (" in rows[0] and "|2,000 token/s|500 token/s|" in rows[0]


def test_counted_bytes_stand_beside_the_formula(published: Layout) -> None:
    caption = (
        "Bytes that a rank sends, mean over the ranks, median of the rounds; why some are not "
        "counted stands among the gaps."
    )
    rows = rows_of(page_of(published, "strategies"), caption)
    assert rows[0] == "tensor|fast link, emulated|205 kB|207 kB|1.0100|3"
    assert rows[1].startswith("tensor|slow link, emulated|205 kB|not counted")
    assert splits.UNCOUNTED in page_of(published, "strategies")


def test_pages_belong_to_their_suites() -> None:
    assert not set(PAGES) & set(pages_for({"training"}))
    assert set(PAGES) <= set(pages_for({"strategies", "inference"}))


def test_a_campaign_without_records_says_what_is_missing(tmp_path: Path) -> None:
    layout = splits.samples.write_campaign(tmp_path, splits.plan(), ())
    splits.samples.write_index(layout, splits.CAMPAIGN)
    page = open_page(tmp_path, splits.CAMPAIGN, 0.95)
    assert "No bytes" in step_bytes.sent(page, "strategies").markup
    columns = {"share of the memory bound": HBM_SHARE}
    found = step_bytes.values_table(page, "inference", columns, "words").markup
    assert "Share of the memory bound: no value, see the gaps." in found
    for quantity in (STRATEGY_TOKENS, DECODE_TOKENS):
        assert "no value" in figures.quantity_figure(page.tables, page.looks, quantity).get_label()
    assert "no verdict" in overview.topic_cards(page, overview.DECODE).markup
