"""The page on when a faster link pays: measured gains and the line that goes with them.

Layer: report. Reads and writes no file.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, NullFormatter

from commwall.analysis.breakeven import ALL, NOTHING, band
from commwall.analysis.verdicts.overall import TRAINING, comparisons, topic_verdicts
from commwall.analysis.whatif.words import per_gb_span, per_gb_text
from commwall.language.translate import around_text, clauses, span_text, tr, tr_later, trn
from commwall.model.overlap import TwoLinks
from commwall.report.breakeven.placed import Placed, draw_models
from commwall.report.breakeven.reasons import SIDES, percent_text, standing_text, why_outside
from commwall.report.controls import floor_text
from commwall.report.html import Html, bullets, joined, paragraph, table
from commwall.report.overview import Answer, answer_of, card
from commwall.report.page import Page
from commwall.report.style import INK, MUTED, new_figure, title_figure
from commwall.schema.units import significant, time_text, volume_text

NO_CONTEST = tr_later(
    "No curve: no comparison has a training case whose legs full, comm and nosync or packed were "
    "measured over both links."
)
NEVER = tr_later("never")
ALL_WITHIN = tr_later("All measured cases lie in the band.")
_PANEL_IN = 4.0
_LINEAR_PERCENT = 1.0
"""Chosen: below this gain the axis is linear, so that 0 and less have a place."""
_POINTS_OF_A_LINE = 200
_CROWDED = 1.4
"""Chosen: where two gains are closer than this factor their names would touch, and the lower one's
goes below its mark."""
_ABOVE, _BELOW = (6, 5), (6, -12)
"""Places of names beside their marks [points]."""


def verdict(page: Page) -> Html:
    """What the rounds decide of each comparison, and where its faster link gains more than 5 %."""
    contests = page.curve.crossings.groupby(SIDES, sort=False)
    if not len(contests):
        return paragraph(tr(NO_CONTEST), "missing")
    return joined(card(_answer(page, crossings)) for _, crossings in contests)


def _answer(page: Page, crossings: pd.DataFrame) -> Answer:
    """The campaign's own verdict on a comparison, then what the line says."""
    first, sides = crossings.iloc[0], set(crossings[SIDES].iloc[0])
    asked = next(c for c in comparisons(page.analysis) if {c.a, c.b} == sides)
    own = _of(page.curve.breakeven, first)
    measured = trn(
        "{n} case has the legs that the curve needs; its steps compute {compute} of gradients.",
        "{n} cases have the legs that the curve needs; their steps compute {compute} of gradients.",
        len(own),
        compute=_per_gb_ends(own["compute_s_per_byte"]),
    )
    floor = floor_text(topic_verdicts(page.analysis, asked, TRAINING))
    answer = answer_of(page.analysis, asked, [TRAINING])
    return replace(answer, details=(floor, measured, _in_band(own), _less_than(crossings, 5)))


def _in_band(points: pd.DataFrame) -> str:
    """How many measured cases the line describes, and how many it does not."""
    counts = points["standing"].value_counts()
    below, above = (int(counts.get(standing, 0)) for standing in ("below", "above"))
    if not below and not above:
        return tr(ALL_WITHIN)
    return tr(
        "Of {n} measured cases {below} gain less than the band of the line, {above} more.",
        n=len(points),
        below=below,
        above=above,
    )


def _less_than(crossings: pd.DataFrame, gain: float) -> str:
    """Up to which compute the faster link gains so much, by the line."""
    own = crossings[crossings["gain_percent"] == gain]
    known = own["compute_s_per_byte"].dropna()
    if known.empty:
        return tr("By the line no step gains {gain} %.", gain=f"{gain:g}")
    return tr(
        "By the line {faster} gains more than {gain} % where a step computes less than {compute}: "
        "the less, the more of the exchange is hidden.",
        faster=own.iloc[0].label_faster,
        gain=f"{gain:g}",
        compute=_per_gb_ends(known),
    )


def curve_figure(page: Page, models: Sequence[Placed] = ()) -> Figure:
    """Gain over compute for each byte: band of the line, measured cases as marks.

    Args:
        page: of the campaign.
        models: to be placed on the curves, hollow where measured cases are full.
    """
    crossings = page.curve.crossings
    contests = list(crossings.groupby(SIDES, sort=False))
    if not contests:
        figure, _ = new_figure([1.0])
        figure.clear()
        return figure
    figure, panels = new_figure([_PANEL_IN] * len(contests))
    for axes, (_, own) in zip(panels, contests, strict=True):
        _panel(axes, own, _of(page.curve.breakeven, own.iloc[0]), page, models)
    title_figure(figure, tr("Gain of the faster link"), emulated=bool(crossings["emulated"].any()))
    return figure


