"""What collectives say of a link: its latency and rate, and how NCCL carried them out.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from commwall.analysis.quantities import BUSBW, EAGER_TIME, Quantity
from commwall.language.translate import around_text, between_text, listed, quantity_text, tr, trn
from commwall.report.html import Group, Html, grouped_table, paragraph, table
from commwall.report.operations import page as operations
from commwall.report.page import Page
from commwall.schema.metrics import METRICS
from commwall.schema.units import significant, size_text

_LATENCY, _RATE = "link_latency", "link_rate"
_POINTS_OF_A_LINE = 60


def fits(page: Page) -> Html:
    """Latency and rate of every link by collective, with the worst misfit of the line."""
    rows = page.tables.links
    if rows.empty:
        return paragraph(tr("No line: no collective has an admitted round."), "missing")
    level = tr("{level} % interval", level=f"{100 * page.analysis.confidence:g}")
    heads = (
        tr("case"),
        tr("link"),
        tr("{quantity} ({level})", quantity=tr(METRICS[f"{_LATENCY}_s"].label), level=level),
        tr("{quantity} ({level})", quantity=tr(METRICS[f"{_RATE}_bytes_per_s"].label), level=level),
        tr("sizes"),
        tr("misfit of the time at worst"),
        tr("at the largest size"),
        "n",
    )
    fitted = rows[rows["n"] > 0]
    lines = [("", _fit_cells(row)) for row in fitted.to_dict("records")]
    lines += [("refused", cells) for cells in _without_line(rows[rows["n"] == 0])]
    words = tr("Time = latency + bytes on the wire / rate: mean of the rounds' lines.")
    return grouped_table(heads, [Group("", lines)], words)


def choices(page: Page) -> Html:
    """Algorithm, protocol and channels of every case and size, a column for each platform;
    nothing on a CPU, where NCCL carries nothing.
    """
    rows = page.tables.choices
    if rows.empty:
        return _of_gpus(page, tr("NCCL's choices: none known, see the gaps."))
    labels = list(dict.fromkeys(rows["label"]))
    lines = [
        (_place(case, size), *(_choice_text(own, label) for label in labels))
        for (case, size), own in rows.groupby(["case", "message_bytes"], sort=False)
    ]
    words = tr("Algorithm, protocol and channels that NCCL's log tells of any round.")
    return table((tr("case, size"), *labels), lines, words)


def eager(page: Page) -> Html:
    """What the host's own calls take, where they were timed beside the replays; nothing on a CPU,
    where no other times are.
    """
    if not (page.tables.sizes["metric"] == EAGER_TIME.metric_id).any():
        words = tr(
            "No eager times: nothing was recorded, so every time is one of the host's calls."
        )
        return _of_gpus(page, words)
    return sizes(page, EAGER_TIME)


def yardsticks(page: Page) -> Html:
    """The own rate over that of nccl-tests at every size, a column for each platform; nothing on a
    CPU, where it does not run.
    """
    rows = page.tables.yardsticks
    own = rows[rows["admitted"]]
    if own.empty:
        return _of_gpus(page, tr("nccl-tests was not run beside this campaign."))
    labels = list(dict.fromkeys(own["label"]))
    lines = [
        (_place(case, size), *(_beside_text(line, label) for label in labels))
        for (case, size), line in own.groupby(["case", "message_bytes"], sort=False)
    ]
    words = tr(
        "Own rate / rate of nccl-tests: median of the rounds (least to greatest); above 1 the own "
        "time is the shorter one."
    )
    return table((tr("case, size"), *labels), lines, words)


def sizes(page: Page, quantity: Quantity) -> Html:
    """A quantity of every collective, size and platform; copies have their own page."""
    return operations.sizes(page, quantity, "collectives")


def busbw_figure(page: Page) -> Figure:
    """Bus bandwidth over size, with the fitted line of each link dashed over its sizes."""
    figure = operations.size_figure(page.tables, page.looks, BUSBW)
    links = page.tables.links[page.tables.links["n"] > 0]
    for axes in figure.axes:
        for row in links[links["case"] == axes.get_label()].to_dict("records"):
            look = page.looks[row["platform"]]
            sizes, rates = zip(*_curve(row), strict=True)
            axes.plot(sizes, rates, "--", color=look.color, linewidth=0.8, zorder=1)
    return figure


def _of_gpus(page: Page, words: str) -> Html:
    """That a campaign on GPUs lacks something; nothing where none can have it."""
    return paragraph(words, "missing") if page.on_gpus else Html("")


def _place(case: str, size: int) -> str:
    return operations.place_text(case, size, None, None)


def _curve(row: dict[str, Any]) -> Iterator[tuple[float, float]]:
    """Size [byte] and bus bandwidth [byte/s] of a fitted line, within its sizes."""
    smallest, largest = float(row["smallest_bytes"]), float(row["largest_bytes"])
    for step in range(_POINTS_OF_A_LINE + 1):
        size = smallest * (largest / smallest) ** (step / _POINTS_OF_A_LINE)
        wire_bytes = row["wire_share"] * size
        yield size, wire_bytes / (row["link_latency_s"] + wire_bytes / row["link_rate_bytes_per_s"])


def _without_line(rows: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Links without a line, those of one case and reason in one row."""
    for (case, reason), own in rows.groupby(["case", "reason"], sort=False):
        yield str(case), listed(own["label"]), tr("none: {reason}", reason=reason)


def _fit_cells(row: dict[str, Any]) -> tuple[str, ...]:
    worst, size = significant(row["misfit_percent"], 2), size_text(row["misfit_bytes"])
    return (
        row["case"],
        row["label"],
        _mean_text(row, _LATENCY, "_s", "s"),
        _mean_text(row, _RATE, "_bytes_per_s", "byte/s"),
        between_text(size_text(row["smallest_bytes"]), size_text(row["largest_bytes"])),
        tr("{misfit} % at {size}", misfit=worst, size=size),
        f"{significant(row['misfit_at_largest_percent'], 2)} %",
        str(row["n"]),
    )


def _mean_text(row: dict[str, Any], name: str, end: str, unit: str) -> str:
    mean, low, high = (row[f"{name}{part}{end}"] for part in ("", "_low", "_high"))
    if pd.isna(low):
        return tr("{value} (no interval)", value=quantity_text(mean, unit))
    return around_text(*(quantity_text(value, unit) for value in (mean, low, high)))


def _beside_text(line: pd.DataFrame, label: str) -> str:
    ratios = line[line["label"] == label]["rate_ratio"]
    if ratios.empty:
        return tr("absent")
    median, least, most = (f"{v:.3f}" for v in (ratios.median(), ratios.min(), ratios.max()))
    return around_text(median, least, most) if len(ratios) > 1 else median


def _choice_text(own: pd.DataFrame, label: str) -> str:
    mine = own[own["label"] == label]
    told = [
        trn(
            "{way}, {n} channel",
            "{way}, {n} channels",
            row.channels,
            way=f"{row.algorithm} {row.protocol}",
        )
        for row in mine.itertuples()
    ]
    return tr(" or ").join(dict.fromkeys(told)) or tr("not told")
