"""How figures look: one look per platform everywhere, fit for colour-blind readers and print.

Layer: report. Reads and writes no file.
"""

import base64
import io
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from commwall.language.translate import quantity_text, spoken, tr
from commwall.report.html import Html, escaped, paragraph
from commwall.report.wrapping import columns_of, wrapped
from commwall.schema.metric import Metric

WIDTH_IN = 6.4
NARROW_IN = 4.0
"""Of a figure that a telephone shows whole, with letters that can be read there."""
WRAP_COLUMNS = 22
"""Longest line of a row's label."""
TITLE_COLUMNS = 62
NARROW_COLUMNS = 36
"""Longest line of a narrow figure's title."""
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Palette told apart with every common kind of colour blindness.

Source: Okabe and Ito, Color Universal Design, 2008.
"""
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK = "#222222"
MUTED = "#767676"
_SCALED_UNITS = frozenset({"s", "byte/s", "byte"})
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that a label may hold and no SVG."""
_LOOK = {
    "font.size": 10.5,
    "axes.titlesize": 11.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "hatch.linewidth": 0.6,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "svg.hashsalt": "commwall",
    "text.parse_math": False,  # a label that holds dollars is no formula
    "figure.facecolor": "white",
    "figure.titleweight": "bold",
}


@dataclass(frozen=True)
class Look:
    """Colour, hatch and marker of one platform."""

    color: str
    hatch: str
    marker: str


def looks_of(platforms: Iterable[str]) -> dict[str, Look]:
    """One look per platform, by the platforms' order in the plan; more than 7 repeat."""
    return {
        name: Look(COLORS[i % 7], HATCHES[i % 7], MARKERS[i % 7])
        for i, name in enumerate(platforms)
    }


def chinese_typeface() -> Path:
    """The file of a typeface with Chinese characters."""
    return Path(str(distribution("zhplot").locate_file("zhplot/fonts/NotoSansSC-Regular.ttf")))


def _typeface() -> dict[str, str]:
    """The typeface of figures: one with Chinese characters for Chinese, else matplotlib's own."""
    if spoken() != "zh":
        return {}
    font_manager.fontManager.addfont(str(chinese_typeface()))
    return {"font.family": "Noto Sans SC", "figure.titleweight": "normal"}  # it comes in one weight


def new_figure(
    heights_in: Iterable[float], width_in: float = WIDTH_IN
) -> tuple[Figure, list[Axes]]:
    """A figure of stacked panels with the given heights [inch], in the house look."""
    mpl.rcdefaults()
    mpl.rcParams.update(_LOOK | _typeface())
    heights = list(heights_in)
    figure = Figure(figsize=(width_in, sum(heights)), layout="constrained")
    grid = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)
    return figure, list(grid[:, 0])


def figure_svg(figure: Figure) -> bytes:
    """A figure as SVG, the same bytes whenever it is drawn."""
    stream = io.BytesIO()
    with mpl.rc_context(_LOOK | _typeface()), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of glyphs and labels that do not fit
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return _NO_XML.sub("\ufffd", stream.getvalue().decode()).encode()


def picture(
    figure: Figure, caption: str, spoken_instead: str = "", narrow: Figure | None = None
) -> Html:
    """A figure with its caption, embedded so that the page stands alone.

    Args:
        figure: what to show.
        caption: the words below it.
        spoken_instead: for readers who do not see it; the caption if empty.
        narrow: the same for a telephone; without it the figure scrolls there.

    A figure without panels has nothing to show but its label, which says what is missing; one
    without label follows what has said so already.
    """
    if not figure.axes:
        words = str(figure.get_label())
        if not words:
            return Html("")
        return paragraph(words[:1].upper() + words[1:], "missing")
    words = escaped(tr(caption))  # notebooks write theirs in English
    seen = escaped(spoken_instead) or words
    shown = f'<img alt="{seen}" src="{_address(figure)}">'
    if narrow:
        source = f'<source media="(max-width: 40rem)" srcset="{_address(narrow)}">'
        shown = f"<picture>{source}{shown}</picture>"
    return Html(f"<figure>{shown}<figcaption>{words}</figcaption></figure>")


