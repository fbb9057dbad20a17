"""Tables on where the faster of two links begins to pay.

Layer: analysis. Reads and writes no file; `commwall.analysis.tables.files` writes these too.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import geometric_mean

import pandas as pd

from commwall.analysis.breakeven import ALL, GAINS, NOTHING, Contest, band, contests, standing
from commwall.analysis.platforms import any_emulated
from commwall.analysis.result import Analysis
from commwall.analysis.tables.frame import frame
from commwall.analysis.tables.kinds import COUNT, NUMBER, SIDES, TEXT, TRUTH
from commwall.analysis.tables.rows import Row, percent
from commwall.language.translate import tr_later

COLUMNS: dict[str, dict[str, str]] = {
    "breakeven": {
        **SIDES,
        "case": TEXT,
        "n": COUNT,
        "gradient_bytes": NUMBER,
        "packed": TRUTH,
        "compute_s": NUMBER,
        "compute_s_per_byte": NUMBER,
        "gain_percent": NUMBER,
        "gain_low_percent": NUMBER,
        "gain_high_percent": NUMBER,
        "model_low_percent": NUMBER,
        "model_high_percent": NUMBER,
        "hidden_faster_percent": NUMBER,
        "hidden_slower_percent": NUMBER,
        "standing": TEXT,
    },
    "crossings": {
        **SIDES,
        "faster_s_per_byte": NUMBER,
        "slower_s_per_byte": NUMBER,
        "gain_percent": NUMBER,
        "overlap": NUMBER,
        "compute_s_per_byte": NUMBER,
        "measured": TRUTH,
    },
}
"""Columns of each table with their types. `packed`: whether compute includes the packing
of gradients into buckets; `standing` is below, within or above the band; `measured` says whether
measured cells lie on both sides of a crossing."""

DESCRIPTIONS = {
    "breakeven": tr_later(
        "gain of the faster link against compute for each byte of gradients, case by case"
    ),
    "crossings": tr_later(
        "compute for each byte at which the faster link gains 1, 5 and 20 %, modelled"
    ),
}
"""What each table holds, in the order a reader wants them."""


@dataclass(frozen=True)
class BreakEven:
    """Both tables."""

    breakeven: pd.DataFrame
    crossings: pd.DataFrame


def break_even(analysis: Analysis) -> BreakEven:
    """Both tables of a campaign; without training over two links they have no rows."""
    found = tuple(contests(analysis))
    points = (row for each in found for row in _point_rows(each, analysis))
    crossings = (row for each in found for row in _crossing_rows(each, analysis))
    return BreakEven(frame(points, COLUMNS["breakeven"]), frame(crossings, COLUMNS["crossings"]))


def _side_columns(contest: Contest, analysis: Analysis) -> Row:
    return {
        "campaign": analysis.campaign,
        "faster": contest.faster,
        "slower": contest.slower,
        "label_faster": analysis.names[contest.faster],
        "label_slower": analysis.names[contest.slower],
        "emulated": any_emulated(analysis.plan, (contest.faster, contest.slower)),
    }


def _point_rows(contest: Contest, analysis: Analysis) -> Iterator[Row]:
    for point in contest.points:
        ends = band(contest.links, point.s_per_byte)
        around = point.gain.interval
        yield {
            **_side_columns(contest, analysis),
            "case": point.case,
            "n": point.gain.n,
            "gradient_bytes": point.gradient_bytes,
            "packed": point.packed,
            "compute_s": geometric_mean(point.compute_s),
            "compute_s_per_byte": point.s_per_byte,
            "gain_percent": 100 * (point.gain.centre - 1),
            "gain_low_percent": 100 * (around.low - 1) if around else None,
            "gain_high_percent": 100 * (around.high - 1) if around else None,
            "model_low_percent": 100 * ends[0],
            "model_high_percent": 100 * ends[1],
            "hidden_faster_percent": percent(point.hidden[0]),
            "hidden_slower_percent": percent(point.hidden[1]),
            "standing": standing(point, ends),
        }


def _crossing_rows(contest: Contest, analysis: Analysis) -> Iterator[Row]:
    links = contest.links
    measured = [point.s_per_byte for point in contest.points]
    for gain in GAINS:
        for overlap in (NOTHING, ALL):
            crossing = links.crossing(gain, overlap)
            inside = crossing is not None and min(measured) <= crossing <= max(measured)
            yield {
                **_side_columns(contest, analysis),
                "faster_s_per_byte": links.fast_s_per_byte,
                "slower_s_per_byte": links.slow_s_per_byte,
                "gain_percent": 100 * gain,
                "overlap": overlap,
                "compute_s_per_byte": math.nan if crossing is None else crossing,
                "measured": inside,
            }
