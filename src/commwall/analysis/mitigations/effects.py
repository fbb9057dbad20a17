"""What each mitigation gives on its platform: speed-up, share of the gap, energy, forecast, price.

Layer: analysis. Reads no file. All comparisons are of one round: the mitigated step against the
unmitigated one (`turns` says which), and that against the faster platform's, if it was taken back
to back with it.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from commwall.analysis.mitigations.forecast import (
    BY_MODEL,
    FORMULAS,
    LEGS,
    NOT_FORECAST,
    forecast_s,
    modelled_s,
)
from commwall.analysis.mitigations.prices import NO_PRICE, Price, PriceList
from commwall.analysis.mitigations.turns import (
    Key,
    Tried,
    Turn,
    Turns,
    workload_key,
    workload_round,
)
from commwall.analysis.platforms import treatments_compared
from commwall.analysis.quantities import step_time
from commwall.analysis.result import Analysis
from commwall.analysis.steps.inputs import MeasuredStep, measured_step
from commwall.analysis.values.cells import Cell
from commwall.language.translate import tr, tr_later
from commwall.records.comparable import differences
from commwall.schema.case import Leg, TrainingCase
from commwall.schema.mitigation import Mitigation, StepCase
from commwall.schema.record import Record
from commwall.stats.intervals import Interval
from commwall.stats.paired import PairedRatio, paired_ratio
from commwall.stats.shares import share_interval

NO_FASTER = tr_later("the campaign compares this platform with no faster one")
NO_COUNTER = tr_later("no round has the energy of both steps")
NO_LEGS = tr_later("no round has a training case of the workload with legs full, nosync and comm")
NO_MODEL_OF_VARIABLES = tr_later("what NCCL's variables do is not forecast")
SHARE_DIGITS = 9
"""Decimals to which shares are ordered: what differs by rounding alone is as good."""


@dataclass(frozen=True)
class Share:
    """A share of what the rounds tell, both relative to the round's unmitigated step."""

    n: int
    """Number of rounds."""
    centre: float
    """Ratio of the means [1]."""
    interval: Interval | None
    """Of `centre`; None for one round, and for rounds without spread."""


@dataclass(frozen=True)
class Effect:
    """What one mitigation does on one platform; where something is not known, a text says why."""

    record: Record
    """One of those it comes from."""
    baseline: str
    """Platform of the unmitigated step; the record's own unless NCCL variables are tried."""
    tried: Tried
    """Options and variables."""
    speedup: PairedRatio
    """Time of a sample without over time with."""
    recovered: Share | str
    """Share of the gap to the faster platform."""
    against: str | None
    """The faster platform."""
    energy: PairedRatio | str
    """Energy of a sample with over energy without."""
    forecast: PairedRatio | str
    """Speed-up that legs without the mitigation let expect."""
    forecast_by: str | None
    """How: one of `commwall.analysis.mitigations.forecast.FORMULAS`."""
    price: Price | None

    @property
    def case(self) -> StepCase:
        """The workload."""
        assert isinstance(self.record.case, StepCase)  # no other record has an effect
        return self.record.case

    @property
    def workload(self) -> str:
        """Canonical text of what is trained."""
        return workload_key(self.case)


def effects(analysis: Analysis) -> tuple[Effect, ...]:
    """Everything that is tried on every platform and that a usable round has, in plan order."""
    known = _Known(analysis)
    return tuple(_effect(known, group[-1], turns) for group, turns in known.turns.groups.items())


@dataclass(frozen=True)
class Trained:
    """One round of a training case, from which mitigations are forecast."""

    record: Record
    legs: Mapping[Leg, float]
    """Step times of LEGS [s]."""
    step: MeasuredStep | None
    """What the model of a step needs; None where leg `packed` was not measured."""
    ranks: int
    """Processes that exchange."""

    def expected_s(self, how: str, mitigation: Mitigation) -> float | None:
        """Time of a batch with a mitigation [s]; None where that way does not tell."""
        if how == BY_MODEL:
            return modelled_s(mitigation, self.step, self.ranks) if self.step else None
        return forecast_s(mitigation, self.legs, self.ranks)


class _Known:
    """What a campaign knows besides the mitigations themselves."""

    def __init__(self, analysis: Analysis) -> None:
        confidence, seed = analysis.confidence, analysis.seed
        self.names = analysis.names
        self.paired: Callable[..., PairedRatio] = partial(
            paired_ratio, confidence=confidence, seed=seed
        )
        self.confidence = confidence
        self.prices = PriceList(analysis.cells, confidence=confidence, seed=seed)
        self.faster = {pair.b: pair.a for pair in reversed(treatments_compared(analysis.plan))}
        self.turns = Turns(analysis.plan, analysis.cells)
        self._trained = _trained(analysis.cells)

    def trained(self, turn: Turn) -> Trained | None:
        """The training case of a turn's round, if its machine and software were the same.

        The two suites have launches of their own; of the pair only the training case is timed.
        """
        found = self._trained.get(turn.place)
        alike = found and not differences(found.record, turn.cell.record, "suites")
        return found if alike else None


