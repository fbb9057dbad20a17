"""Collectives and copies on a page: values of every size, a figure over size.

Layer: report. Reads and writes no file.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from commwall.analysis.quantities import BUSBW, Quantity
from commwall.analysis.tables.tidy import Tables
from commwall.language.translate import around_text, capital, quantity_text, tr
from commwall.report.figures import Looks
from commwall.report.html import Html, folded, paragraph, table
from commwall.report.page import Page
from commwall.report.style import new_figure, title_figure
from commwall.schema.case import SuiteName
from commwall.schema.units import size_text

_FOLDED_ROWS = 12
"""A longer table of sizes is folded."""
_SIZE_TICKS = tuple(8 * 64**power for power in range(6))


def sizes(page: Page, quantity: Quantity, suite: SuiteName | None = None) -> Html:
    """A quantity of every case, size and platform: median, least and greatest round.

    Args:
        page: of a campaign.
        quantity: what is shown.
        suite: whose cases; None shows those of all.
    """
    rows = page.tables.sizes
    own = rows[(rows["metric"] == quantity.metric_id) & rows["admitted"]]
    own = own[own["suite"] == suite] if suite else own
    labels = list(dict.fromkeys(own["label"]))
    keys = ["case", "message_bytes", "rank", "peer"]
    lines = [
        (place_text(*place), *(_rounds_text(line, label, quantity) for label in labels))
        for place, line in own.groupby(keys, sort=False, dropna=False)
    ]
    if not lines:
        return paragraph(no_value_text(quantity.label), "missing")
    label = capital(quantity.label)
    words = tr("{quantity}: median of the rounds (least to greatest).", quantity=label)
    shown = table((tr("case, size"), *labels), lines, words)
    if len(lines) <= _FOLDED_ROWS:
        return shown
    return folded(tr("{quantity} of every size", quantity=label), shown)


def size_figure(tables: Tables, looks: Looks, quantity: Quantity = BUSBW) -> Figure:
    """A quantity over message size on logarithmic axes: line = median, marks = rounds.

    The label of each panel is its case.
    """
    rows = tables.sizes
    own = rows[(rows["metric"] == quantity.metric_id) & rows["admitted"]]
    if own.empty:
        return Figure(label=no_value_text(quantity.label))
    cases = list(own.groupby("case", sort=False))
    figure, panels = new_figure(2.6 for _ in cases)
    for axes, (case, of_case) in zip(panels, cases, strict=True):
        for platform, line in of_case.groupby("platform", sort=False):
            _draw_line(axes, line, looks, str(platform))
        axes.set_label(str(case))
        axes.set_title(tr("case {case}", case=case))
        axes.legend(frameon=False, fontsize=9)
        _size_axes(axes, quantity)
    label = capital(quantity.label)
    words = tr("{quantity} over message size", quantity=label)
    title_figure(figure, words, emulated=bool(own["emulated"].any()))
    return figure


def place_text(case: str, message_bytes: int, rank: int | None, peer: int | None) -> str:
    """Case, size and device of a value, with the device that it copies to."""
    told = {"case": case, "size": size_text(message_bytes)}
    if not pd.isna(peer):
        return tr("{case}, {size}, device {rank} to {peer}", **told, rank=rank, peer=peer)
    if not pd.isna(rank):
        return tr("{case}, {size}, device {rank}", **told, rank=rank)
    return tr("{case}, {size}", **told)


def no_value_text(label: str) -> str:
    """What stands where a quantity has no value."""
    return tr("{quantity}: no value, see the gaps", quantity=label)


def _draw_line(axes: Axes, line: pd.DataFrame, looks: Looks, platform: str) -> None:
    """Hollow marks where the emulated link did not set the time."""
    look, typical = looks[platform], line.groupby("message_bytes")["value"].median()
    rounds = line["round"].nunique()
    label = tr("{platform}, n = {n}", platform=line["label"].iloc[0], n=rounds)
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
    axes.set_xlabel(tr("size of the full buffer, logarithmic"))
    axes.set_ylabel(tr("{quantity}, log.", quantity=quantity.label))
    axes.grid(color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)


def _rounds_text(line: pd.DataFrame, label: str, quantity: Quantity) -> str:
    own = line[line["label"] == label]
    if own.empty:
        return tr("absent")
    values, unit = own["value"], quantity.metric.unit
    shown = [quantity_text(value, unit) for value in (values.median(), values.min(), values.max())]
    told = around_text(*shown) if len(own) > 1 else shown[0]
    return told if own["bound"].all() else tr("{value}; not the link's", value=told)
