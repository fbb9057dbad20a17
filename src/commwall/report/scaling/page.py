"""The page on scaling: what more GPUs on one link bring, and how well fewer of them foretell it.

Layer: report. Reads and writes no file.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any, TypeAlias

import pandas as pd

from commwall.analysis.scaling.tables import Scaling
from commwall.analysis.verdicts.wording import share_text, signed_share_text
from commwall.language.translate import around_text, quantity_text, span_text, tr, tr_later
from commwall.report.html import Group, Html, bullets, grouped_table, joined, paragraph
from commwall.report.page import Page
from commwall.schema.metrics import METRICS
from commwall.schema.units import significant, time_text

Series: TypeAlias = "pd.Series[float]"
RULE = (
    tr_later(
        "A ring of n GPUs passes on an n-th of the buffer in each of 2 (n − 1) steps. A step of "
        "the same bytes is taken to last as long as with fewer GPUs; so the sweep of few GPUs "
        "gives that of more."
    ),
    tr_later(
        "Compute, and what compute and exchange take from each other, are those of the fewer GPUs "
        "(the model of the page on prediction). Nothing of the larger number is used."
    ),
    tr_later(
        "So a miss by the exchange shows what more GPUs share, a switch or bridges of the host; "
        "one by compute shows clocks, power or memory that more GPUs share."
    ),
)
NOT_SHOWN = (
    tr_later("More GPUs than were measured, and more machines."),
    tr_later(
        "Strong scaling: every GPU has the same batch at every number, so that all together train "
        "on more samples in a step, which convergence may not reward."
    ),
    tr_later(
        "Which GPUs were taken: fewer than all are the first ones, which may share a processor "
        "socket, so that their traffic through the host crosses less of it."
    ),
)
_ERRORS = ("error_percent", "compute_percent", "exchange_percent", "contention_percent")


def verdict(page: Page, scaling: Scaling) -> Html:
    """What the largest number of each link reaches, a card a link."""
    rows = scaling.scaling[scaling.scaling["n"] > 0]
    several = rows[rows["ranks"] > 1]
    if several.empty:
        words = tr("No link has a usable round with several numbers of processes.")
        return joined([paragraph(words, "verdict")], "card")
    links = several.groupby("link", sort=False)
    return joined(joined(_link_parts(page, own), "card") for _, own in links)


def _link_parts(page: Page, rows: pd.DataFrame) -> Iterator[Html]:
    counts = sorted(set(rows["ranks"].astype(int)))
    if said := _most_text(page, rows, counts[-1]):
        yield paragraph(said, "verdict")
    for before, after in pairwise(counts):
        gains = _ratios(rows, "samples_per_s", before, after)
        if not gains.empty:
            yield paragraph(_growth_text(page, gains, before, after), "detail")
    rates = _ratios(rows, "busbw_bytes_per_s", counts[0], counts[-1])
    if len(counts) > 1 and not rates.empty:
        yield paragraph(_rate_text(page, rates, counts[0], counts[-1]), "detail")


def _most_text(page: Page, rows: pd.DataFrame, ranks: int) -> str:
    """What the largest number brings; nothing where leg `single` lacks."""
    known = rows[rows["ranks"] == ranks]["efficiency"].dropna()
    if known.empty:
        return ""
    return tr(
        "{link}: {ranks} {processes} train {times} times as fast as one, {shares} of {ranks}.",
        link=tr(str(rows["link"].iloc[0])),
        ranks=ranks,
        processes=_processes(page),
        times=_span(ranks * known, significant),
        shares=_span(known, share_text),
    )


def _growth_text(page: Page, gains: Series, before: int, after: int) -> str:
    return tr(
        "From {before} to {after} {processes} throughput grows {times} times; {most} would be all.",
        before=before,
        after=after,
        processes=_processes(page),
        times=_span(gains, significant),
        most=significant(after / before),
    )


def _rate_text(page: Page, rates: Series, least: int, most: int) -> str:
    return tr(
        "The rate of the exchange on {most} {processes} is {shares} of that on {least}.",
        most=most,
        processes=_processes(page),
        shares=_span(rates, share_text),
        least=least,
    )


def _ratios(rows: pd.DataFrame, column: str, before: int, after: int) -> Series:
    """Value of the larger number over that of the smaller, case by case."""
    by_ranks = rows.pivot(index="case", columns="ranks", values=column)
    ratios: Series = (by_ranks[after] / by_ranks[before]).dropna()
    return ratios


def _span(values: Series, words: Callable[[float], str]) -> str:
    """Least and greatest of the cases."""
    return span_text(words(float(values.min())), words(float(values.max())))


def _processes(page: Page) -> str:
    on_gpus = any(cell.record.platform.device == "cuda" for cell in page.analysis.cells)
    return tr("GPUs") if on_gpus else tr("processes")


def curve(page: Page, scaling: Scaling) -> Html:
    """Throughput, speed-up and rate of the exchange at every number, by case and link."""
    rows = scaling.scaling
    if rows.empty:
        return paragraph(tr("No link was measured with several numbers of processes."), "missing")
    level = _level(page)
    heads = (
        _processes(page),
        f"{tr(METRICS['throughput_samples_per_s'].label)} ({level})",
        f"{tr(METRICS['scaling_efficiency'].label)} ({level})",
        f"{tr(METRICS['exchange_busbw_bytes_per_s'].label)} ({level})",
        "n",
    )
    groups = [
        Group(f"{case}, {tr(link)}", [_curve_cells(row) for row in own.to_dict("records")])
        for (case, link), own in rows.groupby(["case", "link"], sort=False)
    ]
    words = tr(
        "Geometric means of the rounds. One alone is leg single of the launches with the fewest."
    )
    return grouped_table(heads, groups, words)


def _level(page: Page) -> str:
    percent = f"{100 * page.analysis.confidence:g}"
    return tr("{percent} % interval", percent=percent)


def _curve_cells(row: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    ranks = str(row["ranks"])
    if not row["n"]:
        return "refused", (ranks, tr("none: {reason}", reason=row["reason"]))
    return "", (
        ranks,
        _around(row, "samples_per_s", partial(quantity_text, unit="sample/s")),
        _around(row, "efficiency", share_text) if row["ranks"] > 1 else "",
        _around(row, "busbw_bytes_per_s", partial(quantity_text, unit="byte/s")),
        str(row["n"]),
    )


def _around(row: dict[str, Any], name: str, words: Callable[[float], str], unit: str = "") -> str:
    """A mean with its interval; nothing where there is none.

    Args:
        row: of a table.
        name: column of the mean; its ends are called after it.
        words: for a value.
        unit: with which the names of the columns end.
    """
    middle, low, high = (row[f"{name}{end}{unit}"] for end in ("", "_low", "_high"))
    if pd.isna(middle):
        return ""
    if pd.isna(low):
        return tr("{value} (no interval)", value=words(middle))
    return around_text(words(middle), words(low), words(high))


def foretold(page: Page, scaling: Scaling) -> Html:
    """How far off steps predicted from fewer processes are, a card a link, widest step first."""
    rows = scaling.scaled_steps
    judged = rows[rows["error_percent"].notna()]
    if judged.empty:
        reasons = rows["reason"].dropna()
        why = str(reasons.iloc[0]) if len(reasons) else tr("no case runs with several numbers")
        words = tr("No step is predicted from fewer processes and measured: {why}.", why=why)
        return joined([paragraph(words, "verdict")], "card")
    return joined(_foretold_card(page, own) for _, own in judged.groupby("link", sort=False))


def _foretold_card(page: Page, rows: pd.DataFrame) -> Html:
    widest = rows.sort_values(
        ["target_ranks", "source_ranks"], ascending=[False, True], kind="stable"
    )
    steps = widest.groupby(["target_ranks", "source_ranks"], sort=False)
    first, *others = (_foretold_text(page, own) for _, own in steps)
    details = (paragraph(line, "detail") for line in others)
    return joined([paragraph(first, "verdict"), *details], "card")


def _foretold_text(page: Page, rows: pd.DataFrame) -> str:
    errors = rows["error_percent"].abs()
    worst = rows.loc[errors.idxmax()]
    return tr(
        "{link}, {target} {processes} from {source}: steps are off by {median} in the median, by "
        "{worst} at worst ({case}).",
        link=tr(worst["link"]),
        target=worst["target_ranks"],
        source=worst["source_ranks"],
        processes=_processes(page),
        median=share_text(median(errors) / 100),
        worst=signed_share_text(worst["error_percent"] / 100),
        case=worst["case"],
    )


def predictions(page: Page, scaling: Scaling) -> Html:
    """Every step predicted from fewer processes beside the measured one, and where it misses."""
    rows = scaling.scaled_steps
    known = rows[rows["n"] > 0]
    if known.empty:
        return Html("")  # `foretold` has said why
    level = _level(page)
    heads = (
        tr("{processes}, from", processes=_processes(page)),
        tr("predicted ({level})", level=level),
        tr("measured"),
        tr("error"),
        tr("by compute"),
        tr("by the exchange"),
        tr("by contention"),
        "n",
    )
    groups = [
        Group(f"{case}, {tr(link)}", [_prediction_cells(row) for row in own.to_dict("records")])
        for (case, link), own in known.groupby(["case", "link"], sort=False)
    ]
    words = tr(
        "Steps predicted from fewer processes of one link; the parts of an error multiply to it. "
        "Bold: the measured step lies outside the interval."
    )
    return grouped_table(heads, groups, words)


def _prediction_cells(row: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    place = tr("{more} from {fewer}", more=row["target_ranks"], fewer=row["source_ranks"])
    predicted = _around(row, "predicted", time_text, "_s")
    if pd.isna(row["measured_s"]):
        return "", (place, predicted, tr("not measured"))
    errors = [tr("absent") if pd.isna(row[e]) else _signed(row[e]) for e in _ERRORS]
    kind = "decided" if row["inside"] is False else ""
    return kind, (place, predicted, time_text(row["measured_s"]), *errors, str(row["n"]))


def _signed(percent: float) -> str:
    """With its sign, in one piece."""
    text = signed_share_text(percent / 100).replace(" ", "\N{NO-BREAK SPACE}")
    return text if text.startswith(("−", "0.0")) else f"+{text}"


def rule(scaling: Scaling) -> Html:
    """How a step of more processes follows from fewer, where one does."""
    foretold_any = (scaling.scaled_steps["n"] > 0).any()
    return bullets(map(tr, RULE)) if foretold_any else Html("")


def not_shown() -> Html:
    """What curves and predictions here do not cover."""
    return bullets(map(tr, NOT_SHOWN))
