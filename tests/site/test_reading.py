"""Pages as they are read: by keyboard, on a phone, at night, on paper, with a screen reader."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from commwall.records.layout import Layout
from tests.golden import build, many
from tests.golden.update import AFTER
from tests.site.conftest import address

SUMMARY = f"{many.CAMPAIGN}/summary.html"
SHOWN = (
    *("index.html", "provenance.html", f"compare/{build.CAMPAIGN}/{AFTER}.html", SUMMARY),
    *(f"{many.CAMPAIGN}/{name}.html" for name in ("index", "downloads", "provenance")),
    *("zh/index.html", f"zh/{SUMMARY}"),
)
PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1366, "height": 768}
BACKGROUND = "element => getComputedStyle(element).backgroundColor"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=LAPTOP)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("path", SHOWN)
def test_axe_finds_nothing_serious(layout: Layout, page: Page, path: str) -> None:
    page.goto(address(layout.site_dir() / path))
    assert grave(page) == []
    page.emulate_media(color_scheme="dark")
    assert grave(page, runOnly=["color-contrast"]) == []


def grave(page: Page, **options: object) -> list[tuple[str, list[str]]]:
    """Rules that a page breaks and that somebody cannot read it for, each with the elements."""
    found = Axe().run(page, options={"resultTypes": ["violations"], **options}).response
    return [
        (rule["id"], [node["html"] for node in rule["nodes"]])
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
    ]


def test_axe_would_find_a_text_that_cannot_be_read(layout: Layout, page: Page) -> None:
    page.goto(address(layout.landing_path()))
    page.evaluate("document.querySelector('h1').style.color = '#ddd'")
    assert [rule for rule, _ in grave(page)] == ["color-contrast"]


@pytest.mark.parametrize("path", SHOWN)
def test_no_page_is_wider_than_a_phone(layout: Layout, page: Page, path: str) -> None:
    page.set_viewport_size(PHONE)
    page.goto(address(layout.site_dir() / path))
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_both_themes_and_figures_on_white(layout: Layout, page: Page) -> None:
    page.goto(address(layout.site_dir() / SUMMARY))
    body, figure = page.locator("body"), page.locator("figure img").first
    page.emulate_media(color_scheme="light")
    assert body.evaluate(BACKGROUND) == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="dark")
    assert body.evaluate(BACKGROUND) == "rgb(21, 23, 26)"
    assert figure.evaluate(BACKGROUND) == "rgb(255, 255, 255)"


def test_the_keyboard_reaches_content_tables_and_anchors(layout: Layout, page: Page) -> None:
    page.goto(address(layout.site_dir() / SUMMARY))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.url.endswith("#content")
    page.keyboard.press("Tab")
    anchor = page.locator(":focus")
    assert anchor.get_attribute("href") == "#Summary"
    assert anchor.evaluate("element => getComputedStyle(element).opacity") == "1"
    assert page.locator(".scroll").first.get_attribute("tabindex") == "0"


def test_paper_shows_what_is_folded_and_no_navigation(layout: Layout, page: Page) -> None:
    page.goto(address(layout.site_dir() / SUMMARY))
    folded = page.locator("main details:not(.code) table").first
    assert not folded.is_visible() and page.locator("header.site").is_visible()
    page.emulate_media(media="print", color_scheme="dark")
    assert folded.is_visible() and not page.locator("header.site").is_visible()
    assert page.locator("body").evaluate(BACKGROUND) == "rgb(255, 255, 255)"


def test_the_language_switch_stays_on_the_page(layout: Layout, page: Page) -> None:
    page.goto(address(layout.site_dir() / SUMMARY))
    page.get_by_role("link", name="中文").click()
    assert page.url.endswith(f"zh/{SUMMARY}")
    page.get_by_role("link", name="English").click()
    assert page.url == address(layout.site_dir() / SUMMARY)
