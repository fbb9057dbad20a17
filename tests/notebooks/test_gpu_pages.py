"""Pages energy, memory and platforms of the golden GPU campaign: every number traced."""

import re
from collections.abc import Iterator
from html import unescape

import pandas as pd
import pytest

from commwall.cli.main import main
from commwall.records.layout import Layout
from commwall.report.energy.power_trace import trace_figure
from commwall.report.page import open_page
from tests.golden import build
from tests.golden.gpus import AGAIN, CAMPAIGN, CASE, DIRECT, STAGED, write_campaign
from tests.notebooks.conftest import REPOSITORY, publishing
from tests.notebooks.test_campaign_pages import rows_below
from tests.notebooks.test_pages import SCALES, _untraced

PAGES = ("energy", "memory", "platforms")
PERCENT = (*SCALES, 100, 1e-12)
PLATFORMS = (DIRECT, STAGED, AGAIN)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    layout = write_campaign(tmp_path_factory.mktemp("checkout"))
    with publishing(layout, ((CAMPAIGN, name) for name in PAGES)):
        yield layout


def page_of(layout: Layout, name: str) -> str:
    return unescape((layout.notebooks_dir(CAMPAIGN) / f"{name}.html").read_text())


def table_of(layout: Layout, name: str) -> pd.DataFrame:
    return pd.read_csv(layout.tables_dir(CAMPAIGN) / f"{name}.csv")


def cells_of(layout: Layout, name: str, platform: str) -> pd.DataFrame:
    """Rows of a table about one platform."""
    rows = table_of(layout, name)
    return rows[rows["platform"] == platform]


def test_power_and_time_apart_are_cells_of_energy_parts(published: Layout) -> None:
    page, parts = page_of(published, "energy"), table_of(published, "energy_parts")
    own = parts[~parts["control"]]
    (row,) = rows_below(page, "ratios with 95 % interval where rounds spread")
    assert (row[0], row[4]) == (CASE, "1.500")
    assert row[3].startswith("0.7500 (") and row[5].startswith("0.5000 (")
    assert _untraced(" ".join(row[1:]), own, SCALES) == []
    (told,) = re.findall(rf"<li>{CASE}: (.*?)</li>", page)
    assert "draws 1.50 times the power of host-staged for 0.500 times as long: 0.750" in told
    assert "may take 200 W more on NVLink" in told
    assert _untraced(told.replace("[golden-nvlink]", ""), own, SCALES) == []


def test_energy_rows_are_medians_of_energy(published: Layout) -> None:
    page = page_of(published, "energy")
    rows = rows_below(page, "All counted domains together, medians")
    energy = table_of(published, "energy")
    whole = energy[energy["rank"].isna()]
    assert [row[0] for row in rows] == [CASE] * 3
    for row, platform in zip(rows, PLATFORMS, strict=True):
        own = whole[whole["platform"] == platform].select_dtypes("number").median()
        medians = own.to_frame().T.assign(n=3)
        assert _untraced(" ".join(row[2:]), medians) == []
    assert rows[0][2:] == ["7.50 J/sample", "5.00 J/sample", "600 W", "588 W", "200 W", "-2.00 %",
                           "3"]  # fmt: skip
    each = rows_below(page, "Each GPU by itself")
    assert len(each) == 6 and each[1][1].endswith("GPU 1") and each[1][4] == "300 W"


def test_use_of_the_gpus_is_of_platforms(published: Layout) -> None:
    rows = rows_below(page_of(published, "energy"), "One GPU while training, mean over")
    for row, platform in zip(rows, PLATFORMS, strict=True):
        own = cells_of(published, "platforms", platform)
        assert _untraced(" ".join(row[2:]), own, PERCENT) == []
    assert rows[1][2:] == ["25.0 %", "60.0 %", "30.0 %", "0 B/s", "0 B/s", "8.00 GB/s",
                           "8.00 GB/s", "3"]  # fmt: skip


def test_memory_traffic_is_of_platforms_and_its_bound_of_limits(published: Layout) -> None:
    page = page_of(published, "memory")
    rows = rows_below(page, "Memory traffic of one GPU while training: median")
    for row, platform in zip(rows, PLATFORMS, strict=True):
        own = cells_of(published, "platforms", platform)
        assert _untraced(" ".join((*row[2:5], row[6])), own, PERCENT) == []
        assert _untraced(row[5], cells_of(published, "limits", platform), (100,)) == []
    assert rows[0][2:5] == ["2.40 TB/s", "50.0 %", "240 GB"]
    assert rows[1][4] == "240 GB" and "or more" in rows[1][5]
    assert "Lower bound, not a measurement" in page
    assert page.count("<figure ") == 1  # suite memory is not in this campaign


