"""Tables of the model of a step: its predictions, what it rests on, and other bucket sizes.

Layer: analysis. Reads no file.
"""

from collections.abc import Iterator
from statistics import fmean, geometric_mean

from commwall.analysis.result import Analysis
from commwall.analysis.steps.fits import FittedStep, mean_traits
from commwall.analysis.steps.inputs import MeasuredStep, Steps
from commwall.analysis.steps.links import PlatformLink
from commwall.analysis.steps.predictions import StepPrediction, Unpredicted
from commwall.analysis.steps.transfers import transfers
from commwall.analysis.tables.rows import Row, platform_columns
from commwall.analysis.values.readings import training_case
from commwall.model.traits import Traits
from commwall.schema.case import TrainingCase

JOINED = (1, 4, 16)
"""Bucket sizes that are modelled, in sizes of the case's own; beyond them all in one bucket."""


def predicted_step_rows(analysis: Analysis) -> Iterator[Row]:
    """Table `predicted_steps`: one row for each case and ordered pair of platforms."""
    for own in analysis.steps.predictions if analysis.steps else ():
        place = own.place
        row = {
            "campaign": analysis.campaign,
            "case": place.case,
            "source": place.source,
            "target": place.target,
            "label_source": analysis.names[place.source],
            "label_target": analysis.names[place.target],
            "control": place.control,
            "confidence": analysis.confidence,
        }
        if isinstance(own, Unpredicted):
            yield {**row, "n": 0, "reason": own.reason}
        else:
            yield {**row, **prediction_columns(own)}


def prediction_columns(own: StepPrediction) -> Row:
    """A predicted step, and what it is held against."""
    low, high = own.interval or (None, None)
    parts = vars(own.parts) if own.parts else {}
    return {
        "n": len(own.rounds_s),
        "packed_step_s": own.packed_s,
        "exchange_s": own.exchange_s,
        **_trait_columns(own.traits, loaded=own.contended),
        "contention_measured": own.contended,
        "predicted_s": own.step_s,
        "predicted_low_s": low,
        "predicted_high_s": high,
        "misfit_cases": own.misfits,
        "measured_n": len(own.measured_s),
        "measured_s": geometric_mean(own.measured_s) if own.measured_s else None,
        "error_percent": own.error_percent,
        "half_width_percent": own.half_width_percent,
        "inside": own.inside,
        **{f"{name}_percent": 100 * (ratio - 1) for name, ratio in parts.items()},
    }


def _trait_columns(own: Traits, *, loaded: bool) -> Row:
    """Without a load nothing tells drag from sensitivity, which then stands for both."""
    return {"sensitivity": own.sensitivity, "drag": own.drag if loaded else None}


def step_model_rows(analysis: Analysis) -> Iterator[Row]:
    """Table `step_models`: one row for each platform and training case, with what it tells."""
    for place, case, steps, fits in _trained(analysis):
        if isinstance(steps, str):
            yield {**place, "n": 0, "reason": steps}
            continue
        row = {**place, "n": len(steps), "bucket_bytes": case.bucket_bytes, **_leg_columns(steps)}
        link = analysis.steps.inputs.links[place["platform"]] if analysis.steps else ""
        if isinstance(link, str):
            yield {**row, "reason": link}
        else:
            yield {**row, **_link_columns(steps, link), **_fit_columns(fits, link)}


def _trained(
    analysis: Analysis,
) -> Iterator[tuple[Row, TrainingCase, Steps, tuple[FittedStep, ...]]]:
    """Every platform and training case with its rounds, and explained, where they can be."""
    cells = {
        (cell.record.id.platform, cell.record.id.case): cell
        for cell in analysis.cells
        if isinstance(cell.record.case, TrainingCase)
    }
    models = analysis.steps
    for (platform, case), steps in models.inputs.steps.items() if models else ():
        record, fits = cells[platform, case].record, models.fits if models else {}
        rounds = fits.get(platform, {}).get(case, ())
        yield platform_columns(record, analysis), training_case(record), steps, rounds


