"""The page on predicted steps: how far off they are, where, and why.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from commwall.analysis.steps.words import MISS_PERCENT, miss_text, misses
from commwall.report.html import (
    Group,
    Html,
    bullets,
    folded,
    grouped_table,
    joined,
    paragraph,
    table,
)
from commwall.report.page import Page
from commwall.schema.units import around_text, significant, size_text, time_text

RULE = (
    "A step has two streams. Compute goes on as it does without exchange (leg packed); each "
    "gradient bucket is exchanged once it is ready and the one before is through; the optimiser "
    "waits for both.",
    "An exchange takes what the link's sweep says for its size, each time read between the sizes "
    "that were measured.",
    "While both streams work, each slows the other: as much as exchange and matrix products slow "
    "each other on that link, times the sensitivity of the workload.",
    "The sensitivity is solved for on the source, where the whole step was measured, and drawn to "
    "that of the source's other workloads where its own exchange is too short to tell. What of the "
    "source's step is then left is carried over in seconds.",
    "Of the target only sweeps of the all-reduce are used. The interval comes from the source's "
    "rounds and from how far off the predictions of other cases were; the step itself stays out.",
)
NOT_SHOWN = (
    "Another number of GPUs, other GPUs, another machine: compute is the source's own.",
    "Another batch without its compute legs: they have to be measured. What one batch tells of "
    "another is what exchange and compute cost each other.",
    "Smaller buckets: when a part of a bucket was ready was not measured.",
    "Published rows of several GPUs: they tell samples per second, not when gradients are ready, "
    "what packing costs, or what exchange and compute take from each other.",
    "How an interval holds for a platform that no prediction was held against.",
)

_ERRORS = ("error_percent", "compute_percent", "exchange_percent", "contention_percent")

_DIFFERS = {"batch": "another batch", "buckets": "smaller buckets"}
_TIMES = ("predicted_cost_s", "measured_cost_s", "predicted_s", "measured_s")


def verdict(page: Page) -> Html:
    """How far off predictions are, over all cells on platforms whose training they do not know."""
    return joined(_verdict_parts(page), "card")


def _verdict_parts(page: Page) -> Iterator[Html]:
    rows = page.tables.prediction_errors
    whole = rows[rows["source"].isna()].to_dict("records")
    real = next((row for row in whole if not row["control"]), None)
    if real is None or not real["judged"]:
        yield paragraph(f"No step is predicted and measured: {_why_none(page)}.", "verdict")
        return
    yield paragraph(
        f"{real['judged']} steps predicted from another link's training are off by "
        f"{_percent(real['median_error_percent'])} in the median, by "
        f"{_percent(abs(real['worst_error_percent']))} at worst ({_worst(page, real)}).",
        "verdict",
    )
    yield paragraph(_coverage(real), "detail")
    if control := next((row for row in whole if row["control"] and row["judged"]), None):
        yield paragraph(
            f"Between two platforms of one treatment (A/A) {control['judged']} steps are off by "
            f"{_percent(control['median_error_percent'])} in the median, by "
            f"{_percent(abs(control['worst_error_percent']))} at worst: less cannot be asked for.",
            "detail",
        )
    if carried := _carried(page):
        yield paragraph(carried, "detail")
    if real["unpredicted"]:
        words = f"Not predicted: {real['unpredicted']} of {real['cells']}: {_why_none(page)}."
        yield paragraph(words, "detail")


def _carried(page: Page) -> str:
    """Says so where contention was not measured on both links."""
    own = page.tables.predicted_steps["contention_measured"].dropna()
    if own.all():
        return ""
    return (
        f"{(~own).sum()} of {len(own)} predictions take the source's contention as it is: on one "
        "of their links no exchange was measured beside a load."
    )


def _why_none(page: Page) -> str:
    """The usual reason, and how many steps have it where others have another one."""
    rows = page.tables.predicted_steps
    rows = rows[~rows["control"]]
    reasons = rows["reason"].dropna().str.partition(": ")[2].value_counts()
    if reasons.empty:
        return (
            "no training case runs on two platforms" if rows.empty else "no target was trained on"
        )
    usual = str(reasons.index[0])
    return usual if len(reasons) == 1 else f"{usual} ({reasons.iloc[0]} of {reasons.sum()})"


def _worst(page: Page, row: dict[str, Any]) -> str:
    names = page.analysis.names
    return f"{row['worst_case']}, {names[row['worst_source']]} to {names[row['worst_target']]}"


def _coverage(row: dict[str, Any]) -> str:
    if not row["with_interval"]:
        return "None of them has an interval: that takes two rounds and three other cases."
    return (
        f"{row['inside']} of {row['with_interval']} measured steps lie in their "
        f"{100 * row['confidence']:g} % interval, whose half width is "
        f"{_percent(row['median_half_width_percent'])} in the median."
    )


def predictions(page: Page) -> Html:
    """Every prediction beside what was measured, by case; controls and gaps below."""
    rows = page.tables.predicted_steps
    known = rows[rows["n"] > 0]
    real, controls = (known[known["control"] == control] for control in (False, True))
    parts = [] if real.empty else [_prediction_table(page, real, "Predicted and measured steps.")]
    if not controls.empty:
        shown = _prediction_table(page, controls, "Between two platforms of one treatment.")
        parts.append(folded("Predictions between two platforms of one treatment (A/A)", shown))
    return joined([*parts, _missing(rows)])


def _prediction_table(page: Page, rows: pd.DataFrame, words: str) -> Html:
    level = f"{100 * page.analysis.confidence:g} % interval"
    heads = (
        "from, to",
        "without exchange",
        "exchange alone",
        f"predicted ({level})",
        "measured",
        "error",
        "n",
    )
    groups = [
        Group(str(case), [_prediction_cells(row) for row in own.to_dict("records")])
        for case, own in rows.groupby("case", sort=False)
    ]
    return grouped_table(heads, groups, words)


def _prediction_cells(row: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    measured = not pd.isna(row["measured_s"])
    outside = row["inside"] is False
    return (
        "decided" if outside else "",
        (
            f"{row['label_source']} to {row['label_target']}",
            time_text(row["packed_step_s"]),
            time_text(row["exchange_s"]),
            _around(row, "predicted"),
            time_text(row["measured_s"]) if measured else "not measured",
            (_signed(row["error_percent"]) + (", outside" if outside else "")) if measured else "",
            str(row["n"]),
        ),
    )


def _missing(rows: pd.DataFrame) -> Html:
    """Steps without prediction, those of one reason in one row."""
    absent = rows[rows["n"] == 0]
    if absent.empty:
        return Html("")
    names = absent["case"] + ", " + absent["label_source"] + " to " + absent["label_target"]
    cells = [
        ("; ".join(names[own.index]), str(reason))
        for reason, own in absent.groupby("reason", sort=False)
    ]
    return table(("not predicted", "why"), cells, "Steps that cannot be predicted.")


def reasons(page: Page) -> Html:
    """Why predictions miss, by putting the target's own measurements in place of the inputs."""
    rows = page.tables.predicted_steps
    judged = [row for row in rows.to_dict("records") if not pd.isna(row["error_percent"])]
    own = [row for row in judged if misses(row)]
    if not judged:
        return paragraph("No prediction was held against a measured step.", "missing")
    if not own:
        words = f"No prediction is off by more than {MISS_PERCENT:g} % or outside its interval."
        return paragraph(words)
    heads = ("case, from, to", "error", "by compute", "by the exchange", "by contention", "mostly")
    lines = [
        (
            f"{row['case']}, {row['label_source']} to {row['label_target']}",
            *(_signed(row[name]) for name in _ERRORS),
            miss_text(row),
        )
        for row in own
    ]
    words = f"Predictions that are off by more than {MISS_PERCENT:g} %, or outside their interval."
    return table(heads, lines, words)


