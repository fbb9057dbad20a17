"""The one figure of the decision report: who is ahead in each case, by how much, how surely.

Layer: report. Reads and writes no file.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, NullFormatter

from commwall.analysis.quantities import PRIMARY, Quantity
from commwall.language.translate import capital, clauses, tr, tr_later
from commwall.report.figures import nothing, ratio_ticks
from commwall.report.style import (
    COLORS,
    INK,
    MUTED,
    NARROW_IN,
    WIDTH_IN,
    new_figure,
    row_labels,
    title_figure,
)

MOST_ROWS = 10
MOST_ROOM = 4.0
"""An axis ends at this many times the outermost ratio; a longer interval runs out of it."""
LEAST_ROOM = 0.5
"""Of the shorter side of the axis, relative to the longer one."""
MOST_DOUBLINGS = 2.0**7
"""An axis that is longer has a tick at every power of ten, not of two."""
SIDE_CHARACTERS = 30
"""Of a side's name beside the axis; longer ones are cut there, for they stand in full above."""
ONE_ROUND = tr_later("Mark: ratio of both sides, in the one round")
ROUNDS = tr_later("Mark: ratio of both sides, geometric mean over the rounds")
INTERVAL = tr_later("line: its interval (an arrow where it goes on)")
UNDECIDED = tr_later("hollow: cannot tell")
FLOOR = tr_later("grey: noise floor, as far as the same link measured twice may lie from itself")
LOGARITHMIC = tr_later("the axis is logarithmic")
SOME = tr_later("{shown} of {cases} cases, evenly chosen from the smallest ratio to the largest.")


@dataclass(frozen=True)
class Row:
    """One case."""

    case: str
    ratio: float
    """First side / second [1]."""
    interval: tuple[float, float] | None
    noise_floor: float | None
    """Largest relative difference between equal treatments [1]."""
    winner: Literal["a", "b"] | None
    words: str
    """What stands beside it."""


@dataclass(frozen=True)
class Sides:
    """What the figure compares."""

    a: str
    b: str
    quantity: Quantity
    emulated: bool
    left_out: int = 0
    """Cases with a ratio that it does not show."""


def spread_evenly(rows: Sequence[Row], most: int = MOST_ROWS) -> tuple[Row, ...]:
    """So many rows at most, in their order: evenly from the smallest ratio to the largest."""
    if len(rows) <= most:
        return tuple(rows)
    ranked = sorted(rows, key=lambda row: row.ratio)
    kept = {ranked[round(k * (len(rows) - 1) / (most - 1))].case for k in range(most)}
    return tuple(row for row in rows if row.case in kept)


def decision_figure(rows: Sequence[Row], sides: Sides | None, *, narrow: bool = False) -> Figure:
    """Ratio of each case on one axis that says in words which side is ahead where.

    Args:
        rows: the cases.
        sides: what is compared; None if nothing is.
        narrow: for a telephone, with the words below the marks and not beside them.
    """
    if sides is None:
        return nothing(tr("No figure: no comparison has a usable round."))
    height_in, width_in = (0.5, NARROW_IN) if narrow else (0.34, WIDTH_IN)
    figure, (axes,) = new_figure([1.0 + height_in * len(rows)], width_in)
    axes.axvline(1, color=INK, linewidth=0.9)
    for place, row in enumerate(rows):
        _draw(axes, place, row)
        _tell(axes, place, row, below=narrow)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    row_labels(axes, [row.case for row in rows])
    _scale(axes, rows, sides)
    _mark_ends(axes, rows)
    _name_ends(axes, sides)
    names = {"a": _short(sides.a), "b": _short(sides.b)}
    title = tr("{quantity}: {a} relative to {b}", quantity=tr(sides.quantity.metric.label), **names)
    title_figure(figure, capital(title), emulated=sides.emulated)
    return figure


def caption(rows: Sequence[Row], sides: Sides | None) -> str:
    """What the marks of the figure mean, and whether it leaves out cases."""
    told = tr("{clauses}.", clauses=clauses(map(tr, _marks(rows))))
    if sides is None or not sides.left_out:
        return told
    shown, cases = len(rows), len(rows) + sides.left_out
    return f"{told} {tr(SOME, shown=shown, cases=cases)}"


