"""Figures: one function, tidy tables in, one figure out.

Layer: report. Reads and writes no file. Bars start at zero and show the mean over rounds (the
geometric one for positive quantities), with its interval as a line and each round as a dot; n
stands beside every row.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullFormatter

from commwall.analysis.quantities import EXPOSED, PRIMARY, Quantity, step_time
from commwall.analysis.tables.tidy import Tables
from commwall.language.translate import capital, tr
from commwall.report.style import (
    INK,
    MUTED,
    Look,
    mark_clipped,
    new_figure,
    panel_height,
    platform_legend,
    row_labels,
    title_figure,
    value_axis,
)
from commwall.schema.case import LEGS
from commwall.schema.metrics import METRICS

Looks = Mapping[str, Look]
Groups = list[tuple[str, pd.DataFrame]]
"""Label and bars of each group."""
GROUP_GAP = 0.6
"""Room between groups, in bars."""
FULL = step_time("full")
PARTS = (step_time("nosync"), EXPOSED, Quantity("packing_time_s"))
MOST_ROOM = 3.0
"""An axis ends at this many times its largest round; a longer interval runs out of it."""


def ratios_figure(tables: Tables) -> Figure:
    """Throughput ratio of each case and comparison on one axis, each beside its noise floor."""
    verdicts = _of(tables.ratios, PRIMARY).dropna(subset=["ratio"])
    if verdicts.empty:
        return nothing(tr("Throughput ratio: no comparison has a usable round"))
    own = verdicts.sort_values("control", kind="stable").sort_values(
        "case", kind="stable", key=lambda cases: cases.map(list(dict.fromkeys(cases)).index)
    )
    labels = _ratio_labels(own)
    figure, (axes,) = new_figure([panel_height(len(own), labels)])
    _draw_ratios(axes, own, _of(tables.pairs, PRIMARY))
    row_labels(axes, labels)
    sides = own[["label_a", "label_b", "control"]].drop_duplicates()
    title = tr("Throughput ratio")
    if (~sides["control"]).sum() == 1:
        first = sides[~sides["control"]].iloc[0]
        title = tr("Throughput ratio, {a} / {b}", a=first["label_a"], b=first["label_b"])
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower right", frameon=False, fontsize=9)
    title_figure(figure, title, emulated=emulated_in(verdicts))
    return figure


def quantity_figure(tables: Tables, looks: Looks, quantity: Quantity) -> Figure:
    """One quantity of every platform: mean over rounds, interval, and each round.

    Pure numbers of all cases share one axis; other quantities have a panel a case.
    """
    values = _of(tables.platforms, quantity)
    if values.empty:
        return nothing(tr("{quantity}: no value, see the gaps", quantity=quantity.label))
    cases = [(str(case), own) for case, own in values.groupby("case", sort=False)]
    together = quantity.metric.unit == "1" and len(cases) > 1
    panels = [cases] if together else [[case] for case in cases]
    heights = (_bars_height(groups, together=together) for groups in panels)
    figure, axes_of = new_figure(heights)
    for axes, groups in zip(axes_of, panels, strict=True):
        _draw_bars(axes, groups, _admitted(tables, quantity), looks)
        value_axis(axes, quantity.metric, label=quantity.label)
        axes.axvline(0, color=INK, linewidth=0.8)
        _show_zero(axes, pd.concat([own for _, own in groups]))
        mark_clipped(axes, _placed(groups))
        if not together:
            (title, own) = groups[0]
            row_labels(axes, list(own["label"]))
            axes.set_title(tr("case {case}", case=title))
    if together:
        platform_legend(figure, values, looks)
    title = tr("{quantity} per platform", quantity=capital(quantity.label))
    title_figure(figure, title, emulated=emulated_in(values))
    return figure


def step_parts_figure(tables: Tables, looks: Looks) -> Figure:
    """Where a step's time goes: compute, and exposed communication, of it packing if measured."""
    full = _of(tables.platforms, FULL)
    parts = {q: _of(tables.platforms, q).set_index(["case", "platform"])["mean"] for q in PARTS}
    if full.empty or parts[EXPOSED].empty:
        return nothing(tr("Step time: legs full and nosync have no usable values"))
    cases = list(full.groupby("case", sort=False))
    figure, panels = new_figure(0.35 + panel_height(len(own), own["label"]) for _, own in cases)
    for axes, (case, own) in zip(panels, cases, strict=True):
        rounds = _admitted(tables, FULL).query("case == @case")
        for row, platform in enumerate(own.itertuples()):
            ends = [platform.mean]
            compute, exposed, packing = (parts[q].get((case, platform.platform)) for q in PARTS)
            if exposed is not None:
                ends = [compute, compute + max(0.0, packing or 0.0), *ends]
            _draw_parts(axes, row, ends, looks[platform.platform])
            _draw_interval(axes, row, platform)
            _draw_rounds(axes, row, rounds, platform.platform, looks)
        row_labels(axes, list(own["label"]))
        value_axis(axes, FULL.metric, label=tr("step time, geometric mean over rounds"))
        axes.set_title(tr("case {case}", case=case))
        _show_zero(axes, own)
        mark_clipped(axes, enumerate(own.itertuples()))
    _, told, packed = (len(parts[quantity]) for quantity in PARTS)
    _parts_legend(figure, packed=packed > 0, whole=told < len(full))
    title_figure(figure, tr("Where a step's time goes"), emulated=emulated_in(full))
    return figure


