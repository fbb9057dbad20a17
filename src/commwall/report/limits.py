"""What limits each training case, on a page: a table with its sentence, and a figure.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from commwall.analysis.limit_words import LIMIT_WORDS
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.verdicts.wording import share_text
from commwall.language.translate import listed, lowered, tr
from commwall.report.figures import Looks, emulated_in, nothing
from commwall.report.html import Html, bullets, folded, joined, paragraph, table
from commwall.report.page import Page
from commwall.report.style import (
    COLORS,
    MUTED,
    Look,
    new_figure,
    panel_height,
    row_labels,
    title_figure,
)
from commwall.schema.metrics import METRICS
from commwall.schema.units import time_text

SHARES = ("exposed_comm_share", "host_gap_share", "own_work_share")
MOST_SENTENCES = 6
"""More are folded."""


def limit_table(page: Page) -> Html:
    """Shares of every case and platform, and below it a sentence for each."""
    own = page.tables.limits
    if own.empty:
        words = tr("No limit: no case has usable step times of leg full.")
        return paragraph(words, "missing")
    lines = own.to_dict("records")
    rows = [
        (
            line["case"],
            line["label"],
            tr(LIMIT_WORDS[line["limit"]]),
            time_text(line["step_time_s"]),
            *(_share(line[name]) for name in SHARES),
            _of_bound(line, "mfu"),
            _memory(line),
            str(line["n"]),
        )
        for line in lines
    ]
    heads = (tr("case"), tr("platform"), tr("limit"), tr("step"), tr("exposed communication"),
             tr("host gap"), tr("own work"), tr("MFU"), tr("memory"), tr("n"))  # fmt: skip
    words = tr(
        "What limits a step of leg full: medians of the rounds, shares of the step. MFU and "
        "memory: share of the bound over the whole step, and in brackets while the device works, "
        "which decides."
    )
    sentences = list(_sentences(own))
    told = bullets(sentences)
    if len(sentences) > MOST_SENTENCES:
        told = folded(tr("The same in {n} sentences", n=len(sentences)), told)
    return joined([table(heads, rows, words), told, bullets(_rule())])


def _rule() -> Iterator[str]:
    """How a limit is told, and what the smallest share of the memory's bound is."""
    yield tr(
        "Rule: the link limits if exposed communication is larger than the host's gaps and the "
        "device's own work, the host if its gaps are larger than both other parts."
    )
    yield tr(
        "Else the device's own work limits: compute or memory, whichever is nearer to its bound "
        "while the device works, if that is at least half of it; neither if both are known and "
        "below."
    )
    yield tr(
        "A part that was not measured is never taken to be small: then the limit is unknown, or "
        "which of compute and memory it is."
    )
    yield tr(
        "Power limits instead where the GPUs' power limit keeps their processors more than 1 % "
        "below their highest clock; the link and the host come first, by what they take at most."
    )
    yield tr(
        "Host gap: the median step against the slowest of those enqueued beforehand, as the mark "
        "host bound has it."
    )
    least = tr(METRICS["memory_share_least"].definition)
    yield tr('Memory, share of its bound, "or more": {definition}', definition=least)


def _sentences(limits: pd.DataFrame) -> Iterator[str]:
    """What limits each case; what holds on several platforms, and of several cases, once."""
    labels = limits.groupby(["words", "case"], sort=False)["label"]
    places = labels.agg(tr(" and ").join).reset_index()
    for (words, platforms), own in places.groupby(["words", "label"], sort=False):
        cases = listed(own["case"])
        yield tr(
            "{cases} on {platforms}: {words}",
            cases=cases,
            platforms=platforms,
            words=lowered(words),
        )


def limit_figure(tables: Tables, looks: Looks) -> Figure:
    """How a step divides, as shares of it; what is not told apart is left white."""
    own = tables.limits
    if own.empty or own["exposed_comm_share"].isna().all():
        return nothing(tr("How a step divides: legs full and nosync have no usable values"))
    cases = list(own.groupby("case", sort=False))
    figure, panels = new_figure(panel_height(len(lines), lines["label"]) for _, lines in cases)
    for axes, (case, lines) in zip(panels, cases, strict=True):
        for row, line in enumerate(lines.to_dict("records")):
            _draw_step(axes, row, line, looks[line["platform"]])
        row_labels(axes, list(lines["label"]))
        axes.set_xlim(0, 1)
        axes.set_xlabel(tr("share of the step [1]"))
        axes.set_title(tr("case {case}", case=case))
    figure.legend(handles=_handles(), loc="outside lower right", ncols=2, frameon=False, fontsize=9)
    title_figure(figure, tr("How a step divides"), emulated=emulated_in(own))
    return figure


def _draw_step(axes: Axes, row: int, line: dict[str, Any], look: Look) -> None:
    """Own work, gaps, exposed communication, side by side; negative parts have no width."""
    start = 0.0
    styles: tuple[tuple[str, dict[str, Any]], ...] = (
        ("own_work_share", {"color": look.color, "alpha": 0.85}),
        ("host_gap_share", {"color": MUTED, "alpha": 0.6}),
        ("exposed_comm_share", {"color": "white", "edgecolor": look.color}),
    )
    known = {name: max(0.0, line[name]) for name, _ in styles if not pd.isna(line[name])}
    for name, style in styles:
        if name not in known and name == "own_work_share":
            width = 1 - sum(known.values())
            style = {"color": "white", "edgecolor": MUTED, "linestyle": ":"}
        else:
            width = known.get(name, 0.0)
        axes.barh(row, width, height=0.55, left=start, **style)
        start += width


def _handles() -> list[Patch]:
    return [
        Patch(facecolor=COLORS[0], label=tr("coloured: the device's own work")),
        Patch(facecolor=MUTED, alpha=0.6, label=tr("grey: the device waits for the host")),
        Patch(facecolor="white", edgecolor=MUTED, label=tr("exposed communication")),
        Patch(facecolor="white", edgecolor=MUTED, linestyle=":", label=tr("not told apart")),
    ]


def _memory(line: dict[str, Any]) -> str:
    """Share of the memory's bound: measured, else what is counted of it."""
    if pd.isna(line["memory_share"]) and not pd.isna(line["memory_share_least"]):
        return tr("{share} or more", share=_of_bound(line, "memory_share_least"))
    return _of_bound(line, "memory_share")


def _of_bound(line: dict[str, Any], name: str) -> str:
    """A share of a bound over the step, and in brackets while the device works."""
    share, own_work = line[name], line["own_work_share"]
    if pd.isna(share) or pd.isna(own_work) or own_work <= 0:
        return _share(share)
    return f"{share_text(share)} ({share_text(share / own_work)})"


def _share(value: float) -> str:
    return tr("unknown") if pd.isna(value) else share_text(value)