def _marks(rows: Sequence[Row]) -> Iterator[str]:
    """What is drawn, each in words."""
    measured_again = any(row.interval for row in rows)
    yield ROUNDS if measured_again else ONE_ROUND
    if measured_again:
        yield INTERVAL
    if not all(row.winner for row in rows):
        yield UNDECIDED
    if any(row.noise_floor is not None for row in rows):
        yield FLOOR
    yield LOGARITHMIC


def spoken_rows(rows: Sequence[Row], sides: Sides | None) -> str:
    """The figure for those who do not see it: every row in words."""
    names = {"a": sides.a, "b": sides.b} if sides else {}
    told = (
        (row.case, f"{names[row.winner]} {row.words}" if row.winner else row.words) for row in rows
    )
    return clauses(tr("{name}: {what}", name=case, what=words) for case, words in told)


def _draw(axes: Axes, place: int, row: Row) -> None:
    if row.noise_floor is not None:
        least = 1 / (1 + row.noise_floor)
        axes.barh(place, 1 + row.noise_floor - least, 0.9, left=least, color="#D9D9D9")
    color = COLORS[0] if row.winner else MUTED
    if row.interval:
        axes.plot(row.interval, (place, place), color=color, linewidth=2.4, solid_capstyle="butt")
    face = color if row.winner else "white"
    axes.plot(row.ratio, place, "o", color=color, mfc=face, mew=1.6, ms=8)


def _tell(axes: Axes, place: int, row: Row, *, below: bool) -> None:
    """The words of a row, right of the panel or below the mark."""
    across, shift = (0.0, (2, -12)) if below else (1.0, (6, 0))
    axes.annotate(
        row.words, (across, place), xycoords=("axes fraction", "data"), xytext=shift,
        textcoords="offset points", va="center", fontsize=9, color=INK, annotation_clip=False,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )  # fmt: skip


def _scale(axes: Axes, rows: Sequence[Row], sides: Sides) -> None:
    """A logarithmic axis: half and twice lie equally far from even."""
    low, high = _limits(rows)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_xticks(_ticks(low, high))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: tr("{n}×", n=format(ratio, "g"))))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlabel(tr("1× is {b}", b=_short(sides.b)))


def _limits(rows: Sequence[Row]) -> tuple[float, float]:
    """Ends of the axis: no interval squeezes the marks, and 1 has room for words on either side."""
    ratios = [1.0, *(row.ratio for row in rows)]
    ends = [end for row in rows for end in (row.ratio, *(row.interval or ()))]
    low = max(min(0.9, *ends), min(ratios) / MOST_ROOM) / 1.08
    high = min(max(1.1, *ends), max(ratios) * MOST_ROOM) * 1.08
    return min(low, high**-LEAST_ROOM), max(high, low**-LEAST_ROOM)


def _mark_ends(axes: Axes, rows: Sequence[Row]) -> None:
    """An arrow where an interval leaves the axis, whose end would look like its own."""
    low, high = axes.get_xlim()
    for place, row in enumerate(rows):
        least, most = row.interval or (row.ratio, row.ratio)
        for leaves, edge, arrow in ((least < low, low, "<"), (most > high, high, ">")):
            if leaves:
                axes.plot(edge, place, arrow, color=INK, ms=8, clip_on=False, zorder=4)


def _ticks(low: float, high: float) -> list[float]:
    """So few that their words do not touch."""
    if high / low < 3:
        return ratio_ticks(low, high)
    base, most = (2.0, 8) if high / low < MOST_DOUBLINGS else (10.0, 5)
    return [base**power for power in range(-most, most + 1) if low <= base**power <= high]


def _name_ends(axes: Axes, sides: Sides) -> None:
    """Which side is ahead left of 1, and which right of it."""
    ahead = tr_later("faster: {side}") if sides.quantity == PRIMARY else tr_later("better: {side}")
    left, right = sides.b, sides.a
    if sides.quantity.metric.direction == "lower":
        left, right = right, left
    middle = axes.transData.transform((1, 0))[0]
    place = axes.transAxes.inverted().transform((middle, 0))[0]
    for side, arrow, align, shift in ((left, "← {}", "right", -4), (right, "{} →", "left", 4)):
        axes.annotate(
            arrow.format(tr(ahead, side=_short(side))), (place, 1), xycoords="axes fraction",
            xytext=(shift, 3), textcoords="offset points", ha=align, fontsize=9, color=MUTED,
        )  # fmt: skip


def _short(name: str) -> str:
    return textwrap.shorten(name, SIDE_CHARACTERS, placeholder="…")
