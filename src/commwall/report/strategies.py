"""Parallel strategies on a page: the bytes of a step, measured beside what the formula says.

Layer: report. Reads and writes no file.
"""

from typing import Any

import pandas as pd

from commwall.analysis.names import FORMULA_SENT, SENT, SENT_OVER_FORMULA, SPLIT_STEP, Quantity
from commwall.report.html import Html, paragraph, table
from commwall.report.page import Page
from commwall.schema.strategies import StrategiesCase
from commwall.schema.units import around_text, quantity_text, volume_text


def times(page: Page) -> Html:
    """Step time of every strategy, a column for each platform."""
    rows = _rounds(page, SPLIT_STEP)
    labels = list(dict.fromkeys(rows["label"]))
    cases = _cases(page)
    lines = [
        (str(case), cases[str(case)].text, *(_step_text(own, label) for label in labels))
        for case, own in rows.groupby("case", sort=False)
    ]
    if not lines:
        return paragraph("No step time: no strategy has an admitted round.", "missing")
    words = "Step time: median of the rounds (least to greatest)."
    return table(("case", "strategy", *labels), lines, words)


def sent(page: Page) -> Html:
    """What a rank sends in a step: by the formula, as counted, and one over the other."""
    formula, counted = _rounds(page, FORMULA_SENT), _rounds(page, SENT)
    if formula.empty:
        return paragraph("No bytes: no strategy has a round on several processes.", "missing")
    sides = _medians(formula), _medians(counted), _medians(_rounds(page, SENT_OVER_FORMULA))
    lines = [
        (str(case), str(label), *_sent_cells(sides, (case, label)), str(own["round"].nunique()))
        for case, of_case in formula.groupby("case", sort=False)
        for label, own in of_case.groupby("label", sort=False)
    ]
    heads = ("case", "link", "by the formula", "counted", "counted / formula", "n")
    words = (
        "Bytes that a rank sends in one step, mean over the ranks, median of the rounds; why some "
        "are not counted stands among the gaps."
    )
    return table(heads, lines, words)


def _medians(rows: pd.DataFrame) -> dict[Any, float]:
    """Case and link -> median of the rounds."""
    medians: dict[Any, float] = rows.groupby(["case", "label"])["value"].median().to_dict()
    return medians


def _sent_cells(sides: tuple[dict[Any, float], ...], place: Any) -> tuple[str, str, str]:
    formula, counted, over = (side.get(place) for side in sides)
    shown = [volume_text(each) if each else "not counted" for each in (formula, counted)]
    return shown[0], shown[1], f"{over:.4f}" if over else ""


def _cases(page: Page) -> dict[str, StrategiesCase]:
    plan = page.analysis.evidence.plan
    planned = [item for suite in plan.suites for item in suite.cases.items()] if plan else []
    return {name: case for name, case in planned if isinstance(case, StrategiesCase)}


def _rounds(page: Page, quantity: Quantity) -> pd.DataFrame:
    """Admitted rounds of a quantity of this suite."""
    rows = page.tables.rounds
    own = (rows["metric"] == quantity.metric_id) & (rows["suite"] == "strategies")
    return rows[own & rows["admitted"]]


def _step_text(own: pd.DataFrame, label: str) -> str:
    values = own[own["label"] == label]["value"]
    if values.empty:
        return "absent"
    shown = [quantity_text(value, "s") for value in (values.median(), values.min(), values.max())]
    return around_text(*shown) if len(values) > 1 else shown[0]
