"""How training uses the GPUs: memory bandwidth, processors, links, clocks.

Layer: report. Reads and writes no file. Values are those of table `platforms`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from commwall.analysis.disturbance import DISTURBING, STATES
from commwall.analysis.names import MEMORY_SHARE, MEMORY_TRAFFIC, STEP_TRAFFIC, Quantity
from commwall.analysis.tables import Tables
from commwall.analysis.wording import share_text
from commwall.report.figures import Looks, nothing, quantity_figure
from commwall.report.html import Html, bullets, joined, paragraph, table
from commwall.report.page import Page
from commwall.schema.metrics import METRICS
from commwall.schema.units import around_text, quantity_text, significant, volume_text
from commwall.schema.use_metrics import AVERAGED, MEAN

OF_MEMORY = (MEMORY_TRAFFIC, MEMORY_SHARE, STEP_TRAFFIC)
OF_DEVICE = (MEMORY_SHARE, *(Quantity(MEAN + metric.id) for metric in AVERAGED))
LEAST = METRICS["memory_share_least"]
BOUND = "Lower bound, not a measurement: " + LEAST.definition.replace("`", "")
UNMEASURED = "not measured"
KEPT_OUT = "kept out"


def memory_table(page: Page) -> Html:
    """What each case reads and writes in a GPU's memory, beside it the known lower bound."""
    places = _places(page)
    rows = [
        (
            case,
            label,
            *(_cell(page, quantity, case, platform) for quantity in OF_MEMORY),
            _least(page, case, platform),
            _n(page, MEMORY_TRAFFIC, case, platform),
        )
        for case, platform, label in places
    ]
    known = [row for row in rows if set(row[2:6]) - {UNMEASURED, "unknown"}]
    measured = any(set(row[2:5]) - {UNMEASURED} for row in rows)
    why = _why(page, MEMORY_TRAFFIC)
    if not known:
        return why or paragraph("Memory traffic: no usable record of suite training.", "missing")
    if not measured:
        return joined([*([why] if why else []), _bounds_table(rows)])
    heads = ("case", "platform", "memory traffic", "share of the nominal rate", "traffic of a step",
             "lower bound of the share", "n")  # fmt: skip
    words = "Memory traffic of one GPU while training: median of the rounds (least to greatest)."
    return joined([*([why] if why else []), table(heads, known, words), bullets([BOUND])])


def memory_figure(tables: Tables, looks: Looks) -> Figure:
    """Memory traffic of every case and platform; nothing where the table has said why not."""
    if (tables.platforms["metric"] == MEMORY_TRAFFIC.metric_id).any():
        return quantity_figure(tables, looks, MEMORY_TRAFFIC)
    return nothing("")


def _bounds_table(rows: list[tuple[str, ...]]) -> Html:
    """What is certain where nothing was measured."""
    shown = [(case, label, bound) for case, label, *_, bound, _ in rows]
    return joined([table(("case", "platform", "lower bound of the share"), shown, BOUND)])


def use_table(page: Page) -> Html:
    """How busy memory, processors and links of a GPU are while it trains."""
    rows = [
        (case, label, *cells, _n(page, OF_DEVICE[0], case, platform))
        for case, platform, label in _places(page)
        for cells in [[_median(page, quantity, case, platform) for quantity in OF_DEVICE]]
        if set(cells) != {UNMEASURED}
    ]
    why = _why(page, *OF_DEVICE)
    if not rows:
        return why or paragraph("Use of the GPUs: no usable record of suite training.", "missing")
    heads = ("case", "platform", "memory", *(metric.label for metric in AVERAGED), "n")
    words = (
        "One GPU while training, mean over window and GPUs, median of the rounds; shares are of "
        "the nominal rate or of the time."
    )
    return joined([table(heads, rows, words), *([why] if why else [])])


def disturbance_table(page: Page) -> Html:
    """Clocks, temperatures and marks of every case and platform."""
    own = page.tables.disturbance
    records = own.to_dict("records")
    if not records:
        return paragraph("Clocks and temperatures: no record of suite training.", "missing")
    marked = bool(own[list(DISTURBING)].to_numpy().any())
    reasons = list(own["reason"].dropna().unique())
    if own["reason"].notna().all() and not marked:
        why = "; ".join(reasons)
        words = f"Clocks and temperatures: absent, {why}. No record is marked as disturbed."
        return paragraph(" ".join((words, *_doubts(own))), "missing")
    rows = [
        (
            line["case"],
            line["label"],
            *(_state(line, metric) for metric in STATES),
            _marks(line),
            str(line["n"]),
        )
        for line in records
    ]
    heads = ("case", "platform", *(METRICS[metric].label for metric in STATES), "marks", "n")
    words = "Readings in the timed windows: median (least to greatest) over GPUs and rounds."
    lines = [*reasons, *_doubts(own)]
    return joined([table(heads, rows, words), *([bullets(lines)] if lines else [])])


