"""Collectives and copies on a page: values of every size, a figure over size.

Layer: report. Reads and writes no file.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from commwall.analysis.names import BUSBW, Quantity
from commwall.analysis.tables import Tables
from commwall.report.figures import Looks
from commwall.report.html import Html, folded, paragraph, table
from commwall.report.page import Page
from commwall.report.style import new_figure, title_figure
from commwall.schema.units import around_text, quantity_text, size_text

_FOLDED_ROWS = 12
"""A longer table of sizes is folded."""
_SIZE_TICKS = tuple(8 * 64**power for power in range(6))


def sizes(page: Page, quantity: Quantity) -> Html:
    """A quantity of every case, size and platform: median, least and greatest round."""
    rows = page.tables.sizes
    own = rows[(rows["metric"] == quantity.metric_id) & rows["admitted"]]
    labels = list(dict.fromkeys(own["label"]))
    keys = ["case", "message_bytes", "rank", "peer"]
    lines = [
        (_place(*place), *(_rounds_text(line, label, quantity) for label in labels))
        for place, line in own.groupby(keys, sort=False, dropna=False)
    ]
    if not lines:
        return paragraph(f"{quantity.label}: no value, see the gaps", "missing")
    label = f"{quantity.label[:1].upper()}{quantity.label[1:]}"
    words = f"{label}: median of the rounds (least to greatest)."
    shown = table(("case, size", *labels), lines, words)
    return folded(f"{label} of every size", shown) if len(lines) > _FOLDED_ROWS else shown


def size_figure(tables: Tables, looks: Looks, quantity: Quantity = BUSBW) -> Figure:
    """A quantity over message size on logarithmic axes: line = median, marks = rounds."""
    rows = tables.sizes
    own = rows[(rows["metric"] == quantity.metric_id) & rows["admitted"]]
    if own.empty:
        return Figure(label=f"{quantity.label}: no value, see the gaps")
    cases = list(own.groupby("case", sort=False))
    figure, panels = new_figure(2.6 for _ in cases)
    for axes, (case, of_case) in zip(panels, cases, strict=True):
        for platform, line in of_case.groupby("platform", sort=False):
            _draw_line(axes, line, looks, str(platform))
        axes.set_title(f"case {case}")
        _size_axes(axes, quantity)
    panels[0].legend(frameon=False, fontsize=9)
    words = f"{quantity.label[:1].upper()}{quantity.label[1:]} over message size"
    title_figure(figure, words, emulated=bool(own["emulated"].any()))
    return figure


def _draw_line(axes: Axes, line: pd.DataFrame, looks: Looks, platform: str) -> None:
    """Hollow marks where the emulated link did not set the time."""
    look, typical = looks[platform], line.groupby("message_bytes")["value"].median()
    label = f"{line['label'].iloc[0]}, n = {line['round'].nunique()}"
    axes.plot(typical.index, typical, color=look.color, linewidth=1.4, label=label)
    for bound, fill in ((True, look.color), (False, "white")):
        own = line[line["bound"] == bound]
        axes.plot(
            own["message_bytes"], own["value"], look.marker, mfc=fill, mec=look.color,
            ms=4.5, mew=1, linestyle="none", alpha=0.9,
        )  # fmt: skip


def _size_axes(axes: Axes, quantity: Quantity) -> None:
    unit = quantity.metric.unit
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    low, high = axes.get_xlim()
    axes.set_xticks([tick for tick in _SIZE_TICKS if low <= tick <= high])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(value)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: quantity_text(value, unit)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("size of the full buffer, logarithmic")
    axes.set_ylabel(f"{quantity.label}, log.")
    axes.grid(color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)


def _place(case: str, message_bytes: int, rank: int | None, peer: int | None) -> str:
    device = "" if pd.isna(rank) else f", device {rank}"
    pair = "" if pd.isna(peer) else f" to {peer}"
    return f"{case}, {size_text(message_bytes)}{device}{pair}"


def _rounds_text(line: pd.DataFrame, label: str, quantity: Quantity) -> str:
    own = line[line["label"] == label]
    if own.empty:
        return "absent"
    values, unit = own["value"], quantity.metric.unit
    shown = [quantity_text(value, unit) for value in (values.median(), values.min(), values.max())]
    doubt = "" if own["bound"].all() else "; not the link's"
    return f"{around_text(*shown) if len(own) > 1 else shown[0]}{doubt}"