def legs_figure(tables: Tables, looks: Looks) -> Figure:
    """Step time of each leg on each platform, a panel a case."""
    steps = tables.platforms.query("metric == 'step_time_s'")
    if steps.empty:
        return nothing(tr("Step times: no usable values"))
    rounds = tables.rounds.query("metric == 'step_time_s' and admitted")
    cases = [(case, _by_leg(own)) for case, own in steps.groupby("case", sort=False)]
    heights = (_bars_height(groups, together=True) for _, groups in cases)
    figure, panels = new_figure(heights)
    for axes, (case, groups) in zip(panels, cases, strict=True):
        for_case = rounds[rounds["case"] == case]
        _draw_bars(axes, groups, for_case, looks)
        own = steps[steps["case"] == case]
        value_axis(axes, METRICS["step_time_s"])
        axes.set_title(tr("case {case}", case=case))
        wide = max(own["max"].max(), own["mean_high"].max())
        axes.set_xlim(0, min(1.2 * wide, MOST_ROOM * own["max"].max()))
        mark_clipped(axes, _placed(groups))
    platform_legend(figure, steps, looks)
    title_figure(figure, tr("Step time of each leg"), emulated=emulated_in(steps))
    return figure


def steps_figure(tables: Tables, looks: Looks) -> Figure:
    """Every timed step of leg `full` on every rank, by round: drift and outliers show here."""
    raw = tables.measurements.query(
        "suite == 'training' and metric == 'step_time_s' and leg == 'full' and phase == 'measured'"
    )
    if raw.empty:
        return nothing(tr("Steps: no measured steps of leg full"))
    cases = list(raw.groupby("case", sort=False))
    figure, panels = new_figure(
        0.9 + 0.17 * len(own[["platform", "round"]].drop_duplicates()) for _, own in cases
    )
    for axes, (case, own) in zip(panels, cases, strict=True):
        _draw_steps(axes, own, looks)
        axes.set_title(tr("case {case}", case=case))
        value_axis(axes, METRICS["step_time_s"], label=tr("step time, leg full, each rank"))
        axes.set_xlim(0, 1.05 * own["value"].max())
    platform_legend(figure, raw, looks)
    title_figure(figure, tr("Every timed step"), emulated=emulated_in(raw))
    return figure


def losses_figure(tables: Tables, looks: Looks) -> Figure:
    """Training loss of the first steps: treatments must not change what is computed."""
    losses = tables.measurements.query("metric == 'loss' and rank == 0")
    if losses.empty:
        return nothing(tr("Loss: no values"))
    cases = list(losses.groupby("case", sort=False))
    figure, panels = new_figure(2.2 for _ in cases)
    for axes, (case, own) in zip(panels, cases, strict=True):
        for order, (platform, line) in enumerate(own.groupby("platform", sort=False)):
            mean = line.groupby(line["step"].astype(int))["value"].mean()
            look = looks[platform]
            axes.plot(
                mean.index, mean, linestyle=(order, (4, 2)), color=look.color, marker=look.marker,
                ms=11 - 3 * order, mfc="none", mew=1.6, label=line["label"].iloc[0],
            )  # fmt: skip
        axes.margins(0.06, 0.2)
        axes.set_title(tr("case {case}, rank {rank}", case=case, rank=0))
        axes.set_xlabel(tr("step after seeding"))
        axes.set_ylabel(tr("training loss [1]"))
        axes.set_xticks(sorted(own["step"].astype(int).unique()))
    platform_legend(figure, losses, looks)
    title_figure(figure, tr("Loss of the first steps"), emulated=emulated_in(losses))
    return figure


