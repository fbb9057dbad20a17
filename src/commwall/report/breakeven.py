"""The page on when a faster link pays: measured gains and the line that goes with them.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, NullFormatter

from commwall.analysis.breakeven import ALL, NOTHING, band
from commwall.analysis.whatif.words import per_gb_text
from commwall.analysis.wording import span_text
from commwall.model.overlap import TwoLinks
from commwall.report.html import Html, bullets, joined, paragraph, table
from commwall.report.page import Page
from commwall.report.style import INK, MUTED, new_figure, title_figure
from commwall.schema.units import significant, time_text, volume_text

NO_CONTEST = (
    "No curve: no comparison has a training case whose legs full, comm and nosync or packed were "
    "measured over both links."
)
SIDES = ["faster", "slower"]
_PANEL_IN = 4.0
_LINEAR_PERCENT = 1.0
"""Chosen: below this gain the axis is linear, so that 0 and less have a place."""
_POINTS_OF_A_LINE = 200


def verdict(page: Page) -> Html:
    """Where the faster link of each comparison gains more than 5 %, and what was measured."""
    lines = list(verdict_lines(page))
    if not lines:
        return paragraph(NO_CONTEST, "missing")
    return joined([paragraph(line, "verdict") for line in lines], "card")


def verdict_lines(page: Page) -> Iterator[str]:
    """One sentence a comparison."""
    points = page.curve.breakeven
    for _, crossings in page.curve.crossings.groupby(SIDES, sort=False):
        first = crossings.iloc[0]
        own = _of(points, first)
        yield (
            f"{first.label_faster} gains {_ends(own['gain_percent'])} % over {first.label_slower} "
            f"in {len(own)} measured case{'s' if len(own) > 1 else ''}, whose steps compute "
            f"{_per_gb_ends(own['compute_s_per_byte'])} of gradients. {_less_than(crossings, 5)}"
        )


def _less_than(crossings: pd.DataFrame, gain: float) -> str:
    """Up to which compute the faster link gains so much, by the line."""
    own = crossings[crossings["gain_percent"] == gain]
    known = own["compute_s_per_byte"].dropna()
    if known.empty:
        return f"By the line no step gains {gain:g} %."
    return (
        f"By the line it gains more than {gain:g} % where a step computes less than "
        f"{_per_gb_ends(known)}: the less, the more of the exchange is hidden."
    )


def curve_figure(page: Page) -> Figure:
    """Gain over compute for each byte: band of the line, measured cases as marks."""
    crossings = page.curve.crossings
    contests = list(crossings.groupby(SIDES, sort=False))
    if not contests:
        figure, _ = new_figure([1.0])
        figure.clear()
        return figure
    figure, panels = new_figure([_PANEL_IN] * len(contests))
    for axes, (_, own) in zip(panels, contests, strict=True):
        _panel(axes, own, _of(page.curve.breakeven, own.iloc[0]), page)
    title_figure(figure, "Gain of the faster link", emulated=bool(crossings["emulated"].any()))
    return figure


def _panel(axes: Axes, crossings: pd.DataFrame, points: pd.DataFrame, page: Page) -> None:
    first = crossings.iloc[0]
    links = TwoLinks(first.faster_s_per_byte, first.slower_s_per_byte)
    look = page.looks[first.faster]
    x = _span(points["compute_s_per_byte"], crossings["compute_s_per_byte"])
    edges = np.array([band(links, float(each)) for each in x]) * 100
    axes.fill_between(x * 1e12, edges[:, 0], edges[:, 1], color=look.color, alpha=0.15, linewidth=0)
    for overlap, style, words in ((NOTHING, "-", "nothing hidden"), (ALL, "--", "all hidden")):
        gains = 100 * np.asarray(links.gain(x, overlap))
        axes.plot(x * 1e12, gains, style, color=look.color, linewidth=1.2, label=f"line, {words}")
    _marks(axes, points, look.marker)
    for gain in crossings["gain_percent"].unique():
        axes.axhline(gain, color=MUTED, linewidth=0.6, linestyle=":")
    title = f"{first.label_faster} over {first.label_slower}"
    _dress(axes, title, float(points["gain_percent"].min()), float(edges.max()))


def _marks(axes: Axes, points: pd.DataFrame, marker: str) -> None:
    """Measured cases with their intervals, named."""
    for row in points.to_dict("records"):
        x, gain = row["compute_s_per_byte"] * 1e12, row["gain_percent"]
        if pd.notna(row["gain_low_percent"]):
            axes.plot([x, x], [row["gain_low_percent"], row["gain_high_percent"]], color=INK, lw=1)
        axes.plot(x, gain, marker, color=INK, ms=6)
        axes.annotate(
            f"{row['case']} (n = {row['n']})", (x, gain), (6, 5), textcoords="offset points",
            fontsize=8, path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )  # fmt: skip
    axes.plot([], [], marker, color=INK, ms=6, label="measured")


def _dress(axes: Axes, title: str, lowest: float, highest: float) -> None:
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=_LINEAR_PERCENT, linscale=0.3)
    axes.set_ylim(bottom=min(lowest, 0) - 0.2)
    ticks = [0, 1, 5, 20, 100, 500]
    axes.set_yticks([tick for tick in ticks if tick <= max(20, highest)])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value, 1)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("compute of a step for each GB of gradients [ms]")
    axes.set_ylabel("step time ratio less 1")
    axes.set_title(title)
    axes.legend(frameon=False, fontsize=8.5, loc="upper right")


def _span(points: pd.Series, crossings: pd.Series) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Compute times to draw: half of the least to twice the greatest of all that is known."""
    known = pd.concat([points, crossings.dropna()])
    return np.geomspace(known.min() / 2, known.max() * 2, _POINTS_OF_A_LINE)


