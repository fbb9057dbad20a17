"""Steps explained on the link where they were measured: what is carried to another link.

Layer: analysis. Reads no file. A step is longer than its compute and what the tail of the exchange
adds, because both take from each other. What the workload adds to that are its traits. Where its
exchange is short, a small error of a leg would look like a large one, and would be blown up on a
slower link; so traits leave the usual only as far as the step tells them, and what they then leave
unexplained is carried over in seconds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from statistics import fmean

from commwall.analysis.steps.inputs import MeasuredStep, StepInputs
from commwall.model.sweep import SweptLink
from commwall.model.traits import Traits

LEG_ERROR = 0.005
"""Share of a step to which the difference of two legs is trusted. Chosen: a few times the spread
between rounds on GPUs, since legs differ in more than what they are called after."""
LEAST_LEFT = 0.95
"""Of its compute and packing a step takes at least so much [1]: less is noise of the legs. Chosen:
where an exchange costs hardly anything, legs differ by noise either way; by a host's gaps of 2 %
and by clocks 1 % apart without being refused."""


@dataclass(frozen=True)
class FittedStep:
    """One round of a case, explained."""

    step: MeasuredStep
    link: SweptLink
    """That of its platform, as its own exchange had it."""
    traits: Traits
    """Of the workload, as this step tells them."""
    rest_s: float
    """What the step has beyond that [s]."""

    def over(self, link: SweptLink, step: MeasuredStep | None = None) -> float | None:
        """The step over another link [s]; with other compute legs, if they are given.

        None where that is less than LEAST_LEFT of its compute and packing. A leg `comm` that was
        too slow makes the modelled step here too long, and the rest, which is carried over as it
        is, as much too small.
        """
        bucketed = (step or self.step).bucketed
        step_s = bucketed.step(link, self.traits).step_s + self.rest_s
        return step_s if step_s >= LEAST_LEFT * bucketed.timeline.step_s else None

    def joined(self, bucket_bytes: int) -> float | None:
        """The step with buckets joined until they hold so many bytes [s]; None as in `over`."""
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
    return {
        case: tuple(_explained(steps, sweeps))
        for (name, case), steps in inputs.steps.items()
        if name == platform and not isinstance(steps, str)
    }


def mean_traits(rounds: Sequence[FittedStep]) -> Traits:
    """Traits of a case, mean over its rounds."""
    return Traits(
        fmean(own.traits.sensitivity for own in rounds), fmean(own.traits.drag for own in rounds)
    )


def _explained(steps: Iterable[MeasuredStep], sweeps: Sequence[SweptLink]) -> Iterator[FittedStep]:
    """Rounds of training, each with a round of the sweeps: in turn, where they have fewer."""
    for step, sweep in zip(steps, cycle(sweeps), strict=False):
        here = step.over(sweep)
        own = step.bucketed.traits(here, step.full_s, LEG_ERROR * step.full_s)
        yield FittedStep(step, here, own, step.full_s - step.bucketed.step(here, own).step_s)
