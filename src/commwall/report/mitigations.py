"""The mitigations page: what to do first, what each mitigation gives, and what it costs.

Layer: report. Reads and writes no file. A mitigation whose price was not measured is not listed,
but named among what is missing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from commwall.analysis.mitigations.effects import SHARE_DIGITS, Effect, Share, effects, first_to_do
from commwall.analysis.mitigations.forecast import FORMULAS
from commwall.analysis.mitigations.prices import MOST_FREE_NAT
from commwall.analysis.mitigations.table import mitigation_table
from commwall.analysis.mitigations.words import tried_text, workload_text
from commwall.analysis.verdicts.wording import share_text, signed_share_text
from commwall.language.translate import around_text, listed, tr, tr_later
from commwall.report.figures import nothing
from commwall.report.html import Group, Html, bullets, grouped_table, joined, paragraph
from commwall.report.page import Page
from commwall.report.style import (
    INK,
    looks_of,
    mark_clipped,
    new_figure,
    panel_height,
    row_labels,
    title_figure,
    value_axis,
)
from commwall.schema.metrics import METRICS
from commwall.schema.units import significant
from commwall.stats.intervals import Interval

MOST_SHOWN = 2.0
"""An interval beyond such a share, or below its negative, leaves the figure with an arrow."""
ROUNDING = 1e-6
"""Chosen: float32 sums in another order differ by less [1]."""
NOTHING = tr_later("No mitigation has a usable round and a measured price.")
RULE = tr_later(
    "Named first is, of the mitigations that are faster for certain and free, the one that wins "
    "most of the gap. Free: the interval of the price reaches 0 and ends below {limit} nat, a "
    "hundredth of what the small task's training wins. The intervals are not corrected for "
    "choosing the best of several."
)
NOT_COVERED = (
    tr_later(
        "The price is that of one small task with few batches: what a long training of a large "
        "model loses, it does not tell. Rare exchange and large batches are known to cost more "
        "there."
    ),
    tr_later("Each mitigation is tried alone unless its name lists several: gains do not add up."),
    tr_later("Binding moves threads only: memory that was pinned before stays where it is."),
    tr_later(
        "NCCL variables are read once a process, so that they have launches of their own, and are "
        "held against the step without them of another launch of the same round: no turns make up "
        "for a drift between the two."
    ),
    tr_later("Peak memory is not compared: both steps are in memory at once."),
)


def rows(page: Page) -> pd.DataFrame:
    """Mitigations that have a price, a row for each platform and workload."""
    table = mitigation_table(page.analysis)
    return table[table["why_no_price"].isna()]


def first_card(page: Page) -> Html:
    """What to do first, a sentence for each workload and platform with a faster one beside it."""
    groups: dict[tuple[str, str], list[Effect]] = {}
    for effect in effects(page.analysis):
        if effect.price:
            groups.setdefault((effect.workload, effect.baseline), []).append(effect)
    told = [_first_text(page, own) for own in groups.values() if own[0].against]
    lines = told or [_first_text(page, own) for own in groups.values()] or [tr(NOTHING)]
    rule = [paragraph(tr(RULE, limit=significant(MOST_FREE_NAT, 1)))] if told else []
    return joined([*(paragraph(line, "verdict") for line in lines), *rule], "card")


def _first_text(page: Page, own: list[Effect]) -> str:
    """The sentence on one workload and platform."""
    names, first = page.analysis.names, first_to_do(own)
    workload, platform = workload_text(own[0].case), names[own[0].baseline]
    where = tr("{workload}, on {platform}", workload=workload, platform=platform)
    if first is None:
        return tr(
            "{where}: none of {n} mitigations is faster for certain and free.",
            where=where,
            n=len(own),
        )
    return tr(
        "{where}: first {mitigation}; {won}.",
        where=where,
        mitigation=tried_text(first.tried),
        won=_won_text(names, first),
    )


def _won_text(names: dict[str, str], first: Effect) -> str:
    """What the first mitigation gives, with the number of rounds that say so."""
    if isinstance(first.recovered, Share) and first.against:
        share, n = first.recovered, first.recovered.n
        won = tr(
            "it wins back {share} of the gap to {platform}, n = {n}",
            share=_share_text(share.centre, share.interval),
            platform=names.get(first.against, first.against),
            n=n,
        )
    else:
        gain, n = share_text(first.speedup.centre - 1), first.speedup.n
        won = tr("it is faster by {gain}, n = {n}", gain=gain, n=n)
    return won if n > 1 else tr("{gain}, so without an interval", gain=won)


def _share_text(mean: float, around: Interval | None) -> str:
    if around is None:
        return signed_share_text(mean)
    return around_text(*map(signed_share_text, (mean, around.low, around.high)))


def effects_table(page: Page) -> Html:
    """Every priced mitigation with what it gives and what it costs, best first."""
    own = rows(page).sort_values("against", na_position="last", kind="stable")
    if own.empty:
        return paragraph(tr(NOTHING), "missing")
    groups = [
        Group(
            tr("{workload}, {platform}", workload=workload, platform=label),
            [("", tuple(_cells(row))) for row in _sorted(of)],
        )
        for (workload, label), of in own.groupby(["workload", "baseline"], sort=False)
    ]
    heads = (
        tr("mitigation"),
        tr("share of the gap recovered"),
        tr("speed-up"),
        tr("forecast"),
        tr("energy per sample"),
        tr("price in loss [nat]"),
        tr("gradient error"),
        "n",
    )
    words = tr(
        "With and without each mitigation in one launch, in turns; {level} % interval in brackets. "
        "Forecast: the speed-up that training cases of the same rounds let expect, made without "
        "looking at the mitigated step. NCCL's variables have launches of their own.",
        level=f"{100 * page.analysis.confidence:g}",
    )
    return grouped_table(heads, groups, words)


def _sorted(own: pd.DataFrame) -> Iterable[dict[str, Any]]:
    ordered = own.sort_values(
        ["recovered", "speedup"],
        ascending=False,
        na_position="last",
        key=lambda column: column.round(SHARE_DIGITS),
    )
    best_first: list[dict[str, Any]] = ordered.to_dict("records")
    return best_first


def _cells(row: dict[str, Any]) -> Iterator[str]:
    yield row["mitigation"]
    yield _share_cell(row)
    for name in ("speedup", "forecast", "energy"):
        yield _around(row, (name, f"{name}_low", f"{name}_high"), significant)
    yield _price_text(row)
    yield _error_text(row["gradient_error"])
    yield str(row["n"])


def _share_cell(row: dict[str, Any]) -> str:
    """The share, with its own number of rounds where not all of them have one."""
    shown = _around(row, ("recovered", "recovered_low", "recovered_high"), signed_share_text)
    n = row["recovered_n"]
    return shown if pd.isna(n) or n == row["n"] else tr("{gain}, n = {n}", gain=shown, n=n)


def _error_text(error: float) -> str:
    """A gradient's error; what sums in another order differ by is none."""
    if pd.isna(error):
        return tr("none exchanged")
    return significant(error, 2) if error > ROUNDING else tr("none")


