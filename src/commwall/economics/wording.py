"""The sentences of a money answer, the only place where they are worded.

Layer: economics. Reads and writes no file.
"""

import math
from collections.abc import Callable, Iterator

from commwall.economics.costs import Cost
from commwall.economics.judging import HOURS, Answer, Judged, Spread
from commwall.economics.scenario import Entry
from commwall.economics.sensitivity import Flip, Swing
from commwall.economics.sums import WAITING, Sums
from commwall.schema.units import significant

DECISIONS = {
    "take": "take the faster link",
    "leave": "do not take the faster link",
    "open": "cannot tell",
    "none": "no verdict",
}
_UNITS = {"1/month": "a month", "year": "years", "month": "months", "1": ""}
MOST_FLIPS = 3
"""A sentence names so many, the nearest; the table has them all."""


def sentence(judged: Judged, answer: Answer, confidence: float) -> str:
    """The answer in one sentence, with what it rests on where that is weak."""
    words = f"{answer.way.capitalize()}: {_if_the_gain_holds(judged, answer)}"
    words += DECISIONS[answer.decision]
    told = [*_result_parts(judged, answer, confidence), *_payback_parts(answer)]
    if answer.reason and answer.decision == "none":
        told.append(answer.reason)
    return f"{words}; {'; '.join(told)}." if told else f"{words}."


def result_text(judged: Judged, answer: Answer) -> str:
    """The result for a table cell: money brought, or share of the costs saved."""
    return spread_text(answer.result, result_words(judged, answer)) if answer.result else "none"


def result_words(judged: Judged, answer: Answer) -> Callable[[float], str]:
    """How a result of this way is written: as money if bought, as a share if rented."""
    return percent_text if answer.way == "rented" else money_words(judged.scenario.currency)


def money_words(currency: str) -> Callable[[float], str]:
    """How an amount of money is written."""
    return lambda amount: f"{significant(amount)} {currency}"


def percent_text(share: float) -> str:
    """A share as a percentage, two digits below ten."""
    return f"{significant(100 * share, 2 if abs(share) < 0.1 else 3)} %"


def months_text(months: float) -> str:
    """A pay-back time."""
    return "never" if math.isinf(months) else f"{significant(months)} months"


def spread_text(spread: Spread, words: Callable[[float], str]) -> str:
    """Median and ends, or the one number where nothing has a range."""
    if spread.certain:
        return words(spread.median)
    return f"{words(spread.median)} ({words(spread.low)} to {words(spread.high)})"


def amount_text(entry: Entry, value: float) -> str:
    """One value of an assumption with its unit; shares in percent."""
    if entry.unit == "1/year":
        return f"{percent_text(value)} a year"
    if entry.unit == "1" and entry.asked.most <= 1:
        return percent_text(value)
    return f"{significant(value)} {_UNITS.get(entry.unit, entry.unit)}".rstrip()


def range_text(entry: Entry, confidence: float) -> str:
    """An assumption with its range: "0.100 (0 to 0.5)"."""
    middle, ends = amount_text(entry, entry.amount.middle), entry.amount.ends(confidence)
    if ends is None:
        return middle
    low, high = (amount_text(entry, end) for end in ends)
    return f"{middle} ({low} to {high})"


def driver_text(judged: Judged, answer: Answer) -> str:
    """The number whose own range moves the answer most."""
    if not answer.swings:
        return "nothing that enters has a range" if answer.result else "none"
    return swing_text(judged, answer, answer.swings[0])


def swing_text(judged: Judged, answer: Answer, swing: Swing) -> str:
    """A number's ends and what the answer is there."""
    words, (low, high) = result_words(judged, answer), swing.ends
    at_low, at_high = map(words, swing.results)
    return (
        f"{swing.entry.asked.words}, {amount_text(swing.entry, low)} to "
        f"{amount_text(swing.entry, high)}: {at_low} to {at_high}"
    )


