"""What each mitigation gives on its platform: speed-up, share of the gap, energy, forecast, price.

Layer: analysis. Reads no file. All comparisons are of one round: the mitigated step against the
unmitigated one of the same launch, and that against the faster platform's.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median

from commwall.analysis.mitigations.forecast import LEGS, NOT_FORECAST, forecast_s
from commwall.analysis.mitigations.prices import Price, PriceList
from commwall.analysis.mitigations.record_values import Timing, timing
from commwall.analysis.names import Quantity
from commwall.analysis.pairs import Cell
from commwall.analysis.result import Analysis
from commwall.schema.base import canonical_json
from commwall.schema.case import Leg
from commwall.schema.mitigation import Mitigation, StepCase
from commwall.schema.record import Record
from commwall.schema.workload import Workload
from commwall.stats.intervals import Interval, mean_interval
from commwall.stats.paired import PairedRatio, paired_ratio

NO_FASTER = "the campaign compares this platform with no faster one"
NO_GAP = "no round has the workload on {fast}, or it was not faster there"
NO_COUNTER = "no round has the energy of both steps"
NO_LEGS = "no round has a training case of the workload with legs full, nosync and comm"
Sides = tuple[Timing, Timing]
"""The step without and the step with a mitigation, of one record."""
Key = tuple[str, str, int]
"""Platform, workload, round."""


@dataclass(frozen=True)
class Share:
    """A share of each round, its mean and its interval."""

    rounds: tuple[float, ...]
    interval: Interval | None

    @property
    def mean(self) -> float:
        """Over the rounds."""
        return fmean(self.rounds)


@dataclass(frozen=True)
class Effect:
    """What one mitigation does on one platform; where something is not known, a text says why."""

    record: Record
    """One of those it comes from."""
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
    price: Price | None

    @property
    def case(self) -> StepCase:
        """The workload and what is tried."""
        assert isinstance(self.record.case, StepCase)  # no other record has an effect
        return self.record.case

    @property
    def mitigation(self) -> Mitigation:
        """What is tried."""
        return self.case.mitigation

    @property
    def workload(self) -> str:
        """Canonical text of what is trained."""
        return _workload(self.case)


def effects(analysis: Analysis) -> tuple[Effect, ...]:
    """Every mitigation of every platform that a usable round has, in plan order."""
    groups: dict[tuple[str, str], list[tuple[Cell, Sides]]] = {}
    for cell in analysis.cells:
        sides = _sides(cell)
        if sides:
            groups.setdefault((cell.record.id.platform, cell.record.id.case), []).append(
                (cell, sides)
            )
    known = _Known(analysis)
    return tuple(_effect(known, own) for own in groups.values())


class _Known:
    """What a campaign knows besides the mitigations themselves."""

    def __init__(self, analysis: Analysis) -> None:
        plan = analysis.evidence.plan
        seed = plan.seed if plan else 0
        self.paired: Callable[..., PairedRatio] = partial(
            paired_ratio, confidence=analysis.confidence, seed=seed
        )
        self.interval = partial(mean_interval, confidence=analysis.confidence, seed=seed)
        self.prices = PriceList(analysis.cells, confidence=analysis.confidence, seed=seed)
        asked = [pair for pair in plan.comparisons if not pair.control] if plan else []
        self.faster = {pair.b: pair.a for pair in reversed(asked)}
        self.plain_s = _plain_times(analysis.cells)
        self.legs = _leg_times(analysis.cells)


def _effect(known: _Known, own: list[tuple[Cell, Sides]]) -> Effect:
    record = own[0][0].record
    assert isinstance(record.case, StepCase)
    plain, mitigated = zip(*(sides for _, sides in own), strict=True)
    fast = known.faster.get(record.id.platform)
    return Effect(
        record=record,
        speedup=known.paired(*([t.sample_time_s for t in side] for side in (plain, mitigated))),
        recovered=_recovered(known, own, fast) if fast else NO_FASTER,
        against=fast,
        energy=_energy(known, plain, mitigated),
        forecast=_forecast(known, own),
        price=known.prices.of(record.case.mitigation),
    )


def _recovered(known: _Known, own: list[tuple[Cell, Sides]], fast: str) -> Share | str:
    """Of the time that a sample takes longer than on the faster platform, what is won back."""
    shares = []
    for cell, (plain, mitigated) in own:
        target_s = known.plain_s.get((fast, *_place(cell)))
        gap_s = plain.sample_time_s - target_s if target_s else 0.0
        if gap_s > 0:
            shares.append((plain.sample_time_s - mitigated.sample_time_s) / gap_s)
    if not shares:
        return NO_GAP.format(fast=fast)
    around = known.interval(shares) if len(set(shares)) > 1 else None
    return Share(tuple(shares), around)


def _energy(
    known: _Known, plain: tuple[Timing, ...], mitigated: tuple[Timing, ...]
) -> PairedRatio | str:
    pairs = [
        (b.energy_j_per_sample, a.energy_j_per_sample)
        for a, b in zip(plain, mitigated, strict=True)
        if a.energy_j_per_sample and b.energy_j_per_sample
    ]
    return known.paired(*zip(*pairs, strict=True)) if pairs else NO_COUNTER


def _forecast(known: _Known, own: list[tuple[Cell, Sides]]) -> PairedRatio | str:
    """Step time without over the step time to expect, from training cases of the same rounds."""
    ratios, ranks = [], own[0][0].record.platform.world_size
    case = own[0][0].record.case
    assert isinstance(case, StepCase)
    for cell, _ in own:
        steps = known.legs.get((cell.record.id.platform, *_place(cell)))
        expected_s = forecast_s(case.mitigation, steps, ranks) if steps else None
        if steps and expected_s is None:
            return NOT_FORECAST
        if steps and expected_s:
            ratios.append((steps["full"], expected_s))
    return known.paired(*zip(*ratios, strict=True)) if ratios else NO_LEGS


def _sides(cell: Cell) -> Sides | None:
    """Both timings of a usable record of kind step."""
    if cell.refusals or not isinstance(cell.record.case, StepCase):
        return None
    plain, mitigated = (timing(cell.record, leg) for leg in ("full", "mitigated"))
    if isinstance(plain, str) or isinstance(mitigated, str):
        return None
    return plain, mitigated


def _plain_times(cells: Iterable[Cell]) -> dict[Key, float]:
    """Time of a sample of the unmitigated step: median over the cases that have it [s]."""
    found: dict[Key, list[float]] = {}
    for cell in cells:
        sides = _sides(cell)
        if sides:
            key = (cell.record.id.platform, *_place(cell))
            found.setdefault(key, []).append(sides[0].sample_time_s)
    return {key: median(times) for key, times in found.items()}


def _leg_times(cells: Iterable[Cell]) -> dict[Key, Mapping[Leg, float]]:
    """Step times of legs `full`, `nosync` and `comm` of training cases that have all three [s]."""
    found: dict[Key, Mapping[Leg, float]] = {}
    for cell in cells:
        if cell.refusals or cell.record.case.suite != "training":
            continue
        values = cell.derived.values
        steps = {leg: values.get(Quantity("step_time_s", leg)) for leg in LEGS}
        known = {leg: value for leg, value in steps.items() if value is not None}
        if len(known) == len(LEGS):
            found[(cell.record.id.platform, *_place(cell))] = known
    return found


def _place(cell: Cell) -> tuple[str, int]:
    case = cell.record.case
    assert isinstance(case, Workload)
    return _workload(case), cell.record.id.round


def _workload(case: Workload) -> str:
    return canonical_json(case.identity)


def first_to_do(own: Iterable[Effect]) -> Effect | None:
    """The mitigation to begin with: of those whose price is not told from none, the one that wins
    most, by its share of the gap or, where no gap is known, by its speed-up. None if there is none
    that the rounds tell from no gain.
    """
    free = [e for e in own if e.price and e.price.free and gains(e)]
    return max(free, key=_gain, default=None)


def gains(effect: Effect) -> bool:
    """Whether the rounds tell that the mitigated step is the faster one."""
    return effect.speedup.excludes_one and effect.speedup.centre > 1


def _gain(effect: Effect) -> tuple[float, float]:
    share = effect.recovered.mean if isinstance(effect.recovered, Share) else 0.0
    return share, effect.speedup.centre
