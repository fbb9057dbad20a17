"""The decision report as a page, section by section.

Layer: report. Reads and writes no file but through `commwall.report.money.page` and
`commwall.records`.
"""

from dataclasses import dataclass
from pathlib import Path

from commwall.language.translate import tr
from commwall.records.layout import Layout
from commwall.report.decision.content import LINK, Decision, decide
from commwall.report.decision.figure import caption, decision_figure, spoken_rows
from commwall.report.html import Html, bullets, code, joined, links, paragraph
from commwall.report.money.page import MoneyPage, open_money
from commwall.report.overview import Answer
from commwall.report.pages import DECISION, PAGES, pages_for
from commwall.report.style import picture

CAMPAIGNS = "config/campaigns"


@dataclass(frozen=True)
class DecisionPage:
    """The report, and what it was made from."""

    money: MoneyPage
    decision: Decision


def open_decision(
    root: str | Path, campaign: str, confidence: float, language: str | None = None
) -> DecisionPage:
    """Make the report of a campaign.

    Args:
        root: the checkout.
        campaign: its name.
        confidence: level of all intervals.
        language: one of `LANGUAGES`; None is English.
    """
    money = open_money(root, campaign, confidence, language)
    predicted = Layout(Path(root)).predictions_path(campaign).exists()
    file = _file_of(Path(root), campaign)
    return DecisionPage(money, decide(money, replicable=predicted, file=file))


def _file_of(root: Path, campaign: str) -> str | None:
    """The file that asks for a campaign, whose name may go on with its machine's fingerprint."""
    files = (f"{CAMPAIGNS}/{name}.yaml" for name in (campaign, campaign.rpartition("-")[0]))
    return next((file for file in files if (root / file).is_file()), None)


def question(page: DecisionPage) -> Html:
    """What is asked, and what the sides are."""
    told = page.decision
    parts = [paragraph(told.question, "verdict"), paragraph(tr(LINK))]
    return joined([*parts, bullets(told.sides)])


def verdict(page: DecisionPage) -> Html:
    """One card a comparison, the foremost first."""
    return joined(map(_card, page.decision.answers))


def _card(answer: Answer) -> Html:
    details = (paragraph(line, "detail") for line in answer.details)
    head = [paragraph(answer.place, "place"), paragraph(answer.verdict, "verdict")]
    return joined([*head, *details], "card")


def figure(page: DecisionPage) -> Html:
    """The one figure."""
    rows, sides = page.decision.figure, page.decision.axis
    drawn, narrow = decision_figure(rows, sides), decision_figure(rows, sides, narrow=True)
    return picture(drawn, caption(rows, sides), spoken_rows(rows, sides), narrow)


def money(page: DecisionPage) -> Html:
    """What it costs, and whether it is worth that."""
    return joined(map(paragraph, page.decision.money))


def energy(page: DecisionPage) -> Html:
    """What it takes in energy."""
    return joined(map(paragraph, page.decision.energy))


def not_measured(page: DecisionPage) -> Html:
    """What no verdict here speaks of."""
    return bullets(page.decision.not_measured)


def repeat(page: DecisionPage) -> Html:
    """What to type to have the same again."""
    return joined(
        part
        for command in page.decision.repeat
        for part in (paragraph(command.words), code(command.line))
    )


def evidence(page: DecisionPage) -> Html:
    """This page as a sheet to print, and all others of the campaign."""
    plan = page.money.page.analysis.plan
    suites = {suite.suite for suite in plan.suites} if plan else set()
    others = [name for name in pages_for(suites) if name != DECISION]
    sheet = (f"{DECISION}.pdf", tr("This page on one sheet to print (PDF)"))
    return links([sheet, *((f"{name}.html", tr(PAGES[name].title)) for name in others)])
