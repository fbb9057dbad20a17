"""What is published, and where, without a browser."""

import re
from pathlib import Path
from typing import get_args

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from commwall.records.arrival import take_in
from commwall.records.layout import Layout
from commwall.report.rendering.anchors import Anchors, names_of
from commwall.report.site.entries import SUITES
from commwall.report.site.places import Place, folders_of
from commwall.report.site.publishing import publish
from commwall.schema.case import SuiteName
from tests.golden import build, gpus, many
from tests.notebooks.conftest import ORIGIN
from tests.samples import write_index


def site(layout: Layout, *campaigns: str, languages: tuple[str, ...] = ("en",)) -> Path:
    publish(layout, campaigns, 0.95, ORIGIN, languages)
    return layout.site_dir()


def texts(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_site_opens_in_the_first_language(tmp_path: Path) -> None:
    folder = site(build.write_campaign(tmp_path), build.CAMPAIGN, languages=("zh", "en"))
    assert '<html lang="zh">' in (folder / "index.html").read_text(encoding="utf-8")
    assert '<html lang="en">' in (folder / "en/index.html").read_text(encoding="utf-8")
    assert not (folder / "zh").exists() and not (folder / "en/downloads").exists()


def test_one_language_has_no_switch(tmp_path: Path) -> None:
    folder = site(build.write_campaign(tmp_path), build.CAMPAIGN)
    assert "hreflang" not in (folder / "index.html").read_text(encoding="utf-8")


def test_the_same_records_give_the_same_site(tmp_path: Path) -> None:
    layout = build.write_campaign(tmp_path)
    first = texts(site(layout, build.CAMPAIGN))
    assert first == texts(site(layout, build.CAMPAIGN)) and len(first) > 5


def test_records_to_take_away_arrive_elsewhere_as_they_are(tmp_path: Path) -> None:
    layout = build.write_campaign(tmp_path / "here")
    bundle = site(layout, build.CAMPAIGN) / f"downloads/{build.CAMPAIGN}/{build.CAMPAIGN}.tar.gz"
    (tmp_path / "there").mkdir()
    there = Layout(tmp_path / "there")
    take_in(there, bundle)
    records = texts(layout.records_dir(build.CAMPAIGN))
    assert records == texts(there.records_dir(build.CAMPAIGN)) and len(records) == 15


def test_nothing_to_compare_is_said_with_its_reason(tmp_path: Path) -> None:
    layout = build.write_campaign(tmp_path)
    alone = (site(layout, build.CAMPAIGN) / "compare.html").read_text(encoding="utf-8")
    assert "there is one campaign" in alone
    gpus.write_campaign(tmp_path)
    both = site(layout, build.CAMPAIGN, gpus.CAMPAIGN) / "compare.html"
    assert "of these 2 campaigns no two share a case" in both.read_text(encoding="utf-8")


def test_a_winner_between_links_that_exist_comes_before_one_between_emulated_ones(
    tmp_path: Path,
) -> None:
    layout = many.write_campaign(tmp_path)
    gpus.write_campaign(tmp_path)
    write_index(layout, gpus.CAMPAIGN)
    landing = (site(layout, many.CAMPAIGN, gpus.CAMPAIGN) / "index.html").read_text("utf-8")
    assert re.findall(r'<h2 id="([^"]+)"', landing) == [gpus.CAMPAIGN, many.CAMPAIGN]


def test_a_count_of_cases_is_followed_by_its_ends_with_intervals(tmp_path: Path) -> None:
    landing = site(many.write_campaign(tmp_path), many.CAMPAIGN) / "index.html"
    text = landing.read_text(encoding="utf-8")
    *told, floor = re.findall(r'<p class="detail">\s*(.*?)</p>', text)
    assert "(A/A control): the interval contains 1 in 4 of 4 cases; noise floor 5.0 %." in floor
    assert len(told) == 2 and all(re.search(r"\(\d+ to \d+, n = 3\)", line) for line in told)
    assert [re.search(r"by (\d+) %", line)[1] for line in told] == ["50", "100"]


def test_every_suite_has_its_part() -> None:
    assert SUITES.keys() == {*get_args(SuiteName), None}


@pytest.mark.parametrize(
    ("folder", "path", "target", "address"),
    [
        ("", "index.html", "a/index.html", "a/index.html"),
        ("zh/", "a/summary.html", "index.html", "../index.html"),
        ("zh/", "compare/a/b.html", "a/index.html", "../../a/index.html"),
    ],
)
def test_addresses_are_relative(folder: str, path: str, target: str, address: str) -> None:
    assert Place(folder, path).page(target) == address


def test_files_of_all_languages_lie_above_them() -> None:
    assert folders_of(("en", "zh")) == {"en": "", "zh": "zh/"}
    assert Place("zh/", "a/downloads.html").file("downloads/a/a.csv") == "../../downloads/a/a.csv"


def test_anchors_are_words_of_the_english_text_or_of_the_call() -> None:
    cells = [
        new_markdown_cell("# Energy, in all\nWords.\n## Verdict"),
        new_code_cell(
            'picture(\n    figures.quantity_figure(page, Quantity("mfu")),\n    "MFU."\n)'
        ),
        new_code_cell("page = open_page(root)\nnarrative.headline(page)"),
        new_code_cell("root = None"),
    ]
    assert [names_of(cell) for cell in cells] == [
        ["Energy-in-all", "Verdict"], ["quantity-figure-mfu"], ["headline"], ["output"],
    ]  # fmt: skip


def test_no_anchor_comes_twice() -> None:
    anchors, table = Anchors(), "<table><caption><span>A</span></caption></table>"
    marked = anchors.put(table * 2, ["cases"]) + anchors.put("<h2>B</h2>", ["cases"])
    assert re.findall(r' id="([^"]+)"', marked) == ["cases", "cases-2", "cases-3"]
    assert re.findall(r'href="#([^"]+)"', marked) == ["cases", "cases-2", "cases-3"]
