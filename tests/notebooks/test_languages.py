"""Pages and figures in every language: same numbers, no English word left, no glyph missing."""

import io
import re
import warnings
from collections import Counter
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font
from matplotlib.text import Text

from commwall.analysis.quantities import PRIMARY, Quantity
from commwall.language.catalogues import translations
from commwall.language.translate import CATALOGUES, ENGLISH, speaking
from commwall.report import figures, limits
from commwall.report.energy import page as energy, power_trace
from commwall.report.page import Page, open_page
from commwall.report.style import chinese_typeface
from commwall.schema.case import LEGS
from tests.golden import gpus, many
from tests.languages import OTHERS
from tests.notebooks.inline import page as executed_page

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
ENGLISH_WORD = re.compile(r"[A-Za-z]*[a-z]{3,}")
DRAWN: dict[str, Callable[[Page], Figure]] = {
    "ratios": lambda page: figures.ratios_figure(page.tables),
    "throughput": lambda page: figures.quantity_figure(page.tables, page.looks, PRIMARY),
    "overlap": lambda page: figures.quantity_figure(
        page.tables, page.looks, Quantity("overlap_ratio")
    ),
    "parts": lambda page: figures.step_parts_figure(page.tables, page.looks),
    "legs": lambda page: figures.legs_figure(page.tables, page.looks),
    "steps": lambda page: figures.steps_figure(page.tables, page.looks),
    "losses": lambda page: figures.losses_figure(page.tables, page.looks),
    "limits": lambda page: limits.limit_figure(page.tables, page.looks),
    "power": lambda page: energy.power_figure(page.tables, page.looks),
    "trace": lambda page: power_trace.trace_figure(page.tables, page.looks),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkout with two golden campaigns."""
    root: Path = tmp_path_factory.mktemp("languages")
    gpus.write_campaign(root)
    many.write_campaign(root)
    return root


@pytest.fixture(scope="module")
def pages(root: Path) -> dict[str, Page]:
    """Language -> what a page of the campaign of GPUs shows."""
    opened = {}
    for language in OTHERS:
        with speaking(language):
            opened[language] = open_page(root, gpus.CAMPAIGN, 0.95, language)
    return opened


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("name", DRAWN)
def test_figures_have_a_glyph_for_every_character(
    pages: dict[str, Page], name: str, language: str
) -> None:
    with speaking(language), warnings.catch_warnings():
        warnings.filterwarnings("error", message="Glyph")
        DRAWN[name](pages[language]).savefig(io.BytesIO(), format="svg")


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("figure_name", DRAWN)
def test_figures_hold_no_english_words(
    pages: dict[str, Page], figure_name: str, language: str
) -> None:
    page = pages[language]
    known = {*page.analysis.names.values(), gpus.CASE, *LEGS, "rank"}
    with speaking(language):
        figure = DRAWN[figure_name](page)
    assert figure.axes
    for text in figure.findobj(Text):
        rest = "".join(text.get_text().split())  # names may be wrapped
        for name in sorted(known, key=len, reverse=True):
            rest = rest.replace("".join(name.split()), "")
        assert not ENGLISH_WORD.search(rest), text.get_text()


def test_a_glyph_that_is_missing_is_told(pages: dict[str, Page]) -> None:
    """The test above can fail: without the language's typeface its characters are boxes."""
    figure = figures.ratios_figure(pages["zh"].tables)
    figure.suptitle("吞吐量")
    with pytest.warns(UserWarning, match="Glyph"):
        figure.savefig(io.BytesIO(), format="svg")


@pytest.mark.parametrize("language", OTHERS)
def test_the_typeface_has_every_character_of_the_catalogues(language: str) -> None:
    glyphs = get_font(str(chinese_typeface())).get_charmap()
    texts = translations(CATALOGUES / language)
    missing = {
        sign for text in (*texts, *texts.values()) for sign in text if ord(sign) not in glyphs
    }
    assert missing - {"\n"} == set()


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize(
    ("campaign", "name"), [(gpus.CAMPAIGN, "energy"), (many.CAMPAIGN, "summary")]
)
def test_numbers_of_a_page_are_those_of_the_english_one(
    root: Path, campaign: str, name: str, language: str
) -> None:
    english, other = (numbers(root, campaign, name, each) for each in (ENGLISH, language))
    assert other == english
    assert english.total() > 50


def numbers(root: Path, campaign: str, name: str, language: str) -> Counter[str]:
    """How often each number stands on a page, pictures apart."""
    markup = executed_page(name, root, campaign, language)
    body = markup[markup.index("<body") :]
    return Counter(NUMBER.findall(unescape(re.sub(r"<[^>]+>", " ", body))))
