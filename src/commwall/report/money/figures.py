"""Figures of the money page: what the faster link brings, and what moves that.

Layer: report. Reads and writes no file. Both have zero on their axis: right of it the faster link
is worth it.
"""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from commwall.analysis.money.tables import SHARE
from commwall.economics.wording import percent_text, rounded
from commwall.language.translate import tr, tr_later
from commwall.report.figures import nothing
from commwall.report.style import (
    COLORS,
    INK,
    MUTED,
    new_figure,
    panel_height,
    row_labels,
    title_figure,
)

LEFT, RIGHT = COLORS[5], COLORS[0]
"""Of values below and above zero."""
TITLES = {
    "bought": tr_later("Bought: net present value over the time of use"),
    "rented": tr_later("Rented: share of the cost that is saved"),
}
MOST_BARS = 8
"""What moves an answer less than this many others is left to the table."""
DECIDED = {"take": RIGHT, "leave": LEFT}


def results_figure(results: pd.DataFrame, confidence: float) -> Figure:
    """Median and interval of every answer, a panel each way of paying."""
    if results.empty:
        return nothing(tr("No figure: no answer has a result"))
    several = results["sides"].nunique() > 1
    ways = list(results.groupby("way", sort=False))
    labels = {way: _labels(own, several=several) for way, own in ways}
    figure, panels = new_figure(0.25 + panel_height(len(own), labels[way]) for way, own in ways)
    for axes, (way, own) in zip(panels, ways, strict=True):
        for row, line in enumerate(own.itertuples()):
            color = DECIDED.get(line.decision, MUTED)
            face = color if line.firm and line.decision in DECIDED else "white"
            axes.plot([line.low, line.high], [row, row], color=color, linewidth=2.4)
            axes.plot(line.median, row, "o", color=color, mfc=face, mew=1.6, ms=7)
            _note(axes, row, f"{100 * line.favour:.0f} %")
        row_labels(axes, labels[way])
        axes.set_ylim(len(own) - 0.4, -0.6)
        axes.set_title(tr(TITLES[str(way)]))
        _value_axis(axes, own["unit"].iloc[0])
    level = f"{100 * confidence:g}"
    words = tr("What the faster link brings: {level} % of the draws", level=level)
    title_figure(figure, words, emulated=False)
    return figure


def swings_figure(swings: pd.DataFrame, title: str) -> Figure:
    """A bar for each range that moves the answer, from one end's answer to the other's."""
    if swings.empty:
        words = tr("No figure: nothing that enters has a range, so nothing moves the answer")
        return nothing(words)
    shown = swings.head(MOST_BARS)
    labels = list(shown["label"])
    figure, (axes,) = new_figure([panel_height(len(shown), labels)])
    for row, line in enumerate(shown.itertuples()):
        low, high = sorted((line.at_low, line.at_high))
        for start, end, color in ((low, min(high, 0.0), LEFT), (max(low, 0.0), high, RIGHT)):
            if end > start:
                axes.barh(row, end - start, 0.55, left=start, color=color, alpha=0.85)
    axes.axvline(shown["middle"].iloc[0], color=INK, linewidth=1.1, linestyle=(0, (4, 2)))
    row_labels(axes, labels)
    _value_axis(axes, shown["unit"].iloc[0])
    title_figure(figure, title, emulated=False)
    return figure


def _labels(own: pd.DataFrame, *, several: bool) -> list[str]:
    return [_label(row, several=several) for row in own.itertuples()]


def _label(row: Any, *, several: bool) -> str:
    told = {"workload": row.subject, "evidence": row.evidence}
    if several:
        return tr("{workload}: {sides}, {evidence}", **told, sides=row.sides)
    return tr("{workload}, {evidence}", **told)


def _value_axis(axes: Axes, unit: str) -> None:
    """Zero in sight; money with thousands separated, shares in percent."""
    axes.margins(x=0.04)
    axes.use_sticky_edges = False  # a bar's end would else be the frame's
    axes.autoscale_view()
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.0), max(high, 0.0))
    axes.axvline(0, color=INK, linewidth=0.9)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    share = unit == SHARE
    words = percent_text if share else rounded
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: words(value)))
    money = tr("money today [{unit}]", unit=unit)
    axes.set_xlabel(tr("of the cost of the same work") if share else money)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)


def _note(axes: Axes, row: int, text: str) -> None:
    axes.annotate(
        text, (1, row), xycoords=("axes fraction", "data"), xytext=(4, 0),
        textcoords="offset points", va="center", fontsize=9, color=INK, annotation_clip=False,
    )  # fmt: skip
