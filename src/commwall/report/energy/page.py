"""The energy page: power and time apart, counter and polled, power over time, what is not counted.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from commwall.analysis.tables.energy_parts import PARTS
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.values.idle import lowest_before_launches_w
from commwall.language.translate import around_text, quantity_text, tr, tr_later
from commwall.report.figures import Looks, emulated_in, nothing
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
from commwall.report.style import (
    INK,
    new_figure,
    panel_height,
    row_labels,
    title_figure,
    value_axis,
)
from commwall.schema.metrics import METRICS
from commwall.schema.record import Record
from commwall.schema.units import significant

COUNTED, POLLED, IDLE = "power_w", "polled_power_w", "idle_power_w"
KINDS = (COUNTED, POLLED, IDLE)
ENERGIES = ("energy_j_per_sample", "energy_above_idle_j_per_sample")
REST_APART = 0.05
"""Launches of a GPU with lowest powers farther apart did not all begin at rest [1]. Chosen."""
IDLE_WORDS = tr_later(
    "Idle is the lowest power of each GPU before any launch of the campaign, whatever its link."
)
MLPERF_RULE = tr_later(
    "NVSwitch, NVLink's cables and network adapters are missing, and no estimate stands in for "
    "them. MLPerf Training bills an interconnect that is not measured with its highest specified "
    "power, times its share in the run, times the run's time; the makers' specification of these "
    "parts is not on file here. The table of power and time says how much they may take."
)
"""Source: mlcommons/training_policies, power_measurement.adoc, sections "Measure or Estimate
Interconnects" and "Scoring"."""
NOT_COUNTED = (
    tr_later(
        "Energy is that of the counted domains: on GPUs the boards themselves, on a CPU its "
        "packages and memory. The host beside GPUs, fans and power supplies are missing."
    ),
    tr_later("Where a step waits for the host, the energy of waiting is in the numbers."),
    tr_later(
        "Idle power is the lowest that each GPU was seen to draw before a launch. One that had not "
        "come to rest even then draws less at rest: energy above idle is a lower bound."
    ),
)


def parts_table(page: Page) -> Html:
    """Energy per sample of two platforms as the product of power and time, and what that says."""
    own = page.tables.energy_parts
    own = own[~own["control"]]
    if own.empty:
        return paragraph(tr("Power and time: no round has the energy of both sides."), "missing")
    return joined(part for _, of in own.groupby(["a", "b"], sort=False) for part in _parts(of))


def _parts(own: pd.DataFrame) -> Iterator[Html]:
    """Table and sentences of one comparison."""
    first, lines = own.iloc[0], [line for _, line in own.groupby("case", sort=False)]
    words = tr(
        "A = {a}, B = {b}; ratios with {level} % interval where rounds spread.",
        a=first["label_a"],
        b=first["label_b"],
        level=f"{100 * first['confidence']:g}",
    )
    heads = (tr("case"), tr("energy per sample A"), tr("B"), tr("energy A / B"), tr("= power"),
             tr("x time per sample"), tr("n"))  # fmt: skip
    rows = [("", tuple(_part_cells(line))) for line in lines]
    yield grouped_table(heads, [Group("", rows)], words)
    yield bullets(_part_sentence(line) for line in lines)


def _part_cells(line: pd.DataFrame) -> Iterator[str]:
    energy, *factors = (line[line["metric"] == q.metric_id].iloc[0] for q in PARTS)
    yield str(energy["case"])
    yield from (quantity_text(energy[side], energy["unit"]) for side in ("median_a", "median_b"))
    yield from (_ratio(part) for part in (energy, *factors))
    yield str(energy["n"])


def _ratio(part: Any) -> str:
    if pd.isna(part["ratio_low"]):
        return significant(part["ratio"], 4)
    ends = (significant(part[name], 4) for name in ("ratio", "ratio_low", "ratio_high"))
    return around_text(*ends)


def _part_sentence(line: pd.DataFrame) -> str:
    """Which side draws how much for how long, and what parts not counted may take."""
    energy, power, time = (line[line["metric"] == q.metric_id].iloc[0] for q in PARTS)
    told = tr(
        "{case}: {a} draws {power} times the power of {b} for {time} times as long: {energy} "
        "times the energy.",
        case=energy["case"],
        a=energy["label_a"],
        b=energy["label_b"],
        power=significant(power["ratio"], 3),
        time=significant(time["ratio"], 3),
        energy=significant(energy["ratio"], 3),
    )
    return tr("{first} {second}", first=told, second=_room_text(energy))


