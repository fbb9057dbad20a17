"""The sentences of a money answer, the only place where they are worded.

Layer: economics. Reads and writes no file.
"""

import math
from collections.abc import Callable, Iterator

from commwall.economics.costs import Cost
from commwall.economics.judging import HOURS, SOLVED, WAY_WORDS, Answer, Judged, Spread, spread
from commwall.economics.scenario import Entry
from commwall.economics.sensitivity import Flip, Swing
from commwall.economics.sums import WAITING, Sums
from commwall.language.translate import (
    around_text,
    clauses,
    tr,
    tr_later,
)
from commwall.schema.units import significant

DECISIONS = {
    "take": tr_later("take the faster link"),
    "leave": tr_later("do not take the faster link"),
    "open": tr_later("cannot tell"),
    "none": tr_later("no verdict"),
}
_IF_EXACT = {
    "take": tr_later("if the speed-up is exactly {gain}, take the faster link"),
    "leave": tr_later("if the speed-up is exactly {gain}, do not take the faster link"),
}
"""Of a gain without interval: its error enters no range of the answer."""
_UNITS = {
    "1/month": tr_later("a month"),
    "year": tr_later("years"),
    "month": tr_later("months"),
    "1": "",
}
_ONE = {"year": tr_later("year"), "month": tr_later("month")}
MOST_FLIPS = 3
"""A sentence names so many, the nearest; the table has them all."""


def sentence(judged: Judged, answer: Answer) -> str:
    """The answer in one sentence, with what it rests on where that is weak."""
    told = [*_result_parts(judged, answer), *_payback_parts(answer)]
    if answer.reason and answer.decision == "none":
        told.append(answer.reason)
    way, all_of_it = tr(WAY_WORDS[answer.way]), clauses([verdict_text(judged, answer), *told])
    return tr("{way}: {answer}.", way=way.capitalize(), answer=all_of_it)


def verdict_text(judged: Judged, answer: Answer) -> str:
    """The decision, and whether it stands on a gain without interval."""
    verdict = short_verdict(judged, answer)
    if not doubtful(answer):
        return verdict
    return tr("{verdict} ({caveats})", verdict=verdict, caveats=clauses(judged.subject.caveats))


def short_verdict(judged: Judged, answer: Answer) -> str:
    """The same for a table whose gains say what they stand on."""
    if not doubtful(answer):
        return tr(DECISIONS[answer.decision])
    return tr(_IF_EXACT[answer.decision], gain=rounded(float(1 / judged.middle.time)))


def doubtful(answer: Answer) -> bool:
    """Whether a decision stands on a gain without interval."""
    return bool(answer.subject.caveats) and answer.decision in _IF_EXACT


def way_text(answer: Answer) -> str:
    """How it is paid for, and the decision."""
    way, decision = tr(WAY_WORDS[answer.way]), tr(DECISIONS[answer.decision])
    return tr("{way}, {decision}", way=way, decision=decision)


def gain_text(judged: Judged, confidence: float) -> str:
    """The speed-up and where it is from: "1.35 (1.31 to 1.39), measured, n = 5"."""
    speedup = spread(1 / judged.draws.time, confidence)
    gain, evidence = spread_text(speedup, rounded), judged.subject.evidence
    return tr("{gain}, {evidence}", gain=gain, evidence=evidence)


def result_text(judged: Judged, answer: Answer) -> str:
    """The result for a table cell: money brought, or share of the costs saved."""
    return spread_text(answer.result, result_words(judged, answer)) if answer.result else tr("none")


def result_words(judged: Judged, answer: Answer) -> Callable[[float], str]:
    """How a result of this way is written: as money if bought, as a share if rented."""
    return percent_text if answer.way == "rented" else money_words(judged.scenario.currency)


def money_words(currency: str) -> Callable[[float], str]:
    """How a result in money is written: three digits, it deserves no more."""
    return lambda amount: f"{rounded(amount)} {currency}"


def rounded(value: float) -> str:
    """Three significant digits, large numbers too: "51,400"."""
    return significant(float(f"{value:.3g}"))


