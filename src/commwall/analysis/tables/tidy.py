"""Tidy tables: one row a value, units in the column `unit`, metric identifiers of the registry.

Layer: analysis. Writes no file; `commwall.analysis.tables.files` does. Figures and pages read these
tables, so that every number on a page stands in a file beside it.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from statistics import fmean, geometric_mean, median

import pandas as pd

from commwall.analysis.limit_words import limit_rows
from commwall.analysis.quantities import QUANTITIES, SIGNED
from commwall.analysis.replication.words import replication_rows
from commwall.analysis.result import Analysis
from commwall.analysis.steps.rows import (
    bucket_size_rows,
    predicted_case_rows,
    predicted_step_rows,
    step_model_rows,
)
from commwall.analysis.steps.words import prediction_error_rows
from commwall.analysis.tables.columns import COLUMNS
from commwall.analysis.tables.disturbance import disturbance_rows
from commwall.analysis.tables.energy_parts import energy_part_rows, energy_rows
from commwall.analysis.tables.frame import frame
from commwall.analysis.tables.kinds import ROUND
from commwall.analysis.tables.links import choice_rows, link_rows
from commwall.analysis.tables.paths import path_rows, sharing_rows
from commwall.analysis.tables.rows import (
    Row,
    pair_columns,
    percent,
    platform_columns,
    quantity_columns,
    ratio_columns,
    round_columns,
)
from commwall.analysis.tables.traffic import traffic_rows
from commwall.analysis.tables.yardsticks import yardstick_rows
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.operations import points
from commwall.analysis.verdicts.decompose import Decomposition
from commwall.analysis.verdicts.wording import sentence
from commwall.language.translate import clauses
from commwall.stats.paired import relative_spread


class Tables:
    """All tables of one campaign; `commwall.analysis.tables.columns` says what each holds.

    A table is made when it is first asked for: a page shows few of them. A campaign without records
    gives tables without rows.
    """

    measurements: pd.DataFrame
    rounds: pd.DataFrame
    sizes: pd.DataFrame
    paths: pd.DataFrame
    sharing: pd.DataFrame
    limits: pd.DataFrame
    platforms: pd.DataFrame
    pairs: pd.DataFrame
    ratios: pd.DataFrame
    factors: pd.DataFrame
    energy: pd.DataFrame
    energy_parts: pd.DataFrame
    traffic: pd.DataFrame
    disturbance: pd.DataFrame
    links: pd.DataFrame
    choices: pd.DataFrame
    yardsticks: pd.DataFrame
    predicted_steps: pd.DataFrame
    prediction_errors: pd.DataFrame
    step_models: pd.DataFrame
    predicted_cases: pd.DataFrame
    bucket_sizes: pd.DataFrame
    replication: pd.DataFrame

    def __init__(self, analysis: Analysis, **made: pd.DataFrame) -> None:
        """Some tables may be given; others are made from the analysis."""
        self.analysis = analysis
        vars(self).update(made)

    def __getattr__(self, name: str) -> pd.DataFrame:
        """A table that nobody has asked for yet."""
        if name not in ROWS:
            raise AttributeError(name)
        table = frame(ROWS[name](self.analysis), COLUMNS[name])
        setattr(self, name, table)
        return table

    def all(self) -> dict[str, pd.DataFrame]:
        """Name -> table, of all of them."""
        return {name: getattr(self, name) for name in ROWS}


def _measurement_rows(analysis: Analysis) -> Iterator[Row]:
    for cell in analysis.cells:
        place = {**platform_columns(cell.record, analysis), **round_columns(cell.record)}
        for series in cell.record.series:
            fixed = {
                **place,
                "metric": series.metric,
                "leg": series.leg,
                "unit": series.unit,
                "rank": series.rank,
                "message_bytes": series.message_bytes,
                "peer": series.peer,
                "bucket": series.bucket,
                "phase": series.phase,
            }
            for step, value in enumerate(series.values, start=1):
                yield {**fixed, "step": step, "value": value}


def _round_rows(analysis: Analysis) -> Iterator[Row]:
    for cell in analysis.cells:
        place = {**platform_columns(cell.record, analysis), **round_columns(cell.record)}
        admitted = {"admitted": not cell.refusals, "reason": clauses(cell.refusals) or None}
        for quantity in QUANTITIES:
            if quantity in cell.derived.values:
                value = cell.derived.values[quantity]
                yield {**place, **quantity_columns(quantity), "value": value, **admitted}


def _size_rows(analysis: Analysis) -> Iterator[Row]:
    for cell in analysis.cells:
        place = {**platform_columns(cell.record, analysis), **round_columns(cell.record)}
        for point in points(cell.record):
            where = {
                **place,
                "rank": point.rank,
                "message_bytes": point.message_bytes,
                "peer": point.peer,
                "bound": point.bound,
                "admitted": not cell.refusals,
            }
            for quantity, value in point.values.items():
                yield {**where, **quantity_columns(quantity), "value": value}


def _platform_rows(analysis: Analysis) -> Iterator[Row]:
    for cells in _by_platform_and_case(analysis):
        for quantity in QUANTITIES:
            values = [c.derived.values[quantity] for c in cells if quantity in c.derived.values]
            if values:
                place = platform_columns(cells[0].record, analysis)
                logs = quantity not in SIGNED and min(values) > 0
                summary = _summary(values, analysis, logs=logs)
                yield {**place, **quantity_columns(quantity), **summary}


def _by_platform_and_case(analysis: Analysis) -> Iterator[list[Cell]]:
    """Admitted cells of one platform and case together, in plan order."""
    plan = analysis.plan
    platforms = [platform.name for platform in plan.platforms] if plan else []
    cases = [(s.suite, case) for s in plan.suites for case in s.cases] if plan else []

    def key(cell: Cell) -> tuple[int, int]:
        place = cell.record.id
        return cases.index((place.suite, place.case)), platforms.index(place.platform)

    admitted = sorted((cell for cell in analysis.cells if not cell.refusals), key=key)
    return (list(cells) for _, cells in groupby(admitted, key=key))


def _summary(values: list[float], analysis: Analysis, *, logs: bool) -> Row:
    """Rounds of one platform; positive quantities on the scale of logarithms, as in verdicts."""
    around = analysis.interval(values, logs=logs)
    return {
        "n": len(values),
        "confidence": analysis.confidence,
        "mean_kind": "geometric" if logs else "arithmetic",
        "mean": geometric_mean(values) if logs else fmean(values),
        "mean_low": around.low if around else None,
        "mean_high": around.high if around else None,
        "median": median(values),
        "min": min(values),
        "max": max(values),
        "spread_percent": percent(relative_spread(values)),
    }


def _pair_rows(analysis: Analysis) -> Iterator[Row]:
    for verdict in analysis.verdicts:
        fixed = {**pair_columns(verdict, analysis), **quantity_columns(verdict.quantity)}
        ratios = verdict.ratio.ratios if verdict.ratio else [None] * verdict.n
        sides = zip(verdict.values_a, verdict.values_b, strict=True)
        places = zip(verdict.rounds, verdict.round_ids, strict=True)
        for place, (a, b), ratio in zip(places, sides, ratios, strict=True):
            where = dict(zip(ROUND, place, strict=True))
            yield {**fixed, **where, "value_a": a, "value_b": b, "ratio": ratio}


def _ratio_rows(analysis: Analysis) -> Iterator[Row]:
    for verdict in analysis.verdicts:
        effect, spreads, medians = verdict.effect, verdict.spreads, verdict.medians or (None, None)
        yield {
            **pair_columns(verdict, analysis),
            **quantity_columns(verdict.quantity),
            **(ratio_columns(verdict.ratio) if verdict.ratio else {"n": verdict.n}),
            "median_a": medians[0],
            "median_b": medians[1],
            "spread_a_percent": percent(spreads[0]),
            "spread_b_percent": percent(spreads[1]),
            "winner": verdict.winner,
            "effect_percent": percent(effect.size if effect else None),
            "effect_low_percent": percent(effect.low if effect else None),
            "effect_high_percent": percent(effect.high if effect else None),
            "noise_floor_percent": percent(verdict.noise_floor),
            "refused_rounds": verdict.refused_rounds,
            "reason": verdict.why_none,
            "verdict": sentence(verdict, analysis.names),
        }


def _factor_rows(analysis: Analysis) -> Iterator[Row]:
    for part in analysis.decompositions:
        if isinstance(part, Decomposition):
            factors = {
                "throughput gap": part.gap,
                "speed of one process alone": part.per_gpu_speed,
                "scaling": part.scaling,
            }
            place = pair_columns(part, analysis)
            yield from ({**place, "factor": f, **ratio_columns(r)} for f, r in factors.items())


ROWS: dict[str, Callable[[Analysis], Iterable[Row]]] = {
    "measurements": _measurement_rows,
    "rounds": _round_rows,
    "sizes": _size_rows,
    "paths": path_rows,
    "sharing": sharing_rows,
    "limits": limit_rows,
    "platforms": _platform_rows,
    "pairs": _pair_rows,
    "ratios": _ratio_rows,
    "factors": _factor_rows,
    "energy": energy_rows,
    "energy_parts": energy_part_rows,
    "traffic": traffic_rows,
    "disturbance": disturbance_rows,
    "links": link_rows,
    "choices": choice_rows,
    "yardsticks": yardstick_rows,
    "predicted_steps": predicted_step_rows,
    "prediction_errors": prediction_error_rows,
    "step_models": step_model_rows,
    "predicted_cases": predicted_case_rows,
    "bucket_sizes": bucket_size_rows,
    "replication": replication_rows,
}
"""Table -> what makes its rows."""
