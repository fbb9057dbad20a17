"""Every page of the site: whole, quiet, linked, and the same in both languages."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser

from commwall.records.layout import Layout
from commwall.schema.units import size_text
from tests.golden import build, many
from tests.golden.update import AFTER
from tests.site.conftest import address

MOST_BYTES = 5_000_000
ALIKE = (
    (build.CAMPAIGN, AFTER),
    (build.CAMPAIGN, many.CAMPAIGN),
    (many.CAMPAIGN, AFTER),
)
"""Campaigns that share a case, the one measured first first."""
OWN = ("downloads.html", "index.html", "provenance.html")
LOOK = """() => ({
    language: document.documentElement.lang,
    links: [...document.links].map(link => link.href),
    ids: [...document.querySelectorAll('[id]')].map(element => element.id),
    unnamed: [...document.querySelectorAll('main :is(h2, h3, figure, table):not([id])')].length,
    text: document.querySelector('main').innerText,
})"""


@dataclass(frozen=True)
class Seen:
    """What a browser found in a page."""

    language: str
    links: list[str]
    ids: list[str]
    unnamed: int
    """Headings, figures and tables without an anchor."""
    text: str
    said: list[str]
    """Lines in the console and errors."""
    requested: list[str]


@pytest.fixture(scope="module")
def pages(layout: Layout, browser: Browser) -> dict[str, Seen]:
    """Every page by its path below the site."""
    context = browser.new_context()
    site, found = layout.site_dir(), {}
    for path in sorted(site.rglob("*.html")):
        said: list[str] = []
        requested: list[str] = []
        page = context.new_page()
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.on("request", lambda request, to=requested: to.append(request.url))
        page.goto(address(path))
        looked = page.evaluate(LOOK)
        found[str(path.relative_to(site))] = Seen(**looked, said=said, requested=requested)
        page.close()
    context.close()
    return found


def test_all_pages_are_there_in_both_languages(pages: dict[str, Seen]) -> None:
    chapters = {f"{c}/{name}" for c in (many.CAMPAIGN, build.CAMPAIGN, AFTER) for name in OWN}
    others = {"index.html", "compare.html", "provenance.html", f"{many.CAMPAIGN}/summary.html"}
    wanted = chapters | others | {f"compare/{before}/{after}.html" for before, after in ALIKE}
    assert pages.keys() == wanted | {f"zh/{path}" for path in wanted}
    for path, page in pages.items():
        assert page.language == ("zh" if path.startswith("zh/") else "en")
        assert bool(re.search("[\u4e00-\u9fff]", page.text)) == path.startswith("zh/"), path


def test_pages_say_nothing_to_the_console_and_ask_no_network(pages: dict[str, Seen]) -> None:
    assert {path: page.said for path, page in pages.items() if page.said} == {}
    asked = {urlsplit(url).scheme for page in pages.values() for url in page.requested}
    assert asked == {"file"}


def test_every_link_leads_to_a_file_and_an_anchor(layout: Layout, pages: dict[str, Seen]) -> None:
    site, dead = layout.site_dir().resolve(), []
    for path, page in pages.items():
        assert page.links, path
        for link in page.links:
            parts = urlsplit(link)
            target = Path(unquote(parts.path))
            name = str(target.relative_to(site))
            known = pages[name].ids if parts.fragment else [""]
            if not target.is_file() or unquote(parts.fragment) not in known:
                dead.append(f"{path}: {link}")
    assert dead == []


def test_every_page_is_reached_from_the_landing_page(
    layout: Layout, pages: dict[str, Seen]
) -> None:
    site, reached, left = layout.site_dir().resolve(), set(), ["index.html"]
    while left:
        path = left.pop()
        if path in pages and path not in reached:
            reached.add(path)
            targets = (Path(unquote(urlsplit(link).path)) for link in pages[path].links)
            left += [str(target.relative_to(site)) for target in targets]
    assert reached == pages.keys()


def test_anchors_are_for_good_and_the_same_in_both_languages(pages: dict[str, Seen]) -> None:
    for path, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), path
        assert page.unnamed == 0, path
        if not path.startswith("zh/"):
            assert page.ids == pages[f"zh/{path}"].ids, path
    summary = pages[f"{many.CAMPAIGN}/summary.html"].ids
    assert {"Verdict", "verdict-tables", "ratios-figure", "quantity-figure"} <= set(summary)


def test_pages_are_small(layout: Layout) -> None:
    sizes = {path: path.stat().st_size for path in layout.site_dir().rglob("*.html")}
    assert {path.name: size for path, size in sizes.items() if size > MOST_BYTES} == {}


def test_tables_to_take_away_are_those_of_the_checkout(
    layout: Layout, pages: dict[str, Seen]
) -> None:
    folder, told = layout.tables_dir(many.CAMPAIGN), pages[f"{many.CAMPAIGN}/downloads.html"]
    links = {Path(unquote(urlsplit(link).path)) for link in told.links}
    copies = {path for path in links if path.parent.name == "tables"}
    assert {path.name for path in copies} == {path.name for path in folder.iterdir()}
    for copy in copies:
        assert copy.read_bytes() == (folder / copy.name).read_bytes()
        assert size_text(copy.stat().st_size) in told.text


def test_landing_page_has_the_most_telling_first(pages: dict[str, Seen]) -> None:
    text = pages["index.html"].text
    # Five rounds, then three.
    assert text.index(f"campaign {build.CAMPAIGN}:") < text.index(f"campaign {many.CAMPAIGN}:")
    assert "faster by 100 % (64 to 143, n = 5)" in text


def test_two_campaigns_that_measured_the_same_are_compared(pages: dict[str, Seen]) -> None:
    text = pages[f"compare/{build.CAMPAIGN}/{AFTER}.html"].text
    assert "driver" in text and "none of 2 values is slower" in text
    assert all(f"{before} → {after}" in pages["compare.html"].text for before, after in ALIKE)


def test_provenance_lists_the_digest_of_every_record(
    layout: Layout, pages: dict[str, Seen]
) -> None:
    records = list(layout.records_dir(many.CAMPAIGN).rglob("*.json"))
    text = pages[f"{many.CAMPAIGN}/provenance.html"].text
    digests = {re.search(r'"digest": "([0-9a-f]{64})"', path.read_text())[1] for path in records}
    assert len(digests) == len(records) > 0
    assert {digest for digest in digests if digest not in text} == set()