def _around(row: dict[str, Any], columns: Sequence[str], text: Callable[[float], str]) -> str:
    """A value with its ends, of three columns; alone where it has no interval."""
    middle, least, most = (row[column] for column in columns)
    if pd.isna(middle):
        return tr("unknown")
    return text(middle) if pd.isna(least) else around_text(*map(text, (middle, least, most)))


def _price_text(row: dict[str, Any]) -> str:
    """The price with its interval, or that no arithmetic is changed."""
    if not row["seeds"]:
        return tr("none: same arithmetic")
    shown = _around(row, ("price_nat", "price_low_nat", "price_high_nat"), _signed)
    return tr(_PRICES[row["price_verdict"]], price=shown, n=row["seeds"])


_PRICES = {
    "free": tr_later("{price}; {n} seeds"),
    "loss": tr_later("{price}, a loss; {n} seeds"),
    "unsettled": tr_later("{price}, not settled; {n} seeds"),
}


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "−")


def forecast_note(page: Page) -> Html:
    """How forecasts are made, and how far they were off."""
    own = rows(page)
    known = own[own["forecast"].notna()]
    if known.empty:
        return paragraph(tr("No forecast: see what is missing."), "missing")
    ways = [
        paragraph(tr("Forecast by {how}: {formula}.", how=tr(how), formula=tr(formula)))
        for how, formula in FORMULAS.items()
        if (known["forecast_by"] == how).any()
    ]
    return joined([*ways, bullets(map(_forecast_text, known.to_dict("records")))])


