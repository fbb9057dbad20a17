"""What predictions of steps are worth: the error of the gain, guesses without model, other batches.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator

import pandas as pd

from commwall.analysis.steps.words import yardsticks
from commwall.language.translate import tr
from commwall.report.html import Html, paragraph
from commwall.report.page import Page
from commwall.schema.units import significant


def worth(page: Page) -> Iterator[Html]:
    """The error of the gain, what guesses without the model are off by, and other batches."""
    if own := yardsticks(page.analysis):
        words = tr(
            "The gain of the faster link, {gain} in the median, is predicted to {off} points in "
            "the median.",
            gain=percent(own.gain_percent),
            off=percent(own.gain_off_percent).removesuffix(" %"),
        )
        yield paragraph(words, "detail")
        words = tr(
            "Without the model: the step without any exchange is off by {nothing} in the median, "
            "the step of the source as it is by {as_source}.",
            nothing=percent(own.no_exchange_percent),
            as_source=percent(own.as_source_percent),
        )
        yield paragraph(words, "detail")
    cases = page.tables.predicted_cases
    batches = cases[cases["differs"] == "batch"]
    if len(batches):
        worst = batches.loc[batches["error_percent"].abs().idxmax()]
        words = tr(
            "From another batch on the same platform {n} steps are off by {median} in the median, "
            "by {worst} at worst ({case}, {platform}).",
            n=len(batches),
            median=percent(batches["error_percent"].abs().median()),
            worst=signed(worst["error_percent"]),
            case=worst["case"],
            platform=worst["label"],
        )
        yield paragraph(words, "detail")


def percent(value: float) -> str:
    """Two digits, or one decimal below 1 %."""
    return f"{significant(value, 2)} %" if value >= 1 else f"{value:.1f} %"


def signed(percent: float) -> str:
    """With its sign and one decimal, in one piece; "absent" where there is none."""
    if pd.isna(percent):
        return tr("absent")
    text = f"{percent:+.1f}".replace("-", "−")
    return f"{text[1:] if text[1:] == '0.0' else text}\N{NO-BREAK SPACE}%"
