"""Figures: one function, tidy tables in, one figure out.

Layer: report. Reads and writes no file. Bars start at zero and show the mean over rounds (the
geometric one for positive quantities), with its interval as a line and each round as a dot; n
stands beside every row.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullFormatter

from commwall.analysis.names import PRIMARY, Quantity
from commwall.analysis.tables import Tables
from commwall.report.style import (
    INK,
    MUTED,
    Look,
    new_figure,
    panel_height,
    row_labels,
    title_figure,
    value_axis,
)
from commwall.schema.case import LEGS
from commwall.schema.metrics import METRICS

Looks = Mapping[str, Look]
COMPUTE = Quantity("step_time_s", "nosync")
FULL = Quantity("step_time_s", "full")
EXPOSED = Quantity("exposed_comm_time_s")
MOST_ROOM = 3.0
"""An axis ends at this many times its largest round; a longer interval runs out of it."""


def ratios_figure(tables: Tables) -> Figure:
    """Throughput ratio of each comparison with interval and rounds, beside the noise floor."""
    verdicts = _of(tables.ratios, PRIMARY).dropna(subset=["ratio"])
    if verdicts.empty:
        return nothing("Throughput ratio: no comparison has a usable round")
    cases = list(verdicts.groupby("case", sort=False))
    labels = [f"{row.label_a} / {row.label_b}" for row in verdicts.itertuples()]
    figure, panels = new_figure(panel_height(len(own), labels) for _, own in cases)
    for axes, (case, own) in zip(panels, cases, strict=True):
        pairs = _of(tables.pairs, PRIMARY).query("case == @case")
        _draw_ratios(axes, own.sort_values("control", kind="stable"), pairs)
        axes.set_title(f"case {case}")
    title_figure(figure, "Throughput ratio per comparison", emulated=emulated_in(verdicts))
    return figure


def quantity_figure(tables: Tables, looks: Looks, quantity: Quantity) -> Figure:
    """One quantity of every platform: mean over rounds, interval, and each round."""
    values = _of(tables.platforms, quantity)
    if values.empty:
        return nothing(f"{quantity.label}: no value, see the gaps")
    cases = list(values.groupby("case", sort=False))
    figure, panels = new_figure(panel_height(len(own), own["label"]) for _, own in cases)
    for axes, (case, own) in zip(panels, cases, strict=True):
        rounds = _admitted(tables, quantity).query("case == @case")
        for row, platform in enumerate(own.itertuples()):
            _draw_bar(axes, row, platform, looks[platform.platform])
            _draw_rounds(axes, row, rounds, platform.platform, looks)
        row_labels(axes, list(own["label"]))
        value_axis(axes, quantity.metric, label=quantity.label)
        axes.set_title(f"case {case}")
        axes.axvline(0, color=INK, linewidth=0.8)
        _show_zero(axes, own)
    title_figure(figure, f"{_capital(quantity.label)} per platform", emulated=emulated_in(values))
    return figure


def step_parts_figure(tables: Tables, looks: Looks) -> Figure:
    """Where a step's time goes: compute, and communication that compute does not hide."""
    full = _of(tables.platforms, FULL)
    parts = {
        q: _of(tables.platforms, q).set_index(["case", "platform"]) for q in (COMPUTE, EXPOSED)
    }
    if full.empty or parts[EXPOSED].empty:
        return nothing("Step time: legs full and nosync have no usable values")
    cases = list(full.groupby("case", sort=False))
    figure, panels = new_figure(0.35 + panel_height(len(own), own["label"]) for _, own in cases)
    for axes, (case, own) in zip(panels, cases, strict=True):
        rounds = _admitted(tables, FULL).query("case == @case")
        for row, platform in enumerate(own.itertuples()):
            key = (case, platform.platform)
            compute = parts[COMPUTE]["mean"].get(key)
            if compute is not None and key in parts[EXPOSED].index:
                _draw_parts(axes, row, compute, platform.mean - compute, looks[platform.platform])
            _draw_interval(axes, row, platform)
            _draw_rounds(axes, row, rounds, platform.platform, looks)
        row_labels(axes, list(own["label"]))
        value_axis(axes, FULL.metric, label="step time, geometric mean over rounds")
        axes.set_title(f"case {case}")
        _show_zero(axes, own)
    _parts_legend(figure)
    title_figure(figure, "Where a step's time goes", emulated=emulated_in(full))
    return figure


