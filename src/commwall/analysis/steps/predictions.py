"""Steps predicted on one platform from another one's training, held against what was measured.

Layer: analysis. Reads no file. Of the target a prediction knows its sweeps of the all-reduce only:
compute legs, the workload's traits and what the model leaves of its step come from the source.
How wide its interval is also knows how far predictions of other cases were off; the case's own step
on the target is not used.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, permutations
from statistics import geometric_mean
from typing import Literal

from commwall.analysis.steps.fits import FittedStep, fit_steps, mean_traits
from commwall.analysis.steps.inputs import MeasuredStep, StepInputs, step_inputs
from commwall.analysis.steps.links import PlatformLink, same_treatment
from commwall.analysis.values.cells import Cell
from commwall.language.translate import tr, tr_later
from commwall.model.sweep import SweptLink
from commwall.model.traits import Traits
from commwall.schema.plan import Plan
from commwall.stats.misfit import LEAST_GROUPS, misfit_interval

NO_TIME = tr_later("noise of the legs leaves a round less time than its compute and packing take")


@dataclass(frozen=True)
class Place:
    """What is predicted: a case on one platform, from another one."""

    case: str
    source: str
    target: str
    control: bool
    """True if both carry the same treatment: it shows what the model adds when nothing changes."""


@dataclass(frozen=True)
class ErrorParts:
    """Ratios that multiply to predicted / measured: how far off each input was [1]."""

    compute: float
    """The source's compute legs in place of the target's own."""
    exchange: float
    """The target's sweeps in place of what its leg `comm` took for the same buckets."""
    contention: float
    """What is left: how much compute and exchange take from each other, and the model's form."""


@dataclass(frozen=True)
class StepPrediction:
    """One step, predicted; and measured, if it was."""

    place: Place
    rounds_s: tuple[float, ...]
    """Prediction from each round of the source, positive [s]."""
    traits: Traits
    """Of the workload, mean over rounds."""
    packed_s: float
    """Step of the source without exchange [s]."""
    exchange_s: float
    """All buckets over the target's link with nothing beside them [s]."""
    contended: bool
    """Whether both platforms have a sweep beside a load."""
    measured_s: tuple[float, ...] = ()
    """The target's own rounds [s]."""
    parts: ErrorParts | None = None
    interval: tuple[float, float] | None = None
    """Ends for what will be measured [s]."""
    misfits: int = 0
    """Other cases whose misfits the interval rests on."""

    @property
    def step_s(self) -> float:
        """The prediction [s]."""
        return geometric_mean(self.rounds_s)

    @property
    def error_log(self) -> float | None:
        """log(predicted / measured) [1]."""
        if not self.measured_s:
            return None
        return math.log(self.step_s / geometric_mean(self.measured_s))

    @property
    def error_percent(self) -> float | None:
        """Predicted over measured, less 1 [%]."""
        return None if self.error_log is None else 100 * math.expm1(self.error_log)

    @property
    def half_width_percent(self) -> float | None:
        """Half of the interval, relative to the prediction [%]."""
        if not self.interval:
            return None
        return 50 * (self.interval[1] - self.interval[0]) / self.step_s

    @property
    def inside(self) -> bool | None:
        """Whether the measured step lies in the interval."""
        if not self.interval or not self.measured_s:
            return None
        low, high = self.interval
        return low <= geometric_mean(self.measured_s) <= high


@dataclass(frozen=True)
class Unpredicted:
    """A step that cannot be predicted."""

    place: Place
    lacking: Literal["source", "target"]
    """Whose records do not tell enough."""
    why: str

    @property
    def reason(self) -> str:
        """Which side lacks what."""
        if self.lacking == "source":
            return tr("source: {why}", why=self.why)
        return tr("target: {why}", why=self.why)


Fits = dict[str, dict[str, tuple[FittedStep, ...]]]
"""Platform -> case -> its rounds, explained."""


@dataclass(frozen=True)
class StepModels:
    """What the model makes of a campaign."""

    inputs: StepInputs
    fits: Fits
    """Of platforms that have what is needed, each by all that is known of its link."""
    predictions: tuple[StepPrediction | Unpredicted, ...]
    """Every case on every ordered pair of platforms of one size that train it, in plan order."""


def model_steps(plan: Plan, cells: Sequence[Cell], confidence: float) -> StepModels:
    """Explain every step on its own link, and predict it on all others.

    Args:
        plan: of the campaign.
        cells: its readable records.
        confidence: level of the intervals.
    """
    inputs = step_inputs(plan, cells)
    fits = {name: fit_steps(inputs, name) for name in inputs.links}
    alone = {name: fit_steps(inputs, name, load=False) for name in _lent(inputs)}
    found = [_predict(place, inputs, fits, alone) for place in _places(plan)]
    predicted = [own for own in found if isinstance(own, StepPrediction)]
    ends = iter(with_intervals(predicted, confidence))
    made = tuple(next(ends) if isinstance(own, StepPrediction) else own for own in found)
    return StepModels(inputs, fits, made)


def _lent(inputs: StepInputs) -> list[str]:
    """Platforms whose sweep beside a load does not count everywhere: another one has none."""
    known = {name: link for name, link in inputs.links.items() if isinstance(link, PlatformLink)}
    if all(link.contended for link in known.values()):
        return []
    return [name for name, link in known.items() if link.contended]


