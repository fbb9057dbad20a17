"""From a measured campaign to what it predicts for those who measure it again.

Layer: analysis. Reads no file.
"""

import math
from collections.abc import Iterator, Sequence

from commwall.analysis.platforms import treatments_compared
from commwall.analysis.quantities import (
    BUSBW,
    DECODE_TOKENS,
    LATENCY,
    MEMORY_BANDWIDTH,
    PREFILL_TOKENS,
    PRIMARY,
    SPEEDUP,
    STRATEGY_TOKENS,
    Quantity,
)
from commwall.analysis.result import Analysis
from commwall.analysis.values.cells import Cell, not_positive
from commwall.records.layout import path_in_campaign
from commwall.records.predictions import PredictionError
from commwall.schema.case import SuiteName
from commwall.schema.predictions import (
    MOST_NEW_ROUNDS,
    Bounds,
    NotPredicted,
    Predicted,
    PredictedCell,
    Predictions,
)
from commwall.schema.record import Record
from commwall.stats.prediction import prediction

PREDICTED: dict[SuiteName, tuple[Quantity, ...]] = {
    "training": (PRIMARY, Quantity("energy_efficiency_samples_per_wh")),
    "collectives": (BUSBW, LATENCY),
    "memory": (MEMORY_BANDWIDTH,),
    "strategies": (STRATEGY_TOKENS,),
    "inference": (DECODE_TOKENS, PREFILL_TOKENS),
    "mitigations": (SPEEDUP,),
}
"""What a replication is judged by: what verdicts are about, and what it costs. All are positive."""
NO_SPREAD = "one round, or rounds without spread: nothing says how far the next would lie"


def predict(analysis: Analysis) -> Predictions:
    """What a campaign predicts, from all its rounds.

    Predicted are the ratio of each comparison but the controls, and each value of the platforms
    that are compared.

    Raises:
        PredictionError: if records are missing, or nothing can be predicted.
    """
    plan, index = analysis.plan, analysis.evidence.index
    if plan is None or index.gaps:
        raise _incomplete(analysis)
    compared = {side for each in treatments_compared(plan) for side in (each.a, each.b)}
    cells = [c for c in analysis.cells if c.record.id.platform in compared and not c.refusals]
    found = [*_ratios(analysis), *_values(analysis, cells, compared)]
    predicted = tuple(item for item in found if isinstance(item, Predicted))
    absent = tuple(item for item in found if isinstance(item, NotPredicted))
    if not predicted:
        raise _nothing(plan.id, absent)
    return Predictions(
        digest="",
        campaign=plan.id,
        confidence=analysis.confidence,
        records={
            path_in_campaign(record.id): record.digest for record in analysis.evidence.records
        },
        predicted=predicted,
        absent=absent,
    ).sealed()


def _ratios(analysis: Analysis) -> Iterator[Predicted | NotPredicted]:
    for verdict in analysis.verdicts:
        if verdict.comparison.control or verdict.quantity not in PREDICTED[verdict.suite]:
            continue
        cell = PredictedCell(
            suite=verdict.suite,
            case=verdict.case,
            metric=verdict.quantity.metric_id,
            a=verdict.comparison.a,
            b=verdict.comparison.b,
        )
        if verdict.ratio is None:
            yield NotPredicted(cell=cell, reason=verdict.why_none or "no ratio")
        else:
            yield _predicted(cell, verdict.rounds, verdict.ratio.ratios, analysis.confidence)


def _values(
    analysis: Analysis, cells: Sequence[Cell], compared: set[str]
) -> Iterator[Predicted | NotPredicted]:
    plan = analysis.plan
    assert plan is not None  # `predict` has seen to it
    places = [
        (suite.suite, case, platform)
        for suite in plan.suites
        for case in suite.cases
        for platform in suite.platforms_of(case)
        if platform in compared
    ]
    for suite, case, platform in places:
        own = [c for c in cells if _place(c.record) == (suite, case, platform)]
        for quantity in PREDICTED[suite]:
            cell = PredictedCell(suite=suite, case=case, metric=quantity.metric_id, a=platform)
            yield _value(cell, quantity, own, analysis.confidence)


def _value(
    cell: PredictedCell, quantity: Quantity, own: Sequence[Cell], confidence: float
) -> Predicted | NotPredicted:
    if found := not_positive(own, quantity):
        return NotPredicted(cell=cell, reason=f"not above zero in round {found.record.id.round}")
    usable = [c for c in own if quantity in c.derived.values]
    if not usable:
        reasons = dict.fromkeys(
            c.derived.absent[quantity] for c in own if quantity in c.derived.absent
        )
        return NotPredicted(cell=cell, reason="; ".join(reasons) or "no usable record")
    rounds = tuple(c.record.id.round for c in usable)
    values = tuple(c.derived.values[quantity] for c in usable)
    return _predicted(cell, rounds, values, confidence)


def _predicted(
    cell: PredictedCell, rounds: tuple[int, ...], values: tuple[float, ...], confidence: float
) -> Predicted | NotPredicted:
    found = prediction(values)
    if found is None:
        return NotPredicted(cell=cell, reason=NO_SPREAD)
    ends = (found.interval(new, confidence) for new in range(1, MOST_NEW_ROUNDS + 1))
    return Predicted(
        cell=cell,
        rounds=rounds,
        centre=math.exp(found.mean_log),
        deviation_log=found.deviation_log,
        bounds=tuple(Bounds(low=low, high=high) for low, high in ends),
    )


def _place(record: Record) -> tuple[str, str, str]:
    return record.id.suite, record.id.case, record.id.platform


def _incomplete(analysis: Analysis) -> PredictionError:
    index = analysis.evidence.index
    missing = f"{len(index.gaps)} of {len(index.findings)} records are missing"
    return PredictionError(
        "a campaign predicts once all of it is measured",
        where=f"results/{index.campaign}",
        found=missing if index.gaps else "; ".join(index.problems),
        next_step=f"`commwall check {index.campaign}` lists them",
    )


def _nothing(campaign: str, absent: tuple[NotPredicted, ...]) -> PredictionError:
    reasons = dict.fromkeys(item.reason for item in absent)
    return PredictionError(
        "a campaign predicts nothing",
        where=f"results/{campaign}",
        found="; ".join(reasons) or "no comparison but controls",
        expected="two rounds or more of a comparison",
        next_step="measure more rounds: raise `rounds` in its campaign file",
    )
