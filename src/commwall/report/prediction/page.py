"""The page on predicted steps: how far off they are, where, and why.

Layer: report. Reads and writes no file.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pandas as pd

from commwall.analysis.steps.predictions import Unpredicted
from commwall.analysis.steps.words import MISS_PERCENT, miss_text, misses
from commwall.language.translate import (
    around_text,
    clauses,
    tr,
    trn,
)
from commwall.report.html import (
    Group,
    Html,
    folded,
    grouped_table,
    joined,
    paragraph,
    table,
)
from commwall.report.page import Page
from commwall.report.prediction.worth import percent, signed, worth
from commwall.schema.units import size_text, time_text

_ERRORS = ("error_percent", "compute_percent", "exchange_percent", "contention_percent")

_TIMES = ("predicted_cost_s", "measured_cost_s", "predicted_s", "measured_s")


def verdict(page: Page) -> Html:
    """How far off predictions are, over all cells on platforms whose training they do not know."""
    return joined(_verdict_parts(page), "card")


def _verdict_parts(page: Page) -> Iterator[Html]:
    rows = page.tables.prediction_errors
    whole = rows[rows["source"].isna()].to_dict("records")
    real = next((row for row in whole if not row["control"]), None)
    if real is None or not real["judged"]:
        words = tr("No step is predicted and measured: {why}.", why=_why_none(page))
        yield paragraph(words, "verdict")
        return
    words = tr(
        "{n} steps predicted from another link's training are off by {median} in the median, by "
        "{worst} at worst ({place}).",
        **_errors(real),
        place=_worst(page, real),
    )
    yield paragraph(words, "verdict")
    yield from worth(page)
    yield paragraph(_coverage(real), "detail")
    if control := next((row for row in whole if row["control"] and row["judged"]), None):
        words = tr(
            "Between two platforms of one treatment (A/A) {n} steps are off by {median} in the "
            "median, by {worst} at worst: nearly by construction, for the traits are fitted to the "
            "source's own step.",
            **_errors(control),
        )
        yield paragraph(words, "detail")
    if carried := _carried(page):
        yield paragraph(carried, "detail")
    if real["unpredicted"]:
        counts = {"n": real["unpredicted"], "all": real["cells"]}
        words = tr("Not predicted: {n} of {all}: {why}.", **counts, why=_why_none(page))
        yield paragraph(words, "detail")


def _errors(row: dict[str, Any]) -> dict[str, str]:
    """How many steps of a row are judged, and how far off they are."""
    return {
        "n": str(row["judged"]),
        "median": percent(row["median_error_percent"]),
        "worst": percent(abs(row["worst_error_percent"])),
    }


def _carried(page: Page) -> str:
    """Says so where contention was not measured on both links."""
    own = page.tables.predicted_steps["contention_measured"].dropna()
    if own.all():
        return ""
    return tr(
        "{n} of {all} predictions take the source's contention as it is: on one of their links no "
        "exchange was measured beside a load.",
        n=(~own).sum(),
        all=len(own),
    )


def _why_none(page: Page) -> str:
    """The usual reason, and how many steps have it where others have another one."""
    steps = page.analysis.steps
    real = [own for own in (steps.predictions if steps else ()) if not own.place.control]
    reasons = Counter(own.why for own in real if isinstance(own, Unpredicted))
    if not real:
        return tr("no training case runs on two platforms")
    if not reasons:
        return tr("no target was trained on")
    usual, count = reasons.most_common(1)[0]
    if len(reasons) == 1:
        return usual
    return tr("{why} ({n} of {all})", why=usual, n=count, all=reasons.total())


def _worst(page: Page, row: dict[str, Any]) -> str:
    names = page.analysis.names
    return _place_text(row["worst_case"], names[row["worst_source"]], names[row["worst_target"]])


def _way_text(source: str, target: str) -> str:
    """From which platform to which one a step is predicted."""
    return tr("{source} to {target}", source=source, target=target)


def _coverage(row: dict[str, Any]) -> str:
    if not row["with_interval"]:
        return tr("None of them has an interval: that takes two rounds and three other cases.")
    return tr(
        "{n} of {all} measured steps lie in their {level} % interval, whose half width is {width} "
        "in the median.",
        n=row["inside"],
        all=row["with_interval"],
        level=f"{100 * row['confidence']:g}",
        width=percent(row["median_half_width_percent"]),
    )


def predictions(page: Page) -> Html:
    """Every prediction beside what was measured, by case; controls and gaps below. Nothing where
    one reason, which the verdict tells, keeps all of them out.
    """
    rows = page.tables.predicted_steps
    known = rows[rows["n"] > 0]
    if known.empty and rows["reason"].nunique() < 2:
        return Html("")
    real, controls = (known[known["control"] == control] for control in (False, True))
    parts = []
    if not real.empty:
        parts.append(_prediction_table(page, real, tr("Predicted and measured steps.")))
    if not controls.empty:
        shown = _prediction_table(page, controls, tr("Between two platforms of one treatment."))
        parts.append(folded(tr("Predictions between two platforms of one treatment (A/A)"), shown))
    return joined([*parts, _missing(rows)])


def _prediction_table(page: Page, rows: pd.DataFrame, words: str) -> Html:
    level = f"{100 * page.analysis.confidence:g}"
    heads = (
        tr("from, to"),
        tr("without exchange"),
        tr("exchange alone"),
        tr("predicted ({level} % interval)", level=level),
        tr("measured"),
        tr("off by"),
        "n",
    )
    groups = [
        Group(str(case), [_prediction_cells(row) for row in own.to_dict("records")])
        for case, own in rows.groupby("case", sort=False)
    ]
    return grouped_table(heads, groups, words)


def _prediction_cells(row: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    measured = not pd.isna(row["measured_s"])
    outside, error = row["inside"] is False, signed(row["error_percent"])
    return (
        "decided" if outside else "",
        (
            _way_text(row["label_source"], row["label_target"]),
            time_text(row["packed_step_s"]),
            time_text(row["exchange_s"]),
            _around(row, "predicted"),
            time_text(row["measured_s"]) if measured else tr("not measured"),
            (tr("{error}, outside", error=error) if outside else error) if measured else "",
            str(row["n"]),
        ),
    )


def _missing(rows: pd.DataFrame) -> Html:
    """Steps without prediction, those of one reason in one row."""
    absent = rows[rows["n"] == 0]
    if absent.empty:
        return Html("")
    cells = [
        (clauses(map(_place_of, own.to_dict("records"))), str(reason))
        for reason, own in absent.groupby("reason", sort=False)
    ]
    heads = (tr("not predicted"), tr("why"))
    return table(heads, cells, tr("Steps that cannot be predicted."))


def _place_of(row: dict[str, Any]) -> str:
    return _place_text(row["case"], row["label_source"], row["label_target"])


def _place_text(case: str, source: str, target: str) -> str:
    """Case and way of a prediction."""
    return tr("{case}, {source} to {target}", case=case, source=source, target=target)


def reasons(page: Page) -> Html:
    """Why predictions miss, by putting the target's own measurements in place of the inputs."""
    rows = page.tables.predicted_steps
    judged = [row for row in rows.to_dict("records") if not pd.isna(row["error_percent"])]
    own = [row for row in judged if misses(row)]
    if not judged:
        return Html("")
    most = f"{MISS_PERCENT:g}"
    if not own:
        words = tr("No prediction is off by more than {most} % or outside its interval.", most=most)
        return paragraph(words)
    heads = (
        tr("case, from, to"),
        tr("off by"),
        tr("by compute"),
        tr("by the exchange"),
        tr("by contention"),
        tr("mostly"),
    )
    lines = [
        (_place_of(row), *(signed(row[name]) for name in _ERRORS), miss_text(row)) for row in own
    ]
    words = tr(
        "Predictions that are off by more than {most} %, or outside their interval.", most=most
    )
    return table(heads, lines, words)


