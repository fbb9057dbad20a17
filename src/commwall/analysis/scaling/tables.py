"""Tidy tables about growing numbers of processes.

Layer: analysis. Reads and writes no file; `commwall.analysis.tables.files` writes them too.
"""

from dataclasses import dataclass

import pandas as pd

from commwall.analysis.result import Analysis
from commwall.analysis.scaling.curve import curve_rows
from commwall.analysis.scaling.fewer import fewer_rows
from commwall.analysis.scaling.links import named_ladders
from commwall.analysis.steps.columns import PREDICTION
from commwall.analysis.tables.frame import frame
from commwall.analysis.tables.kinds import COUNT, NUMBER, TEXT, TRUTH
from commwall.language.translate import tr_later

COLUMNS: dict[str, dict[str, str]] = {
    "scaling": {
        "campaign": TEXT,
        "link": TEXT,
        "emulated": TRUTH,
        "case": TEXT,
        "platform": TEXT,
        "ranks": COUNT,
        "n": COUNT,
        "confidence": NUMBER,
        "samples_per_s": NUMBER,
        "samples_per_s_low": NUMBER,
        "samples_per_s_high": NUMBER,
        "efficiency": NUMBER,
        "efficiency_low": NUMBER,
        "efficiency_high": NUMBER,
        "busbw_bytes_per_s": NUMBER,
        "busbw_bytes_per_s_low": NUMBER,
        "busbw_bytes_per_s_high": NUMBER,
        "reason": TEXT,
    },
    "scaled_steps": {
        "campaign": TEXT,
        "link": TEXT,
        "case": TEXT,
        "source": TEXT,
        "target": TEXT,
        "source_ranks": COUNT,
        "target_ranks": COUNT,
        "confidence": NUMBER,
        **PREDICTION,
    },
}
"""Columns of each table with their types. `ranks` 1 is leg `single` of the platform named, which
exchanges nothing; `efficiency` is throughput over that of as many single processes; `busbw` is
that of leg `comm`. Means are geometric. Columns of predictions are those of `predicted_steps`."""
DESCRIPTIONS = {
    "scaling": tr_later(
        "throughput of each link with growing numbers of processes, and of one alone"
    ),
    "scaled_steps": tr_later(
        "each step predicted from fewer processes of its link, beside the measured"
    ),
}
"""What each table holds, in the order a reader wants them."""


@dataclass(frozen=True)
class Scaling:
    """Both tables."""

    scaling: pd.DataFrame
    scaled_steps: pd.DataFrame


def scaling_tables(analysis: Analysis) -> Scaling:
    """Both tables; without a link of several sizes they have no rows."""
    plan = analysis.plan
    found = named_ladders(plan) if plan else {}
    return Scaling(
        frame(curve_rows(analysis, found), COLUMNS["scaling"]),
        frame(fewer_rows(analysis, found), COLUMNS["scaled_steps"]),
    )
