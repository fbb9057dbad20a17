"""What a buyer is told of money: whether the faster link is worth its price, and whose price.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator

from commwall.analysis.money.answers import Money
from commwall.economics.judging import Judged
from commwall.economics.scenario import Scenario
from commwall.economics.wording import (
    DECISIONS,
    doubtful,
    gain_text,
    money_words,
    range_text,
    sentence,
)
from commwall.language.translate import clauses, listed, tr, tr_later
from commwall.report.money.page import MoneyPage, subject_text

NO_VERDICT = tr_later("No verdict: {why}.")
NO_COMPARISON = tr_later("the campaign compares no links")
NO_GAIN = tr_later("no workload has a gain")
IF_EXACT = tr_later("each as if its speed-up were exact")
ASSUMED = tr_later(
    'Each draw takes prices, hours and people of "{scenario}" anew from their ranges; an answer is '
    "named only where the middle {level} % of the draws agree. Costs contain the people who wait "
    "for a training. Put your numbers into config/economics.yaml."
)


def money_lines(money: MoneyPage) -> Iterator[str]:
    """Verdict, price and assumptions of the foremost comparison; or why there are none."""
    first = next(iter(money.answers), None)
    why = money.problem or (first.refusal if first else tr(NO_COMPARISON))
    if why or first is None:
        yield tr(NO_VERDICT, why=str(why).partition("\n")[0])
    elif first.foremost is None:
        yield tr(NO_VERDICT, why=tr(NO_GAIN))
    else:
        yield from _answered(first, first.foremost, money.confidence)


def _answered(money: Money, judged: Judged, confidence: float) -> Iterator[str]:
    yield from (sentence(judged, answer) for answer in judged.answers)
    yield from _each_alone(money)
    gain = gain_text(judged, confidence)
    yield tr("For {work}; speed-up {gain}.", work=subject_text(money, judged), gain=gain)
    if prices := list(_prices(money.scenario, judged, confidence)):
        yield tr("Price: {sides}.", sides=clauses(prices))
    scenario = money.scenario
    yield tr(scenario.difference.strip())
    yield tr(ASSUMED, scenario=tr(scenario.title), level=f"{100 * confidence:g}")


def _each_alone(money: Money) -> Iterator[str]:
    """How many workloads of several have which answer, rented; the page Money has each."""
    alone = [judged for judged in money.judged if judged.subject.alone]
    rented = [answer for judged in alone for answer in judged.answers if answer.way == "rented"]
    made = [answer.decision for answer in rented]
    if len(alone) > 1 and set(made) - {"none"}:
        told = [tr("{decision} for {n}", decision=tr(words), n=made.count(decision))
                for decision, words in DECISIONS.items() if decision in made]  # fmt: skip
        if any(map(doubtful, rented)):
            told.append(tr(IF_EXACT))
        yield tr("Rented, by workload: {answers}; page Money.", answers=clauses(told))


def _prices(scenario: Scenario, judged: Judged, confidence: float) -> Iterator[str]:
    """What each side costs, bought and rented, where that is stated."""
    for side, words in (("a", scenario.side_a), ("b", scenario.side_b)):
        price, rent = judged.middle.price(side), scenario.entries.get(f"{side}.rent")
        parts = []
        if price is not None:
            amount = money_words(scenario.currency)(float(price))
            parts.append(tr("{amount} for {n} GPUs", amount=amount, n=scenario.gpus))
        if rent:
            parts.append(tr("rent {amount}", amount=range_text(rent, confidence)))
        if parts:
            yield f"{words} {listed(parts)}"
