"""Verdicts: for each comparison, case and quantity a ratio with its interval, or why there is none.

Layer: analysis. Reads no file.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median

from commwall.analysis.quantities import PRIMARIES, QUANTITIES_OF, Quantity
from commwall.analysis.values.cells import Cell, not_positive
from commwall.analysis.verdicts.pairs import Pairing
from commwall.language.translate import clauses, tr
from commwall.schema.case import SuiteName
from commwall.schema.plan import Comparison
from commwall.stats.intervals import Interval
from commwall.stats.paired import PairedRatio, paired_ratio, relative_spread


@dataclass(frozen=True)
class Verdict:
    """What the rounds say of one quantity of `a` against `b`."""

    comparison: Comparison
    suite: SuiteName
    case: str
    quantity: Quantity
    rounds: tuple[int, ...]
    """Rounds used, shape (n,)."""
    round_ids: tuple[str, ...]
    values_a: tuple[float, ...]
    """In the quantity's unit, shape (n,)."""
    values_b: tuple[float, ...]
    ratio: PairedRatio | None
    """a / b; None if there is no ratio."""
    why_none: str | None
    """Why there is no ratio."""
    refused_rounds: int
    """Rounds of the plan that could not be used."""
    unmeasured_rounds: int = 0
    """Those of them that neither side has been measured in."""
    control: "Verdict | None" = None
    """The A/A control of the same case and quantity: the noise floor."""

    @property
    def n(self) -> int:
        """Number of rounds used."""
        return len(self.rounds)

    @property
    def medians(self) -> tuple[float, float] | None:
        """Median over the rounds of each side; None without rounds."""
        return (median(self.values_a), median(self.values_b)) if self.rounds else None

    @property
    def spreads(self) -> tuple[float | None, float | None]:
        """Between-round spread of each side [1]."""
        sides = (self.values_a, self.values_b)
        a, b = (relative_spread(side) if side else None for side in sides)
        return a, b

    @property
    def effect(self) -> "Effect | None":
        """The difference in words' terms; None without an interval."""
        interval = self.ratio.interval if self.ratio else None
        return _effect(self, self.ratio, interval) if self.ratio and interval else None

    @property
    def winner(self) -> str | None:
        """The platform that may be named; None where the rounds cannot tell."""
        decided = self.ratio is not None and self.ratio.excludes_one
        return self.effect.winner if decided and self.effect else None

    @property
    def open_difference(self) -> float | None:
        """Largest relative difference that the interval leaves open [1]: its farther end.

        None where there is no interval.
        """
        if self.ratio is None or self.ratio.interval is None:
            return None
        ends = (self.ratio.interval.low, self.ratio.interval.high)
        return math.exp(max(abs(math.log(end)) for end in ends)) - 1

    @property
    def noise_floor(self) -> float | None:
        """Largest relative difference between equal treatments that the control leaves open [1].

        None where the control has no interval.
        """
        return self.control.open_difference if self.control else None

    @property
    def above_noise(self) -> bool | None:
        """True if the ratio's centre is farther from 1 than the noise floor; None if unknown."""
        floor = self.noise_floor
        if floor is None or self.ratio is None:
            return None
        return abs(math.log(self.ratio.centre)) > math.log1p(floor)


@dataclass(frozen=True)
class Effect:
    """By how much the better side differs from the other, relative to the other [1].

    For a quantity where more is better 0.25 means 25 % more, else 25 % less.
    """

    winner: str
    loser: str
    size: float
    low: float
    high: float
    """Ends of the interval. Below 0 the other side would be better."""


def judge(
    all_pairings: tuple[Pairing, ...], *, confidence: float, seed: int
) -> tuple[Verdict, ...]:
    """Verdicts of all quantities, each with the control of its case beside it."""
    raw = [
        _verdict(pairing, quantity, confidence, seed)
        for pairing in all_pairings
        for quantity in QUANTITIES_OF[pairing.suite]
        if _applies(pairing, quantity)
    ]
    controls = [verdict for verdict in raw if verdict.comparison.control]
    return tuple(_with_control(verdict, controls) for verdict in raw)


