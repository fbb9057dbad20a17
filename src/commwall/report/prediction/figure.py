"""Predicted steps against measured ones, drawn.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from commwall.analysis.steps.words import MISS_PERCENT
from commwall.language.translate import tr
from commwall.report.figures import Looks, nothing
from commwall.report.page import Page
from commwall.report.style import INK, MUTED, new_figure, row_labels, title_figure
from commwall.schema.units import time_text

_BAND_PERCENT = (MISS_PERCENT, 2 * MISS_PERCENT)
_ROW_IN = 0.17
_SUBS = (1, 1.5, 2, 3, 5, 7)
"""Ticks within a power of ten."""
_SIDEWAYS_SUBS = (1, 2, 3, 5)
"""The same where their words stand side by side."""


def prediction_figure(page: Page) -> Figure:
    """Predicted against measured steps, and the error of each with its interval."""
    rows = page.tables.predicted_steps
    own = rows[rows["measured_s"].notna() & ~rows["control"]]
    if own.empty:
        return nothing("")  # the verdict says so
    heights = (3.4, 1.0 + _ROW_IN * (len(own) + own["case"].nunique()))
    drawn, (against, errors) = new_figure(heights)
    _draw_against(against, own, page.looks)
    _draw_errors(errors, own, page.looks)
    handles = [*_handles(own, page.looks)]
    drawn.legend(handles=handles, loc="outside lower left", ncols=2, frameon=False, fontsize=9)
    title_figure(drawn, tr("Steps predicted on a link that was not trained on"), emulated=False)
    return drawn


def _draw_against(axes: Axes, rows: pd.DataFrame, looks: Looks) -> None:
    for row in rows.itertuples():
        target, source = looks[row.target], looks[row.source]
        axes.plot(
            row.measured_s, row.predicted_s, source.marker, color=target.color, ms=6, alpha=0.85
        )
    ends = [0.8 * rows["measured_s"].min(), 1.25 * rows["measured_s"].max()]
    axes.plot(ends, ends, color=INK, linewidth=0.8, zorder=1)
    axes.set_xlabel(tr("measured step, logarithmic"))
    axes.set_ylabel(tr("predicted step, logarithmic"))
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis, subs in ((axes.xaxis, _SIDEWAYS_SUBS), (axes.yaxis, _SUBS)):
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(FuncFormatter(lambda value, _: time_text(value)))
        axis.set_minor_locator(NullLocator())
    axes.grid(color="#DDDDDD", linewidth=0.7)


def _draw_errors(axes: Axes, rows: pd.DataFrame, looks: Looks) -> None:
    """A row a prediction, those of one case together: error, and its interval about it."""
    places, labels, row = [], [], 0.0
    for case, own in rows.groupby("case", sort=False):
        places.append(row + (len(own) - 1) / 2)
        labels.append(str(case))
        for line in own.itertuples():
            look = looks[line.target]
            ends = [
                100 * (end / line.measured_s - 1)
                for end in (line.predicted_low_s, line.predicted_high_s)
            ]
            axes.plot(ends, [row, row], color=look.color, linewidth=1.2)
            marker = looks[line.source].marker
            axes.plot(line.error_percent, row, marker, color=look.color, ms=5, alpha=0.9)
            row += 1
        row += 1
    axes.axvline(0, color=INK, linewidth=0.8)
    for band in _BAND_PERCENT:
        for side in (-band, band):
            axes.axvline(side, color=MUTED, linewidth=0.7, linestyle=":")
    row_labels(axes, labels, places)
    axes.set_xlabel(
        tr(
            "predicted / measured − 1 [%]; dotted: {inner} and {outer} %",
            inner=f"{_BAND_PERCENT[0]:g}",
            outer=f"{_BAND_PERCENT[1]:g}",
        )
    )


def _handles(rows: pd.DataFrame, looks: Looks) -> Iterator[Line2D]:
    """Colour tells where a step was predicted, shape from where."""
    for platform, label in dict(zip(rows["target"], rows["label_target"], strict=True)).items():
        words = tr("on {platform}", platform=label)
        yield Line2D([], [], color=looks[platform].color, linewidth=4, label=words)
    for platform, label in dict(zip(rows["source"], rows["label_source"], strict=True)).items():
        words = tr("from {platform}", platform=label)
        yield Line2D([], [], color=MUTED, marker=looks[platform].marker, ls="", label=words)