def points(page: Page) -> Html:
    """Every measured case beside the band, with why it lies outside where it does."""
    rows = page.curve.breakeven
    if rows.empty:
        return paragraph(NO_CONTEST, "missing")
    heads = (
        "case, links", "gradients", "compute", "compute per GB", "gain, measured",
        "gain, modelled", "of what could be hidden was", "place",
    )  # fmt: skip
    lines = [_point_cells(row) for row in rows.to_dict("records")]
    outside = [_why_outside(row) for row in rows.to_dict("records") if row["standing"] != "within"]
    words = (
        "Measured cases and the band of the line. Compute is leg packed where it was measured, "
        "else nosync. What could be hidden: the exchange, or the backward pass if it is shorter; "
        "below 0 % the exchange costs a step more than it takes alone."
    )
    told = bullets(outside) if outside else paragraph("All measured cases lie in the band.")
    return joined([table(heads, lines, words), told])


def _point_cells(row: dict[str, Any]) -> tuple[str, ...]:
    gain = f"{row['gain_percent']:.1f} %"
    if pd.notna(row["gain_low_percent"]):
        gain += f" ({row['gain_low_percent']:.1f} to {row['gain_high_percent']:.1f})"
    hidden = (
        f"{row[f'label_{side}']}: {_percent(row[f'hidden_{side}_percent'])}" for side in SIDES
    )
    return (
        f"{row['case']}, {row['label_faster']} over {row['label_slower']}",
        volume_text(row["gradient_bytes"]),
        time_text(row["compute_s"]),
        per_gb_text(row["compute_s_per_byte"]),
        f"{gain}, n = {row['n']}",
        span_text(f"{row['model_low_percent']:.1f} %", f"{row['model_high_percent']:.1f} %"),
        "; ".join(hidden),
        row["standing"],
    )


