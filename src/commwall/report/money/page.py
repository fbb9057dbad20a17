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
from commwall.economics.sensitivity import Flip
from commwall.economics.wording import (
    amount_text,
    break_even_text,
    cost_texts,
    driver_text,
    flips_head,
    flips_text,
    gain_text,
    left_out,
    payback_text,
    result_text,
    sentence,
    short_verdict,
    way_text,
)
from commwall.language.translate import capital, listed, tr, tr_later
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
from commwall.report.money.figures import results_figure, swings_figure
from commwall.report.page import Page, open_page
from commwall.schema.errors import ConfigError

NOTHING = tr_later("Nothing to show: there is no verdict.")
FROM_THE_MIDDLE = tr_later(
    "Each answer is the median of the draws, with their ends; the ranges of some numbers reach "
    "further to one side. It is moved and turned from where every number is at its middle."
)
NOT_COUNTED = (
    tr_later("What is left of the price after the time of use: taken as nothing."),
    tr_later("Energy is that of the GPUs, times the PUE; hosts, switches and storage are missing."),
    tr_later("Carbon dioxide is that of the energy; the making of the machines is missing."),
    tr_later(
        "Taxes, staff for the machines, space, and what a result is worth that comes earlier."
    ),
    tr_later(
        "Costs by sample, epoch and training take the machine as busy for its share of all hours."
    ),
    tr_later(
        "Numbers are drawn independently but for those that move together; gains of several "
        "workloads, measured in the same rounds, are taken as independent too."
    ),
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
    if page.analysis.plan is None:
        return MoneyPage(page, (), tr("the campaign's plan cannot be read"))
    try:
        return MoneyPage(page, money_of_campaign(home_of(Path(root)), page.analysis))
    except ConfigError as error:
        return MoneyPage(page, (), str(error))


def verdict_cards(money: MoneyPage) -> Html:
    """The answer for the mix, or the first workload, of each comparison."""
    if money.problem or not money.answers:
        return _no_verdict(money.problem or tr("the campaign compares no treatments"))
    return joined(_card(each, money.confidence) for each in money.answers)


def _no_verdict(why: str, place: str = "") -> Html:
    words = tr("No verdict: {why}.", why=why)
    return joined([paragraph(place, "place"), paragraph(words, "verdict")], "card")


def _card(money: Money, confidence: float) -> Html:
    foremost = money.foremost
    if money.refusal or foremost is None:
        return _no_verdict(money.refusal or tr("no workload has a gain"), money.sides)
    place = tr(
        "{sides}: {workload}; speed-up {gain}",
        sides=money.sides,
        workload=subject_text(money, foremost),
        gain=gain_text(foremost, confidence),
    )
    parts = [paragraph(place, "place")]
    for answer in foremost.answers:
        parts.append(paragraph(sentence(foremost, answer), "verdict"))
        if answer.result:
            driver = tr("Largest driver: {driver}.", driver=driver_text(foremost, answer))
            parts.append(paragraph(driver, "detail"))
            parts.append(paragraph(_turning(answer), "detail"))
    parts += [paragraph(words, "detail") for words in _remarks(money, foremost)]
    return joined(parts, "card")


def subject_text(money: Money, judged: Judged) -> str:
    """What is trained: a workload, or several with their shares of machine time."""
    parts = judged.subject.parts
    if len(parts) == 1:
        return judged.subject.name
    if money.scenario.mix is None:
        return tr("{n} workloads, each the same share of machine time", n=len(parts))
    shares = listed(f"{w.name} {100 * share:.0f} %" for w, share in parts)
    return tr("mix of {shares}", shares=shares)


def _turning(answer: Answer) -> str:
    head = capital(flips_head(answer))
    return tr("{head}: {flips}.", head=head, flips=flips_text(answer))


def _remarks(money: Money, foremost: Judged) -> Iterator[str]:
    if money.no_mix:
        yield tr("No verdict for the mix: {why}.", why=money.no_mix)
    if any(answer.result and not answer.result.certain for answer in foremost.answers):
        yield tr(FROM_THE_MIDDLE)
    if words := break_even_text(foremost):
        yield words
    yield tr("The prices stand for: {difference}", difference=tr(money.scenario.difference.strip()))


def verdict_table(money: MoneyPage) -> Html:
    """Every workload and the mix: gain, answers, largest driver, nearest flip."""
    return joined(_verdict_table(each, money.confidence) for each in money.priced)


def _verdict_table(money: Money, confidence: float) -> Html:
    rows = [(judged.subject.name, *_verdict_cells(judged, confidence)) for judged in money.judged]
    refused = [refused_cells(why, [case], of=1) for case, why in money.absent.items()]
    heads = (
        tr("workload"),
        tr("gain"),
        tr("bought: net present value"),
        tr("rented: cost saved"),
        tr("largest driver, bought"),
        tr("bought, turns if"),
    )
    groups = [Group("", [("", row) for row in rows] + [("refused", row) for row in refused])]
    words = tr("{sides}; where the interval contains 0 it cannot tell.", sides=money.sides)
    return grouped_table(heads, groups, words)


def _verdict_cells(judged: Judged, confidence: float) -> Iterator[str]:
    yield gain_text(judged, confidence)
    bought, _ = judged.answers
    for answer in judged.answers:
        result = result_text(judged, answer) if answer.result else str(answer.reason)
        told = tr("{verdict}: {result}", verdict=short_verdict(judged, answer), result=result)
        if paid := answer.payback_months:
            told = tr("{answer}; {payback}", answer=told, payback=payback_text(paid))
        yield told
    yield driver_text(judged, bought)
    yield flips_text(bought, most=1)


def results_picture(money: MoneyPage) -> Figure:
    """Every answer with its interval."""
    return results_figure(results_table(money.answers), money.confidence)


def swings_picture(money: MoneyPage) -> Figure:
    """What moves the answer of the first comparison's foremost subject, bought."""
    foremost = next((each.foremost for each in money.answers if each.foremost), None)
    if foremost is None:
        return nothing(tr(NOTHING))
    bought = foremost.answers[0]
    title = tr("What moves it: {workload}, bought", workload=foremost.subject.name)
    return swings_figure(swings_table(foremost, bought), title)


def flips_table(money: MoneyPage) -> Html:
    """Every number at which an answer turns, nearest first, the foremost subject in sight."""
    parts = []
    for each, judged in money.judged:
        groups = [Group(way_text(answer), _flip_rows(answer, money.confidence))
                  for answer in judged.answers if answer.flips]  # fmt: skip
        if groups:
            heads = (tr("number"), tr("now"), tr("turns at"), tr("within its own range"))
            title = tr("{sides}: {workload}", sides=each.sides, workload=judged.subject.name)
            words = tr("{workload}; all else at its middle.", workload=title)
            shown = grouped_table(heads, groups, words)
            parts.append(shown if judged is each.foremost else folded(title, shown))
    return joined(parts or [paragraph(tr(NOTHING), "missing")])


def _flip_rows(answer: Answer, confidence: float) -> list[tuple[str, tuple[str, ...]]]:
    return [
        ("", (
            flip.entry.words,
            amount_text(flip.entry, flip.now),
            _beyond_text(flip),
            _inside_text(flip, confidence),
        ))
        for flip in answer.flips
    ]  # fmt: skip


def _inside_text(flip: Flip, confidence: float) -> str:
    """Whether a number may be where the answer turns."""
    if flip.entry.amount.ends(confidence) is None:
        return tr("no range given")
    return tr("yes") if flip.inside else tr("no")


def _beyond_text(flip: Flip) -> str:
    """On which side of a value the answer is another."""
    at = amount_text(flip.entry, flip.at)
    return tr("above {value}", value=at) if flip.rises else tr("below {value}", value=at)


def costs_table(money: MoneyPage) -> Html:
    """What the same work costs over both links, with unit and currency in each cell."""
    tables = [_costs_table(each, money.confidence) for each in money.priced]
    others = zip(money.priced[1:], tables[1:], strict=True)
    folds = [folded(each.sides, shown) for each, shown in others]
    return joined([*tables[:1], *folds] or [paragraph(tr(NOTHING), "missing")])


def _costs_table(money: Money, confidence: float) -> Html:
    groups = [
        Group(judged.subject.name, list(_cost_rows(judged, confidence))) for judged in money.judged
    ]
    heads = (
        tr("the same work"),
        tr("over the faster link ({side})", side=money.scenario.side_a),
        tr("over the other ({side})", side=money.scenario.side_b),
        tr("faster / other"),
    )
    words = tr(
        "{sides}: median, and the ends of {level} % of the draws.",
        sides=money.sides,
        level=f"{100 * confidence:g}",
    )
    return grouped_table(heads, groups, words)


def _cost_rows(judged: Judged, confidence: float) -> Iterator[tuple[str, tuple[str, ...]]]:
    for cost in costs(judged, confidence):
        if isinstance(cost, Cost):
            yield "", (cost.what, *cost_texts(cost))
        else:
            yield "refused", (cost.what, tr("none: {reason}", reason=cost.reason))


def assumptions_table(money: MoneyPage) -> Html:
    """Every number that enters, with range, unit, source and day."""
    if not money.priced:
        return paragraph(tr(NOTHING), "missing")
    first = money.priced[0]
    heads = (tr("number"), tr("value, and its range"), tr("source"), tr("date"))
    words = tr(
        "{title}. Results are in {currency}.",
        title=tr(first.scenario.title),
        currency=first.scenario.currency,
    )
    return table(heads, assumption_rows(first, money.confidence), words)


def not_shown(money: MoneyPage) -> Html:
    """What the answers do not contain."""
    gaps = dict.fromkeys(line for _, judged in money.judged for line in left_out(judged.middle))
    prices = (
        tr("{name}: {what}", name=each.sides, what=tr(each.scenario.difference.strip()))
        for each in money.priced
    )
    return bullets((*gaps, *map(tr, NOT_COUNTED), *prices))