def _effect(known: _Known, tried: Tried, own: tuple[Turn, ...]) -> Effect:
    baseline = own[0].baseline
    fast = known.faster.get(baseline)
    forecast, how = _forecast(known, tried, own)
    return Effect(
        record=own[0].cell.record,
        baseline=baseline,
        tried=tried,
        speedup=known.paired(
            [turn.plain.sample_time_s for turn in own],
            [turn.mitigated.sample_time_s for turn in own],
        ),
        recovered=_recovered(known, own, fast) if fast else tr(NO_FASTER),
        against=fast,
        energy=_energy(known, own),
        forecast=forecast,
        forecast_by=how,
        price=known.prices.of(tried.mitigation) if tried.mitigation else NO_PRICE,
    )


def _recovered(known: _Known, own: tuple[Turn, ...], fast: str) -> Share | str:
    """Of the time that a sample takes longer than on the faster platform, what is won back.

    Only where the rounds tell that it takes longer: a share of what may be nothing says nothing.
    """
    faster = [(turn, known.turns.plain(fast, turn.cell)) for turn in own]
    rounds = [
        (turn.plain.sample_time_s, turn.mitigated.sample_time_s, target.sample_time_s)
        for turn, target in faster
        if target
    ]
    name = known.names.get(fast, fast)
    if not rounds:
        return tr("no round has a comparable step on {fast}, taken back to back", fast=name)
    plain_s, mitigated_s, target_s = zip(*rounds, strict=True)
    gap = known.paired(plain_s, target_s)
    won = [1 - m / t for t, m in zip(plain_s, mitigated_s, strict=True)]
    lost = [1 - f / t for t, f in zip(plain_s, target_s, strict=True)]
    around = share_interval(won, lost, confidence=known.confidence) if gap.centre > 1 else None
    without_end = around is not None and math.isinf(around.high)
    if gap.centre <= 1 or (gap.interval and not gap.excludes_one) or without_end:
        return tr("the rounds do not tell a gap to {fast}", fast=name)
    return Share(len(rounds), fmean(won) / fmean(lost), around)


def _energy(known: _Known, own: tuple[Turn, ...]) -> PairedRatio | str:
    pairs = [
        (turn.mitigated.energy_j_per_sample, turn.plain.energy_j_per_sample)
        for turn in own
        if turn.mitigated.energy_j_per_sample and turn.plain.energy_j_per_sample
    ]
    return known.paired(*zip(*pairs, strict=True)) if pairs else tr(NO_COUNTER)


def _forecast(
    known: _Known, tried: Tried, own: tuple[Turn, ...]
) -> tuple[PairedRatio | str, str | None]:
    """Step time without over the step time to expect, from training cases of the same rounds, and
    how it was found: by the way that knows most of those that all rounds have.
    """
    if tried.settings or tried.mitigation is None:
        return tr(NO_MODEL_OF_VARIABLES), None
    rounds = [trained for turn in own if (trained := known.trained(turn))]
    for how in FORMULAS:
        expected = [
            (trained.legs["full"], expected_s)
            for trained in rounds
            if (expected_s := trained.expected_s(how, tried.mitigation))
        ]
        if rounds and len(expected) == len(rounds):
            return known.paired(*zip(*expected, strict=True)), how
    return tr(NOT_FORECAST if rounds else NO_LEGS), None


def _trained(cells: Iterable[Cell]) -> dict[Key, Trained]:
    """Training cases that have what a forecast needs at least, by workload and round."""
    found = {}
    for cell in cells:
        if cell.refusals or not isinstance(cell.record.case, TrainingCase):
            continue
        values = cell.derived.values
        steps = {leg: values.get(step_time(leg)) for leg in LEGS}
        legs = {leg: value for leg, value in steps.items() if value is not None}
        step = measured_step(cell)
        if len(legs) == len(LEGS):
            ranks = cell.record.platform.world_size
            found[(cell.record.id.platform, *workload_round(cell))] = Trained(
                cell.record, legs, step if isinstance(step, MeasuredStep) else None, ranks
            )
    return found


def first_to_do(own: Iterable[Effect]) -> Effect | None:
    """The mitigation to begin with: of those that are free, the one that wins most, by its share of
    the gap or, where no gap is known, by its speed-up. None if there is none that the rounds tell
    from no gain.
    """
    free = [e for e in own if e.price and e.price.verdict == "free" and gains(e)]
    return max(free, key=_gain, default=None)


def gains(effect: Effect) -> bool:
    """Whether the rounds tell that the mitigated step is the faster one."""
    return effect.speedup.excludes_one and effect.speedup.centre > 1


def _gain(effect: Effect) -> tuple[float, float]:
    share = effect.recovered.centre if isinstance(effect.recovered, Share) else 0.0
    return round(share, SHARE_DIGITS), effect.speedup.centre