def percent_text(share: float) -> str:
    """A share as a percentage, to a tenth."""
    return f"{_plain(round(100 * share, 1))} %"


def months_text(months: float) -> str:
    """A pay-back time."""
    if math.isinf(months):
        return tr("never")
    return tr("{count} months", count=significant(months))


def spread_text(spread: Spread, words: Callable[[float], str]) -> str:
    """Median and ends, or the one number where nothing has a range."""
    if spread.certain:
        return words(spread.median)
    return around_text(*map(words, (spread.median, spread.low, spread.high)))


def amount_text(entry: Entry, value: float) -> str:
    """One value of an assumption with its unit; shares in percent."""
    if entry.unit == "1/year":
        return tr("{share} a year", share=percent_text(value))
    if entry.unit == "1" and entry.asked.most <= 1:
        return percent_text(value)
    number, units = _plain(value), _UNITS
    if number == "1":
        units = units | _ONE
    return f"{number} {tr(units.get(entry.unit, entry.unit))}".rstrip()


def range_text(entry: Entry, confidence: float) -> str:
    """An assumption with its range: "0.100 (0 to 0.5)"."""
    middle, ends = amount_text(entry, entry.amount.middle), entry.amount.ends(confidence)
    if ends is None:
        return middle
    return around_text(middle, *(amount_text(entry, end) for end in ends))


def driver_text(judged: Judged, answer: Answer) -> str:
    """The number whose own range moves the answer most."""
    if not answer.swings:
        return tr("nothing that enters has a range") if answer.result else tr("none")
    return swing_text(judged, answer, answer.swings[0])


def swing_text(judged: Judged, answer: Answer, swing: Swing) -> str:
    """A range and what the answer is at its ends."""
    at_low, at_high = map(result_words(judged, answer), swing.results)
    return tr("{what}: {least} to {most}", what=swing_label(swing), least=at_low, most=at_high)


def swing_label(swing: Swing) -> str:
    """What moves, from where to where."""
    (first, *others), ((low, high), *_) = swing.entries, swing.ends
    if others:
        names = clauses(entry.words for entry in swing.entries)
        return tr("{names}: low ends to high ends", names=names)
    least, most = amount_text(first, low), amount_text(first, high)
    return tr("{what}, {least} to {most}", what=first.words, least=least, most=most)


def middle_text(judged: Judged, answer: Answer) -> str | None:
    """The result where no number leaves its middle, which is not the median of the draws; None
    where nothing has a range.
    """
    if answer.middle is None or answer.result is None or answer.result.certain:
        return None
    return tr(
        "{middle} with every number at its middle",
        middle=result_words(judged, answer)(answer.middle),
    )


def flips_text(answer: Answer, most: int = MOST_FLIPS) -> str:
    """The nearest numbers at which the answer turns, to follow a colon."""
    if not answer.flips:
        return tr("no single number turns it")
    return tr("; or ").join(flip_text(flip) for flip in answer.flips[:most])


def flips_head(answer: Answer) -> str:
    """What the numbers of `flips_text` turn."""
    if answer.result:
        return tr("the middle turns if") if answer.decision == "open" else tr("the answer flips if")
    return tr("it pays back only if") if answer.decision == "leave" else tr("it never pays back if")


def flip_text(flip: Flip) -> str:
    """Beyond which value one number would have to go."""
    at, now = amount_text(flip.entry, flip.at), amount_text(flip.entry, flip.now)
    told = {"what": flip.entry.words, "at": at, "now": now}
    if flip.rises:
        return tr("{what} rises above {at} (now {now})", **told)
    return tr("{what} falls below {at} (now {now})", **told)


