"""How well steps were predicted: the summary, and the reason of each miss in words.

Layer: analysis. Reads no file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import Any

from commwall.analysis.result import Analysis
from commwall.analysis.steps.predictions import StepPrediction, Unpredicted
from commwall.analysis.tables.rows import Row
from commwall.language.translate import tr, tr_later

Prediction = StepPrediction | Unpredicted
MISS_PERCENT = 5.0
"""From here on a prediction is said to miss. Chosen: the median that the model is meant to keep."""
_PARTS = {
    "compute_percent": (
        tr_later("compute takes longer on the target than on the source"),
        tr_later("compute takes less on the target than on the source"),
    ),
    "exchange_percent": (
        tr_later("the target's exchange takes longer than its sweep says"),
        tr_later("the target's exchange takes less than its sweep says"),
    ),
    "contention_percent": (
        tr_later("compute and exchange take more from each other than carried over"),
        tr_later("compute and exchange take less from each other than carried over"),
    ),
}
"""Part of an error -> what it means where the prediction is too short, and where too long."""


@dataclass(frozen=True)
class Yardsticks:
    """What predictions are off by in other terms, and what guesses without the model are."""

    n: int
    """Steps."""
    gain_percent: float
    """Gain of the faster link as measured, median [%]."""
    gain_off_percent: float
    """By how many points the predicted gain is off, median [%]."""
    no_exchange_percent: float
    """Off by, if the step is taken for the source's without exchange, median [%]."""
    as_source_percent: float
    """Off by, if the step is taken for the source's as it is, median [%]."""


def prediction_error_rows(analysis: Analysis) -> Iterator[Row]:
    """Table `prediction_errors`: all pairs of platforms, all controls, then each ordered pair.

    All pairs are those of platforms that differ: a treatment that runs twice counts once.
    """
    found = analysis.steps.predictions if analysis.steps else ()
    for control in (False, True):
        own = [each for each in found if each.place.control is control]
        if own:
            counted = own if control else _once(analysis, own)
            yield {**_head(analysis, None, control=control), **_errors(counted)}
    for way in dict.fromkeys((each.place.source, each.place.target) for each in found):
        own = [each for each in found if (each.place.source, each.place.target) == way]
        yield {**_head(analysis, way, control=own[0].place.control), **_errors(own)}


def _once(analysis: Analysis, found: Sequence[Prediction]) -> Sequence[Prediction]:
    """Predictions without those that a second launch of one treatment repeats."""
    plan = analysis.plan
    again = {pair.b for pair in plan.comparisons if pair.control} if plan else set()
    return [each for each in found if not again & {each.place.source, each.place.target}] or found


def yardsticks(analysis: Analysis) -> Yardsticks | None:
    """What predictions between platforms that differ are worth.

    None where no step was measured on both source and target.
    """
    found = analysis.steps.predictions if analysis.steps else ()
    steps_s = {(p.place.case, p.place.target): geometric_mean(p.measured_s)
               for p in found if isinstance(p, StepPrediction) and p.measured_s}  # fmt: skip
    real = [each for each in found if not each.place.control]
    rows = [
        (own.step_s, own.packed_s, source_s, target_s)
        for own in _once(analysis, real)
        if isinstance(own, StepPrediction)
        if (source_s := steps_s.get((own.place.case, own.place.source)))
        if (target_s := steps_s.get((own.place.case, own.place.target)))
    ]
    if not rows:
        return None
    gains = [_gains(predicted_s, source_s, target_s) for predicted_s, _, source_s, target_s in rows]
    return Yardsticks(
        n=len(rows),
        gain_percent=median(measured for _, measured in gains),
        gain_off_percent=median(abs(predicted - measured) for predicted, measured in gains),
        no_exchange_percent=median(_off(packed_s, target_s) for _, packed_s, _, target_s in rows),
        as_source_percent=median(_off(source_s, target_s) for _, _, source_s, target_s in rows),
    )


def _gains(predicted_s: float, source_s: float, target_s: float) -> tuple[float, float]:
    """Gain of the faster of both links, predicted and measured: the other step over its own [%]."""
    power = 1 if source_s >= target_s else -1
    predicted, measured = ((source_s / s) ** power for s in (predicted_s, target_s))
    return 100 * (predicted - 1), 100 * (measured - 1)


def _off(said_s: float, measured_s: float) -> float:
    """How far off a step is, whatever the direction [%]."""
    return 100 * abs(said_s / measured_s - 1)


def _head(analysis: Analysis, way: tuple[str, str] | None, *, control: bool) -> Row:
    source, target = way or (None, None)
    return {
        "campaign": analysis.campaign,
        "source": source,
        "target": target,
        "control": control,
        "confidence": analysis.confidence,
    }


def _errors(own: Sequence[Prediction]) -> Row:
    judged = [p for p in own if isinstance(p, StepPrediction) and p.error_percent is not None]
    errors = {p.place: p.error_percent or 0.0 for p in judged}
    worst = max(errors, key=lambda place: abs(errors[place]), default=None)
    within = [p for p in judged if p.half_width_percent is not None]
    return {
        "cells": len(own),
        "unpredicted": sum(isinstance(p, Unpredicted) for p in own),
        "judged": len(judged),
        "median_error_percent": median(map(abs, errors.values())) if errors else None,
        "worst_error_percent": errors[worst] if worst else None,
        "worst_case": worst.case if worst else None,
        "worst_source": worst.source if worst else None,
        "worst_target": worst.target if worst else None,
        "with_interval": len(within),
        "inside": sum(bool(p.inside) for p in within),
        "median_half_width_percent": median(p.half_width_percent or 0.0 for p in within)
        if within
        else None,
    }


def misses(row: Mapping[str, Any]) -> bool:
    """Whether a row of table `predicted_steps` is off by more than MISS_PERCENT, or outside."""
    error = row["error_percent"]
    return error == error and (abs(error) > MISS_PERCENT or row["inside"] is False)


def miss_text(row: Mapping[str, Any]) -> str:
    """What most of a prediction's error comes from."""
    parts = {name: row[name] for name in _PARTS}
    if any(value != value for value in parts.values()):
        return tr("unknown: the target lacks a leg that would tell")
    largest = max(parts, key=lambda name: abs(parts[name]))
    too_short, too_long = _PARTS[largest]
    return tr(too_short if parts[largest] < 0 else too_long)
