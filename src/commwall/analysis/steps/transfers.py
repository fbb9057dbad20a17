"""Steps of one case predicted from another batch, or from smaller buckets, of the same model.

Layer: analysis. Reads no file. Both cases are of one platform. Another batch has compute legs of
its own, which are taken; its traits come from the first batch. Of larger buckets nothing is taken
but their size.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, permutations
from statistics import geometric_mean
from typing import Literal

from commwall.analysis.steps.fits import FittedStep
from commwall.schema.case import TrainingCase

Kind = Literal["batch", "buckets"]
_KINDS: dict[str, Kind] = {"batch_per_gpu": "batch", "bucket_bytes": "buckets"}


@dataclass(frozen=True)
class Transfer:
    """A step predicted from another case of its platform."""

    source: str
    target: str
    kind: Kind
    """What differs between the cases."""
    rounds_s: tuple[float, ...]
    """Prediction from each round of the source in which noise leaves the step its time [s]."""
    packed_s: float
    """Step without exchange on which the prediction stands [s]."""
    measured_s: float
    """The target's step, mean over rounds [s]."""
    measured_packed_s: float
    """The target's step without exchange [s]."""

    @property
    def step_s(self) -> float:
        """The prediction [s]."""
        return geometric_mean(self.rounds_s)


def transfers(
    cases: Mapping[str, TrainingCase], fits: Mapping[str, tuple[FittedStep, ...]]
) -> Iterator[Transfer]:
    """Every case of a platform from each that differs from it in batch, or has smaller buckets.

    A case of which noise leaves no round predicts nothing.

    Args:
        cases: name -> case.
        fits: name -> its rounds on the platform, explained.
    """
    for source, target in permutations(fits, 2):
        kind = _difference(cases[source], cases[target])
        own, theirs = fits[source], fits[target]
        rounds_s = _rounds(kind, own, theirs, cases[target].bucket_bytes) if kind else ()
        if kind and rounds_s:
            yield Transfer(
                source=source,
                target=target,
                kind=kind,
                rounds_s=rounds_s,
                packed_s=_packed_s(theirs if kind == "batch" else own),
                measured_s=geometric_mean(fit.step.full_s for fit in theirs),
                measured_packed_s=_packed_s(theirs),
            )


def _difference(source: TrainingCase, target: TrainingCase) -> Kind | None:
    """The one thing in which two cases differ; None if it cannot be bridged."""
    one, other = source.model_dump(), target.model_dump()
    fields = [name for name in one if one[name] != other[name]]
    if len(fields) != 1 or target.bucket_bytes < source.bucket_bytes:
        return None
    return _KINDS.get(fields[0])


def _rounds(
    kind: Kind, own: Sequence[FittedStep], theirs: Sequence[FittedStep], bucket_bytes: int
) -> tuple[float, ...]:
    """Prediction of each round that has one [s]."""
    if kind == "buckets":
        found = [fit.joined(bucket_bytes) for fit in own]
    else:
        found = [fit.over(o.link, o.step) for fit, o in zip(own, cycle(theirs), strict=False)]
    return tuple(step_s for step_s in found if step_s is not None)


def _packed_s(fits: Sequence[FittedStep]) -> float:
    return geometric_mean(fit.step.bucketed.timeline.step_s for fit in fits)
