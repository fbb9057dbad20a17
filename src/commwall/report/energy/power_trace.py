"""Power over time in the timed window of one round.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from commwall.analysis.tables.tidy import Tables
from commwall.language.translate import tr, tr_later
from commwall.report.figures import Looks, emulated_in, nothing
from commwall.report.style import Look, new_figure, platform_legend, title_figure, value_axis
from commwall.schema.metrics import METRICS

POWER, TIME, IDLE = "power_w", "power_time_s", "idle_power_w"
NO_TIMES = tr_later("Power over time: the records do not say when power was read")
NO_POWER = tr_later("Power over time: power was not polled")
NOT_OF_ALL = tr_later("Power over time: no usable round has that of all GPUs without a doubt")
LEGEND_IN = 1.0
"""Room for title and legend [inch]."""
LINES = ("-", "--", "-.", ":")


def trace_figure(tables: Tables, looks: Looks) -> Figure:
    """Polled power of all GPUs together over the window, one line a platform, a panel a case."""
    raw = tables.measurements
    power = raw[raw["metric"] == POWER]
    if power.empty:
        return nothing(tr(NO_POWER))
    whole = _whole(tables)
    if whole.empty:
        return nothing(tr(NOT_OF_ALL))
    traces = list(_traces(raw, whole))
    if not traces:
        return nothing(tr(NO_TIMES))
    shown = pd.concat(traces)
    cases = list(shown.groupby("case", sort=False))
    places = {platform: place for place, platform in enumerate(dict.fromkeys(shown["platform"]))}
    figure, panels = new_figure(2.2 + LEGEND_IN / len(cases) for _ in cases)
    for axes, (case, own) in zip(panels, cases, strict=True):
        for platform, line in own.groupby("platform", sort=False):
            style = LINES[places[platform] % len(LINES)]
            _draw(axes, line, looks[str(platform)], style)
        axes.set_title(tr("case {case}, round {round}", case=case, round=own["round"].iloc[0]))
        value_axis(axes, METRICS[TIME], label=tr("time since the window began"))
        axes.set_ylabel(tr("all GPUs [W]"))
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
    platform_legend(figure, shown, looks)
    title_figure(figure, tr("Power in the timed window"), emulated=emulated_in(shown))
    return figure


def _whole(tables: Tables) -> pd.DataFrame:
    """Rounds that count and have the polled power of all GPUs, with their idle power."""
    own = tables.energy
    own = own[own["admitted"] & own["rank"].isna() & own["polled_power_w"].notna()]
    return own[["platform", "case", "round", IDLE]]


def _traces(raw: pd.DataFrame, whole: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Summed power over time, of each case in the first round that most platforms can show."""
    own = raw[raw["metric"].isin([POWER, TIME])].merge(whole, on=["platform", "case", "round"])
    for _, of_case in own.groupby("case", sort=False):
        platforms = of_case.groupby("round")["platform"].nunique()
        shown = of_case[of_case["round"] == platforms.idxmax()]
        for _, lines in shown.groupby("platform", sort=False):
            trace = _trace(lines)
            if trace is not None:
                yield trace


def _trace(lines: pd.DataFrame) -> pd.DataFrame | None:
    """Power of all GPUs at the readings of the first one; None where a time is not known."""
    total: np.ndarray | None = None
    grid: np.ndarray | None = None
    for _, of_rank in lines.groupby("rank", sort=True):
        readings = of_rank.pivot(index="step", columns="metric", values="value")
        if not {POWER, TIME} <= set(readings.columns):
            return None
        known = readings.dropna()
        grid = known[TIME].to_numpy() if grid is None else grid
        own = np.interp(grid, known[TIME].to_numpy(), known[POWER].to_numpy())
        total = own if total is None else total + own
    if total is None:
        return None
    fixed = lines[["platform", "label", "emulated", "case", "round", IDLE]].iloc[0].to_dict()
    return pd.DataFrame({**fixed, "time_s": grid, "power_w": total})


def _draw(axes: Axes, line: pd.DataFrame, look: Look, style: str) -> None:
    """The trace, and dotted what all GPUs take idle, where it is known of all."""
    axes.plot(line["time_s"], line["power_w"], style, color=look.color, linewidth=1.6)
    idle = line[IDLE].iloc[0]
    if not pd.isna(idle):
        axes.axhline(idle, color=look.color, linestyle=":", linewidth=1)