def solved_text(judged: Judged) -> str | None:
    """What the pay-back that a text states needs; None where none was asked for."""
    entry, asked = judged.entries.get(HOURS), judged.scenario.entries.get(SOLVED)
    if entry is None or asked is None:
        return None
    hours, trainings = entry.amount.middle, judged.middle.values["trainings_per_month"]
    saved = hours * (1 - judged.middle.time) * judged.middle.values.get("waiting_share", 0.0)
    a_training, a_month = (significant(float(each)) for each in (saved, saved * trainings))
    return tr(
        "What a pay-back in {months} months needs: {a_training} h of an engineer saved in each "
        "training, {a_month} h a month; a training over the slower link then takes {hours} h.",
        months=f"{asked.amount.middle:g}",
        a_training=a_training,
        a_month=a_month,
        hours=significant(hours),
    )


def break_even_text(judged: Judged) -> str | None:
    """Up to which ratio of rents the faster link is worth renting; None without rents."""
    sums = judged.middle
    if not sums.rents:
        return None
    limit, now = (significant(float(value)) for value in (sums.rent_break_even, sums.rent_ratio))
    return tr(
        "Renting the faster link pays up to {limit} times the rent of the slower one; its rent is "
        "{now} times that.",
        limit=limit,
        now=now,
    )


def cost_texts(cost: Cost) -> tuple[str, str, str]:
    """A cost over the faster link, over the slower one, and their ratio."""
    a, b = (
        spread_text(side, lambda value: f"{rounded(value)} {cost.unit}")
        for side in (cost.a, cost.b)
    )
    return a, b, spread_text(cost.ratio, rounded)


def left_out(sums: Sums) -> Iterator[str]:
    """What the sums do not contain, because it is not stated or not measured."""
    if not sums.knows(*WAITING):
        yield tr("Time of people who wait: not stated.")
    if sums.subject.no_energy:
        yield tr("Energy: {why}.", why=sums.subject.no_energy)
    elif not sums.knows("energy_price"):
        yield tr("Cost of energy: no price is stated.")
    elif not sums.knows("pue"):
        yield tr("Cooling and losses of the data centre: no PUE is stated.")
    if not sums.knows("freed_share", "b.rent"):
        yield tr("Worth of the machine time that the faster link frees: not stated.")
    if not sums.knows("carbon"):
        yield tr("Carbon dioxide: no grid factor is stated.")


def _result_parts(judged: Judged, answer: Answer) -> Iterator[str]:
    if answer.result is None or answer.favour is None:
        return
    yield _bought_text(judged, answer) if answer.way == "bought" else _rented_text(judged, answer)
    if not answer.result.certain and not answer.subject.caveats:
        yield tr("it is worth it in {favour} % of the draws", favour=f"{100 * answer.favour:.0f}")


def _bought_text(judged: Judged, answer: Answer) -> str:
    result = _with_middle(judged, answer)
    return tr("net present value over its time of use {result}", result=result)


def _rented_text(judged: Judged, answer: Answer) -> str:
    result = _with_middle(judged, answer)
    if answer.rent_alone is None:
        return tr("of the cost of the same work it saves {result}", result=result)
    alone = spread_text(answer.rent_alone, percent_text)
    return tr(
        "of the rent for the same work it saves {alone}, with the pay of those who wait for it "
        "{result}",
        alone=alone,
        result=result,
    )


def _with_middle(judged: Judged, answer: Answer) -> str:
    """The median of the draws with their ends, and beside it what the middles give."""
    median, middle = result_text(judged, answer), middle_text(judged, answer)
    return tr("{median}, {middle}", median=median, middle=middle) if middle else median


def payback_text(found: Spread) -> str:
    """In which time what is bought pays back, if it does."""
    if math.isinf(found.low):
        return tr("it never pays back")
    if math.isinf(found.median):
        least = months_text(found.low)
        return tr("it pays back in {time} at best, in most draws never", time=least)
    return tr("it pays back in {time}", time=spread_text(found, months_text))


def _payback_parts(answer: Answer) -> Iterator[str]:
    if answer.payback_months:
        yield payback_text(answer.payback_months)


def _plain(value: float) -> str:
    """Three significant digits, or as many as a number has: 20, 0.5, 73,438."""
    text = significant(value + 0.0)  # no negative zero
    return text.rstrip("0").rstrip(".") if "." in text else text