def _leg_columns(steps: tuple[MeasuredStep, ...]) -> Row:
    """Means over the rounds."""
    timelines = [step.bucketed.timeline for step in steps]
    comm_s = [step.comm_s for step in steps if step.comm_s is not None]
    return {
        "buckets": len(steps[0].bucketed.bucket_bytes),
        "gradient_bytes": sum(steps[0].bucketed.bucket_bytes),
        "first_ready_s": fmean(min(timeline.ready_s) for timeline in timelines),
        "backward_end_s": fmean(timeline.backward_end_s for timeline in timelines),
        "packed_step_s": geometric_mean(timeline.step_s for timeline in timelines),
        "full_step_s": geometric_mean(step.full_s for step in steps),
        "comm_s": geometric_mean(comm_s) if comm_s else None,
    }


def _link_columns(steps: tuple[MeasuredStep, ...], link: PlatformLink) -> Row:
    """What the platform's sweep says of the same buckets."""
    sizes, comm_s = steps[0].bucketed.bucket_bytes, _leg_columns(steps)["comm_s"]
    swept_s = geometric_mean(own.exchange_s(sizes) for own in link.rounds)
    return {
        "sweep": link.case,
        "swept_s": swept_s,
        "sweep_error_percent": 100 * (swept_s / comm_s - 1) if comm_s else None,
    }


def _fit_columns(fits: tuple[FittedStep, ...], link: PlatformLink) -> Row:
    """How the steps are explained, mean over the rounds."""
    beside = [_beside(fit) for fit in fits] if link.contended else []
    return {
        "lost": fmean(lost for lost, _ in beside) if beside else None,
        "stretch": fmean(stretch for _, stretch in beside) if beside else None,
        **_trait_columns(mean_traits(fits), loaded=link.contended),
        "rest_s": fmean(fit.rest_s for fit in fits),
    }


def _beside(fit: FittedStep) -> tuple[float, float]:
    """Loss and stretch of a bucket beside the sweep's load, weighted by exchange time [1]."""
    exchanges = fit.link.exchanges(fit.step.bucketed.bucket_bytes)
    whole_s = sum(each.alone_s for each in exchanges)
    lost_s = sum(each.lost * each.alone_s for each in exchanges)
    return lost_s / whole_s, sum(each.stretch * each.alone_s for each in exchanges) / whole_s


def bucket_size_rows(analysis: Analysis) -> Iterator[Row]:
    """Table `bucket_sizes`: the modelled step with buckets joined to larger ones.

    Nothing of a case where noise leaves no round of it as it was trained; it comes first.
    """
    for place, case, _, fits in _trained(analysis):
        if fits:
            whole = sum(fits[0].step.bucketed.bucket_bytes)
            sizes = (*(times * case.bucket_bytes for times in JOINED), whole)
            found = {row["buckets"]: row for row in (_joined_columns(fits, s) for s in sizes)}
            as_trained, *joined = found.values()
            shown = [as_trained, *(row for row in joined if row["n"])] if as_trained["n"] else []
            yield from ({**place, **row} for row in shown)


def _joined_columns(fits: tuple[FittedStep, ...], size: int) -> Row:
    """Mean over the rounds in which noise leaves the step its time."""
    steps_s = [step_s for fit in fits if (step_s := fit.joined(size)) is not None]
    return {
        "n": len(steps_s),
        "bucket_bytes": size,
        "buckets": len(fits[0].step.bucketed.merged(size).bucket_bytes),
        "step_s": geometric_mean(steps_s) if steps_s else None,
    }


def predicted_case_rows(analysis: Analysis) -> Iterator[Row]:
    """Table `predicted_cases`: other batches and larger buckets, on the same platform."""
    places = [place for place, *_ in _trained(analysis)]
    cases = {place["case"]: case for place, case, *_ in _trained(analysis)}
    for platform, fits in analysis.steps.fits.items() if analysis.steps else ():
        for own in transfers(cases, fits):
            place = next(p for p in places if (p["platform"], p["case"]) == (platform, own.target))
            yield {
                **place,
                "source_case": own.source,
                "differs": own.kind,
                "n": len(own.rounds_s),
                "predicted_s": own.step_s,
                "measured_s": own.measured_s,
                "error_percent": 100 * (own.step_s / own.measured_s - 1),
                "predicted_cost_s": own.step_s - own.packed_s,
                "measured_cost_s": own.measured_s - own.measured_packed_s,
            }