def _panel(
    axes: Axes,
    crossings: pd.DataFrame,
    points: pd.DataFrame,
    page: Page,
    models: Sequence[Placed],
) -> None:
    first = crossings.iloc[0]
    links = TwoLinks(first.faster_s_per_byte, first.slower_s_per_byte)
    look = page.looks[first.faster]
    sides = (first.faster, first.slower)
    own = [m for m in models if (m.reading.contest.faster, m.reading.contest.slower) == sides]
    x = _span(points["compute_s_per_byte"], crossings["compute_s_per_byte"], own)
    edges = np.array([band(links, float(each)) for each in x]) * 100
    axes.fill_between(x * 1e12, edges[:, 0], edges[:, 1], color=look.color, alpha=0.15, linewidth=0)
    edge_lines = ((NOTHING, "-", tr("line, nothing hidden")), (ALL, "--", tr("line, all hidden")))
    for overlap, style, words in edge_lines:
        gains = 100 * np.asarray(links.gain(x, overlap))
        axes.plot(x * 1e12, gains, style, color=look.color, linewidth=1.2, label=words)
    _marks(axes, points, look.marker)
    draw_models(axes, own)
    for gain in crossings["gain_percent"].unique():
        axes.axhline(gain, color=MUTED, linewidth=0.6, linestyle=":")
    _dress(axes, _sides_text(first), float(points["gain_percent"].min()), float(edges.max()))


def _marks(axes: Axes, points: pd.DataFrame, marker: str) -> None:
    """Measured cases with their intervals, named."""
    above = math.inf
    for row in points.sort_values("gain_percent", ascending=False).to_dict("records"):
        x, gain = row["compute_s_per_byte"] * 1e12, row["gain_percent"]
        crowded = above < _CROWDED * gain
        above = math.inf if crowded else gain
        if pd.notna(row["gain_low_percent"]):
            axes.plot([x, x], [row["gain_low_percent"], row["gain_high_percent"]], color=INK, lw=1)
        axes.plot(x, gain, marker, color=INK, ms=6)
        axes.annotate(
            tr("{case} (n = {n})", case=row["case"], n=row["n"]),
            (x, gain),
            _BELOW if crowded else _ABOVE,
            textcoords="offset points",
            fontsize=8,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )
    axes.plot([], [], marker, color=INK, ms=6, label=tr("measured"))


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
    axes.set_xlabel(tr("compute of a step for each GB of gradients [ms]"))
    axes.set_ylabel(tr("step time ratio less 1"))
    axes.set_title(title)
    axes.legend(frameon=False, fontsize=8.5, loc="upper right")


