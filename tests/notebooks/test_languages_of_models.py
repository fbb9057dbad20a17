"""Money, predictions, mitigations and operations in every language: same numbers, no English left.

What texts are compared or looked up by keeps working in all of them.
"""

import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from commwall.analysis.quantities import BUSBW, MEMORY_BANDWIDTH
from commwall.language.translate import ENGLISH, LANGUAGES, speaking
from commwall.report import mitigations
from commwall.report.breakeven import page as breakeven
from commwall.report.html import Html
from commwall.report.money import page as money
from commwall.report.money.page import MoneyPage, open_money
from commwall.report.operations import collectives, memory, page as operations
from commwall.report.page import Page, open_page
from commwall.report.prediction import page as prediction
from commwall.report.prediction.figure import prediction_figure
from tests.golden import (
    gpus,
    mitigations as golden_mitigations,
    operations as golden_operations,
    steps,
)
from tests.golden.test_money import assume
from tests.languages import ENGLISH_WORDS, OTHERS
from tests.notebooks.test_languages import numbers

OPERATIONS, MITIGATIONS = golden_operations.CAMPAIGN, golden_mitigations.CAMPAIGN
SHOWN: dict[str, tuple[Callable[[Page], Html], ...]] = {
    OPERATIONS: (
        collectives.fits,
        collectives.choices,
        collectives.eager,
        collectives.yardsticks,
        memory.paths,
        memory.sharing,
        lambda page: operations.sizes(page, BUSBW),
        lambda page: operations.sizes(page, MEMORY_BANDWIDTH),
    ),
    MITIGATIONS: (
        mitigations.first_card,
        mitigations.effects_table,
        mitigations.forecast_note,
        lambda page: mitigations.not_covered(),
        mitigations.missing,
    ),
    steps.CAMPAIGN: (
        prediction.verdict,
        prediction.predictions,
        prediction.reasons,
        prediction.models,
        prediction.cases,
        prediction.bucket_sizes,
        breakeven.verdict,
        breakeven.points,
        breakeven.crossings,
    ),
}
"""Campaign -> what pages show of it."""
DRAWN: dict[str, tuple[str, Callable[[Page], Figure]]] = {
    "busbw": (OPERATIONS, collectives.busbw_figure),
    "mitigations": (MITIGATIONS, mitigations.effects_figure),
    "predictions": (steps.CAMPAIGN, prediction_figure),
    "break-even": (steps.CAMPAIGN, breakeven.curve_figure),
}
PAGES = (
    (OPERATIONS, "collectives"),
    (MITIGATIONS, "mitigations"),
    (steps.CAMPAIGN, "prediction"),
    (gpus.CAMPAIGN, "money"),
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkout with a golden campaign of each kind."""
    root: Path = tmp_path_factory.mktemp("languages")
    for each in (golden_operations, golden_mitigations, steps, gpus):
        each.write_campaign(root)
    assume(root, training_h={"low": 2, "high": 6})
    return root


@pytest.fixture(scope="module")
def opened(root: Path) -> dict[tuple[str, str], Page]:
    """Campaign and language -> what its pages show."""
    pages = {}
    for language in LANGUAGES:
        with speaking(language):
            for campaign in SHOWN:
                pages[campaign, language] = open_page(root, campaign, 0.95, language)
    return pages


@pytest.fixture(scope="module")
def moneys(root: Path) -> dict[str, MoneyPage]:
    """Language -> the money page."""
    pages = {}
    for language in LANGUAGES:
        with speaking(language):
            pages[language] = open_money(root, gpus.CAMPAIGN, 0.95, language)
    return pages


def texts_of(shown: Html) -> Iterator[str]:
    """Texts of cells and paragraphs."""
    return (unescape(text) for text in re.findall(r">([^<>]+)<", shown.markup))


def without(text: str, names: set[str]) -> str:
    """A text without the names that users gave, wrapped or not."""
    for name in sorted(names - {""}, key=len, reverse=True):
        text = text.replace(name, "…")
    return text


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize(("campaign", "name"), PAGES)
def test_numbers_are_the_same_in_every_language(
    root: Path, campaign: str, name: str, language: str
) -> None:
    english, other = (numbers(root, campaign, name, each) for each in (ENGLISH, language))
    assert other == english
    assert english.total() > 30


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("campaign", SHOWN)
def test_no_sentence_is_left_in_english(
    opened: dict[tuple[str, str], Page], campaign: str, language: str
) -> None:
    page = opened[campaign, language]
    records = page.analysis.evidence.records
    quoted = {gap.reason for record in records for gap in record.gaps}
    with speaking(language):
        texts = [text for show in SHOWN[campaign] for text in texts_of(show(page))]
    assert len(texts) > 30
    for text in texts:
        assert not ENGLISH_WORDS.search(without(text, {*page.analysis.names.values(), *quoted}))


@pytest.mark.parametrize("language", OTHERS)
def test_no_sentence_on_money_is_left_in_english(
    moneys: dict[str, MoneyPage], language: str
) -> None:
    page = moneys[language]
    scenario = page.answers[0].scenario
    stated = {scenario.title, scenario.difference, scenario.side_a, scenario.side_b}
    names = {*page.page.analysis.names.values(), *stated}
    with speaking(language):
        shown = [money.verdict_cards(page), money.verdict_table(page), money.flips_table(page)]
        shown += [money.costs_table(page), money.assumptions_table(page), money.not_shown(page)]
    for text in (text for each in shown for text in texts_of(each)):
        assert not ENGLISH_WORDS.search(without(text, names)), text


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("name", DRAWN)
def test_figures_draw_the_same_in_every_language(
    opened: dict[tuple[str, str], Page], name: str, language: str
) -> None:
    """What a figure looks up by a text it finds in all of them."""
    campaign, draw = DRAWN[name]
    drawn = {}
    for each in (ENGLISH, language):
        with speaking(each):
            drawn[each] = draw(opened[campaign, each])
    counts = [
        [len(axes.lines) + len(axes.patches) for axes in figure.axes] for figure in drawn.values()
    ]
    assert counts[0] == counts[1] and sum(counts[0]) > 3
    names = set(opened[campaign, language].analysis.names.values())
    for text in drawn[language].findobj(Text):
        assert not ENGLISH_WORDS.search(without(" ".join(text.get_text().split()), names))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_unit_of_an_axis_of_money_is_known_in_every_language(
    moneys: dict[str, MoneyPage], language: str
) -> None:
    with speaking(language):
        bought, rented = money.results_picture(moneys[language]).axes
    assert "EUR" in bought.get_xlabel() and "EUR" not in rented.get_xlabel()
    assert all(tick.get_text().endswith("%") for tick in rented.get_xticklabels())