def models(page: Page) -> Html:
    """What each platform's records tell the model of each case."""
    rows = page.tables.step_models
    known = rows[rows["n"] > 0]
    if known.empty:
        return paragraph("No case has what the model needs.", "missing")
    heads = (
        "platform",
        "first bucket ready",
        "backward over",
        "without exchange",
        "with exchange",
        "exchange alone (sweep)",
        "compute lost, stretch",
        "sensitivity (own)",
        "left of the step",
        "n",
    )
    groups = [
        Group(str(case), [("", _model_cells(row)) for row in own.to_dict("records")])
        for case, own in known.groupby("case", sort=False)
    ]
    words = (
        "What the model rests on, means of the rounds. In brackets: the sweep's time against leg "
        "comm, and the sensitivity by the step's own rounds alone."
    )
    return grouped_table(heads, groups, words)


def _model_cells(row: dict[str, Any]) -> tuple[str, ...]:
    loaded = not pd.isna(row["lost"])
    swept = "" if pd.isna(row["sweep_error_percent"]) else _signed(row["sweep_error_percent"])
    comm = "not measured" if pd.isna(row["comm_s"]) else time_text(row["comm_s"])
    fitted = not pd.isna(row["sensitivity"])
    return (
        row["label"],
        time_text(row["first_ready_s"]),
        time_text(row["backward_end_s"]),
        time_text(row["packed_step_s"]),
        time_text(row["full_step_s"]),
        f"{comm} ({swept})" if swept else comm,
        f"{row['lost']:.2f}, {row['stretch']:.2f}" if loaded else "not measured beside a load",
        f"{row['sensitivity']:.2f} ({row['own_sensitivity']:.2f})" if fitted else row["reason"],
        _signed(100 * row["rest_s"] / row["full_step_s"]) if fitted else "",
        str(row["n"]),
    )


