"""The money page: whether the faster link is worth its price, and what that rests on.

Layer: report. Assumptions are read by `commwall.economics`, records by `commwall.analysis`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from commwall.analysis.money.answers import Money, money_of_campaign
from commwall.analysis.money.tables import assumption_rows, results_table, swings_table
from commwall.economics.costs import Cost, costs
from commwall.economics.files import home_of
from commwall.economics.judging import Answer, Judged
from commwall.economics.wording import (
    DECISIONS,
    amount_text,
    break_even_text,
    cost_texts,
    driver_text,
    flips_head,
    flips_text,
    gain_text,
    left_out,
    months_text,
    result_text,
    sentence,
    short_verdict,
    spread_text,
)
from commwall.report.figures import nothing
from commwall.report.html import (
    Group,
    Html,
    bullets,
    folded,
    grouped_table,
    joined,
    paragraph,
    refused_cells,
    table,
)
from commwall.report.money_figures import results_figure, swings_figure
from commwall.report.page import Page, open_page
from commwall.schema.errors import ConfigError

NOTHING = "Nothing to show: there is no verdict."
NOT_COUNTED = (
    "What is left of the price after the time of use: taken as nothing.",
    "Energy is that of the GPUs, times the PUE; hosts, switches and storage are missing.",
    "Carbon dioxide is that of the energy; the making of the machines is missing.",
    "Taxes, staff for the machines, space, and what a result is worth that comes earlier.",
    "Costs by sample, epoch and training take the machine as busy for its share of all hours.",
    "Numbers are drawn independently but for those that move together; gains of several workloads, "
    "measured in the same rounds, are taken as independent too.",
)


@dataclass(frozen=True)
class MoneyPage:
    """Everything the page shows."""

    page: Page
    answers: tuple[Money, ...]
    """One of each comparison of treatments."""
    problem: str | None = None
    """Why there is none: the assumptions cannot be used."""

    @property
    def confidence(self) -> float:
        """Share of the draws between the ends of every interval [1]."""
        return self.page.analysis.confidence

    @property
    def priced(self) -> tuple[Money, ...]:
        """Comparisons of links that have a price."""
        return tuple(money for money in self.answers if not money.refusal)

    @property
    def judged(self) -> Iterator[tuple[Money, Judged]]:
        """Every subject of every comparison, the foremost first."""
        for money in self.answers:
            for judged in sorted(money.judged, key=lambda each: each is not money.foremost):
                yield money, judged


def open_money(
    root: str | Path, campaign: str, confidence: float, language: str | None = None
) -> MoneyPage:
    """Judge a campaign by `config/economics.yaml`.

    What is wrong with the assumptions stands on the page; it stops no other.

    Args:
        root: the checkout.
        campaign: its name.
        confidence: level of all intervals.
        language: one of `LANGUAGES`; None is English.
    """
    page = open_page(root, campaign, confidence, language)
    if page.analysis.evidence.plan is None:
        return MoneyPage(page, (), "the campaign's plan cannot be read")
    try:
        return MoneyPage(page, money_of_campaign(home_of(Path(root)), page.analysis))
    except ConfigError as error:
        return MoneyPage(page, (), str(error))


def verdict_cards(money: MoneyPage) -> Html:
    """The answer for the mix, or the first workload, of each comparison."""
    if money.problem or not money.answers:
        return _no_verdict(money.problem or "the campaign compares no treatments")
    return joined(_card(each, money.confidence) for each in money.answers)


def _no_verdict(why: str, place: str = "") -> Html:
    return joined([paragraph(place, "place"), paragraph(f"No verdict: {why}.", "verdict")], "card")


def _card(money: Money, confidence: float) -> Html:
    foremost = money.foremost
    if money.refusal or foremost is None:
        return _no_verdict(money.refusal or "no workload has a gain", money.sides)
    gain = f"speed-up {gain_text(foremost, confidence)}"
    place = f"{money.sides}: {subject_text(money, foremost)}; {gain}"
    parts = [paragraph(place, "place")]
    for answer in foremost.answers:
        parts.append(paragraph(sentence(foremost, answer), "verdict"))
        if answer.result:
            parts.append(paragraph(f"Largest driver: {driver_text(foremost, answer)}.", "detail"))
            parts.append(paragraph(_turning(answer), "detail"))
    parts += [paragraph(words, "detail") for words in _remarks(money, foremost)]
    return joined(parts, "card")


def subject_text(money: Money, judged: Judged) -> str:
    """What is trained: a workload, or several with their shares of machine time."""
    parts = judged.subject.parts
    if len(parts) == 1:
        return judged.subject.name
    if money.scenario.mix is None:
        return f"{len(parts)} workloads, each the same share of machine time"
    return "mix of " + ", ".join(f"{w.name} {100 * share:.0f} %" for w, share in parts)


def _turning(answer: Answer) -> str:
    head = flips_head(answer)
    return f"{head[:1].upper()}{head[1:]}: {flips_text(answer)}."


def _remarks(money: Money, foremost: Judged) -> Iterator[str]:
    if money.no_mix:
        yield f"No verdict for the mix: {money.no_mix}."
    if words := break_even_text(foremost):
        yield words
    yield f"The prices stand for: {money.scenario.difference.strip()}"


def verdict_table(money: MoneyPage) -> Html:
    """Every workload and the mix: gain, answers, largest driver, nearest flip."""
    return joined(_verdict_table(each, money.confidence) for each in money.priced)


def _verdict_table(money: Money, confidence: float) -> Html:
    rows = [(judged.subject.name, *_verdict_cells(judged, confidence)) for judged in money.judged]
    refused = [refused_cells(why, [case], of=1) for case, why in money.absent.items()]
    heads = ("workload", "gain", "bought: net present value", "rented: cost saved",
             "largest driver, bought", "bought, turns if")  # fmt: skip
    groups = [Group("", [("", row) for row in rows] + [("refused", row) for row in refused])]
    return grouped_table(
        heads, groups, f"{money.sides}; where the interval contains 0 it cannot tell."
    )


def _verdict_cells(judged: Judged, confidence: float) -> Iterator[str]:
    yield gain_text(judged, confidence)
    bought, _ = judged.answers
    for answer in judged.answers:
        told = result_text(judged, answer) if answer.result else str(answer.reason)
        paid = answer.payback_months
        pays = f"; pays back in {spread_text(paid, months_text)}" if paid else ""
        yield f"{short_verdict(judged, answer)}: {told}{pays}"
    yield driver_text(judged, bought)
    yield flips_text(bought, most=1)


def results_picture(money: MoneyPage) -> Figure:
    """Every answer with its interval."""
    return results_figure(results_table(money.answers), money.confidence)


def swings_picture(money: MoneyPage) -> Figure:
    """What moves the answer of the first comparison's foremost subject, bought."""
    foremost = next((each.foremost for each in money.answers if each.foremost), None)
    if foremost is None:
        return nothing(NOTHING)
    bought = foremost.answers[0]
    return swings_figure(
        swings_table(foremost, bought), f"What moves it: {foremost.subject.name}, bought"
    )


