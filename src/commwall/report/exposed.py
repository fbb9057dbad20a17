"""Negative exposed communication and overlap on the throughput page, and what they mean.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator

import pandas as pd

from commwall.analysis.gaps import rounds_text
from commwall.analysis.wording import signed_share_text
from commwall.language.translate import tr
from commwall.report.html import Html, bullets, paragraph
from commwall.report.page import Page


def exposed_note(page: Page) -> Html:
    """Says so where exposed communication came out negative, or exceeds the exchange alone."""
    rounds = page.tables.rounds[page.tables.rounds["admitted"]]
    low = rounds[(rounds["metric"] == "exposed_comm_time_s") & (rounds["value"] < 0)]
    over = rounds[(rounds["metric"] == "overlap_ratio") & (rounds["value"] < 0)]
    cheap = tr("exposed communication is negative, the exchange costs less than noise")
    dear = tr("overlap is negative, full costs more than compute and exchange in turn")
    lines = [
        *_places(low, cheap),
        *_places(over, dear),
        *_negative_overlaps(page.tables.platforms, over),
    ]
    none = tr("No exposed communication or overlap is below 0.")
    return bullets(lines) if lines else paragraph(none)


def _negative_overlaps(platforms: pd.DataFrame, over: pd.DataFrame) -> Iterator[str]:
    """What an overlap below 0 means: noise of its legs, or more work, as its interval says."""
    own = platforms[platforms["metric"] == "overlap_ratio"]
    for place in over[["platform", "case"]].drop_duplicates().itertuples(index=False):
        ((_, row),) = own[
            (own["platform"] == place.platform) & (own["case"] == place.case)
        ].iterrows()
        yield tr(
            "{platform}, {case}: {words}",
            platform=row["label"],
            case=row["case"],
            words=_negative_overlap_text(row),
        )


def _negative_overlap_text(row: pd.Series) -> str:
    mean = signed_share_text(row["mean"])
    if pd.isna(row["mean_low"]):
        return tr(
            "mean overlap {mean}, without an interval, so that the noise of two legs timed one "
            "after the other (full − nosync) cannot be told from more work.",
            mean=mean,
        )
    low, high = signed_share_text(row["mean_low"]), signed_share_text(row["mean_high"])
    if row["mean_high"] < 0:
        return tr(
            "mean overlap {mean} ({low} to {high}) lies below 0, so that it is more than noise: "
            "DDP's own work, and what the exchange takes from the compute, counts as exposed.",
            mean=mean,
            low=low,
            high=high,
        )
    return tr(
        "mean overlap {mean} ({low} to {high}) does not lie below 0, so that rounds below it are "
        "no more than the noise of two legs timed one after the other (full − nosync).",
        mean=mean,
        low=low,
        high=high,
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