def models(page: Page) -> Html:
    """What each platform's records tell the model of each case; nothing where none has enough."""
    rows = page.tables.step_models
    known = rows[rows["n"] > 0]
    if known.empty:
        return Html("")
    heads = (
        tr("platform"),
        tr("first bucket ready"),
        tr("backward over"),
        tr("without exchange"),
        tr("with exchange"),
        tr("exchange alone (sweep)"),
        tr("compute lost, stretch"),
        tr("sensitivity, drag"),
        tr("left of the step"),
        "n",
    )
    groups = [
        Group(str(case), [("", _model_cells(row)) for row in own.to_dict("records")])
        for case, own in known.groupby("case", sort=False)
    ]
    words = tr(
        "What the model rests on, means of the rounds. In brackets: the sweep's time against leg "
        "comm."
    )
    return grouped_table(heads, groups, words)


def _model_cells(row: dict[str, Any]) -> tuple[str, ...]:
    loaded = not pd.isna(row["lost"])
    swept = "" if pd.isna(row["sweep_error_percent"]) else signed(row["sweep_error_percent"])
    comm = tr("not measured") if pd.isna(row["comm_s"]) else time_text(row["comm_s"])
    fitted = not pd.isna(row["sensitivity"])
    return (
        row["label"],
        time_text(row["first_ready_s"]),
        time_text(row["backward_end_s"]),
        time_text(row["packed_step_s"]),
        time_text(row["full_step_s"]),
        tr("{value} ({beside})", value=comm, beside=swept) if swept else comm,
        f"{row['lost']:.2f}, {row['stretch']:.2f}" if loaded else tr("not measured beside a load"),
        _traits_text(row) if fitted else row["reason"],
        signed(100 * row["rest_s"] / row["full_step_s"]) if fitted else "",
        str(row["n"]),
    )


