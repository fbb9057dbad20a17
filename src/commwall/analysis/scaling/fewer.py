"""Steps of many processes predicted from records of fewer over the same link.

Layer: analysis. Reads no file. Of the platform with more processes nothing is used: its link is
what rings of so many ranks would make of the smaller platform's link
(`commwall.model.sweep`), its compute and contention are the smaller platform's. So a
miss shows what more processes share: a switch, bridges of the host, memory, power.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from commwall.analysis.result import Analysis
from commwall.analysis.steps.links import PlatformLink
from commwall.analysis.steps.predictions import (
    Measured,
    Place,
    StepModels,
    StepPrediction,
    Unpredicted,
    predict_step,
    with_intervals,
)
from commwall.analysis.steps.rows import prediction_columns
from commwall.analysis.tables.rows import Row
from commwall.language.translate import tr
from commwall.records.ladders import Ladder
from commwall.schema.plan import Plan, PlannedPlatform

Step = tuple[PlannedPlatform, PlannedPlatform]
"""From fewer processes to more."""


def fewer_rows(analysis: Analysis, links: Mapping[str, Ladder]) -> Iterator[Row]:
    """Table `scaled_steps`: one row for each link, case and pair of numbers of processes."""
    plan, models = analysis.plan, analysis.steps
    for link, ladder in links.items():
        assert plan and models  # else there is no link of several sizes
        ranks = {platform.name: platform.world_size for platform in ladder.platforms}
        for own in predict_ladder(ladder, plan, models, analysis.confidence):
            row = {
                "campaign": analysis.campaign,
                "link": link,
                "case": own.place.case,
                "source": own.place.source,
                "target": own.place.target,
                "source_ranks": ranks[own.place.source],
                "target_ranks": ranks[own.place.target],
                "confidence": analysis.confidence,
            }
            if isinstance(own, Unpredicted):
                yield {**row, "n": 0, "reason": own.why}
            else:
                yield {**row, **prediction_columns(own)}


def predict_ladder(
    ladder: Ladder, plan: Plan, models: StepModels, confidence: float
) -> tuple[StepPrediction | Unpredicted, ...]:
    """Every case that two platforms of a link train, the larger predicted from the smaller.

    Args:
        ladder: the link.
        plan: of the campaign.
        models: what the model makes of the campaign.
        confidence: level of the intervals.
    """
    found = [
        _predicted(case, step, models)
        for suite in plan.suites
        for case in (suite.cases if suite.suite == "training" else ())
        for step in ladder.steps
        if {step[0].name, step[1].name} <= set(suite.platforms_of(case))
    ]
    ends = iter(
        with_intervals([own for own in found if isinstance(own, StepPrediction)], confidence)
    )
    return tuple(next(ends) if isinstance(own, StepPrediction) else own for own in found)


def _predicted(case: str, step: Step, models: StepModels) -> StepPrediction | Unpredicted:
    source, target = step
    place = Place(case, source.name, target.name, control=False)
    inputs, link = models.inputs, models.inputs.links[source.name]
    steps = inputs.steps.get((source.name, case), tr("no round of it counts"))
    for found in (steps, link):
        if isinstance(found, str):
            return Unpredicted(place, "source", found)
    assert isinstance(link, PlatformLink)
    there, others = (target.name, case), inputs.steps.get((target.name, case), ())
    measured = Measured(inputs.full_s.get(there, ()), () if isinstance(others, str) else others)
    rounds = models.fits[source.name][case]
    return predict_step(place, rounds, _grown(link, source.world_size, target.world_size), measured)


def _grown(link: PlatformLink, ranks: int, wanted: int) -> PlatformLink:
    """The link of a platform as rings of more ranks would have it."""
    return replace(
        link,
        sweeps=tuple(sweep.of_ranks(ranks, wanted) for sweep in link.sweeps),
        loads=tuple(load.of_ranks(ranks, wanted) for load in link.loads),
    )
