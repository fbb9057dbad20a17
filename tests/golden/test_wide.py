"""Campaign `h200x2-wide` gives its figures: tried on golden records of its own plan."""

from html import unescape

import pytest

from commwall.records.layout import Layout
from commwall.report import prediction
from commwall.report.page import Page, open_page
from tests.golden import wide

ERRORS = {wide.STAGED: 100 * (17 / 18 - 1), wide.NVLINK: 100 * (15 / 14 - 1)}
"""Target -> by how much its predictions are off, but for cases that are predicted exactly [%]."""


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return wide.write_campaign(tmp_path_factory.mktemp("wide"))


@pytest.fixture(scope="module")
def page(layout: Layout) -> Page:
    return open_page(layout.root, wide.plan().id, 0.95)


def test_every_new_workload_is_predicted_both_ways(page: Page) -> None:
    """Without sweeps of its own the campaign would predict nothing."""
    cases = wide.plan().suite("training").cases
    rows = page.tables.predicted_steps
    assert set(rows["case"]) == set(cases)
    assert len(rows) == 2 * len(cases) == rows["error_percent"].notna().sum()
    for row in rows.itertuples():
        expected = 0 if row.case in wide.EXACT else ERRORS[row.target]
        assert row.error_percent == pytest.approx(expected, abs=1e-3)
    assert rows["contention_measured"].all()


def test_the_page_has_each_error_and_the_median(page: Page) -> None:
    head, body = prediction.verdict(page).markup, prediction.predictions(page).markup
    assert (
        "22 steps predicted from another link's training are off by 5.6 % in the median, by 7.1 % "
        "at worst" in unescape(head)
    )
    cases = wide.plan().suite("training").cases
    assert all(f">{case}<" in body for case in cases)
    assert body.count("−5.6") == body.count("+7.1") == len(cases) - len(wide.EXACT)
