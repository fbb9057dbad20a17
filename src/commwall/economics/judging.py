"""Answers: for each subject, bought and rented, whether the faster link is worth it.

Layer: economics. Reads and writes no file. All numbers are drawn together; the same key has the
same draws in every answer of a scenario.
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from commwall.economics.formulas import Value
from commwall.economics.scenario import Entry, Scenario
from commwall.economics.sensitivity import Flip, Swing, flips, middles, swings
from commwall.economics.sums import WAITING, Sums
from commwall.economics.uncertain import Stated
from commwall.economics.work import Subject
from commwall.language.translate import tr, tr_later
from commwall.schema.economics import asked_keys

DRAWS = 20_000
"""Chosen: the ends of a 95 % interval are then known to a hundredth of its width."""
SOLVED = "published_payback_months"
HOURS = "training_h"
WayName = Literal["bought", "rented"]
WAY_WORDS: dict[WayName, str] = {"bought": tr_later("bought"), "rented": tr_later("rented")}
Decision = Literal["take", "leave", "open", "none"]
"""open: the interval contains 0; none: the file does not state enough."""


@dataclass(frozen=True)
class Spread:
    """A result: its median, and the ends between which that share of the draws lies."""

    median: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether all draws agree, because nothing that enters has a range."""
        return self.low == self.high or abs(self.high - self.low) <= 1e-9 * abs(self.median)


@dataclass(frozen=True)
class Way:
    """How a side is paid for, and what then decides."""

    name: WayName
    objective: Callable[[Sums], Value | None]
    """Above 0 where the faster link is worth it; None where the file does not state enough."""


BOUGHT = Way("bought", lambda sums: sums.net_present_value)
EVER = Way("bought", lambda sums: sums.saved_per_month)
"""Where no time of use is stated: whether it pays back at all."""
RENTED = Way("rented", lambda sums: sums.rent_saved)
WAYS = (BOUGHT, RENTED)


@dataclass(frozen=True)
class Answer:
    """Whether the faster link is worth it for one subject, paid one way."""

    subject: Subject
    way: WayName
    decision: Decision
    reason: str | None = None
    """What the file would have to state for a verdict."""
    result: Spread | None = None
    """Bought: net present value [money]; rented: share of the costs saved [1]."""
    middle: float | None = None
    """The same with every number at its middle."""
    favour: float | None = None
    """Share of the draws in which the faster link is worth it [1]."""
    rent_alone: Spread | None = None
    """Share of the rent saved, where the costs contain people who wait, too [1]."""
    payback_months: Spread | None = None
    """Of what is bought; infinite where it never pays back [month]."""
    swings: tuple[Swing, ...] = ()
    flips: tuple[Flip, ...] = ()


@dataclass(frozen=True)
class Judged:
    """All that a scenario says of one subject."""

    scenario: Scenario
    subject: Subject
    entries: Mapping[str, Entry]
    """All that enters the sums, solved hours included."""
    middle: Sums
    draws: Sums
    answers: tuple[Answer, ...]


def judge(scenario: Scenario, subject: Subject, confidence: float, seed: int = 0) -> Judged:
    """Answers for one subject, bought and rented.

    Args:
        scenario: what the sums rest on.
        subject: a workload or a mix.
        confidence: share of the draws between two ends [1].
        seed: of all draws.
    """
    entries = _entries(scenario, subject)
    middle = Sums(scenario, subject, middles(entries))
    draws = Sums(scenario, subject, _drawn(entries, seed))
    answers = tuple(_answer(way, middle, draws, entries, confidence) for way in WAYS)
    return Judged(scenario, subject, entries, middle, draws, answers)


def spread(value: Value, confidence: float) -> Spread:
    """Median and ends of some draws; infinite ones are beyond all others."""
    drawn = np.atleast_1d(np.asarray(value, dtype=float))
    tail = (1 - confidence) / 2
    # No interpolation: between a number and infinity there is none.
    found = np.quantile(drawn, [0.5, tail, 1 - tail], method="inverted_cdf")
    return Spread(*map(float, found))


