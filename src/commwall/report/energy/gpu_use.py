"""How training uses the GPUs: memory bandwidth, processors, links, clocks.

Layer: report. Reads and writes no file. Values are those of table `platforms`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from commwall.analysis.quantities import MEMORY_SHARE, MEMORY_TRAFFIC, STEP_TRAFFIC, Quantity
from commwall.analysis.tables.disturbance import DISTURBING, STATES
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.verdicts.wording import share_text
from commwall.language.translate import around_text, clauses, listed, quantity_text, tr, tr_later
from commwall.records.names import plain
from commwall.report.figures import Looks, nothing, quantity_figure
from commwall.report.html import Html, bullets, joined, paragraph, table
from commwall.report.page import Page
from commwall.schema.metrics import METRICS
from commwall.schema.units import significant, volume_text
from commwall.schema.use_metrics import AVERAGED, MEAN

OF_MEMORY = (MEMORY_TRAFFIC, MEMORY_SHARE, STEP_TRAFFIC)
OF_DEVICE = (MEMORY_SHARE, *(Quantity(MEAN + metric.id) for metric in AVERAGED))
PCIE_RECEIVED = Quantity(MEAN + "pcie_received_bytes_per_s")
FAR_MORE = 10
"""Times what the same counter reads in the known transfer, where that takes NVLink. Chosen."""
LEAST = METRICS["memory_share_least"]
UNMEASURED = tr_later("not measured")
KEPT_OUT = tr_later("kept out")


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
    known = [row for row in rows if set(row[2:6]) - {tr(UNMEASURED), tr("unknown")}]
    measured = any(set(row[2:5]) - {tr(UNMEASURED)} for row in rows)
    why = _why(page, MEMORY_TRAFFIC)
    if not known:
        words = tr("Memory traffic: no usable record of suite training.")
        return why or paragraph(words, "missing")
    if not measured:
        return joined([*([why] if why else []), _bounds_table(rows)])
    heads = (tr("case"), tr("platform"), tr("memory traffic"), tr("share of the nominal rate"),
             tr("traffic of a step"), tr("lower bound of the share"), tr("n"))  # fmt: skip
    words = tr(
        "Memory traffic of one GPU while training: median of the rounds (least to greatest)."
    )
    return joined([*([why] if why else []), table(heads, known, words), bullets([_bound()])])


def memory_figure(tables: Tables, looks: Looks) -> Figure:
    """Memory traffic of every case and platform; nothing where the table has said why not."""
    if (tables.platforms["metric"] == MEMORY_TRAFFIC.metric_id).any():
        return quantity_figure(tables, looks, MEMORY_TRAFFIC)
    return nothing("")


def _bounds_table(rows: list[tuple[str, ...]]) -> Html:
    """What is certain where nothing was measured."""
    shown = [(case, label, bound) for case, label, *_, bound, _ in rows]
    heads = (tr("case"), tr("platform"), tr("lower bound of the share"))
    return joined([table(heads, shown, _bound())])


def _bound() -> str:
    definition = tr(LEAST.definition).replace("`", "")
    return tr("Lower bound, not a measurement: {definition}", definition=definition)


def use_table(page: Page) -> Html:
    """How busy memory, processors and links of a GPU are while it trains."""
    rows = [
        (case, label, *cells, _n(page, OF_DEVICE[0], case, platform))
        for case, platform, label in _places(page)
        for cells in [[_median(page, quantity, case, platform) for quantity in OF_DEVICE]]
        if set(cells) != {tr(UNMEASURED)}
    ]
    why = _why(page, *OF_DEVICE)
    if not rows:
        words = tr("Use of the GPUs: no usable record of suite training.")
        return why or paragraph(words, "missing")
    labels = (tr(metric.label) for metric in AVERAGED)
    heads = (tr("case"), tr("platform"), tr("memory"), *labels, tr("n"))
    words = tr(
        "One GPU while training, mean over window and GPUs, median of the rounds; shares are of "
        "the nominal rate or of the time."
    )
    unknown = map(paragraph, _pcie_texts(page.tables))
    return joined([table(heads, rows, words), *([why] if why else []), *unknown])


def _pcie_texts(tables: Tables) -> Iterator[str]:
    """Where GPUs count far more from PCIe while they train than anything known sends them."""
    traffic = tables.traffic[tables.traffic["path"] == "nvlink"]
    most = traffic.groupby("label")["pcie_received_bytes_per_s"].max().dropna()
    own = tables.platforms[tables.platforms["metric"] == PCIE_RECEIVED.metric_id]
    for label, known in most.items():
        counted = own[own["label"] == label]["median"].max()
        if counted > FAR_MORE * known:
            yield tr(
                "{platform}: {counted} received over PCIe is not explained. Data lie on the device "
                "and the exchange takes NVLink; the same counter read {known} at most during the "
                "known transfer. What a step adds to it is not known: conclude nothing from it.",
                platform=label,
                counted=quantity_text(counted, "byte/s"),
                known=quantity_text(known, "byte/s"),
            )


def disturbance_table(page: Page) -> Html:
    """Clocks, temperatures and marks of every case and platform."""
    own = page.tables.disturbance
    records = own.to_dict("records")
    if not records:
        words = tr("Clocks and temperatures: no record of suite training.")
        return paragraph(words, "missing")
    marked = bool(own[list(DISTURBING)].to_numpy().any())
    reasons = list(own["reason"].dropna().unique())
    if own["reason"].notna().all() and not marked:
        words = tr(
            "Clocks and temperatures: absent, {reasons}. No record is marked as disturbed.",
            reasons=clauses(reasons),
        )
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
    labels = (tr(METRICS[metric].label) for metric in STATES)
    heads = (tr("case"), tr("platform"), *labels, tr("marks"), tr("n"))
    words = tr("Readings in the timed windows: median (least to greatest) over GPUs and rounds.")
    lines = [*reasons, *_at_power_limit(own), *_doubts(own)]
    return joined([table(heads, rows, words), *([bullets(lines)] if lines else [])])


def _at_power_limit(disturbance: pd.DataFrame) -> Iterator[str]:
    """Cases whose power limit kept the clocks down, and how far."""
    for line in disturbance[disturbance["at_power_limit"] > 0].to_dict("records"):
        yield tr(
            "At the power limit: {case} on {platform}, in {k} of {n} rounds, with the processors "
            "of the slowest GPU at {clock} in leg full; the highest clock seen is {highest}.",
            case=line["case"],
            platform=line["label"],
            k=line["at_power_limit"],
            n=line["n"],
            clock=quantity_text(line["sm_clock_mean_hz"], "Hz"),
            highest=quantity_text(line["sm_clock_highest_hz"], "Hz"),
        )


def _doubts(disturbance: pd.DataFrame) -> Iterator[str]:
    """Marks that could not be ruled out, once for all places with the same."""
    known = disturbance.dropna(subset=["not_ruled_out"])
    for doubt, own in known.groupby("not_ruled_out", sort=False):
        places = listed(dict.fromkeys(own["label"]))
        yield tr("Not ruled out on {platforms}: {doubt}.", platforms=places, doubt=doubt)


def _state(line: dict[str, Any], metric_id: str) -> str:
    start, end = STATES[metric_id]
    values = [line[f"{start}_{part}_{end}"] for part in ("median", "min", "max")]
    if pd.isna(values[0]):
        return tr("absent")
    shown = [quantity_text(value, METRICS[metric_id].unit) for value in values]
    return shown[0] if len(set(shown)) == 1 else around_text(*shown)


def _marks(line: dict[str, Any]) -> str:
    words = [
        tr("{mark} in {k} of {n}", mark=plain(name), k=line[name], n=line["n"])
        for name in DISTURBING
        if line[name]
    ]
    return listed(words) or tr("none")


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
    return tr(KEPT_OUT if (same & (rows["platform"] == platform)).any() else UNMEASURED)


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
    if pd.isna(least):
        return tr("unknown")
    return tr("{share} or more", share=f"{significant(100 * least, 2)} %")


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
        places = dict.fromkeys(where) if len(set(where)) < len(every) else ()
        labels = dict.fromkeys(what) if len(set(what)) < len(quantities) else ()
        yield _unmeasured(reason, listed(places), listed(labels))


def _unmeasured(reason: str, platforms: str, labels: str) -> str:
    """One reason: on which platforms, unless on all, and for what, unless for everything."""
    if platforms and labels:
        return tr(
            "Not measured on {platforms} ({labels}): {reason}.",
            platforms=platforms,
            labels=labels,
            reason=reason,
        )
    if platforms:
        return tr("Not measured on {platforms}: {reason}.", platforms=platforms, reason=reason)
    if labels:
        return tr("Not measured ({labels}): {reason}.", labels=labels, reason=reason)
    return tr("Not measured: {reason}.", reason=reason)
