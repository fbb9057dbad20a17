"""Why two platforms differ: gap = per-GPU speed x scaling x input effect.

Layer: analysis. Reads no file.
"""

from dataclasses import dataclass, field

from commwall.analysis.quantities import PRIMARY, Quantity, step_time
from commwall.analysis.verdicts.judging import Verdict
from commwall.language.translate import tr, tr_later
from commwall.schema.plan import Comparison
from commwall.stats.paired import PairedRatio, paired_ratio

SPEED = step_time("single")
SCALING = Quantity("scaling_efficiency")
INPUT_EFFECT = tr_later(
    "not measured: the data are synthetic and already on the device, so both platforms feed "
    "their processes alike"
)


@dataclass(frozen=True)
class Decomposition:
    """The throughput gap of one comparison and case, split into its factors (ratios a / b)."""

    comparison: Comparison
    suite: str
    case: str
    gap: PairedRatio
    """Throughput."""
    per_gpu_speed: PairedRatio
    """One process alone: what is not the link's doing."""
    scaling: PairedRatio
    """Scaling efficiency: what the link and the exchange cost."""
    input_effect: str = field(default_factory=lambda: tr(INPUT_EFFECT))


@dataclass(frozen=True)
class Undecomposed:
    """A gap that cannot be split, and why."""

    comparison: Comparison
    suite: str
    case: str
    reason: str


def decompose(
    verdicts: tuple[Verdict, ...], *, seed: int
) -> tuple[Decomposition | Undecomposed, ...]:
    """Split the throughput gap of every real comparison.

    The factors are paired in the same rounds, so gap = per-GPU speed x scaling holds exactly
    for the geometric means.

    Args:
        verdicts: of a campaign.
        seed: by which they were judged, so that a factor's interval is that of its verdict.
    """
    found = {(v.comparison, v.suite, v.case, v.quantity): v for v in verdicts}
    return tuple(
        _decompose(verdict, found.get((*key, SPEED)), found.get((*key, SCALING)), seed)
        for verdict in verdicts
        if verdict.quantity == PRIMARY and not verdict.comparison.control
        for key in [(verdict.comparison, verdict.suite, verdict.case)]
    )


def _decompose(
    gap: Verdict, single: Verdict | None, scaling: Verdict | None, seed: int
) -> Decomposition | Undecomposed:
    place = (gap.comparison, gap.suite, gap.case)
    if not single or not scaling or not gap.ratio or not single.ratio or not scaling.ratio:
        return Undecomposed(*place, _why_not(gap, single, scaling))
    if not gap.rounds == single.rounds == scaling.rounds:
        return Undecomposed(*place, tr("the legs were not measured in the same rounds"))
    return Decomposition(*place, gap.ratio, _speed(single, single.ratio, seed), scaling.ratio)


def _why_not(*parts: Verdict | None) -> str:
    reasons = (part.why_none for part in parts if part)
    return next((reason for reason in reasons if reason), tr("leg single was not measured"))


def _speed(single: Verdict, ratio: PairedRatio, seed: int) -> PairedRatio:
    """Ratio of speeds a / b: step times of leg single, turned over."""
    return paired_ratio(single.values_b, single.values_a, confidence=ratio.confidence, seed=seed)