def cases(page: Page) -> Html:
    """Steps predicted from another batch, or from smaller buckets, beside what was measured."""
    rows = page.tables.predicted_cases
    if rows.empty:
        words = "No two cases differ in their batch alone, or in the size of their buckets alone."
        return paragraph(words)
    heads = (
        "case, platform",
        "from",
        "cost of the exchange, predicted",
        "measured",
        "step, predicted",
        "measured",
        "error",
        "n",
    )
    lines = [
        (
            f"{row['case']}, {row['label']}",
            f"{row['source_case']} ({_DIFFERS[row['differs']]})",
            *(time_text(row[name]) for name in _TIMES),
            _signed(row["error_percent"]),
            str(row["n"]),
        )
        for row in rows.to_dict("records")
    ]
    return table(heads, lines, "Steps predicted from another case of the same platform.")


def bucket_sizes(page: Page) -> Html:
    """The modelled step with buckets joined to larger ones."""
    rows = page.tables.bucket_sizes
    if rows.empty:
        return paragraph("No case has what the model needs.", "missing")
    lines = [
        (
            f"{case}, {label}",
            *(
                f"{time_text(row.step_s)} ({size_text(row.bucket_bytes)}, {_count(row.buckets)})"
                for row in own.itertuples()
            ),
        )
        for (case, label), own in rows.groupby(["case", "label"], sort=False)
    ]
    most = max(len(line) for line in lines) - 1
    heads = ("case, platform", "as trained", *["joined"] * (most - 1))
    filled = [line + ("",) * (most + 1 - len(line)) for line in lines]
    words = "Modelled step with buckets closed from that size on; larger ones to the right."
    return folded("Modelled steps of every case", table(heads, filled, words))


def rule() -> Html:
    """How a step is predicted."""
    return bullets(RULE)


def not_shown() -> Html:
    """What predictions here do not cover."""
    return bullets(NOT_SHOWN)


def _around(row: dict[str, Any], name: str) -> str:
    middle, low, high = (row[f"{name}{part}_s"] for part in ("", "_low", "_high"))
    if pd.isna(low):
        return f"{time_text(middle)} (no interval)"
    return around_text(*map(time_text, (middle, low, high)))


def _percent(value: float) -> str:
    return f"{significant(value, 2)} %" if value >= 1 else f"{value:.1f} %"


def _signed(percent: float) -> str:
    """With its sign and one decimal, in one piece; "absent" where there is none."""
    if pd.isna(percent):
        return "absent"
    text = f"{percent:+.1f}".replace("-", "−")
    return f"{text[1:] if text[1:] == '0.0' else text}\N{NO-BREAK SPACE}%"


def _count(buckets: int) -> str:
    return f"{buckets} bucket" + ("s" if buckets > 1 else "")