def _span(
    points: pd.Series, crossings: pd.Series, models: Sequence[Placed]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Compute times to draw: half of the least to twice the greatest of all that is known."""
    ends = [
        x for each in models for x in (each.reading.s_per_byte.low, each.reading.s_per_byte.high)
    ]
    known = pd.concat([points, crossings.dropna(), pd.Series(ends, dtype="float64")])
    return np.geomspace(known.min() / 2, known.max() * 2, _POINTS_OF_A_LINE)


def points(page: Page) -> Html:
    """Every measured case beside the band, with why it lies outside where it does."""
    rows = page.curve.breakeven
    if rows.empty:
        return paragraph(tr(NO_CONTEST), "missing")
    heads = (
        tr("case, links"),
        tr("gradients"),
        tr("compute"),
        tr("compute per GB"),
        tr("gain, measured"),
        tr("gain, modelled"),
        tr("of what could be hidden was"),
        tr("place"),
    )
    lines = [_point_cells(row) for row in rows.to_dict("records")]
    outside = list(why_outside(page))
    words = tr(
        "Measured cases and the band of the line. Compute is leg packed where it was measured, "
        "else nosync. What could be hidden: the exchange, or the backward pass if it is shorter; "
        "below 0 % the exchange costs a step more than it takes alone."
    )
    told = bullets(outside) if outside else paragraph(tr(ALL_WITHIN))
    return joined([table(heads, lines, words), told])


def _point_cells(row: dict[str, Any]) -> tuple[str, ...]:
    ends = (row[f"gain{part}_percent"] for part in ("", "_low", "_high"))
    gain, low, high = (f"{end:.1f} %" for end in ends)
    if pd.notna(row["gain_low_percent"]):
        gain = around_text(gain, low, high)
    hidden = (
        tr(
            "{what}: {value}",
            what=row[f"label_{side}"],
            value=percent_text(row[f"hidden_{side}_percent"]),
        )
        for side in SIDES
    )
    return (
        tr("{case}, {links}", case=row["case"], links=_sides_text(row)),
        volume_text(row["gradient_bytes"]),
        time_text(row["compute_s"]),
        per_gb_text(row["compute_s_per_byte"]),
        tr("{gain}, n = {n}", gain=gain, n=row["n"]),
        span_text(f"{row['model_low_percent']:.1f} %", f"{row['model_high_percent']:.1f} %"),
        clauses(hidden),
        standing_text(row["standing"]),
    )


def crossings(page: Page) -> Html:
    """Compute at which the faster link gains 1, 5 and 20 %, solved from the line."""
    rows = page.curve.crossings
    if rows.empty:
        return paragraph(tr(NO_CONTEST), "missing")
    heads = (
        tr("links"),
        tr("gain"),
        tr("nothing hidden"),
        tr("all hidden that fits"),
        tr("the same for gradients of"),
    )
    lines = [
        _crossing_cells(own, _of(page.curve.breakeven, own.iloc[0]))
        for _, own in rows.groupby([*SIDES, "gain_percent"], sort=False)
    ]
    words = tr(
        "Modelled: a step that computes less for each GB of gradients (1 GB = 10^9 byte) gains "
        "more. Last column: that compute for the whole step of the case with the most gradients."
    )
    rates = [
        tr(
            "{faster}: {fast} of exchange; {slower}: {slow} (measured, leg comm, median of the "
            "cases)",
            faster=first.label_faster,
            fast=per_gb_text(first.faster_s_per_byte),
            slower=first.label_slower,
            slow=per_gb_text(first.slower_s_per_byte),
        )
        for first in (own.iloc[0] for _, own in rows.groupby(SIDES, sort=False))
    ]
    return joined([table(heads, lines, words), bullets(rates)])


def _crossing_cells(own: pd.DataFrame, points: pd.DataFrame) -> tuple[str, ...]:
    first, largest = own.iloc[0], points.loc[points["gradient_bytes"].idxmax()]
    whole = own["compute_s_per_byte"].dropna() * largest.gradient_bytes
    step = span_text(time_text(whole.min()), time_text(whole.max())) if len(whole) else tr(NEVER)
    return (
        _sides_text(first),
        f"{first.gain_percent:g} %",
        *(_crossing_text(row) for row in own.sort_values("overlap").itertuples()),
        tr("{what}: {value}", what=largest.case, value=step),
    )


def _crossing_text(row: Any) -> str:
    if pd.isna(row.compute_s_per_byte):
        return tr(NEVER)
    compute = per_gb_text(row.compute_s_per_byte)
    if row.measured:
        return tr("{compute}, between measured cases", compute=compute)
    return tr("{compute}, beyond measured cases", compute=compute)


def not_shown() -> Html:
    """What the line and the examples leave out."""
    return bullets(
        (
            tr(
                "The line knows one rate for each link and one share hidden for both; buckets, the "
                "order in which gradients are ready and contention are not in it."
            ),
            tr(
                "Everything called modelled was not measured. Beyond the measured cases the line "
                "rests on its formula alone."
            ),
            tr("A band is no confidence interval: its edges are the extremes of its assumptions."),
            tr(
                "Formulas and their sources: docs/decisions/022-scale-out-model.md and the package "
                "commwall.model. `commwall whatif` prints every assumption beside its answer."
            ),
        )
    )


def _sides_text(row: Any) -> str:
    """Both links of a row, the faster one first."""
    faster, slower = row["label_faster"], row["label_slower"]
    return tr("{faster} over {slower}", faster=faster, slower=slower)


def _of(points: pd.DataFrame, first: Any) -> pd.DataFrame:
    """The points of the comparison that a row is about."""
    return points[(points["faster"] == first.faster) & (points["slower"] == first.slower)]


def _per_gb_ends(values: pd.Series) -> str:
    return per_gb_span(values.min(), values.max())