def _entries(scenario: Scenario, subject: Subject) -> dict[str, Entry]:
    """All that enters, with the hours of a training solved for where a text's pay-back asks it."""
    entries = {**scenario.entries, **subject.quantities}
    asked = entries.pop(SOLVED, None)
    if asked is None:
        return entries
    sums = Sums(scenario, subject, {**middles(entries), HOURS: 1.0})
    saved, extra = sums.saved_per_month, sums.extra_price
    if saved is None or extra is None or not saved > 0 or not extra > 0:
        return entries
    hours = Stated.certain(float(extra / saved / asked.amount.middle))
    months = f"{asked.amount.middle:g}"
    source = tr("solved: what a pay-back in {months} months needs", months=months)
    entries[HOURS] = Entry(HOURS, asked_keys()[HOURS], hours, "h", source, asked.date)
    return entries


def _drawn(entries: Mapping[str, Entry], seed: int) -> dict[str, Value]:
    return {
        key: entry.amount.draw(_generator(seed, entry.drawn_with), DRAWS)
        for key, entry in entries.items()
    }


def _generator(seed: int, group: str) -> np.random.Generator:
    """One of each group, so that what moves or was measured together has the same draws."""
    return np.random.default_rng([seed, zlib.crc32(group.encode())])


def _answer(
    way: Way, middle: Sums, draws: Sums, entries: Mapping[str, Entry], confidence: float
) -> Answer:
    results, payback = way.objective(draws), None
    if way is BOUGHT and draws.payback_months is not None:
        payback = spread(draws.payback_months, confidence)
    if results is None:
        return _without_verdict(way, middle, payback, entries, confidence)
    result, objective = spread(results, confidence), _numbers_of(way)
    alone = way is RENTED and draws.knows(*WAITING)
    return Answer(
        subject=middle.subject,
        way=way.name,
        decision=_decision(result),
        result=result,
        middle=objective(middle),
        favour=float(np.mean(np.asarray(results) > 0)),
        rent_alone=spread(draws.rent_saved_alone, confidence) if alone else None,
        payback_months=payback,
        swings=swings(middle, objective, entries, confidence),
        flips=flips(middle, objective, entries, confidence),
    )


def _without_verdict(
    way: Way,
    middle: Sums,
    payback: Spread | None,
    entries: Mapping[str, Entry],
    confidence: float,
) -> Answer:
    """What is known all the same: whether it pays back ever, and what would turn that."""
    reason = _why_none(way, middle)
    if payback is None:
        return Answer(middle.subject, way.name, "none", reason)
    return Answer(
        subject=middle.subject,
        way=way.name,
        decision="leave" if np.isinf(payback.low) else "none",
        reason=reason,
        payback_months=payback,
        flips=flips(middle, _numbers_of(EVER), entries, confidence),
    )


def _numbers_of(way: Way) -> Callable[[Sums], float]:
    """The objective of a way that is known to have one."""

    def number(sums: Sums) -> float:
        found = way.objective(sums)
        return float("nan") if found is None else float(found)

    return number


def _decision(result: Spread) -> Decision:
    """Decided only where both ends lie on one side of 0, as with every verdict."""
    if result.low > 0:
        return "take"
    return "leave" if result.high <= 0 else "open"


def _why_none(way: Way, sums: Sums) -> str:
    """What the file would have to state for a verdict."""
    if way is RENTED:
        return tr("the rent of both sides is not stated")
    if sums.extra_price is None:
        return tr("the bill of both sides is not stated")
    if SOLVED in sums.scenario.entries and not sums.knows(HOURS):
        return tr("no length of a training makes it pay back in the time that the text states")
    if sums.work_h_per_month is None:
        return tr("trainings a month and hours of a training are not stated")
    return tr("no time of use is stated (depreciation_years)")
