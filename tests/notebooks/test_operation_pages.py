"""Pages of suites memory and collectives, from golden records by the real path."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from commwall.analysis.result import analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.cli.main import main
from commwall.records.files import write_atomically
from commwall.records.index import build_index
from commwall.records.layout import Layout
from commwall.records.store import write_record
from commwall.records.texts import model_text
from commwall.report.operations import collectives, page as operations
from commwall.report.page import open_page
from commwall.report.style import looks_of
from commwall.schema.result import NcclChoice, Series
from tests.golden import gpus
from tests.golden.build import FAST
from tests.golden.operations import CAMPAIGN, SKIPPED, operation, record, write_campaign
from tests.golden.test_operations import NOT_BOUND
from tests.notebooks.conftest import publishing
from tests.samples import write_index

PAGES = ("summary", "memory", "collectives")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    layout = write_campaign(tmp_path_factory.mktemp("checkout"))
    with publishing(layout, ((CAMPAIGN, name) for name in PAGES)):
        assert main(["site", CAMPAIGN]) == 0
        yield layout


@pytest.fixture(scope="module")
def tables(published: Layout) -> Tables:
    return Tables(analyse_campaign(published, CAMPAIGN, 0.95))


def page_of(layout: Layout, name: str) -> str:
    return unescape((layout.notebooks_dir(CAMPAIGN) / f"{name}.html").read_text())


def rows_of(page: str, caption: str) -> list[str]:
    """Rows of the table with that caption, as text with | between cells."""
    (body,) = re.findall(rf"{re.escape(caption)}<.*?<tbody>(.*?)</tbody>", page, re.DOTALL)
    rows = re.findall(r'<tr(?: class="refused")?>(.*?)</tr>', body, re.DOTALL)
    return ["|".join(re.findall(r">([^<>]+)</t[hd]>", row)) for row in rows]


def verdict_rows(page: str) -> tuple[list[str], list[str]]:
    """Titles of the groups of the first table of verdicts, and its rows."""
    body = re.findall(r"B = [^<]*<.*?</thead>(.*?)</table>", page)[0]
    titles = re.findall(r'<tr class="group"><th[^>]*>(.*?)</th>', body)
    rows = re.findall(r'<tr class="(?:decided|undecided|refused)">(.*?)</tr>', body)
    return titles, ["|".join(re.findall(r">([^<>]+)</t[hd]>", row)) for row in rows]


@pytest.mark.parametrize("name", PAGES)
def test_verdict_first_then_limits_then_provenance(published: Layout, name: str) -> None:
    page = page_of(published, name)
    order = ['id="Verdict"', 'id="What-this-does-not-show"', 'id="Provenance"']
    places = [page.index(mark) for mark in order]
    assert places == sorted(places)
    assert 'class="error"' not in page


def test_bus_bandwidth_verdicts_are_those_of_the_table(published: Layout) -> None:
    page = page_of(published, "collectives")
    titles, rows = verdict_rows(page)
    assert titles == [
        "Collectives, bus bandwidth at the largest size",
        "Collectives, latency at the smallest size, lower is better",
    ]
    assert rows[0].startswith("all-reduce|10.00 (5.745 to 17.41)|A is higher by 900 % (")
    # 128 B in 4 ms and in 40, 32 and 50 ms; the control's floor is 5.0 %
    assert "32.0 kB/s|3.20 kB/s|10.00 (" in rows[0]
    assert rows[0].endswith("|5.0 %|3")
    assert f"all-reduce|none: {NOT_BOUND}" in rows[2:]
    assert "Algorithm bandwidth at the largest size" not in page


@pytest.mark.parametrize("name", ["collectives", "memory"])
def test_the_control_is_folded_away_below_its_card(published: Layout, name: str) -> None:
    page = page_of(published, name)
    (folded,) = re.findall(r"<summary>Every operation of the A/A control</summary>.*?</det", page)
    assert "interval contains 1" in folded or "no interval" in folded
    assert "cannot tell" not in folded
    assert page.index('<div class="card control">') < page.index(folded)


def test_each_page_names_the_gaps_of_its_own_suite(published: Layout) -> None:
    pages = {name: page_of(published, name) for name in PAGES}
    own = {"collectives": f"no latency: {NOT_BOUND}", "memory": SKIPPED}
    ends = {name: page.partition("does not show")[2] for name, page in pages.items()}
    for suite, words in own.items():
        assert {name for name, end in ends.items() if words in end} == {"summary", suite}


def test_every_size_stands_there_and_says_what_is_not_the_links(published: Layout) -> None:
    page = page_of(published, "collectives")
    rows = rows_of(page, "Bus bandwidth: median of the rounds (least to greatest).")
    assert [row.split("|")[0] for row in rows] == [
        f"{case}, {size}"
        for case in ("all-reduce", "all-gather")
        for size in ("8 B", "32 B", "128 B")
    ]
    assert rows[0].count("not the link's") == 3
    assert not any("not the link's" in row for row in rows[1:])


def test_links_have_latency_and_rate_or_say_why_not(published: Layout) -> None:
    page = page_of(published, "collectives")
    rows = rows_of(page, "Time = latency + bytes on the wire / rate: mean of the rounds' lines.")
    assert len(rows) == 4
    fast = next(row for row in rows if row.startswith("all-gather|fast link, emulated"))
    # 1, 1 and 4 ms in every round: one line, without spread
    assert "|632 µs (no interval)|25.3 kB/s (no interval)|8 B to 128 B|26 % at 32 B|-21 %|3" in fast
    assert rows[-1].startswith("all-reduce|fast link, emulated")
    assert rows[-1].endswith("|none: fewer than 3 sizes whose time the link sets")
    assert rows[-1].count("link, emulated") == 3  # one row for the three of them


def test_sections_about_gpus_are_left_out_where_there_are_none(published: Layout) -> None:
    heads = re.findall(r"<h2[^>]*>([^<]+)", page_of(published, "collectives"))
    assert not {"How they were carried out", "As an eager program sees it"} & set(heads)
    assert "Beside nccl-tests" not in heads and "Every size" in heads


def test_what_a_campaign_on_gpus_has_not_is_named(tmp_path: Path) -> None:
    layout = gpus.write_campaign(tmp_path)
    write_index(layout, gpus.CAMPAIGN)
    page = open_page(layout.root, gpus.CAMPAIGN, 0.95)
    assert "none known, see the gaps." in collectives.choices(page).markup
    assert "No eager times: nothing was recorded" in collectives.eager(page).markup
    assert "nccl-tests was not run beside this campaign." in collectives.yardsticks(page).markup


def test_operation_times_are_those_of_collectives(published: Layout) -> None:
    page = page_of(published, "collectives")
    rows = rows_of(page, "Operation time: median of the rounds (least to greatest).")
    assert {row.split(",")[0] for row in rows} == {"all-reduce", "all-gather"}


def test_choices_and_eager_times_stand_there_where_they_are_known(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    layout = write_campaign(tmp_path_factory.mktemp("choices"))
    for round_, channels in ((1, 1), (2, 2), (3, 2)):
        golden = record(FAST, "all-gather", round_)
        choice = NcclChoice(message_bytes=8, algorithm="RING", protocol="LL", channels=channels)
        asked = [operation("eager_time_s", "s", [0.002, 0.002], 8, rank) for rank in (0, 1)]
        beside = Series(
            metric="nccl_tests_time_s", unit="s", message_bytes=8, values=(0.001 * round_,)
        )
        changes = {"nccl_choices": (choice,), "series": (*golden.series, *asked, beside)}
        write_record(layout, golden.model_copy(update=changes).sealed())
    write_atomically(layout.index_path(CAMPAIGN), model_text(build_index(layout, CAMPAIGN)))
    page = open_page(layout.root, CAMPAIGN, 0.95)
    assert "RING LL, 1 channel or RING LL, 2 channels" in collectives.choices(page).markup
    words = collectives.eager(page).markup
    # 1, 2 and 3 ms of nccl-tests over 1 ms
    assert "2.000 (1.000 to 3.000)" in collectives.yardsticks(page).markup
    assert "all-gather, 8 B" in words and "2.00 ms (2.00 to 2.00)" in words


def test_the_figure_shows_the_lines_within_their_sizes(published: Layout) -> None:
    figure = collectives.busbw_figure(open_page(published.root, CAMPAIGN, 0.95))
    reduce, gather = figure.axes
    dashed = [line for line in gather.lines if line.get_linestyle() == "--"]
    assert len(dashed) == 3
    assert not [line for line in reduce.lines if line.get_linestyle() == "--"]
    sizes, rates = dashed[0].get_data()
    assert (sizes[0], sizes[-1]) == (8, pytest.approx(128))
    line_s = 0.63159e-3 + 64 / (1000 / 0.039472)  # at 128 byte, half of which is on the wire
    assert rates[-1] == pytest.approx(64 / line_s, rel=1e-3)


def test_memory_page_has_values_and_says_what_was_skipped(published: Layout) -> None:
    page = page_of(published, "memory")
    rows = rows_of(page, "Memory bandwidth: median of the rounds (least to greatest).")
    assert rows[1].startswith("copy, 3.81 MiB|2.00 GB/s (2.00 to 2.00)")
    assert SKIPPED in page


def test_memory_page_borrows_no_nominal_rate(published: Layout) -> None:
    page = page_of(published, "memory")
    words = "Share of the nominal rate: median of the rounds (least to greatest)."
    rows = rows_of(page, words)
    assert len(rows) == 1  # both sizes have no rate for one reason
    assert re.match(r"copy, [^;|]+; copy, 3.81 MiB\|RAM\|unknown: the nominal rate of a", rows[0])
    assert rows[0].endswith("machine's RAM is not on file")
    assert "Shared ways: no operation was measured both ways" in page


def test_summary_and_landing_page_have_the_main_verdicts(published: Layout) -> None:
    summary = page_of(published, "summary")
    body = summary[summary.index("Bold: the interval") :].split("</table>")[0]
    others = "all-reduce; the others stand on page collectives"
    titles = re.findall(r'<tr class="group"><th[^>]*>(.*?)</th>', body)
    assert titles == [
        f"Collectives, bus bandwidth at the largest size ({others})",
        f"Collectives, latency at the smallest size, lower is better ({others})",
        "Memory bandwidth of the largest buffer",
    ]
    assert len(re.findall(r'<tr class="decided"><th scope="row">all-reduce', body)) == 1
    assert "all_gather|float32|3 up to 128 B" in "".join(
        rows_of(summary, "Cases of other suites, every parameter resolved.")
    )
    landing = unescape((published.site_dir() / "index.html").read_text())
    assert "has higher bus bandwidth than slow link, emulated in 2 of 2 operations" in landing
    own = unescape((published.site_dir() / CAMPAIGN / "index.html").read_text())
    assert "page throughput: not rendered" not in own  # the campaign has no training
    assert ">Collectives</a>: bus bandwidth over message size" in own


def test_sizes_hold_the_golden_values(published: Layout) -> None:
    sizes = pd.read_csv(published.tables_dir(CAMPAIGN) / "sizes.csv")
    own = sizes.query(
        "case == 'all-gather' and message_bytes == 128 and metric == 'busbw_bytes_per_s'"
    )
    fast = own[own["platform"] == FAST]
    assert fast["value"].tolist() == pytest.approx([64 / 0.004] * 3)
    assert set(fast["unit"]) == {"byte/s"}
    raw = pd.read_csv(published.tables_dir(CAMPAIGN) / "measurements.csv")
    assert {8, 32, 128} <= set(raw["message_bytes"].dropna())


def test_figure_has_a_line_a_platform_and_hollow_marks_where_gloo_was_late(
    tables: Tables,
) -> None:
    looks = looks_of(dict.fromkeys(tables.sizes["platform"]))
    figure = operations.size_figure(tables, looks)
    assert "(emulated links)" in figure.get_suptitle().replace("\n", " ")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["case all-reduce", "case all-gather"]
    for axes in figure.axes:
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        lines = [line for line in axes.lines if line.get_linestyle() == "-"]
        assert [list(line.get_xdata()) for line in lines] == [[8, 32, 128]] * 3
        hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
        late = 3 if axes.get_title(loc="left") == "case all-reduce" else 0
        assert [len(line.get_xdata()) for line in hollow] == [late] * 3


def test_no_sizes_give_a_sentence(tables: Tables) -> None:
    empty = Tables(**{**vars(tables), "sizes": tables.sizes.head(0)})
    assert operations.size_figure(empty, {}).get_label() == "bus bandwidth: no value, see the gaps"