def _address(figure: Figure) -> str:
    """A figure as an address that holds it."""
    return f"data:image/svg+xml;base64,{base64.b64encode(figure_svg(figure)).decode()}"


def title_figure(figure: Figure, text: str, *, emulated: bool) -> None:
    """Give a figure its title, which calls emulated links emulated."""
    words = tr("{title} (emulated links)", title=text) if emulated else text
    columns = TITLE_COLUMNS if figure.get_figwidth() == WIDTH_IN else NARROW_COLUMNS
    shown = "\n".join(wrapped(words, columns))
    figure.suptitle(shown, x=0.01, ha="left", fontsize=12.5, color=INK)


def platform_legend(figure: Figure, rows: pd.DataFrame, looks: Mapping[str, Look]) -> None:
    """Colour and hatch of every platform in a table, once for the whole figure."""
    names = rows.drop_duplicates("platform")[["platform", "label"]].itertuples(index=False)
    handles = [
        (Patch(facecolor=look.color, hatch=look.hatch, edgecolor="white"), label)
        for platform, label in names
        for look in [looks[platform]]
    ]
    columns = 1 if max(columns_of(label) for _, label in handles) > WRAP_COLUMNS else 3
    figure.legend(
        [patch for patch, _ in handles], [label for _, label in handles],
        loc="outside lower left", ncols=columns, frameon=False, fontsize=9,
    )  # fmt: skip


def value_axis(axes: Axes, metric: Metric, *, label: str | None = None) -> None:
    """Name the horizontal axis and its unit: at each tick for scaled units, else in the label."""
    scaled = metric.unit in _SCALED_UNITS
    words = label or tr(metric.label)
    axes.set_xlabel(words if scaled else f"{words} [{tr(metric.unit)}]")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)
    if scaled:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value, metric.unit)))


def mark_clipped(axes: Axes, placed: Iterable[tuple[float, Any]]) -> None:
    """An arrow where an interval leaves the axis, whose end would look like its own.

    Args:
        axes: a panel whose limits are final.
        placed: row and bar of each interval, from `mean_low` to `mean_high`; NaN where none is.
    """
    low, high = axes.get_xlim()
    ends = [(row, bar.mean_low, bar.mean_high) for row, bar in placed]
    left = [row for row, least, _ in ends if least < low]
    right = [row for row, _, most in ends if most > high]
    for place, rows, arrow in ((low, left, "<"), (high, right, ">")):
        for row in rows:
            axes.plot(place, row, arrow, color=INK, ms=8, clip_on=False, zorder=4)
    if left or right:
        label = axes.get_xlabel()
        words = tr("{axis} (arrow: the interval goes on)", axis=label)
        if columns_of(words) > TITLE_COLUMNS:  # or the end would be cut off
            words = tr("{axis} (arrow: the interval goes on)", axis=f"{label}\n")
        axes.set_xlabel(words)


def row_labels(axes: Axes, labels: list[str], rows: Iterable[float] | None = None) -> None:
    """Label the rows of a panel from the top, long names wrapped."""
    places = list(rows) if rows is not None else list(range(len(labels)))
    axes.set_yticks(places, ["\n".join(wrapped(text, WRAP_COLUMNS)) for text in labels])
    axes.tick_params(axis="y", length=0)
    if not axes.yaxis_inverted():
        axes.invert_yaxis()


def panel_height(rows: int, labels: Mapping[str, str] | Iterable[str] = ()) -> float:
    """Height of a panel with that many rows [inch], more where labels wrap."""
    texts = labels.values() if isinstance(labels, Mapping) else labels
    lines = max((len(wrapped(text, WRAP_COLUMNS)) for text in texts), default=1)
    return 0.95 + rows * max(0.36, 0.2 * lines + 0.12)


def _tick(value: float, unit: str) -> str:
    return "0" if value == 0 else quantity_text(value, unit)
