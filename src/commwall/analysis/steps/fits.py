"""Steps explained on the link where they were measured: what is carried to another link.

Layer: analysis. Reads no file. A step is longer than its compute and what the tail of the exchange
adds, because both take from each other. How sensitive a workload is to that is solved for. Where
its exchange is short, a small error of a leg would look like a large sensitivity, and would be
blown up on a slower link; so the sensitivity is drawn towards what the platform's workloads have in
common as far as it is badly known, and what it then leaves unexplained is carried over in seconds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from statistics import fmean

from commwall.analysis.steps.inputs import MeasuredStep, StepInputs
from commwall.model.sweep import Link
from commwall.stats.pooling import pool

LEG_ERROR = 0.005
"""Share of a step to which the difference of two legs is trusted. Chosen: a few times the spread
between rounds on GPUs, since legs differ in more than what they are called after."""
_NUDGE = 0.05
"""By so much the sensitivity is changed to see what the step makes of it."""


@dataclass(frozen=True)
class FittedStep:
    """One round of a case, explained."""

    step: MeasuredStep
    link: Link
    """That of its platform, as its own exchange had it."""
    own: float
    """Sensitivity that explains this step alone [1]."""
    sensitivity: float
    """The same, drawn towards that of the platform's other workloads [1]."""
    rest_s: float
    """What the step has beyond that [s]."""

    def over(self, link: Link, step: MeasuredStep | None = None) -> float:
        """The step over another link [s]; with other compute legs, if they are given."""
        bucketed = (step or self.step).bucketed
        return bucketed.step(link, self.sensitivity).step_s + self.rest_s

    def by_itself(self) -> "FittedStep":
        """The same, explained without the platform's other workloads."""
        return _drawn(self, self.own)

    def joined(self, bucket_bytes: int) -> float:
        """The step with buckets joined until they hold so many bytes [s]."""
        bucketed = self.step.bucketed.merged(bucket_bytes)
        return self.over(self.link, replace(self.step, bucketed=bucketed))


def fit_steps(
    inputs: StepInputs, platform: str, *, load: bool = True
) -> dict[str, tuple[FittedStep, ...]]:
    """Case -> its rounds on a platform, explained; without cases that lack something.

    Args:
        inputs: what the campaign has.
        platform: where the steps were measured.
        load: whether what was measured beside a load counts.
    """
    link = inputs.links[platform]
    if isinstance(link, str):
        return {}
    sweeps = (link if load else link.without_load()).rounds
    own = {
        case: list(_explained(steps, sweeps))
        for (name, case), steps in inputs.steps.items()
        if name == platform and not isinstance(steps, str)
    }
    if not own:
        return {}
    means = [fmean(fit.own for fit in fits) for fits in own.values()]
    pooled = pool(means, [fmean(map(_error, fits)) for fits in own.values()])
    return {
        case: tuple(_drawn(fit, max(0.0, pooled.shrunk(index, fit.own))) for fit in fits)
        for index, (case, fits) in enumerate(own.items())
    }


def _explained(steps: Iterable[MeasuredStep], sweeps: Sequence[Link]) -> Iterator[FittedStep]:
    """Rounds of training, each with a round of the sweeps: in turn, where they have fewer."""
    for step, sweep in zip(steps, cycle(sweeps), strict=False):
        here = step.over(sweep)
        own = step.bucketed.sensitivity(here, step.full_s)
        yield FittedStep(step, here, own, own, 0.0)


def _error(fit: FittedStep) -> float:
    """Standard error of a sensitivity [1]: the doubt in the step over what it makes of it."""
    steps = (fit.step.bucketed.step(fit.link, fit.own + by).step_s for by in (_NUDGE, 0.0))
    slope_s = (next(steps) - next(steps)) / _NUDGE
    return LEG_ERROR * fit.step.full_s / slope_s if slope_s > 0 else float("inf")


def _drawn(fit: FittedStep, sensitivity: float) -> FittedStep:
    rest_s = fit.step.full_s - fit.step.bucketed.step(fit.link, sensitivity).step_s
    return FittedStep(fit.step, fit.link, fit.own, sensitivity, rest_s)