def _room_text(energy: Any) -> str:
    """What parts that are not counted may take; nothing where the order itself is not told."""
    if energy["ratio_low"] < 1 < energy["ratio_high"]:
        return tr("Which of the two takes less, these rounds do not tell.")
    less, more = ("label_a", "label_b") if energy["ratio"] < 1 else ("label_b", "label_a")
    room = quantity_text(energy["uncounted_power_w"], "W")
    return tr(
        "Parts that are not counted may take {room} more on {less} before {more} takes less.",
        room=room,
        less=energy[less],
        more=energy[more],
    )


def power_figure(tables: Tables, looks: Looks) -> Figure:
    """Power of all GPUs of a launch by the counter, polled and idle."""
    power = powers(tables)
    if power.empty:
        return nothing(tr("Power: no value, see the gaps"))
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
        value_axis(axes, METRICS[COUNTED], label=tr("power of all counted domains"))
        axes.set_title(tr("case {case}", case=case))
        axes.set_xlim(left=0)
    title_figure(figure, tr("Power while training"), emulated=emulated_in(power))
    return figure


def energy_table(page: Page) -> Html:
    """Energy and power of all domains together; of each GPU folded."""
    whole = _medians(page.tables, whole=True)
    if whole.empty:
        return joined(())  # the figure says so
    words = tr(
        "All counted domains together, medians of the rounds. Polled is the mean of the driver's "
        "readings from the first second on, the difference relative to the counter."
    )
    if whole[IDLE].notna().any():
        words = tr("{first} {second}", first=words, second=tr(IDLE_WORDS))
    parts = [_energy_rows(whole, words)]
    each = _medians(page.tables, whole=False)
    if each["rank"].notna().any():
        shown = _energy_rows(each, tr("Each GPU by itself, medians of the rounds."))
        parts.append(folded(tr("Energy and power of each GPU"), shown))
    return joined([*parts, *map(paragraph, _idle_texts(page.analysis.evidence.records))])


def _idle_texts(records: Iterable[Record]) -> Iterator[str]:
    """How far launches began apart from each other, of the GPU of which it is most."""
    lowest = lowest_before_launches_w(records).values()
    own = max(lowest, key=lambda own: max(own) / min(own), default=[])
    if own and max(own) > (1 + REST_APART) * min(own):
        yield tr(
            "Not every launch began at rest: the lowest power of one GPU before them was {least} "
            "to {most}. The least counts as its idle power, for all launches.",
            least=quantity_text(min(own), "W"),
            most=quantity_text(max(own), "W"),
        )


def powers(tables: Tables) -> pd.DataFrame:
    """One row a platform and case: medians over admitted rounds of all domains together."""
    return _medians(tables, whole=True)


def _medians(tables: Tables, *, whole: bool) -> pd.DataFrame:
    """Medians over the admitted rounds: of all domains together, or of each rank."""
    own = tables.energy[tables.energy["admitted"]]
    own = own[own["rank"].isna() if whole else own["rank"].notna()]
    keys = ["case", "platform", "label", "emulated", "rank"]
    groups = own.groupby(keys, sort=False, dropna=False)
    result = groups[[*ENERGIES, *KINDS, "polled_difference_percent"]].median()
    known = groups[[COUNTED, POLLED]].count().max(axis="columns")
    return result.assign(n=known).reset_index()


def _energy_rows(medians: pd.DataFrame, caption: str) -> Html:
    lines = [line for _, own in medians.groupby("case", sort=False)
             for line in own.to_dict("records")]  # fmt: skip
    rows = [
        (
            line["case"],
            _place(line),
            *(_text(line[name], "J/sample") for name in ENERGIES),
            *(_text(line[name], "W") for name in KINDS),
            _text(line["polled_difference_percent"], "%"),
            str(line["n"]),
        )
        for line in lines
    ]
    heads = (tr("case"), tr("platform"), tr("energy per sample"), tr("above idle"),
             tr("power by the counter"), tr("polled"), tr("idle"),
             tr("polled against counter"), tr("n"))  # fmt: skip
    return table(heads, rows, caption)


def _place(line: dict[str, Any]) -> str:
    """A platform, and which of its GPUs where each stands by itself."""
    label, rank = line["label"], line["rank"]
    return label if pd.isna(rank) else tr("{platform}, GPU {rank}", platform=label, rank=rank)


def not_covered(page: Page) -> Html:
    """What the energy numbers leave out."""
    lines = (NOT_COUNTED[0], *((MLPERF_RULE,) if page.on_gpus else ()), *NOT_COUNTED[1:])
    return bullets(map(tr, lines))


def _text(value: float, unit: str) -> str:
    return tr("absent") if pd.isna(value) else quantity_text(value, unit)