def legs_figure(tables: Tables, looks: Looks) -> Figure:
    """Step time of each leg on each platform."""
    steps = tables.platforms.query("metric == 'step_time_s'")
    if steps.empty:
        return nothing("Step times: no usable values")
    groups = [
        (case, leg, own)
        for case, of_case in steps.groupby("case", sort=False)
        for leg in LEGS
        if not (own := of_case.query("leg == @leg")).empty
    ]
    figure, panels = new_figure(panel_height(len(own), own["label"]) for _, _, own in groups)
    limit = min(
        1.2 * max(steps["max"].max(), steps["mean_high"].max()), MOST_ROOM * steps["max"].max()
    )
    for axes, (case, leg, own) in zip(panels, groups, strict=True):
        rounds = _admitted(tables, Quantity("step_time_s", leg)).query("case == @case")
        for row, platform in enumerate(own.itertuples()):
            _draw_bar(axes, row, platform, looks[platform.platform])
            _draw_rounds(axes, row, rounds, platform.platform, looks)
        row_labels(axes, list(own["label"]))
        value_axis(axes, METRICS["step_time_s"], label=f"step time, leg {leg}")
        axes.set_title(f"case {case}, leg {leg}")
        axes.set_xlim(0, limit)
    title_figure(figure, "Step time of each leg", emulated=emulated_in(steps))
    return figure


def steps_figure(tables: Tables, looks: Looks) -> Figure:
    """Every timed step of leg `full` on every rank, by round: drift and outliers show here."""
    raw = tables.measurements.query(
        "metric == 'step_time_s' and leg == 'full' and phase == 'measured'"
    )
    if raw.empty:
        return nothing("Steps: no measured steps of leg full")
    groups = list(raw.groupby(["case", "platform"], sort=False))
    figure, panels = new_figure(0.8 + 0.22 * own["round"].nunique() for _, own in groups)
    for axes, ((case, platform), own) in zip(panels, groups, strict=True):
        look = looks[platform]
        axes.plot(
            own["value"], own["round"].astype(int), look.marker, color=look.color, ms=4, alpha=0.45
        )
        axes.set_title(f"case {case}: {own['label'].iloc[0]}")
        axes.set_yticks(sorted(own["round"].astype(int).unique()))
        axes.set_ylabel("round")
        axes.invert_yaxis()
        value_axis(axes, METRICS["step_time_s"], label="step time, leg full, each rank")
        axes.set_xlim(0, 1.05 * raw.query("case == @case")["value"].max())
    title_figure(figure, "Every timed step", emulated=emulated_in(raw))
    return figure


def losses_figure(tables: Tables, looks: Looks) -> Figure:
    """Training loss of the first steps: treatments must not change what is computed."""
    losses = tables.measurements.query("metric == 'loss' and rank == 0")
    if losses.empty:
        return nothing("Loss: no values")
    cases = list(losses.groupby("case", sort=False))
    figure, panels = new_figure(3.0 for _ in cases)
    for axes, (case, own) in zip(panels, cases, strict=True):
        for order, (platform, line) in enumerate(own.groupby("platform", sort=False)):
            mean = line.groupby(line["step"].astype(int))["value"].mean()
            look = looks[platform]
            axes.plot(
                mean.index, mean, linestyle=(order, (4, 2)), color=look.color, marker=look.marker,
                ms=11 - 3 * order, mfc="none", mew=1.6, label=line["label"].iloc[0],
            )  # fmt: skip
        axes.set_title(f"case {case}, rank 0")
        axes.set_xlabel("step after seeding")
        axes.set_ylabel("training loss [1]")
        axes.set_xticks(sorted(own["step"].astype(int).unique()))
        axes.legend(frameon=False, fontsize=9)
    title_figure(figure, "Loss of the first steps", emulated=emulated_in(losses))
    return figure


def _draw_ratios(axes: Axes, verdicts: pd.DataFrame, pairs: pd.DataFrame) -> None:
    floor = verdicts["noise_floor_percent"].max() / 100
    if floor == floor:  # not NaN
        axes.axvspan(1 / (1 + floor), 1 + floor, color="#D9D9D9", label="noise floor (A/A)")
    axes.axvline(1, color=INK, linewidth=0.9)
    for row, verdict in enumerate(verdicts.itertuples()):
        color, marker = (MUTED, "s") if verdict.control else ("#0072B2", "o")
        own = pairs[(pairs["a"] == verdict.a) & (pairs["b"] == verdict.b)]
        axes.plot(own["ratio"], [row + 0.22] * len(own), ".", color=color, ms=5, alpha=0.8)
        axes.plot([verdict.ratio_low, verdict.ratio_high], [row, row], color=color, linewidth=2.2)
        axes.plot(verdict.ratio, row, marker, color=color, ms=7, label=None)
        _write_n(axes, row, verdict.n)
    row_labels(axes, [_ratio_label(v) for v in verdicts.itertuples()])
    axes.set_ylim(len(verdicts) - 0.4, -0.6)
    _ratio_axis(axes, [*pairs["ratio"], *verdicts["ratio_low"], *verdicts["ratio_high"], 1.0])