def _why_outside(row: dict[str, Any]) -> str:
    """The known reason, shown by the shares hidden."""
    fast, slow = (row[f"hidden_{side}_percent"] for side in SIDES)
    name, faster, slower = row["case"], row["label_faster"], row["label_slower"]
    packing = "" if row["packed"] else "gradients are packed into buckets and back, and "
    told = f"{name} lies {row['standing']} the band"
    if row["standing"] == "below" and fast < slow:
        return (
            f"{told}: over {faster} only {_percent(fast)} of what could be hidden was, over "
            f"{slower} {_percent(slow)}, and the line gives both the same share. What a step over "
            f"{faster} waits for beyond that is not its rate: {packing}compute and exchange are in "
            "each other's way."
        )
    if row["standing"] == "above" and fast > slow:
        return (
            f"{told}: over {slower} only {_percent(slow)} of what could be hidden was, over "
            f"{faster} {_percent(fast)}: the slower exchange is in the way of compute for longer."
        )
    return f"{told}; the shares hidden do not say why."


def crossings(page: Page) -> Html:
    """Compute at which the faster link gains 1, 5 and 20 %, solved from the line."""
    rows = page.curve.crossings
    if rows.empty:
        return paragraph(NO_CONTEST, "missing")
    heads = ("links", "gain", "nothing hidden", "all hidden that fits", "the same for gradients of")
    lines = [
        _crossing_cells(own, _of(page.curve.breakeven, own.iloc[0]))
        for _, own in rows.groupby([*SIDES, "gain_percent"], sort=False)
    ]
    words = (
        "Modelled: a step that computes less for each GB of gradients (1 GB = 10^9 byte) gains "
        "more. Last column: that compute for the whole step of the case with the most gradients."
    )
    rates = [
        f"{first.label_faster}: {per_gb_text(first.faster_s_per_byte)} of exchange; "
        f"{first.label_slower}: {per_gb_text(first.slower_s_per_byte)} (measured, leg comm, median "
        "of the cases)"
        for first in (own.iloc[0] for _, own in rows.groupby(SIDES, sort=False))
    ]
    return joined([table(heads, lines, words), bullets(rates)])


def _crossing_cells(own: pd.DataFrame, points: pd.DataFrame) -> tuple[str, ...]:
    first, largest = own.iloc[0], points.loc[points["gradient_bytes"].idxmax()]
    whole = own["compute_s_per_byte"].dropna() * largest.gradient_bytes
    step = span_text(time_text(whole.min()), time_text(whole.max())) if len(whole) else "never"
    return (
        f"{first.label_faster} over {first.label_slower}",
        f"{first.gain_percent:g} %",
        *(_crossing_text(row) for row in own.sort_values("overlap").itertuples()),
        f"{largest.case}: {step}",
    )


def _crossing_text(row: Any) -> str:
    if pd.isna(row.compute_s_per_byte):
        return "never"
    place = "between" if row.measured else "beyond"
    return f"{per_gb_text(row.compute_s_per_byte)}, {place} measured cases"


def not_shown() -> Html:
    """What the line and the examples leave out."""
    return bullets(
        (
            "The line knows one rate for each link and one share hidden for both; buckets, the "
            "order in which gradients are ready and contention are not in it.",
            "Everything called modelled was not measured. Beyond the measured cases the line rests "
            "on its formula alone.",
            "A band is no confidence interval: its edges are the extremes of its assumptions.",
            "Formulas and their sources: docs/decisions/022-scale-out-model.md and the package "
            "commwall.model. `commwall whatif` prints every assumption beside its answer.",
        )
    )


def _of(points: pd.DataFrame, first: Any) -> pd.DataFrame:
    """The points of the comparison that a row is about."""
    return points[(points["faster"] == first.faster) & (points["slower"] == first.slower)]


def _ends(values: pd.Series) -> str:
    return span_text(significant(values.min()), significant(values.max()))


def _per_gb_ends(values: pd.Series) -> str:
    least, most = time_text(values.min() * 1e9), time_text(values.max() * 1e9)
    return f"{span_text(least, most)} per GB"


def _percent(value: float) -> str:
    return "not known" if pd.isna(value) else f"{value:.0f} %".replace("-", "−")
