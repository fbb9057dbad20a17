"""The figure of trends: values over dates, with the versions that changed.

Layer: report. Reads and writes no file.
"""

from collections.abc import Sequence
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from commwall.analysis.trends import Point, Trend
from commwall.language.translate import capital, quantity_text, tr, tr_later
from commwall.report.style import INK, MUTED, Look, looks_of, new_figure, title_figure

_PANEL_IN = 1.35
_ALIKE = 1.3
"""Platforms whose values lie within this factor share a panel [1]; on one axis with others far
away, what changes over time would not be seen."""
_WITH_MONTHS = (
    tr_later("%b"),
    tr_later("%b-%d"),
    tr_later("%Y-%b"),
    tr_later("%Y-%b-%d"),
    tr_later("%Y-%b-%d %H:%M"),
)
"""Those of matplotlib's formats of dates that name a month, for the catalogues."""
_MOST_MARKS = 8
"""With more changes of version, lines mark them and the table names them."""


def trend_figure(trends: Sequence[Trend]) -> Figure:
    """Trends of one kind of machine and suite: panels of a case, a colour a platform.

    Args:
        trends: in the order of their cases.
    """
    looks = looks_of(dict.fromkeys(trend.platform for trend in trends))
    marks = _version_changes([point for trend in trends for point in trend.points])
    panels = [
        panel
        for _, own in groupby(trends, key=lambda trend: trend.case)
        for panel in _panels(list(own))
    ]
    figure, axes_of = new_figure([_PANEL_IN + 0.4, *[_PANEL_IN] * (len(panels) - 1)])
    for axes, panel in zip(axes_of, panels, strict=True):
        for trend in panel:
            _draw_trend(axes, trend, looks[trend.platform])
        for point, _ in marks:
            axes.axvline(_place(point), color=MUTED, linestyle=":", linewidth=1)
        axes.set_title(tr("case {case}", case=panel[0].case))
        _axes(axes, panel[0])
        axes.sharex(axes_of[-1])
        axes.tick_params(labelbottom=axes is axes_of[-1])
    _date_axis(axes_of[-1])
    _name_versions(axes_of[0], marks)
    _legend(figure, axes_of)
    quantity = trends[0].quantity
    label = capital(quantity.label)
    words = tr("{quantity} over time", quantity=label)
    title_figure(figure, words, emulated=any(trend.emulated for trend in trends))
    return figure


def _panels(trends: list[Trend]) -> list[list[Trend]]:
    """Trends of a case by the size of their values, those alike together, largest first."""
    panels: list[list[Trend]] = []
    for trend in sorted(trends, key=lambda each: -each.points[0].centre):
        if panels and panels[-1][0].points[0].centre < _ALIKE * trend.points[0].centre:
            panels[-1].append(trend)
        else:
            panels.append([trend])
    return panels


def _draw_trend(axes: Axes, trend: Trend, look: Look) -> None:
    """Values joined by a thin line, each with its interval."""
    dates = [_place(point) for point in trend.points]
    values = [point.centre for point in trend.points]
    axes.plot(dates, values, color=look.color, linewidth=0.8, alpha=0.6)
    axes.plot(
        dates, values, look.marker, color=look.color, ms=3.5, linestyle="none",
        label=trend.points[-1].label,
    )  # fmt: skip
    for point in trend.points:
        if point.interval:
            ends = [point.interval.low, point.interval.high]
            axes.plot([_place(point)] * 2, ends, color=look.color, linewidth=1.4)


def _name_versions(axes: Axes, marks: list[tuple[Point, str]]) -> None:
    """What changed, above the topmost panel and below its title."""
    if not 0 < len(marks) <= _MOST_MARKS:
        return
    lines = max(text.count("\n") + 1 for _, text in marks)
    axes.set_title(axes.get_title(loc="left"), pad=6 + 10 * lines)
    for point, text in marks:
        axes.annotate(
            text, (_place(point), 1), xycoords=("data", "axes fraction"), xytext=(0, 2),
            textcoords="offset points", fontsize=7.5, color=INK, va="bottom", ha="center",
        )  # fmt: skip


def _legend(figure: Figure, axes_of: Sequence[Axes]) -> None:
    """Every platform once."""
    shown = [axes.get_legend_handles_labels() for axes in axes_of]
    named = {word: mark for own in shown for mark, word in zip(*own, strict=True)}
    figure.legend(
        list(named.values()), list(named), loc="outside lower left", frameon=False, fontsize=9
    )


def _version_changes(points: list[Point]) -> list[tuple[Point, str]]:
    """Points at which a version is another than before, with the new one in words."""
    ordered = sorted(points, key=lambda point: point.measured_at)
    found = []
    for before, point in zip(ordered, ordered[1:], strict=False):
        new = [f"{tr(k)} {v}" for k, v in point.versions.items() if before.versions.get(k) != v]
        if new:
            found.append((point, "\n".join(new)))
    return found


def _place(point: Point) -> float:
    """Where a point stands on the axis of dates [day]."""
    return float(date2num(point.measured_at))


def _axes(axes: Axes, trend: Trend) -> None:
    unit = trend.quantity.metric.unit
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: quantity_text(value, unit)))
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.margins(y=0.15)


def _date_axis(axes: Axes) -> None:
    locator = AutoDateLocator(maxticks=8)
    formatter = ConciseDateFormatter(locator)
    for formats in (formatter.formats, formatter.zero_formats, formatter.offset_formats):
        formats[:] = [tr(each) for each in formats]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(formatter)
