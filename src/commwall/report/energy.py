"""The energy page: its verdicts, its power figure and table, and what is not counted.

Layer: report. Reads and writes no file.
"""

import pandas as pd
from matplotlib.figure import Figure

from commwall.analysis.tables import Tables
from commwall.report.figures import Looks, emulated_in, nothing
from commwall.report.html import Html, bullets, joined, table
from commwall.report.page import Page
from commwall.report.style import (
    INK,
    new_figure,
    panel_height,
    row_labels,
    title_figure,
    value_axis,
)
from commwall.schema.metrics import METRICS
from commwall.schema.units import quantity_text

COUNTED, POLLED, IDLE = "mean_power_w", "power_w", "idle_power_w"
NOT_COUNTED = (
    "Energy is that of the counted domains: on GPUs the boards themselves, on a CPU its packages "
    "and memory. The host beside GPUs, NVSwitch, network, fans and power supplies are missing.",
    "Where a step waits for the host, the energy of waiting is in the numbers.",
    "Idle power is read just before a launch; after other work a GPU may not have come to rest.",
)


def power_figure(tables: Tables, looks: Looks) -> Figure:
    """Power of all GPUs of a launch by the counter, polled and before the launch."""
    power = powers(tables)
    if power.empty:
        return nothing("Power: no value, see the gaps")
    cases = list(power.groupby("case", sort=False))
    figure, panels = new_figure(panel_height(len(own), own["label"]) for _, own in cases)
    for axes, (case, own) in zip(panels, cases, strict=True):
        for row, line in enumerate(own.to_dict("records")):
            look = looks[line["platform"]]
            axes.barh(row, line[COUNTED], 0.55, color=look.color, hatch=look.hatch, alpha=0.85,
                      edgecolor="white")  # fmt: skip
            axes.plot(line[POLLED], row, "o", mfc="white", mec=INK, ms=6)
            axes.plot(line[IDLE], row, "|", color=INK, ms=16, mew=1.8)
        row_labels(axes, list(own["label"]))
        value_axis(axes, METRICS[COUNTED], label="power of all counted domains")
        axes.set_title(f"case {case}")
        axes.set_xlim(left=0)
    title_figure(figure, "Power while training", emulated=emulated_in(power))
    return figure


def power_table(page: Page) -> Html:
    """The power figure in numbers."""
    power = powers(page.tables)
    shown = [
        (line["label"], line["case"], *(_watts(line[name]) for name in (COUNTED, POLLED, IDLE)))
        for line in power.to_dict("records")
    ]
    heads = ("platform", "case", "by the counter", "polled", "before the launch")
    if not shown:
        return joined(())  # the figure says so
    return table(heads, shown, "Power of all counted domains together, median over rounds.")


def powers(tables: Tables) -> pd.DataFrame:
    """One row a platform and case: median over rounds of each kind of power [W].

    Polled and idle power are medians of a GPU's readings, summed over the GPUs.
    """
    keys = ["platform", "label", "case", "emulated"]
    counted = tables.rounds[(tables.rounds["metric"] == COUNTED) & tables.rounds["admitted"]]
    result = counted.groupby(keys, sort=False)["value"].median().rename(COUNTED).to_frame()
    raw = tables.measurements
    for metric in (POLLED, IDLE):
        own = raw[raw["metric"] == metric]
        each = own.groupby([*keys, "round", "rank"], sort=False)["value"].median()
        whole = each.groupby([*keys, "round"], sort=False).sum().groupby(keys, sort=False)
        result = result.join(whole.median().rename(metric))
    return result.reset_index()


def not_covered(page: Page) -> Html:
    """What the energy numbers leave out."""
    return bullets(NOT_COUNTED)


def _watts(value: float) -> str:
    return quantity_text(value, "W") if value == value else "absent"  # not NaN
