"""Pages summary, platforms and method: golden campaign of four models, and the GPU sample."""

import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest

from commwall.cli.main import main
from commwall.records.layout import Layout
from commwall.report.marks import MARK_WORDS
from commwall.report.method import LEG_WORDS, STEP_MODES
from commwall.report.pages import APART, GENERAL_PAGES, PAGES, pages_for
from commwall.report.platforms.page import WORDS, link_text
from commwall.schema.case import LEGS, StepMode
from commwall.schema.result import MarkName
from tests.golden.many import CAMPAIGN, LEFT_OUT, write_campaign
from tests.notebooks.conftest import REPOSITORY, render_pages
from tests.notebooks.test_pages import SCALES, _numbers, _untraced

SAMPLE = "gpu-sample-655c9664"
TOPIC_METRICS = (
    "throughput_samples_per_s",
    "energy_efficiency_samples_per_wh",
    "busbw_bytes_per_s",
    "latency_s",
    "memory_bandwidth_bytes_per_s",
)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    root = tmp_path_factory.mktemp("checkout")
    layout = write_campaign(root)
    shutil.copytree(REPOSITORY / "results" / SAMPLE, root / "results" / SAMPLE)
    (root / "notebooks").symlink_to(REPOSITORY / "notebooks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["index", SAMPLE]) == 0
        for campaign in (CAMPAIGN, SAMPLE):
            assert main(["tables", campaign]) == 0
        own = [(CAMPAIGN, name) for name in ("summary", "platforms", "method")]
        render_pages([*own, (SAMPLE, "platforms")])
        assert main(["site", CAMPAIGN, SAMPLE]) == 0
        yield layout


def page_of(layout: Layout, name: str, campaign: str = CAMPAIGN) -> str:
    return unescape((layout.notebooks_dir(campaign) / f"{name}.html").read_text())


def table_of(layout: Layout, name: str, campaign: str = CAMPAIGN) -> pd.DataFrame:
    return pd.read_csv(layout.tables_dir(campaign) / f"{name}.csv")


def rows_below(page: str, caption: str) -> list[list[str]]:
    """Cells of the table with that caption."""
    body = page[page.index(caption) :].split("</table>")[0].partition("</thead>")[2]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", body)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_notebooks_and_list_of_pages_agree() -> None:
    assert {*PAGES, *GENERAL_PAGES, *APART} == {
        path.stem for path in (REPOSITORY / "notebooks").glob("*.py")
    }
    assert pages_for({"memory"}) == ("decision", "summary", "memory", "platforms", "method")


def test_summary_says_what_a_buyer_asks_first(published: Layout) -> None:
    page = page_of(published, "summary")
    said = "trains faster than slow link, emulated in 2 of 4 cases, by 50 % (resnet-demo) to 100 "
    assert page.index(said) < page.index("Bold: the interval") < page.index("<figure ")
    assert "transformer-xl-demo not used: marked host bound." in page
    landing = unescape((published.site_dir() / "index.html").read_text())
    assert said in landing and "Cannot tell in any of 4 cases, one round has no interval" in landing


def test_every_number_of_the_summary_table_is_a_cell_of_its_row(published: Layout) -> None:
    ratios = table_of(published, "ratios")
    own = ratios[~ratios["control"]].set_index(["metric", "case"])
    topic, traced = -1, 0
    for cells in rows_below(page_of(published, "summary"), "Bold: the interval"):
        topic += len(cells) == 1
        if len(cells) > 2:
            row = own.loc[[(TOPIC_METRICS[topic], cells[0])]]
            assert _untraced(" ".join(cells[1:]), row, SCALES) == []
            traced += 1
    assert traced == 8


def test_refused_cases_stand_in_the_summary_with_their_reason(published: Layout) -> None:
    rows = rows_below(page_of(published, "summary"), "Bold: the interval")
    assert ["transformer-xl-demo", "none: marked host bound, leg single"] in rows
    assert ["to-device", "none: skipped: on device cpu there is one memory"] in rows


def test_method_counts_what_was_timed(published: Layout) -> None:
    page, efforts = page_of(published, "method"), table_of(published, "efforts")
    rows = rows_below(page, "Steps timed in a round")
    assert [row[0] for row in rows] == list(dict.fromkeys(efforts["case"]))[:4]
    for case, *cells in rows:
        assert cells == ["5, after 1 of warm-up"] * 5
        assert _untraced(" ".join(cells), efforts[efforts["case"] == case]) == []
    operations = rows_below(page, "Operations: an operation's time")
    assert ["all-reduce", "collectives", "3", "3", "5", "none"] in operations
    for case, *cells in operations:
        assert _untraced(" ".join(cells), efforts[efforts["case"] == case]) == []


def test_method_counts_records_checks_and_marks(published: Layout) -> None:
    page, outcomes = page_of(published, "method"), table_of(published, "outcomes")
    cards = re.findall(r'<p class="verdict">(.*?)</p>', page)
    assert cards[0] == (
        "Of 72 planned records 60 enter verdicts, 12 are kept out of them, 0 are absent."
    )
    assert cards[1] == "Of the checks made while measuring 36 passed and 0 failed."
    assert _untraced(cards[0], outcomes) == ["0"] and _untraced(cards[1], outcomes) == ["0"]
    assert rows_below(page, "Records: what was planned")[0] == (
        ["training", "36", "33", "3", "0", "3 marked host bound, leg single"]
    )
    assert rows_below(page, "Marks: disturbances")[0][::2] == ["host bound", "training", "3"]
    assert rows_below(page, "Checks; a failed one")[0][2:4] == ["36", "0"]


def test_noise_floors_are_cells_of_ratios(published: Layout) -> None:
    ratios = table_of(published, "ratios")
    rows = rows_below(page_of(published, "method"), "A/A controls.")
    assert len(rows) == 8
    for row in rows:
        assert _untraced(" ".join(row[3:]), ratios[ratios["case"] == row[0]]) == []
    assert [row[4] for row in rows].count("5.0 %") == 6


def test_method_defines_every_metric_in_the_tables(published: Layout) -> None:
    page = page_of(published, "method")
    used = {
        *table_of(published, "measurements")["metric"],
        *table_of(published, "rounds")["metric"],
    }
    for caption in ("Measured: raw values", "Derived: computed from"):
        named = [row[1].partition(" [")[0] for row in rows_below(page, caption)]
        assert named and set(named) <= used | set(table_of(published, "sizes")["metric"])
        used -= set(named)
    assert used == set()


def test_every_leg_step_mode_and_mark_has_its_words() -> None:
    assert set(STEP_MODES) == set(get_args(StepMode))
    assert set(LEG_WORDS) == set(LEGS)
    assert set(MARK_WORDS) == set(get_args(MarkName))


def test_platforms_tell_what_differs_and_what_was_left_out(published: Layout) -> None:
    page = page_of(published, "platforms")
    assert "Within every round all platforms are one machine, of one boot;" in page
    assert "The records come from 2 boots" in page
    assert f"{LEFT_OUT.what}: {LEFT_OUT.reason}" in page
    rows = rows_below(page, "What differs between the records of this")
    assert [row[-1] for row in rows if row[0] == "boot (digest)"] == ["rounds 1, 2", "round 3"]
    assert "GPUs: none, no GPU was measured." in page
    orders = rows_below(page, "Order of the platforms")
    assert orders[0][:3] == ["training", "1, 3", "fast link, emulated [golden-fast]"]
    assert orders[1][:2] == ["training", "2"]


@pytest.mark.parametrize("caption", ["The machine as", "The GPUs as", "The software as"])
def test_facts_of_the_sample_are_cells_of_facts(published: Layout, caption: str) -> None:
    facts = table_of(published, "facts", SAMPLE)
    texts = {*facts["text"].dropna(), *facts["why_absent"].dropna()}
    rows = rows_below(page_of(published, "platforms", SAMPLE), caption)
    assert len(rows) > 5
    for row in rows:
        for part in re.split("; |, ", row[1]):
            shown = part.removeprefix("not known: ")
            stem = shown.removesuffix("…")
            known = any(text == shown or text.startswith(stem) for text in texts)
            assert known or (_numbers(shown) and _untraced(shown, facts, SCALES) == []), row


def test_links_and_power_of_the_sample(published: Layout) -> None:
    page = page_of(published, "platforms", SAMPLE)
    assert rows_below(page, "Kind of link between two GPUs") == [
        ["GPU 0", "X", "NV18"],
        ["GPU 1", "NV18", "X"],
    ]
    assert "NV18: 18 NVLinks bonded" in page
    gpus = dict(map(tuple, rows_below(page, "The GPUs as")))
    assert gpus[WORDS["machine.gpus.power_limit_w"]] == "700 W"
    assert gpus[WORDS["machine.gpus.max_sm_clock_hz"]] == "1.98 GHz"
    assert gpus[WORDS["machine.gpus.pcie_width"]] == "16 lanes"
    assert "No fact of machine or software differs between the records." in page
    assert "The known transfer took the claimed way in all 4 launches." in page
    assert (link_text("PIX"), link_text("?")) == ("over one PCIe switch", "as nvidia-smi names it")


def test_pages_hold_no_path_of_this_machine(published: Layout) -> None:
    for name in ("platforms", "method"):
        text = (published.notebooks_dir(CAMPAIGN) / f"{name}.ipynb").read_text()
        assert str(published.root) not in text and str(Path.home()) not in text