def _forecast_text(row: dict[str, Any]) -> str:
    """One forecast beside what was measured."""
    return tr(
        "{mitigation} on {platform}, {workload}: forecast {forecast}, measured {measured}, "
        "{distance} apart (forecast by {how}).",
        mitigation=row["mitigation"],
        platform=row["label"],
        workload=row["workload"],
        forecast=significant(row["forecast"], 3),
        measured=significant(row["speedup"], 3),
        distance=signed_share_text(row["forecast"] / row["speedup"] - 1),
        how=tr(row["forecast_by"]),
    )


def effects_figure(page: Page) -> Figure:
    """Share of the gap that each mitigation recovers, best first, a panel a workload."""
    own = rows(page).dropna(subset=["recovered"])
    if own.empty:
        return nothing(tr("Share of the gap: no mitigation has one, see what is missing"))
    panels = [(name, pd.DataFrame(_sorted(of)))
              for name, of in own.groupby(["workload", "baseline"], sort=False)]  # fmt: skip
    figure, axes_of = new_figure(panel_height(len(of), of["mitigation"]) for _, of in panels)
    look = next(iter(looks_of(["mitigated"]).values()))
    for axes, ((workload, label), of) in zip(axes_of, panels, strict=True):
        _draw(axes, of, look.color)
        title = tr("{workload}, on {platform}", workload=workload, platform=label)
        axes.set_title(title, fontsize=10)
    words = tr("Share of the platform gap recovered")
    title_figure(figure, words, emulated=bool(own["emulated"].any()))
    return figure


def _draw(axes: Axes, own: pd.DataFrame, color: str) -> None:
    """Bars from zero with intervals; what is not free is hatched."""
    for place, row in enumerate(own.to_dict("records")):
        hatch = "" if row["price_verdict"] == "free" else "///"
        axes.barh(place, row["recovered"], 0.6, color=color, hatch=hatch, edgecolor="white")
        if not pd.isna(row["recovered_low"]):
            axes.plot([row["recovered_low"], row["recovered_high"]], [place] * 2, color=INK, lw=1.4)
    row_labels(axes, list(own["mitigation"]))
    value_axis(axes, METRICS["gap_recovered_share"])
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.axvline(1, color=INK, linewidth=0.8, linestyle=":")
    ends = own[["recovered", "recovered_low", "recovered_high"]]
    low, high = min(0.0, ends.min().min()), max(1.0, ends.max().max())
    axes.set_xlim(1.05 * max(low, -MOST_SHOWN), 1.05 * min(high, MOST_SHOWN))
    bars = own.rename(columns={"recovered_low": "mean_low", "recovered_high": "mean_high"})
    mark_clipped(axes, enumerate(bars.itertuples()))


def missing(page: Page) -> Html:
    """Mitigations that are not listed for want of a price, and what else is not known of others."""
    table = mitigation_table(page.analysis)
    reasons: dict[str, list[str]] = {}
    for row in table.to_dict("records"):
        for key, what in _WHATS.items():
            if not pd.isna(row[key]):
                place = tr("{case} on {platform}", case=row["case"], platform=row["label"])
                reasons.setdefault(tr(what, why=row[key]), []).append(place)
    if not reasons:
        return paragraph(tr("Every mitigation has a share, a forecast, an energy and a price."))
    every = tr("all")
    places = {
        w: every if len(own) == len(table) else listed(dict.fromkeys(own))
        for w, own in reasons.items()
    }
    return bullets(
        tr("{what} ({where}).", what=told, where=where) for told, where in places.items()
    )


_WHATS = {
    "why_no_price": tr_later("No price, and so not listed: {why}"),
    "why_no_share": tr_later("No share of a gap: {why}"),
    "why_no_forecast": tr_later("No forecast: {why}"),
    "why_no_energy": tr_later("No energy: {why}"),
}


def not_covered() -> Html:
    """What mitigations on this page do not show."""
    return bullets(map(tr, NOT_COVERED))