def primary(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """The verdicts a reader came for: throughput or bandwidth, comparisons before controls."""
    own = [verdict for verdict in verdicts if verdict.quantity in PRIMARIES]
    suites = list(QUANTITIES_OF)
    return tuple(sorted(own, key=lambda v: (suites.index(v.suite), v.comparison.control)))


def _applies(pairing: Pairing, quantity: Quantity) -> bool:
    """Leave out what the case does not have, by its records or else by the plan."""
    return quantity.concerns(pairing.pairs[0][0].record.case if pairing.pairs else pairing.planned)


def _verdict(pairing: Pairing, quantity: Quantity, confidence: float, seed: int) -> Verdict:
    usable = [pair for pair in pairing.pairs if all(quantity in c.derived.values for c in pair)]
    sides = [tuple(pair[i].derived.values[quantity] for pair in usable) for i in (0, 1)]
    why_none = _why_none(pairing, quantity, usable)
    return Verdict(
        comparison=pairing.comparison,
        suite=pairing.suite,
        case=pairing.case,
        quantity=quantity,
        rounds=tuple(a.record.id.round for a, _ in usable),
        round_ids=tuple(a.record.id.round_id for a, _ in usable),
        values_a=sides[0],
        values_b=sides[1],
        ratio=None if why_none else paired_ratio(*sides, confidence=confidence, seed=seed),
        why_none=why_none,
        refused_rounds=len({refusal.round for refusal in pairing.refusals}),
        unmeasured_rounds=len({r.round for r in pairing.refusals if r.unmeasured}),
    )


def _why_none(pairing: Pairing, quantity: Quantity, usable: list[tuple[Cell, Cell]]) -> str | None:
    if not pairing.pairs:
        return _why_no_pair(pairing)
    if not usable:
        cells = [cell for pair in pairing.pairs for cell in pair]
        reasons = [c.derived.absent[quantity] for c in cells if quantity in c.derived.absent]
        return clauses(dict.fromkeys(reasons)) or tr("no round has it on both platforms")
    return not_above_zero((cell for pair in usable for cell in pair), quantity)


def not_above_zero(cells: Iterable[Cell], quantity: Quantity) -> str | None:
    """Why values of some records have no ratio; None if all that are there are above zero."""
    cell = not_positive(cells, quantity)
    if cell is None:
        return None
    where = cell.record.id
    return tr(
        "{platform} is not above zero in round {round}: no ratio",
        platform=where.platform,
        round=where.round,
    )


def _why_no_pair(pairing: Pairing) -> str:
    """The reason that all rounds share, where both sides were measured well."""
    reasons = {refusal.reason for refusal in pairing.refusals}
    if len(reasons) == 1 and not any(refusal.of_record for refusal in pairing.refusals):
        return reasons.pop()
    return tr("no round has a usable record of both platforms")


def _with_control(verdict: Verdict, controls: list[Verdict]) -> Verdict:
    """Attach the control with the widest floor, unless the verdict is a control itself."""
    if verdict.comparison.control:
        return verdict
    key = (verdict.suite, verdict.case, verdict.quantity)
    own = [replace(verdict, control=c) for c in controls if (c.suite, c.case, c.quantity) == key]
    return max(own, key=lambda candidate: candidate.noise_floor or -1.0, default=verdict)


def _effect(verdict: Verdict, ratio: PairedRatio, interval: Interval) -> Effect:
    less_is_better = verdict.quantity.metric.direction == "lower"
    a_wins = (ratio.centre < 1) == less_is_better
    sides = (verdict.comparison.a, verdict.comparison.b)
    winner, loser = sides if a_wins else sides[::-1]
    shown = (ratio.centre, interval.low, interval.high)
    oriented = [value if a_wins else 1 / value for value in shown]
    size, *bounds = (1 - value if less_is_better else value - 1 for value in oriented)
    return Effect(winner, loser, size, min(bounds), max(bounds))
