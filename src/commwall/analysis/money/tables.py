"""Tidy tables of money answers: results, what moves them, and where they turn.

Layer: analysis. Reads and writes no file.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from commwall.analysis.money.answers import Money
from commwall.economics.judging import Answer, Judged
from commwall.economics.wording import doubtful, range_text, swing_label
from commwall.language.translate import tr

RESULTS = ("sides", "subject", "evidence", "way", "unit", "decision", "firm", "median", "low",
           "high", "favour")  # fmt: skip
SWINGS = ("label", "at_low", "at_high", "middle", "unit")
SHARE = "share of the cost"
"""Unit of what renting saves; that of what buying brings is the currency."""


def results_table(answers: Iterable[Money]) -> pd.DataFrame:
    """One row an answer with a result: bought in money, rented as a share of the cost [1].

    `firm` is false where a decision stands on a gain without interval.
    """
    rows = [
        dict(zip(RESULTS, _result(money, judged, answer), strict=True))
        for money in answers
        for judged in money.judged
        for answer in judged.answers
        if answer.result
    ]
    return pd.DataFrame(rows, columns=list(RESULTS))


def swings_table(judged: Judged, answer: Answer) -> pd.DataFrame:
    """One row a range that moves an answer, what moves it most first."""
    middle = answer.middle
    rows = [(swing_label(s), *s.results, middle, _unit(judged, answer)) for s in answer.swings]
    return pd.DataFrame(rows, columns=list(SWINGS))


def assumption_rows(money: Money, confidence: float) -> Iterator[tuple[str, str, str, str]]:
    """What each number is, its value with range and unit, its source and the day of that."""
    for entry in money.scenario.entries.values():
        told = range_text(entry, confidence)
        yield entry.words, told, entry.source, str(entry.date)
    measured = {e.key: e for j in money.judged for e in j.subject.quantities.values()}
    for entry in measured.values():
        told = range_text(entry, confidence)
        yield entry.words, told, entry.source, str(entry.date or tr("see its records"))


def _result(money: Money, judged: Judged, answer: Answer) -> Iterator[Any]:
    yield from (money.sides, judged.subject.name, judged.subject.evidence, answer.way)
    yield from (_unit(judged, answer), answer.decision, not doubtful(answer))
    if answer.result:
        yield from (answer.result.median, answer.result.low, answer.result.high, answer.favour)


def _unit(judged: Judged, answer: Answer) -> str:
    return judged.scenario.currency if answer.way == "bought" else SHARE