def _traits_text(row: dict[str, Any]) -> str:
    """Sensitivity, and drag where a load tells them apart."""
    sensitivity, drag = f"{row['sensitivity']:.2f}", f"{row['drag']:+z.2f}".replace("-", "−")
    return sensitivity if pd.isna(row["drag"]) else f"{sensitivity}, {drag}"


def cases(page: Page) -> Html:
    """Steps predicted from another batch, or from smaller buckets, beside what was measured;
    nothing where no step can be predicted.
    """
    rows = page.tables.predicted_cases
    if rows.empty and page.tables.bucket_sizes.empty:
        return Html("")
    if rows.empty:
        words = tr(
            "No two cases differ in their batch alone, or in the size of their buckets alone."
        )
        return paragraph(words)
    heads = (
        tr("case, platform"),
        tr("from"),
        tr("cost of the exchange, predicted"),
        tr("measured"),
        tr("step, predicted"),
        tr("measured"),
        tr("off by"),
        "n",
    )
    lines = [
        (
            _where_text(row["case"], row["label"]),
            _source_text(row),
            *(time_text(row[name]) for name in _TIMES),
            signed(row["error_percent"]),
            str(row["n"]),
        )
        for row in rows.to_dict("records")
    ]
    return table(heads, lines, tr("Steps predicted from another case of the same platform."))


def _where_text(case: str, platform: str) -> str:
    return tr("{case}, {platform}", case=case, platform=platform)


def _source_text(row: dict[str, Any]) -> str:
    """The case that a step is predicted from, and how it differs."""
    case = row["source_case"]
    if row["differs"] == "batch":
        return tr("{case} (another batch)", case=case)
    return tr("{case} (smaller buckets)", case=case)


def bucket_sizes(page: Page) -> Html:
    """The modelled step with buckets joined to larger ones."""
    rows = page.tables.bucket_sizes
    if rows.empty:
        return Html("")
    lines = [
        (_where_text(case, label), *map(_joined_text, own.to_dict("records")))
        for (case, label), own in rows.groupby(["case", "label"], sort=False)
    ]
    most = max(len(line) for line in lines) - 1
    heads = (tr("case, platform"), tr("as trained"), *[tr("joined")] * (most - 1))
    filled = [line + ("",) * (most + 1 - len(line)) for line in lines]
    words = tr("Modelled step with buckets closed from that size on; larger ones to the right.")
    return folded(tr("Modelled steps of every case"), table(heads, filled, words))


def _joined_text(row: dict[str, Any]) -> str:
    """A modelled step, and the buckets that it has."""
    return trn(
        "{step} ({size}, {n} bucket)",
        "{step} ({size}, {n} buckets)",
        row["buckets"],
        step=time_text(row["step_s"]),
        size=size_text(row["bucket_bytes"]),
    )


def _around(row: dict[str, Any], name: str) -> str:
    middle, low, high = (row[f"{name}{part}_s"] for part in ("", "_low", "_high"))
    if pd.isna(low):
        return tr("{value} (no interval)", value=time_text(middle))
    return around_text(*map(time_text, (middle, low, high)))
