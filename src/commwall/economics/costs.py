"""What the same work costs over each link: by samples, epochs and trainings.

Layer: economics. Reads and writes no file.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from commwall.economics.formulas import Value
from commwall.economics.judging import Judged, Spread, spread
from commwall.economics.sums import Sums

MILLION = 1e6
NO_RATE = "samples per second are not measured"
NO_CARBON = "no grid factor is stated (carbon)"


@dataclass(frozen=True)
class Cost:
    """One quantity of one subject over both links."""

    subject: str
    what: str
    unit: str
    a: Spread | None
    b: Spread | None
    why_none: str | None = None
    """Why it is not known."""


def costs(judged: Judged, confidence: float) -> tuple[Cost, ...]:
    """Costs, samples per money, energy and carbon, each over both links.

    Args:
        judged: a subject with all draws.
        confidence: share of the draws between the ends [1].
    """
    return tuple(_costs(judged.draws, confidence))


def _costs(sums: Sums, confidence: float) -> Iterator[Cost]:
    money, epoch = sums.scenario.currency, sums.subject.alone and sums.subject.alone.epoch_samples
    rate, hours = sums.samples_per_h(), sums.values.get("training_h")
    for way in ("bought", "rented"):
        per_h = {side: sums.cost_per_h(side, way) for side in "ab"}
        if per_h["a"] is None or per_h["b"] is None:
            why = "not all is stated: bill, time of use, utilisation" if way == "bought" else (
                "no rent of both sides is stated")
            yield Cost(sums.subject.name, f"{way}: all costs", money, None, None, why)
            continue
        units = [(f"{way}: a training", money, hours)]
        if rate is not None:
            units.insert(0, (f"{way}: a million samples", money, MILLION / rate))
            if epoch:
                units.insert(1, (f"{way}: an epoch", money, epoch / rate))
        for what, unit, factor in units:
            if factor is not None:
                yield _cost(sums, what, unit, {s: v * factor for s, v in per_h.items()}, confidence)
        if rate is not None:
            each = {side: rate / value for side, value in per_h.items()}
            yield _cost(sums, f"{way}: samples for money", f"sample/{money}", each, confidence)
    yield from _energy(sums, confidence)


def _energy(sums: Sums, confidence: float) -> Iterator[Cost]:
    hours, rate, name = sums.values.get("training_h"), sums.samples_per_h(), sums.subject.name
    energy = {side: sums.energy_kwh(side) for side in "ab"}
    if energy["a"] is None or energy["b"] is None:
        yield Cost(name, "energy", "kWh", None, None, sums.subject.no_energy)
        return
    if rate is not None:
        each = {side: rate / value for side, value in energy.items()}
        yield _cost(sums, "samples for energy", "sample/kWh", each, confidence)
    if hours is not None:
        whole = {side: value * hours for side, value in energy.items()}
        yield _cost(sums, "energy of a training", "kWh", whole, confidence)
        carbon = {side: sums.carbon_kg_per_h(side) for side in "ab"}
        if carbon["a"] is None or carbon["b"] is None:
            yield Cost(name, "carbon dioxide of a training", "kg", None, None, NO_CARBON)
        else:
            whole = {side: value * hours for side, value in carbon.items()}
            yield _cost(sums, "carbon dioxide of a training", "kg", whole, confidence)


def _cost(
    sums: Sums, what: str, unit: str, sides: dict[str, Value], confidence: float
) -> Cost:
    a, b = (spread(sides[side], confidence) for side in "ab")
    return Cost(sums.subject.name, what, unit, a, b)