def _draw_ratios(axes: Axes, verdicts: pd.DataFrame, pairs: pd.DataFrame) -> None:
    named = False
    axes.axvline(1, color=INK, linewidth=0.9)
    for row, verdict in enumerate(verdicts.itertuples()):
        floor = verdict.noise_floor_percent / 100
        if floor == floor:  # not NaN
            words = None if named else tr("noise floor (A/A)")
            width = 1 + floor - 1 / (1 + floor)
            axes.barh(row, width, 0.9, left=1 / (1 + floor), color="#D9D9D9", label=words)
            named = True
        color, marker = (MUTED, "s") if verdict.control else ("#0072B2", "o")
        own = pairs[(pairs["a"] == verdict.a) & (pairs["b"] == verdict.b)]
        ratios = own[own["case"] == verdict.case]["ratio"]
        axes.plot(ratios, [row + 0.22] * len(ratios), ".", color=color, ms=5, alpha=0.8)
        axes.plot([verdict.ratio_low, verdict.ratio_high], [row, row], color=color, linewidth=2.2)
        axes.plot(verdict.ratio, row, marker, color=color, ms=7, label=None)
        _write_n(axes, row, verdict.n)
    axes.set_ylim(len(verdicts) - 0.4, -0.6)
    _ratio_axis(axes, [*pairs["ratio"], *verdicts["ratio_low"], *verdicts["ratio_high"], 1.0])


def _ratio_labels(verdicts: pd.DataFrame) -> list[str]:
    """The case; its two sides too where several comparisons of treatments share the figure."""
    several = len(verdicts[~verdicts["control"]][["a", "b"]].drop_duplicates()) > 1
    return [
        tr("{case}, A/A control", case=v.case) if v.control
        else f"{v.case}: {v.label_a} / {v.label_b}" if several else v.case
        for v in verdicts.itertuples()
    ]  # fmt: skip


def _ratio_axis(axes: Axes, values: list[float]) -> None:
    """A logarithmic axis with plain numbers: halving and doubling lie equally far from 1."""
    known = [value for value in values if value == value]
    axes.set_xscale("log")
    low, high = min(known) / 1.08, max(known) * 1.08
    axes.set_xlim(low, high)
    axes.set_xticks(ratio_ticks(low, high))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
    axes.set_xlabel(tr("throughput ratio, first / second, logarithmic"))
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)


def ratio_ticks(low: float, high: float) -> list[float]:
    """Round numbers between the ends, finer where the ends lie close together."""
    if high / low > 40:
        steps = [x * 10**e for e in range(-3, 5) for x in (1, 3)]
    elif high / low > 1.6:
        steps = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30]
    else:
        steps = [round(0.5 + 0.05 * k, 2) for k in range(31)]
    inside = [step for step in steps if low <= step <= high]
    return inside if len(inside) > 1 else [low, 1.0, high]


def _by_leg(own: pd.DataFrame) -> Groups:
    legs = [(tr("leg {leg}", leg=leg), own[own["leg"] == leg]) for leg in LEGS]
    return [(label, of_leg) for label, of_leg in legs if not of_leg.empty]


def _bars_height(groups: Groups, *, together: bool) -> float:
    """Height of a panel [inch]: bars under one label stand closer than bars with their own."""
    if not together:
        return panel_height(len(groups[0][1]), groups[0][1]["label"])
    return 0.95 + 0.27 * sum(len(own) + GROUP_GAP for _, own in groups)


def _draw_bars(axes: Axes, groups: Groups, rounds: pd.DataFrame, looks: Looks) -> None:
    """Bars of each group from the top, labelled at the group's middle."""
    rows = _rows(groups)
    for row, bar in _placed(groups):
        leg = rounds["leg"].isna() if pd.isna(bar.leg) else rounds["leg"] == bar.leg
        _draw_bar(axes, row, bar, looks[bar.platform])
        _draw_rounds(axes, row, rounds[(rounds["case"] == bar.case) & leg], bar.platform, looks)
    axes.set_ylim(rows[-1][-1] + 0.6, -0.6)
    row_labels(axes, [label for label, _ in groups], [sum(own) / len(own) for own in rows])


def _placed(groups: Groups) -> Iterator[tuple[float, Any]]:
    """Every bar with its row."""
    for rows, (_, own) in zip(_rows(groups), groups, strict=True):
        yield from zip(rows, own.itertuples(), strict=True)


def _rows(groups: Groups) -> list[list[float]]:
    """Rows of every group's bars, counted from the top."""
    rows, first = [], 0.0
    for _, own in groups:
        rows.append([first + place for place in range(len(own))])
        first += len(own) + GROUP_GAP
    return rows