def test_clocks_are_of_disturbance(published: Layout) -> None:
    rows = rows_below(page_of(published, "energy"), "Readings in the timed windows")
    for row, platform in zip(rows, PLATFORMS, strict=True):
        own = cells_of(published, "disturbance", platform)
        assert _untraced(" ".join(row[2:]), own, SCALES) == []
    assert rows[0][2:] == ["1.98 GHz (1.97 to 1.98)", "3.20 GHz", "50.0 °C (40.0 to 60.0)", "none",
                           "3"]  # fmt: skip


def test_evidence_of_path_is_of_traffic(published: Layout) -> None:
    page = page_of(published, "platforms")
    assert "The known transfer took the claimed way in all 9 launches." in page
    rows = rows_below(page, "One row a platform and outcome")
    assert [row[1] for row in rows] == ["NVLink", "through host memory", "NVLink"]
    for row, platform in zip(rows, PLATFORMS, strict=True):
        own = cells_of(published, "traffic", platform)
        counts = " ".join(row[3:7])
        assert _untraced(counts, own, SCALES) == []
        assert row[2] == "20 all-reduces of 256 MiB: 5 GiB"
        assert row[8:] == ["3", "took the way, treatment took effect"]
    assert (rows[0][3], rows[1][3]) == ("100.0 %", "0 %")


def test_interconnect_is_named_as_missing_on_gpus_only(published: Layout) -> None:
    assert "NVSwitch, NVLink's cables and network adapters are missing" in page_of(
        published, "energy"
    )


def test_power_over_time_adds_the_gpus_up(published: Layout) -> None:
    page = open_page(published.root, CAMPAIGN, 0.95)
    figure = trace_figure(page.tables, page.looks)
    (axes,) = figure.axes
    direct, idle, *_ = axes.get_lines()
    assert list(direct.get_xdata()) == pytest.approx([1.0, 1.1, 1.2, 1.3])
    assert list(direct.get_ydata()) == pytest.approx([564, 594, 600, 594])
    assert set(idle.get_ydata()) == {200}
    assert axes.get_ylim()[0] == 0 and axes.get_xlim()[0] == 0
    assert axes.get_title(loc="left") == f"case {CASE}, round 1"
    assert "[W]" in axes.get_ylabel()


def test_the_round_that_most_platforms_have_is_drawn(published: Layout) -> None:
    page = open_page(published.root, CAMPAIGN, 0.95)
    energy = page.tables.energy
    first = (energy["platform"] == STAGED) & (energy["round"] == 1)
    tables = type(page.tables)(**{**vars(page.tables), "energy": energy[~first]})
    (axes,) = trace_figure(tables, page.looks).axes
    assert axes.get_title(loc="left") == f"case {CASE}, round 2"
    assert len(axes.get_lines()) == 2 * len(PLATFORMS)


def test_power_without_times_is_not_drawn(published: Layout) -> None:
    page = open_page(published.root, CAMPAIGN, 0.95)
    raw = page.tables.measurements
    for metric, words in (("power_time_s", "do not say when"), ("power_w", "was not polled")):
        kept = raw[raw["metric"] != metric]
        tables = type(page.tables)(**{**vars(page.tables), "measurements": kept})
        figure = trace_figure(tables, page.looks)
        assert not figure.axes and words in str(figure.get_label())


def test_a_campaign_of_cpus_says_once_why_it_has_none(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("cpus")
    layout = build.write_campaign(root)
    (root / "notebooks").symlink_to(REPOSITORY / "notebooks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["render", build.CAMPAIGN, "energy"]) == 0
    page = unescape((layout.notebooks_dir(build.CAMPAIGN) / "energy.html").read_text())
    above, _, below = page.partition('id="What-this-does-not-show"')
    assert above.count("a CPU has no such counters") == 1
    assert "Power and time: no round has the energy of both sides." in above
    assert "clocks and temperatures of a CPU are not read. No record is marked" in above
    assert "NVSwitch" not in page and "host beside GPUs" in below
