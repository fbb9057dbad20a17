"""Exposed communication and overlap on the throughput page: what they hold, where they are negative
or not told by the legs.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator

import pandas as pd

from commwall.analysis.gaps import rounds_text
from commwall.analysis.quantities import EXPOSED, OVERLAP, PACKED
from commwall.analysis.values.clocks import APART, slowest_clock_hz
from commwall.analysis.verdicts.wording import signed_share_text
from commwall.language.translate import quantity_text, tr
from commwall.report.html import Html, bullets, joined, paragraph, table
from commwall.report.page import Page
from commwall.schema.case import Leg
from commwall.schema.record import Record
from commwall.schema.units import time_text

_PARTS = tuple(quantity.metric_id for quantity in PACKED)
"""Of exposed communication: packing, and the exchange itself."""


def exposed_table(page: Page) -> Html:
    """Exposed communication in its two parts beside the exchange alone, from which overlap follows;
    nothing where no packing was measured.
    """
    own = page.tables.platforms
    leg_comm = (own["metric"] == "step_time_s") & (own["leg"] == "comm")
    means = own[own["metric"].isin([EXPOSED.metric_id, *_PARTS, OVERLAP.metric_id]) | leg_comm]
    rows = [
        (str(case), str(label), *cells)
        for (case, label), line in means.groupby(["case", "label"], sort=False)
        if (cells := _parts_cells(line.set_index("metric")))
    ]
    if not rows:
        return joined(())
    heads = (tr("case"), tr("platform"), tr("exposed communication"), tr("of it packing"),
             tr("of it exchange"), tr("exchange alone"), tr("overlap"), tr("n"))  # fmt: skip
    words = tr(
        "Means over the rounds. Overlap = 1 − exchange in it / exchange alone: packing gradients "
        "into buckets, which no link shortens, is no part of it. An exchange that outlasts the "
        "backward pass cannot be hidden whole; how much of what could be hidden was, page "
        "breakeven tells."
    )
    return table(heads, rows, words)


def _parts_cells(line: pd.DataFrame) -> tuple[str, ...]:
    """Cells of one case and platform; none where a part is missing."""
    if not {*_PARTS, OVERLAP.metric_id} <= set(line.index):
        return ()
    times = (EXPOSED.metric_id, *_PARTS, "step_time_s")
    shown = (time_text(line["mean"][name]) for name in times)
    overlap = line.loc[OVERLAP.metric_id]
    return (*shown, signed_share_text(overlap["mean"]), str(overlap["n"]))


def exposed_note(page: Page) -> Html:
    """The table, and where exposed communication came out negative, exceeds the exchange alone, or
    is not told since the legs ran at clocks that differ.
    """
    rounds = page.tables.rounds[page.tables.rounds["admitted"]]
    low = rounds[(rounds["metric"] == EXPOSED.metric_id) & (rounds["value"] < 0)]
    over = rounds[(rounds["metric"] == OVERLAP.metric_id) & (rounds["value"] < 0)]
    cheap = tr("exposed communication is negative, the exchange costs less than noise")
    dear = tr("overlap is negative, full costs more than compute and exchange in turn")
    lines = [
        *_places(low, cheap),
        *_places(over, dear),
        *_negative_overlaps(page.tables.platforms, over),
        *_left_out(page),
    ]
    none = tr("No exposed communication or overlap is below 0.")
    return joined([exposed_table(page), bullets(lines) if lines else paragraph(none)])


def _left_out(page: Page) -> Iterator[str]:
    """Where the legs' clocks forbid their difference, and what these clocks were."""
    highest_hz = page.analysis.highest_clock_hz
    found: dict[tuple[str, str], list[Record]] = {}
    for cell in page.analysis.cells:
        if not cell.refusals and cell.derived.absent.get(EXPOSED) == tr(APART):
            place = cell.record.id
            found.setdefault((place.platform, place.case), []).append(cell.record)
    for (platform, case), records in found.items():
        yield tr(
            "{platform}, {case}, {rounds}: left out. In leg full the processors of the slowest GPU "
            "ran at {full}, in leg nosync at {nosync}: part of the difference is the clock's.",
            platform=page.analysis.names[platform],
            case=case,
            rounds=rounds_text(record.id.round for record in records),
            full=_clock_text(records, "full", highest_hz),
            nosync=_clock_text(records, "nosync", highest_hz),
        )


def _clock_text(records: list[Record], leg: Leg, highest_hz: float | None) -> str:
    """Clock of the slowest GPU in a leg, median over rounds; the campaign's highest where the leg
    was not watched.
    """
    clock_hz = slowest_clock_hz(records, leg)
    if clock_hz is not None:
        return quantity_text(clock_hz, "Hz")
    return tr("{clock} (the highest clock seen)", clock=quantity_text(highest_hz or 0.0, "Hz"))


def _negative_overlaps(platforms: pd.DataFrame, over: pd.DataFrame) -> Iterator[str]:
    """What an overlap below 0 means: noise of its legs, or more work, as its interval says."""
    own = platforms[platforms["metric"] == OVERLAP.metric_id]
    for place in over[["platform", "case"]].drop_duplicates().itertuples(index=False):
        ((_, row),) = own[
            (own["platform"] == place.platform) & (own["case"] == place.case)
        ].iterrows()
        packed = platforms[platforms["metric"] == _PARTS[0]]
        split = ((packed["platform"] == place.platform) & (packed["case"] == place.case)).any()
        yield tr(
            "{platform}, {case}: {words}",
            platform=row["label"],
            case=row["case"],
            words=_negative_overlap_text(row, "packed" if split else "nosync"),
        )


def _negative_overlap_text(row: pd.Series, alone: Leg) -> str:
    mean = signed_share_text(row["mean"])
    if pd.isna(row["mean_low"]):
        return tr(
            "mean overlap {mean}, without an interval, so that the noise of two legs timed one "
            "after the other (full − {leg}) cannot be told from more work.",
            mean=mean,
            leg=alone,
        )
    low, high = signed_share_text(row["mean_low"]), signed_share_text(row["mean_high"])
    if row["mean_high"] < 0:
        return tr(
            "mean overlap {mean} ({low} to {high}) lies below 0, so that it is more than noise: "
            "what the exchange takes from the compute beside it counts as exposed, and without leg "
            "packed the packing of buckets, too.",
            mean=mean,
            low=low,
            high=high,
        )
    return tr(
        "mean overlap {mean} ({low} to {high}) does not lie below 0, so that rounds below it are "
        "no more than the noise of two legs timed one after the other (full − {leg}).",
        mean=mean,
        low=low,
        high=high,
        leg=alone,
    )


def _places(rows: pd.DataFrame, words: str) -> Iterator[str]:
    for (label, case), own in rows.groupby(["label", "case"], sort=False):
        yield tr(
            "{platform}, {case}, {rounds}: {words}",
            platform=label,
            case=case,
            rounds=rounds_text(own["round"]),
            words=words,
        )
