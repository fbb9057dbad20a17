"""Values of suites `strategies` and `inference` on a page: rounds as text, bytes beside formulas.

Layer: report. Reads and writes no file.
"""

from typing import Any

import pandas as pd

from commwall.analysis.quantities import FORMULA_SENT, SENT, SENT_OVER_FORMULA, Quantity
from commwall.language.translate import around_text, quantity_text, tr
from commwall.report.html import Html, paragraph, table
from commwall.report.page import Page
from commwall.schema.case import SuiteName
from commwall.schema.units import volume_text

Place = tuple[str, str]
"""Case and link."""


def by_place(page: Page, suite: SuiteName, quantity: Quantity) -> dict[Place, "pd.Series[float]"]:
    """Admitted rounds of a quantity of a suite, cases in plan order, then platforms."""
    rows = page.tables.rounds
    own = (rows["metric"] == quantity.metric_id) & (rows["suite"] == suite) & rows["admitted"]
    found = {
        (str(case), str(label)): values["value"]
        for (case, label), values in rows[own].groupby(["case", "label"], sort=False)
    }
    plan = page.analysis.plan
    cases = [name for planned in plan.suites for name in planned.cases] if plan else []
    return dict(sorted(found.items(), key=lambda item: cases.index(item[0][0])))


def rounds_text(values: "pd.Series[float] | None", quantity: Quantity) -> str:
    """Median of the rounds (least to greatest) in words; "absent" where there is none."""
    if values is None:
        return tr("absent")
    unit, ends = quantity.metric.unit, (values.median(), values.min(), values.max())
    shown = [quantity_text(value, unit) for value in ends]
    return around_text(*shown) if len(values) > 1 else shown[0]


def sent(page: Page, suite: SuiteName) -> Html:
    """What a rank sends in a step or for a token: by formula, as counted, one over the other."""
    quantities = (FORMULA_SENT, SENT, SENT_OVER_FORMULA)
    formula, counted, over = (by_place(page, suite, quantity) for quantity in quantities)
    if not formula:
        return paragraph(tr("No bytes: no case has a round on several processes."), "missing")
    lines = [
        (
            *place,
            volume_text(said.median()),
            volume_text(counted[place].median()) if place in counted else tr("not counted"),
            f"{over[place].median():.4f}" if place in over else "",
            str(len(said)),
        )
        for place, said in formula.items()
    ]
    heads = (tr("case"), tr("link"), tr("by the formula"), tr("counted"), tr("counted / formula"),
             tr("n"))  # fmt: skip
    words = tr(
        "Bytes that a rank sends, mean over the ranks, median of the rounds; why some are not "
        "counted stands among the gaps."
    )
    return table(heads, lines, words)


def values_table(page: Page, suite: SuiteName, columns: dict[str, Quantity], words: str) -> Html:
    """Some quantities of every case and link, a column each.

    Args:
        page: of a campaign.
        suite: whose cases.
        columns: English head of each column, and what stands below it; without a value of the
            first one there is no row.
        words: caption, in English too.
    """
    found: dict[str, Any] = {head: by_place(page, suite, q) for head, q in columns.items()}
    first = next(iter(found.values()))
    if not first:
        head = tr(next(iter(columns))).capitalize()
        return paragraph(tr("{quantity}: no value, see the gaps.", quantity=head), "missing")
    lines = [
        (
            *place,
            *(rounds_text(found[head].get(place), quantity) for head, quantity in columns.items()),
            str(len(own)),
        )
        for place, own in first.items()
    ]
    return table((tr("case"), tr("link"), *map(tr, columns), tr("n")), lines, tr(words))
