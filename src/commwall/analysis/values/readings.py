"""Raw values of one record, as formulas ask for them.

Layer: analysis. Reads no file.
"""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from commwall.language.translate import tr
from commwall.schema.case import Leg, TrainingCase
from commwall.schema.record import Record
from commwall.schema.result import Series


def training_case(record: Record) -> TrainingCase:
    """The record's case; asked of training records only."""
    assert isinstance(record.case, TrainingCase)
    return record.case


def measured(record: Record, metric_id: str, leg: Leg | None = None) -> list[Series]:
    """Series of a metric without warm-up: of one leg, or that hold for none."""
    return [
        series
        for series in record.series
        if series.metric == metric_id and series.phase == "measured" and series.leg in (leg, None)
    ]


def by_rank(
    record: Record, metric_id: str, leg: Leg | None = None
) -> dict[int | None, tuple[float, ...]]:
    """Values of a metric that has one series a rank, of one leg or whatever its leg; empty series
    left out.
    """
    return {
        series.rank: series.values
        for series in record.series
        if series.metric == metric_id
        and series.phase == "measured"
        and series.values
        and leg in (series.leg, None)
    }


def all_values(record: Record, metric_id: str) -> Iterator[float]:
    """Values of a metric of all ranks and legs."""
    for series in record.series:
        if series.metric == metric_id and series.phase == "measured":
            yield from series.values


def slowest_rank(
    record: Record, leg: Leg | None, metric_id: str = "step_time_s"
) -> tuple[float, ...]:
    """Time of each measured step of a leg [s], shape (steps,): the largest over the ranks."""
    ranks = [series.values for series in measured(record, metric_id, leg)]
    return tuple(map(max, zip(*ranks, strict=True)))


def typical_s(own: Iterable[Series]) -> float:
    """Median over steps or groups of the slowest rank's time [s]."""
    times_s = [series.values for series in own]
    typical_s: float = median(max(ranks) for ranks in zip(*times_s, strict=True))
    return typical_s


def alike(own: Sequence[Series]) -> bool:
    """Whether ranks have values, and all the same number of them."""
    return len({len(series.values) for series in own}) == 1 and bool(own[0].values)


def why_no_steps(record: Record, leg: Leg | None, metric_id: str = "step_time_s") -> str | None:
    """Why the steps of a leg, or of a case without legs, cannot be used; None if they can."""
    own = measured(record, metric_id, leg)
    what = tr("leg {leg}", leg=leg) if leg else tr("the case")
    lengths = {len(series.values) for series in own}
    if not lengths or lengths == {0}:
        return gap_reason(record, leg or "", metric_id) or tr("{what} has no step times", what=what)
    if len(lengths) > 1:
        return tr(
            "ranks of {what} timed different numbers of steps: {numbers}",
            what=what,
            numbers=sorted(lengths),
        )
    if min(value for series in own for value in series.values) <= 0:
        return tr("{what} has a step time that is not above zero", what=what)
    return None


def window_samples(record: Record) -> int:
    """Samples of all ranks in the timed window of leg `full`."""
    steps = len(slowest_rank(record, "full"))
    return training_case(record).batch_per_gpu * record.platform.world_size * steps


def gradient_bytes(record: Record) -> int:
    """Gradients that each rank exchanges in a step; 0 where the record does not say [byte]."""
    runtime = record.software.runtime
    return sum(runtime.bucket_bytes) if runtime else 0


def gap_reason(record: Record, *subjects: str) -> str | None:
    """Why the record lacks one of the subjects, in its own words; None if it does not say."""
    return next((gap.reason for gap in record.gaps if gap.what in subjects), None)


def not_measured(metric_id: str) -> str:
    """Why a value is absent that needs a metric which the record lacks without a word."""
    return tr("needs {metric}, which was not measured", metric=metric_id)