def _draw_steps(axes: Axes, own: pd.DataFrame, looks: Looks) -> None:
    """A line of marks for each round and platform, rounds from the top."""
    rounds = sorted(own["round"].astype(int).unique())
    platforms = list(dict.fromkeys(own["platform"]))
    pitch = 0.8 / len(platforms)
    for place, platform in enumerate(platforms):
        line, look = own[own["platform"] == platform], looks[platform]
        heights = line["round"].astype(int) + (place - (len(platforms) - 1) / 2) * pitch
        # Tens of thousands of marks are a picture in the drawing: as paths they weigh megabytes.
        axes.plot(
            line["value"], heights, look.marker,
            color=look.color, ms=3.5, alpha=0.45, rasterized=True,
        )  # fmt: skip
    axes.set_yticks(rounds)
    axes.set_ylabel(tr("round"))
    axes.set_ylim(max(rounds) + 0.6, min(rounds) - 0.6)


def _draw_bar(axes: Axes, row: float, bar: Any, look: Look) -> None:
    axes.barh(
        row,
        bar.mean,
        height=0.72,
        color=look.color,
        hatch=look.hatch,
        edgecolor="white",
        alpha=0.85,
    )
    _draw_interval(axes, row, bar)


def _draw_interval(axes: Axes, row: float, bar: Any) -> None:
    if bar.mean_low == bar.mean_low:  # not NaN
        axes.plot([bar.mean_low, bar.mean_high], [row, row], color=INK, linewidth=1.8)
        axes.plot([bar.mean_low, bar.mean_high], [row, row], "|", color=INK, ms=9, mew=1.8)
    _write_n(axes, row, bar.n)


def _draw_rounds(axes: Axes, row: float, rounds: pd.DataFrame, platform: str, looks: Looks) -> None:
    own = rounds[rounds["platform"] == platform]["value"]
    axes.plot(
        own, [row + 0.16] * len(own), looks[platform].marker,
        mfc="white", mec=INK, mew=0.9, ms=4.5, linestyle="none",
    )  # fmt: skip


def _draw_parts(axes: Axes, row: float, ends: Sequence[float], look: Look) -> None:
    """Compute, packing and exchange by their ends; by one end a step that is not told apart."""
    if len(ends) == 1:
        axes.barh(row, ends[0], 0.55, color="white", edgecolor=MUTED, linestyle=":")
        return
    compute, packed, step = ends
    axes.barh(row, compute, 0.55, color=look.color, alpha=0.85, edgecolor="white")
    axes.barh(row, packed - compute, 0.55, left=compute, color=look.color, alpha=0.35)
    axes.barh(row, step - packed, 0.55, left=packed, color="white", edgecolor=look.color)
    if step < compute:
        axes.annotate(tr("negative"), (compute, row - 0.32), fontsize=8, ha="center", color=INK)


def _parts_legend(figure: Figure, *, packed: bool, whole: bool) -> None:
    rest = tr("exposed: exchange") if packed else tr("exposed communication")
    handles = [Patch(facecolor=MUTED, label=tr("compute (leg nosync)"))]
    if packed:
        handles += [Patch(facecolor=MUTED, alpha=0.35, label=tr("exposed: packing of buckets"))]
    handles += [Patch(facecolor="white", edgecolor=MUTED, label=rest)]
    if whole:
        words = tr("not told apart")
        handles += [Patch(facecolor="white", edgecolor=MUTED, linestyle=":", label=words)]
    figure.legend(handles=handles, loc="outside lower right", ncols=2, frameon=False, fontsize=9)


def _write_n(axes: Axes, row: float, n: int) -> None:
    axes.annotate(
        f"n = {n}", (1, row), xycoords=("axes fraction", "data"), xytext=(4, 0),
        textcoords="offset points", va="center", fontsize=9, color=INK, annotation_clip=False,
    )  # fmt: skip


def _show_zero(axes: Axes, shown: pd.DataFrame) -> None:
    """Keep zero in sight, and the bars too where two rounds give an interval far beyond them."""
    low, high = axes.get_xlim()
    least, most = MOST_ROOM * min(0.0, shown["min"].min()), MOST_ROOM * max(0.0, shown["max"].max())
    if room := max(most, -least):
        low, high = max(low, least or -room), min(high, most or room)
    axes.set_xlim(min(0.0, low), max(high, -0.05 * low))


def _of(table: pd.DataFrame, quantity: Quantity) -> pd.DataFrame:
    same_leg = table["leg"].isna() if quantity.leg is None else table["leg"] == quantity.leg
    return table[(table["metric"] == quantity.metric_id) & same_leg]


def _admitted(tables: Tables, quantity: Quantity) -> pd.DataFrame:
    rounds = _of(tables.rounds, quantity)
    return rounds[rounds["admitted"]]


def emulated_in(table: pd.DataFrame) -> bool:
    """Whether any row is of an emulated link, which the title must say."""
    return bool(table["emulated"].any())


def nothing(words: str) -> Figure:
    """A figure without panels whose label says what is missing; `picture` shows it as prose."""
    return Figure(label=words)
