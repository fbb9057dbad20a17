"""Throughput over the number of processes of each link, drawn.

Layer: report. Reads and writes no file.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from commwall.analysis.scaling.tables import Scaling
from commwall.language.translate import tr
from commwall.report.figures import emulated_in, nothing
from commwall.report.page import Page
from commwall.report.style import MUTED, Look, new_figure, title_figure
from commwall.schema.metrics import METRICS

_PANEL_IN = 2.6


def scaling_figure(page: Page, scaling: Scaling) -> Figure:
    """A panel a case: each link's throughput with its intervals, and as many times one alone."""
    rows = scaling.scaling[scaling.scaling["n"] > 0]
    if (rows["ranks"] > 1).sum() == 0:
        return nothing(tr("Scaling: no link has a usable round with several numbers of processes"))
    looks = _looks(page, rows)
    cases = list(rows.groupby("case", sort=False))
    figure, panels = new_figure(_PANEL_IN for _ in cases)
    for axes, (case, own) in zip(panels, cases, strict=True):
        _draw_case(axes, own, looks)
        axes.set_title(tr("case {case}", case=str(case)))
    figure.legend(
        handles=[
            *(
                Line2D([], [], color=look.color, marker=look.marker, label=tr(link))
                for link, look in looks.items()
            ),
            Line2D([], [], color=MUTED, linestyle=":", label=tr("as many times one alone")),
        ],
        loc="outside lower left",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    title_figure(figure, tr("Throughput over the number of processes"), emulated=emulated_in(rows))
    return figure


def _looks(page: Page, rows: pd.DataFrame) -> dict[str, Look]:
    """Link -> look of its platform with the most processes."""
    last = rows.sort_values("ranks", kind="stable").drop_duplicates("link", keep="last")
    order = {
        link: page.looks[platform]
        for link, platform in zip(last["link"], last["platform"], strict=True)
    }
    return {link: order[link] for link in dict.fromkeys(rows["link"])}


def _draw_case(axes: Axes, rows: pd.DataFrame, looks: dict[str, Look]) -> None:
    metric = METRICS["throughput_samples_per_s"]
    for link, own in rows.groupby("link", sort=False):
        look = looks[str(link)]
        axes.plot(own["ranks"], own["samples_per_s"], color=look.color, marker=look.marker, ms=6)
        for row in own.dropna(subset=["samples_per_s_low"]).itertuples():
            ends = [row.samples_per_s_low, row.samples_per_s_high]
            axes.plot([row.ranks] * 2, ends, "_-", color=look.color, ms=10, linewidth=1.6)
    alone = rows[rows["ranks"] == 1]["samples_per_s"].max()
    most = int(rows["ranks"].max())
    if alone == alone:  # not NaN
        axes.plot([1, most], [alone, most * alone], ":", color=MUTED, zorder=1)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.set_xticks(sorted(set(rows["ranks"].astype(int))))
    axes.set_xlabel(tr("processes, one a device"))
    axes.set_ylabel(f"{tr(metric.label)} [{tr(metric.unit)}]")
    axes.grid(color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)