def _ratio_label(verdict: Any) -> str:
    return f"{verdict.label_a} / {verdict.label_b}" + (" (A/A control)" if verdict.control else "")


def _ratio_axis(axes: Axes, values: list[float]) -> None:
    """A logarithmic axis with plain numbers: halving and doubling lie equally far from 1."""
    known = [value for value in values if value == value]
    axes.set_xscale("log")
    low, high = min(known) / 1.08, max(known) * 1.08
    axes.set_xlim(low, high)
    axes.set_xticks(_ratio_ticks(low, high))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
    axes.set_xlabel("throughput ratio, first / second [1], logarithmic")
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower right", frameon=False, fontsize=9)


def _ratio_ticks(low: float, high: float) -> list[float]:
    """Round numbers between the ends, finer where the ends lie close together."""
    if high / low > 40:
        steps = [x * 10**e for e in range(-3, 5) for x in (1, 3)]
    elif high / low > 1.6:
        steps = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30]
    else:
        steps = [round(0.5 + 0.05 * k, 2) for k in range(31)]
    inside = [step for step in steps if low <= step <= high]
    return inside if len(inside) > 1 else [low, 1.0, high]


def _draw_bar(axes: Axes, row: int, bar: Any, look: Look) -> None:
    axes.barh(
        row,
        bar.mean,
        height=0.55,
        color=look.color,
        hatch=look.hatch,
        edgecolor="white",
        alpha=0.85,
    )
    _draw_interval(axes, row, bar)


def _draw_interval(axes: Axes, row: int, bar: Any) -> None:
    if bar.mean_low == bar.mean_low:  # not NaN
        axes.plot([bar.mean_low, bar.mean_high], [row, row], color=INK, linewidth=1.8)
        axes.plot([bar.mean_low, bar.mean_high], [row, row], "|", color=INK, ms=9, mew=1.8)
    _write_n(axes, row, bar.n)


def _draw_rounds(axes: Axes, row: int, rounds: pd.DataFrame, platform: str, looks: Looks) -> None:
    own = rounds[rounds["platform"] == platform]["value"]
    axes.plot(
        own, [row + 0.16] * len(own), looks[platform].marker,
        mfc="white", mec=INK, mew=0.9, ms=4.5, linestyle="none",
    )  # fmt: skip


def _draw_parts(axes: Axes, row: int, compute: float, exposed: float, look: Look) -> None:
    """Compute from zero, exposed communication from there on: back over it where negative."""
    axes.barh(row, compute, height=0.55, color=look.color, alpha=0.85, edgecolor="white")
    axes.barh(
        row, exposed, left=compute, height=0.55, color="white", hatch="////", edgecolor=look.color
    )
    if exposed < 0:
        axes.annotate("negative", (compute, row - 0.32), fontsize=8, ha="center", color=INK)


def _parts_legend(figure: Figure) -> None:
    handles = [
        Patch(facecolor=MUTED, label="compute (leg nosync)"),
        Patch(facecolor="white", edgecolor=MUTED, hatch="////", label="exposed communication"),
    ]
    figure.legend(handles=handles, loc="outside lower right", ncols=2, frameon=False, fontsize=9)


def _write_n(axes: Axes, row: int, n: int) -> None:
    axes.annotate(
        f"n = {n}", (1, row), xycoords=("axes fraction", "data"), xytext=(4, 0),
        textcoords="offset points", va="center", fontsize=9, color=INK, annotation_clip=False,
    )  # fmt: skip


def _show_zero(axes: Axes, shown: pd.DataFrame) -> None:
    """Keep zero in sight, and the bars too where two rounds give an interval far beyond them."""
    low, high = axes.get_xlim()
    least, most = MOST_ROOM * min(0.0, shown["min"].min()), MOST_ROOM * max(0.0, shown["max"].max())
    low, high = max(min(0.0, low), least) if least else min(0.0, low), min(high, most or high)
    axes.set_xlim(low, max(high, -0.05 * low))


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


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
