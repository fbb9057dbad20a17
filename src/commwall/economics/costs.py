"""What the same work costs over each link: by samples, epochs and trainings.

Layer: economics. Reads and writes no file.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from commwall.economics.formulas import Value
from commwall.economics.judging import WAY_WORDS, Judged, Spread, WayName, spread
from commwall.economics.sums import Sums
from commwall.language.translate import tr, tr_later

MILLION = 1e6
NOT_BOUGHT = tr_later("bill, time of use or utilisation are not stated")
NOT_RENTED = tr_later("the rent of both sides is not stated")
NOTHING_PAID = tr_later("as stated, one of them costs nothing")
NO_CARBON = tr_later("no grid factor is stated")
NONE_EMITTED = tr_later("as stated, none is emitted")
Sides = tuple[Value, Value]
"""Over the faster link, over the other."""


@dataclass(frozen=True)
class Cost:
    """One quantity of one subject over both links."""

    what: str
    unit: str
    a: Spread
    b: Spread
    ratio: Spread
    """a / b [1]: narrower than its sides, which share most of what is not known."""


@dataclass(frozen=True)
class NoCost:
    """Something that is not known of a subject."""

    what: str
    reason: str


def costs(judged: Judged, confidence: float) -> tuple[Cost | NoCost, ...]:
    """Costs, samples per money, energy and carbon, each over both links.

    Args:
        judged: a subject with all draws.
        confidence: share of the draws between the ends [1].
    """
    sums = judged.draws
    return (
        *_money(sums, "bought", NOT_BOUGHT, confidence),
        *_money(sums, "rented", NOT_RENTED, confidence),
        *_energy(sums, confidence),
    )


def _money(sums: Sums, way: WayName, why_none: str, confidence: float) -> Iterator[Cost | NoCost]:
    money, per_h = sums.scenario.currency, sums.both(lambda side: sums.cost_per_h(side, way))
    if per_h is None or not _above_zero(per_h):
        reason = tr(why_none if per_h is None else NOTHING_PAID)
        yield NoCost(_way_text(way, tr("cost")), reason)
        return
    for work, hours in _works(sums):
        yield _cost(_way_text(way, work), money, per_h, hours, confidence)
    samples_per_h = sums.samples_per_h()
    if samples_per_h is not None:
        what, unit = _way_text(way, tr("samples for money")), tr("sample/{money}", money=money)
        yield _cost(what, unit, _per(samples_per_h, per_h), 1.0, confidence)


def _way_text(way: WayName, what: str) -> str:
    """A quantity with the way of paying for it."""
    return tr("{way}: {what}", way=tr(WAY_WORDS[way]), what=what)


def _works(sums: Sums) -> Iterator[tuple[str, Value]]:
    """Pieces of work, and the hours that the slower side takes for each."""
    rate, alone = sums.samples_per_h(), sums.subject.alone
    if rate is not None:
        yield tr("a million samples"), MILLION / rate
        if alone and alone.epoch_samples:
            yield tr("an epoch"), alone.epoch_samples / rate
    if sums.knows("training_h"):
        yield tr("a training"), sums.values["training_h"]


def _energy(sums: Sums, confidence: float) -> Iterator[Cost | NoCost]:
    kwh_per_h, samples_per_h = sums.both(sums.energy_kwh), sums.samples_per_h()
    if kwh_per_h is None:
        yield NoCost(tr("energy and carbon dioxide"), str(sums.subject.no_energy))
        return
    if samples_per_h is not None:
        each = _per(samples_per_h, kwh_per_h)
        yield _cost(tr("samples for energy"), tr("sample/kWh"), each, 1.0, confidence)
    if not sums.knows("training_h"):
        return
    hours, kg_per_h = sums.values["training_h"], sums.both(sums.carbon_kg_per_h)
    yield _cost(tr("energy of a training"), "kWh", kwh_per_h, hours, confidence)
    carbon = tr("carbon dioxide of a training")
    if kg_per_h is None or not _above_zero(kg_per_h):
        yield NoCost(carbon, tr(NO_CARBON if kg_per_h is None else NONE_EMITTED))
    else:
        yield _cost(carbon, "kg", kg_per_h, hours, confidence)


def _above_zero(sides: Sides) -> bool:
    return all(np.min(side) > 0 for side in sides)


def _per(work: Value, sides: Sides) -> Sides:
    return work / sides[0], work / sides[1]


def _cost(what: str, unit: str, sides: Sides, factor: Value, confidence: float) -> Cost:
    a, b = (spread(side * factor, confidence) for side in sides)
    return Cost(what, unit, a, b, spread(sides[0] / sides[1], confidence))