def flips_text(answer: Answer, most: int = MOST_FLIPS) -> str:
    """The nearest numbers at which the answer turns."""
    if not answer.flips:
        return "no single number turns it"
    return "; or ".join(flip_text(flip) for flip in answer.flips[:most])


def flip_text(flip: Flip) -> str:
    """To where one number would have to go."""
    move = "falls to" if flip.at < flip.now else "rises to"
    at, now = amount_text(flip.entry, flip.at), amount_text(flip.entry, flip.now)
    return f"{flip.entry.asked.words} {move} {at} (now {now})"


def solved_text(judged: Judged) -> str | None:
    """What the pay-back that a text states needs; None where none was asked for."""
    entry = judged.entries.get(HOURS)
    if entry is None or not entry.source.startswith("solved:"):
        return None
    hours, trainings = entry.amount.middle, judged.middle.values["trainings_per_month"]
    saved = hours * (1 - judged.middle.time) * judged.middle.values.get("waiting_share", 0.0)
    return (
        f"{entry.source.removeprefix('solved: ').capitalize()}: {significant(float(saved))} h of an "
        f"engineer saved in each training, {significant(float(saved * trainings))} h a month; a "
        f"training over the slower link then takes {significant(hours)} h."
    )


def break_even_text(judged: Judged) -> str | None:
    """Up to which ratio of rents the faster link is worth renting; None without rents."""
    sums = judged.middle
    if not sums.rents:
        return None
    limit, now = (significant(float(value)) for value in (sums.rent_break_even, sums.rent_ratio))
    return f"Rents break even at {limit} times the slower side's; they are at {now} times."


def cost_texts(cost: Cost) -> tuple[str, str]:
    """A cost over the faster and over the slower link."""
    a, b = (
        "none" if side is None else spread_text(side, lambda value: f"{significant(value)} {cost.unit}")
        for side in (cost.a, cost.b)
    )
    return a, b


def left_out(sums: Sums) -> Iterator[str]:
    """What the sums do not contain, because it is not stated or not measured."""
    if not sums.knows(*WAITING):
        yield "Time of people who wait: not stated."
    if sums.subject.no_energy:
        yield f"Energy: {sums.subject.no_energy}."
    elif not sums.knows("energy_price"):
        yield "Cost of energy: no price is stated."
    elif not sums.knows("pue"):
        yield "Cooling and losses of the data centre: no PUE is stated."
    if not sums.knows("freed_share", "b.rent"):
        yield "Worth of the machine time that the faster link frees: not stated."
    if not sums.knows("carbon"):
        yield "Carbon dioxide: no grid factor is stated."


def _if_the_gain_holds(judged: Judged, answer: Answer) -> str:
    if not judged.subject.caveats or answer.decision in ("open", "none"):
        return ""
    return f"if the gain holds ({'; '.join(judged.subject.caveats)}), "


def _result_parts(judged: Judged, answer: Answer, confidence: float) -> Iterator[str]:
    if answer.result is None or answer.favour is None:
        return
    certain = answer.result.certain
    share = "" if certain else f", in {100 * confidence:g} % of the draws"
    words = result_words(judged, answer)
    ends = f"{words(answer.result.low)} to {words(answer.result.high)}{share}"
    around = "" if certain else f" ({ends})"
    if answer.way == "bought":
        yield f"what it saves less what it costs more is {words(answer.result.median)}{around}"
    else:
        yield f"it saves {words(answer.result.median)} of the cost of the same work{around}"
    if not certain:
        yield f"it is worth it in {100 * answer.favour:.0f} % of the draws"


def _payback_parts(answer: Answer) -> Iterator[str]:
    found = answer.payback_months
    if found is None:
        return
    if math.isinf(found.low):
        yield "it never pays back"
    elif math.isinf(found.median):
        yield f"it pays back in {months_text(found.low)} at best, in most draws never"
    else:
        yield f"it pays back in {spread_text(found, months_text)}"
