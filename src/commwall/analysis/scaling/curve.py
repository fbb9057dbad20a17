"""What training reaches with growing numbers of processes over one link.

Layer: analysis. Reads no file. One process alone is leg `single`, which every launch measures
beside leg `full`; so scaling is a ratio of two legs of one launch, and no difference between
launches enters it.
"""

from collections.abc import Iterator, Mapping, Sequence

from commwall.analysis.platforms import is_emulated
from commwall.analysis.quantities import PRIMARY, Quantity, step_time
from commwall.analysis.result import Analysis
from commwall.analysis.tables.rows import Row, mean_columns
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.readings import training_case
from commwall.records.ladders import Ladder
from commwall.schema.case import TrainingCase
from commwall.schema.plan import PlannedPlatform

EFFICIENCY = Quantity("scaling_efficiency")
BUSBW = Quantity("exchange_busbw_bytes_per_s")
SINGLE = step_time("single")
_MEASURED = (
    ("samples_per_s", PRIMARY),
    ("efficiency", EFFICIENCY),
    ("busbw_bytes_per_s", BUSBW),
)
"""Columns and the quantities that they hold."""


def curve_rows(analysis: Analysis, links: Mapping[str, Ladder]) -> Iterator[Row]:
    """Table `scaling`: for each training case and link one process alone, then each platform."""
    plan = analysis.plan
    training = [suite for suite in plan.suites if suite.suite == "training"] if plan else []
    for suite in training:
        for case in suite.cases:
            for link, ladder in links.items():
                own = [p for p in ladder.platforms if case in suite.platforms[p.name]]
                if own:
                    yield from _case_rows(analysis, link, case, own)


def _case_rows(
    analysis: Analysis, link: str, case: str, platforms: Sequence[PlannedPlatform]
) -> Iterator[Row]:
    place = {
        "campaign": analysis.campaign,
        "link": link,
        "emulated": is_emulated(platforms[0]),
        "case": case,
        "confidence": analysis.confidence,
    }
    cells = {p.name: _admitted(analysis, p, case) for p in platforms}
    first = platforms[0]
    yield {**place, "platform": first.name, "ranks": 1, **_alone(analysis, cells[first.name])}
    for platform in platforms:
        values = _together(analysis, cells[platform.name])
        yield {**place, "platform": platform.name, "ranks": platform.world_size, **values}


def _admitted(analysis: Analysis, platform: PlannedPlatform, case: str) -> list[Cell]:
    return [
        cell
        for cell in analysis.cells
        if isinstance(cell.record.case, TrainingCase)
        and (cell.record.id.platform, cell.record.id.case) == (platform.name, case)
        and not cell.refusals
    ]


def _alone(analysis: Analysis, cells: Sequence[Cell]) -> Row:
    """One process that exchanges nothing, as the launches with the fewest processes timed it."""
    rates = [
        training_case(cell.record).batch_per_gpu / cell.derived.values[SINGLE]
        for cell in cells
        if SINGLE in cell.derived.values
    ]
    if not rates:
        return {"n": 0, "reason": "leg single has no step times in a usable round"}
    return {"n": len(rates), **_mean(analysis, "samples_per_s", rates), "efficiency": 1.0}


def _together(analysis: Analysis, cells: Sequence[Cell]) -> Row:
    values = {
        name: [c.derived.values[quantity] for c in cells if quantity in c.derived.values]
        for name, quantity in _MEASURED
    }
    count = len(values["samples_per_s"])
    if not count:
        return {"n": 0, "reason": "no round of it counts"}
    known = [_mean(analysis, name, own) for name, own in values.items() if own]
    return {"n": count, **{key: value for row in known for key, value in row.items()}}


def _mean(analysis: Analysis, name: str, values: Sequence[float]) -> Row:
    return mean_columns((name, f"{name}_low", f"{name}_high"), values, analysis)
