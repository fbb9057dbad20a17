"""The decision report on one sheet of A4, as a PDF that is the same bytes each time.

Layer: report. Reads `templates/decision.typ` and the typeface that zhplot brings; writes
`decision.pdf` beside the page. The template gets all text as data and none as markup, so that a
campaign's own words are shown as they are.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typst

from commwall.language.translate import spoken, tr, tr_later
from commwall.records.files import PART
from commwall.records.layout import Layout
from commwall.report.decision.content import LINK, Decision
from commwall.report.decision.figure import caption, decision_figure, spoken_rows
from commwall.report.decision.page import open_decision
from commwall.report.pages import DECISION
from commwall.report.rendering.render import TEMPLATES
from commwall.report.style import chinese_typeface, figure_svg
from commwall.schema.printable import printable

TEMPLATE = TEMPLATES / "decision.typ"
HEADS = {
    "report": tr_later("Decision report"),
    "question": tr_later("Question"),
    "verdict": tr_later("Verdict"),
    "money": tr_later("Money"),
    "energy": tr_later("Energy"),
    "not_measured": tr_later("What this does not show"),
    "repeat": tr_later("How to repeat it"),
}
"""Headings as the page has them."""


def write_sheet(layout: Layout, campaign: str, confidence: float, language: str) -> Path:
    """Set the report of a campaign; returns the path of the PDF.

    Args:
        layout: the checkout.
        campaign: its name.
        confidence: level of all intervals.
        language: one of `LANGUAGES`.
    """
    page = open_decision(layout.root, campaign, confidence, language)
    path = layout.notebooks_dir(campaign, language) / f"{DECISION}.pdf"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + PART)
    part.write_bytes(sheet(page.decision))
    part.rename(path)
    return path


def sheet(decision: Decision) -> bytes:
    """The PDF of a report, in the language spoken."""
    data = json.dumps(sheet_data(decision), ensure_ascii=False)
    made: bytes = typst.compile(
        str(TEMPLATE),
        sys_inputs={"decision": data},
        font_paths=[str(chinese_typeface().parent)],
        ignore_system_fonts=True,
        format="pdf",
        pdf_standards="ua-1",
    )
    return made


def sheet_data(decision: Decision) -> dict[str, Any]:
    """What the template gets: the report as it is, headings, language and the figure."""
    rows, sides = decision.figure, decision.axis
    drawn = decision_figure(rows, sides)
    return {
        **_printable(asdict(decision)),
        "language": spoken(),
        "heads": {key: tr(words) for key, words in HEADS.items()},
        "link": tr(LINK),
        "svg": figure_svg(drawn).decode() if drawn.axes else None,
        "caption": caption(rows, sides) if drawn.axes else str(drawn.get_label()),
        "spoken": _printable(spoken_rows(rows, sides)),
    }


def _printable(value: Any) -> Any:
    """The same, its texts as they may be shown."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {key: _printable(each) for key, each in value.items()}
    return [_printable(each) for each in value] if isinstance(value, list | tuple) else value