def _doubts(disturbance: pd.DataFrame) -> Iterator[str]:
    """Marks that could not be ruled out, once for all places with the same."""
    known = disturbance.dropna(subset=["not_ruled_out"])
    for doubt, own in known.groupby("not_ruled_out", sort=False):
        places = ", ".join(dict.fromkeys(own["label"]))
        yield f"Not ruled out on {places}: {doubt}."


def _state(line: dict[str, Any], metric_id: str) -> str:
    start, end = STATES[metric_id]
    values = [line[f"{start}_{part}_{end}"] for part in ("median", "min", "max")]
    if pd.isna(values[0]):
        return "absent"
    shown = [quantity_text(value, METRICS[metric_id].unit) for value in values]
    return shown[0] if len(set(shown)) == 1 else around_text(*shown)


def _marks(line: dict[str, Any]) -> str:
    words = [
        f"{name.replace('_', ' ')} in {line[name]} of {line['n']}"
        for name in DISTURBING
        if line[name]
    ]
    return ", ".join(words) or "none"


def _places(page: Page) -> list[tuple[str, str, str]]:
    """Case, platform and its label wherever a training case has steps."""
    return [
        (str(case), str(platform), str(label))
        for case, own in page.tables.limits.groupby("case", sort=False)
        for platform, label in own[["platform", "label"]].to_numpy()
    ]


def _values(page: Page, quantity: Quantity, case: str, platform: str) -> dict[str, Any] | None:
    rows = page.tables.platforms
    same = (rows["metric"] == quantity.metric_id) & (rows["case"] == case)
    own = rows[same & (rows["platform"] == platform)].to_dict("records")
    return own[0] if own else None


def _cell(page: Page, quantity: Quantity, case: str, platform: str) -> str:
    found = _values(page, quantity, case, platform)
    if found is None:
        return _missing(page, quantity, case, platform)
    shown = [_text(quantity, found[name]) for name in ("median", "min", "max")]
    return around_text(*shown) if len(set(shown)) > 1 else shown[0]


def _median(page: Page, quantity: Quantity, case: str, platform: str) -> str:
    found = _values(page, quantity, case, platform)
    if found is None:
        return _missing(page, quantity, case, platform)
    return _text(quantity, found["median"])


def _missing(page: Page, quantity: Quantity, case: str, platform: str) -> str:
    """Whether a value is absent, or only of records that no verdict uses."""
    rows = page.tables.rounds
    same = (rows["metric"] == quantity.metric_id) & (rows["case"] == case)
    return KEPT_OUT if (same & (rows["platform"] == platform)).any() else UNMEASURED


def _text(quantity: Quantity, value: float) -> str:
    unit = quantity.metric.unit
    if quantity == STEP_TRAFFIC:
        return volume_text(value)
    return share_text(value) if unit == "1" else quantity_text(value, unit)


def _n(page: Page, quantity: Quantity, case: str, platform: str) -> str:
    found = _values(page, quantity, case, platform)
    return str(found["n"]) if found else "0"


def _least(page: Page, case: str, platform: str) -> str:
    own = page.tables.limits
    line = own[(own["case"] == case) & (own["platform"] == platform)].iloc[0]
    least = line["memory_share_least"]
    return "unknown" if pd.isna(least) else f"{significant(100 * least, 2)} % or more"


def _why(page: Page, *quantities: Quantity) -> Html | None:
    """Why training records lack some values; None if none lacks any."""
    lines = list(_reasons(page, quantities))
    if len(lines) == 1:
        return paragraph(lines[0], "missing")
    return bullets(lines) if lines else None


def _reasons(page: Page, quantities: Sequence[Quantity]) -> Iterator[str]:
    """Each reason with what lacks and where."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for cell in page.analysis.cells:
        for quantity in quantities:
            if quantity in cell.derived.absent and not cell.refusals:
                where, what = found.setdefault(cell.derived.absent[quantity], ([], []))
                where.append(page.analysis.names[cell.record.id.platform])
                what.append(quantity.label)
    every = {cell.record.id.platform for cell in page.analysis.cells}
    for reason, (where, what) in found.items():
        labels = ", ".join(dict.fromkeys(what)) if len(set(what)) < len(quantities) else "all"
        places = dict.fromkeys(where)
        start = (
            "Not measured" if len(places) == len(every) else f"Not measured on {', '.join(places)}"
        )
        some = "" if labels == "all" else f" ({labels})"
        yield f"{start}{some}: {reason}."