def flips_table(money: MoneyPage) -> Html:
    """Every number at which an answer turns, nearest first, the foremost subject in sight."""
    parts = []
    for each, judged in money.judged:
        groups = [Group(f"{answer.way}, {DECISIONS[answer.decision]}", _flip_rows(answer))
                  for answer in judged.answers if answer.flips]  # fmt: skip
        if groups:
            heads = ("number", "now", "turns at", "within its own range")
            title = f"{each.sides}: {judged.subject.name}"
            shown = grouped_table(heads, groups, f"{title}; all else at its middle.")
            parts.append(shown if judged is each.foremost else folded(title, shown))
    return joined(parts or [paragraph(NOTHING, "missing")])


def _flip_rows(answer: Answer) -> list[tuple[str, tuple[str, ...]]]:
    return [
        ("", (
            flip.entry.asked.words,
            amount_text(flip.entry, flip.now),
            ("above " if flip.rises else "below ") + amount_text(flip.entry, flip.at),
            "yes" if flip.inside else "no",
        ))
        for flip in answer.flips
    ]  # fmt: skip


def costs_table(money: MoneyPage) -> Html:
    """What the same work costs over both links, with unit and currency in each cell."""
    tables = [_costs_table(each, money.confidence) for each in money.priced]
    others = zip(money.priced[1:], tables[1:], strict=True)
    folds = [folded(each.sides, shown) for each, shown in others]
    return joined([*tables[:1], *folds] or [paragraph(NOTHING, "missing")])


def _costs_table(money: Money, confidence: float) -> Html:
    groups = [
        Group(judged.subject.name, list(_cost_rows(judged, confidence))) for judged in money.judged
    ]
    heads = ("the same work", f"over the faster link ({money.scenario.side_a})",
             f"over the other ({money.scenario.side_b})", "faster / other")  # fmt: skip
    words = f"{money.sides}: median, and the ends of {100 * confidence:g} % of the draws."
    return grouped_table(heads, groups, words)


def _cost_rows(judged: Judged, confidence: float) -> Iterator[tuple[str, tuple[str, ...]]]:
    for cost in costs(judged, confidence):
        if isinstance(cost, Cost):
            yield "", (cost.what, *cost_texts(cost))
        else:
            yield "refused", (cost.what, f"none: {cost.reason}")


def assumptions_table(money: MoneyPage) -> Html:
    """Every number that enters, with range, unit, source and day."""
    if not money.priced:
        return paragraph(NOTHING, "missing")
    first = money.priced[0]
    heads = ("number", "value, and its range", "source", "date")
    words = f"{first.scenario.title}. Results are in {first.scenario.currency}."
    return table(heads, assumption_rows(first, money.confidence), words)


def not_shown(money: MoneyPage) -> Html:
    """What the answers do not contain."""
    gaps = dict.fromkeys(line for _, judged in money.judged for line in left_out(judged.middle))
    prices = (f"{each.sides}: {each.scenario.difference.strip()}" for each in money.priced)
    return bullets((*gaps, *NOT_COUNTED, *prices))