def _places(plan: Plan) -> Iterator[Place]:
    """Links of as many processes; `commwall.analysis.scaling.fewer` goes from fewer to more."""
    for suite in plan.suites:
        for case in suite.cases if suite.suite == "training" else ():
            platforms = map(plan.platform, suite.platforms_of(case))
            for source, target in permutations(platforms, 2):
                if (source.world_size, source.nodes) == (target.world_size, target.nodes):
                    control = same_treatment(source, target)
                    yield Place(case, source.name, target.name, control)


def _predict(
    place: Place, inputs: StepInputs, fits: Fits, alone: Fits
) -> StepPrediction | Unpredicted:
    here, there = (place.source, place.case), (place.target, place.case)
    steps = inputs.steps.get(here, tr("no round of it counts"))
    source, target = inputs.links[place.source], inputs.links[place.target]
    for own in (steps, source):
        if isinstance(own, str):
            return Unpredicted(place, "source", own)
    if isinstance(target, str):
        return Unpredicted(place, "target", target)
    assert isinstance(source, PlatformLink)  # or it would lack something
    rounds = (alone if source.contended and not target.contended else fits)[place.source]
    link = target if source.contended else target.without_load()
    others = inputs.steps.get(there, ())
    measured = Measured(inputs.full_s.get(there, ()), () if isinstance(others, str) else others)
    return predict_step(place, rounds[place.case], link, measured)


@dataclass(frozen=True)
class Measured:
    """What was measured where a step is predicted; by it predictions are judged."""

    full_s: tuple[float, ...] = ()
    """The step, round by round [s]."""
    steps: tuple[MeasuredStep, ...] = ()
    """Rounds with all legs, which tell where a prediction is off."""


def predict_step(
    place: Place, rounds: Sequence[FittedStep], there: PlatformLink, measured: Measured
) -> StepPrediction | Unpredicted:
    """One prediction, without interval; none where noise leaves a round no step.

    Args:
        place: what is predicted.
        rounds: of the case on the source, explained there.
        there: the link of the target; its sweep beside a load counts if the source's did.
        measured: what the prediction is held against; nothing of it enters it.
    """
    pairs = list(zip(rounds, cycle(there.rounds), strict=False))
    predicted = _all_known(own.over(link) for own, link in pairs)
    if predicted is None:
        return Unpredicted(place, "source", tr(NO_TIME))
    sizes = rounds[0].step.bucketed.bucket_bytes
    return StepPrediction(
        place=place,
        rounds_s=predicted,
        traits=mean_traits(rounds),
        packed_s=geometric_mean(own.step.bucketed.timeline.step_s for own in rounds),
        exchange_s=geometric_mean(link.exchange_s(sizes) for _, link in pairs),
        contended=there.contended,
        measured_s=measured.full_s,
        parts=_parts(predicted, pairs, measured) if measured.full_s else None,
    )


def _parts(
    predicted: tuple[float, ...], pairs: list[tuple[FittedStep, SweptLink]], measured: Measured
) -> ErrorParts | None:
    """Put the target's own measurements in place of the inputs, one after another.

    None where the target's compute legs were not measured, or where noise leaves a round no step.
    """
    if not measured.steps:
        return None
    both = [(*pair, step) for pair, step in zip(pairs, cycle(measured.steps), strict=False)]
    compute = _all_known(own.over(link, step) for own, link, step in both)
    exchange = _all_known(own.over(step.over(link), step) for own, link, step in both)
    if compute is None or exchange is None:
        return None
    steps_s = [geometric_mean(values) for values in (predicted, compute, exchange)]
    after = [*steps_s[1:], geometric_mean(measured.full_s)]
    return ErrorParts(*(a / b for a, b in zip(steps_s, after, strict=True)))


def _all_known(steps_s: Iterable[float | None]) -> tuple[float, ...] | None:
    """Rounds [s], if each has a step."""
    found = list(steps_s)
    known = tuple(step_s for step_s in found if step_s is not None)
    return known if len(known) == len(found) else None


def with_intervals(
    predictions: Sequence[StepPrediction], confidence: float
) -> Iterator[StepPrediction]:
    """Each prediction with the interval that the misfits of the other cases give it.

    Misfits of the same two platforms, in the same direction; where fewer than LEAST_GROUPS other
    cases have one, those of all pairs that are no controls.

    Args:
        predictions: of one campaign.
        confidence: level of the intervals.
    """
    for own in predictions:
        others = [p for p in predictions if p.place.case != own.place.case and p.measured_s]
        used = _grouped(p for p in others if _way(p) == _way(own))
        if len(used) < LEAST_GROUPS:
            used = _grouped(p for p in others if not p.place.control)
        interval = misfit_interval(own.rounds_s, used, confidence)
        yield replace(own, interval=interval, misfits=len(used))


def _grouped(predictions: Iterable[StepPrediction]) -> list[list[float]]:
    """Logarithms of predicted / measured, those of one case together."""
    groups: dict[str, list[float]] = {}
    for own in predictions:
        if own.error_log is not None:
            groups.setdefault(own.place.case, []).append(own.error_log)
    return list(groups.values())


def _way(prediction: StepPrediction) -> tuple[str, str]:
    return prediction.place.source, prediction.place.target
