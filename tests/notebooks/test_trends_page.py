"""The page on trends: what two campaigns share is followed, the rest is said to stand alone."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from matplotlib.axes import Axes

from commwall.cli.main import main
from commwall.records.layout import Layout
from commwall.report.html import paragraph
from commwall.report.trends.figure import trend_figure
from commwall.report.trends.page import (
    NOTHING,
    TrendsPage,
    alone,
    changes,
    every_value,
    figures,
    headline,
    open_trends,
)
from commwall.schema.record import Record
from tests.golden.build import CAMPAIGN, FAST, SLOW
from tests.golden.update import AFTER, Change, renamed_case, timed, updated, write
from tests.notebooks.conftest import REPOSITORY
from tests.samples import write_index


def indexed(root: Path, *campaigns: str) -> None:
    for campaign in campaigns:
        write_index(Layout(root), campaign)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two campaigns, the later one a quarter faster and of another driver."""
    root = tmp_path_factory.mktemp("checkout")
    write(root, CAMPAIGN)
    write(root, AFTER, lambda made: updated(timed(0.8)(made)))
    indexed(root, CAMPAIGN, AFTER)
    (root / "notebooks").symlink_to(REPOSITORY / "notebooks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["render", "trends"]) == 0
        assert main(["site"]) == 0
        yield root


@pytest.fixture(scope="module")
def page(root: Path) -> TrendsPage:
    return open_trends(root, 0.95)


def test_the_page_follows_both_platforms_and_no_control(root: Path, page: TrendsPage) -> None:
    markup = unescape((Layout(root).general_dir() / "trends.html").read_text(encoding="utf-8"))
    assert "2 values were measured by more than one of 2 campaigns, from 2026-01-01 to" in markup
    assert [trend.platform for trend in page.shared] == [FAST, SLOW]
    assert "Every value was measured by more than one campaign." in markup
    assert markup.count("<figure ") == 1
    assert 'href="pages/trends.html"' in (Layout(root).landing_path()).read_text()


def test_first_and_last_stand_in_the_table(page: TrendsPage) -> None:
    """Fast: 8 samples in 100 ms are 80 a second, 100 with 0.8 of the time; the ratio is 1.25."""
    rows = re.findall(r"<tr><th scope=.row.*?</tr>", changes(page).markup)
    cells = re.findall(r"<td>(.*?)</td>", unescape(rows[0]))
    assert cells[0] == "2"
    assert re.match(r"79\.7 sample/s \(.* to .*\), 2026-01-01", cells[1])
    assert re.match(r"99\.6 sample/s \(.* to .*\), 2026-01-31", cells[2])
    assert cells[3].startswith("1.250 (")
    assert "cannot tell" not in cells[3]
    assert cells[4] == "driver not told → 610.43; NCCL not told → 2.30.4"


def test_the_figure_shows_every_value_its_interval_and_the_new_versions(page: TrendsPage) -> None:
    figure = trend_figure(page.shared)
    panels = figure.axes
    assert len(panels) == 2  # twice as slow: a panel of its own
    shown = [_marks(axes) for axes in panels]
    for trend, ends in zip(page.shared, shown, strict=True):
        assert ends["values"] == pytest.approx([point.centre for point in trend.points])
        wanted = [point.interval for point in trend.points if point.interval]
        assert ends["low"] == pytest.approx([around.low for around in wanted])
    words = [text.get_text() for text in panels[0].texts]
    assert words == ["driver 610.43\nNCCL 2.30.4"]
    assert [text.get_text() for text in panels[1].texts] == []


def _marks(axes: Axes) -> dict[str, list[float]]:
    """Heights of the marks, and lower ends of the vertical lines within the panel."""
    lines = [line for line in axes.lines if line.get_linestyle() != ":"]
    values = next(line for line in lines if line.get_linestyle() == "None")
    ends = [
        line for line in lines if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2
    ]
    return {
        "values": [float(value) for value in values.get_ydata()],
        "low": [float(min(line.get_ydata())) for line in ends],
    }


def test_what_one_campaign_measured_alone_is_said_so(tmp_path: Path) -> None:
    write(tmp_path, CAMPAIGN)
    indexed(tmp_path, CAMPAIGN)
    page = open_trends(tmp_path, 0.95)
    assert "A trend needs two campaigns, and 1 is here: there is no trend" in headline(page).markup
    assert "2 values were measured by one campaign only" in alone(page).markup
    assert {show(page) for show in (figures, changes, every_value)} == {
        paragraph(NOTHING, "missing")
    }


def other_machine(made: Record) -> Record:
    machine = made.machine.model_copy(update={"fingerprint": "other"})
    return made.model_copy(update={"machine": machine})


def other_protocol(made: Record) -> Record:
    return made.model_copy(update={"protocol": made.protocol.model_copy(update={"version": "2"})})


@pytest.mark.parametrize(
    ("change", "fingerprint"),
    [(other_machine, "other"), (other_protocol, "golden-machine")],
)
def test_another_kind_of_machine_or_procedure_begins_another_line(
    tmp_path: Path, change: Change, fingerprint: str
) -> None:
    write(tmp_path, CAMPAIGN)
    write(tmp_path, AFTER, change, lambda own: own.model_copy(update={"fingerprint": fingerprint}))
    indexed(tmp_path, CAMPAIGN, AFTER)
    page = open_trends(tmp_path, 0.95)
    assert page.shared == ()
    assert len(page.alone) == 4


def test_a_case_of_another_name_is_followed(tmp_path: Path) -> None:
    write(tmp_path, CAMPAIGN)
    write(tmp_path, AFTER, updated, renamed_case)
    indexed(tmp_path, CAMPAIGN, AFTER)
    page = open_trends(tmp_path, 0.95)
    assert [(trend.case, len(trend.points)) for trend in page.shared] == [("bert-renamed", 2)] * 2


def test_a_campaign_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    write(tmp_path, CAMPAIGN)
    write(tmp_path, AFTER)
    indexed(tmp_path, CAMPAIGN)
    page = open_trends(tmp_path, 0.95)
    assert [each.campaign for each in page.campaigns] == [CAMPAIGN]
    assert page.unread == (f"{AFTER}: the campaign has no index yet",)
