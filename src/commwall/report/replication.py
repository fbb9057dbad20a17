"""Section "Replication" of the summary: a published campaign's cells, measured again.

Layer: report. Reads and writes no file. Values are those of table `replication`.
"""

from commwall.analysis.replication.judging import JudgedCell
from commwall.analysis.replication.words import (
    cell_text,
    headline_text,
    interval_text,
    lines,
    value_text,
)
from commwall.language.translate import tr, tr_later
from commwall.report.html import Group, Html, bullets, grouped_table, heading, joined, paragraph
from commwall.report.page import Page

HEADS = (
    tr_later("cell"),
    tr_later("new mean"),
    tr_later("interval fixed beforehand"),
    tr_later("new rounds"),
    tr_later("outcome"),
)
OUTCOMES = {
    "inside": tr_later("inside"),
    "outside": tr_later("outside"),
    "does not count": tr_later("does not count"),
    "missing": tr_later("missing"),
}
"""What may become of a cell -> its words."""
CAPTION = tr_later(
    "One row a cell: geometric mean over the new rounds, and the interval that the published "
    "campaign fixed for it."
)


def section(page: Page) -> Html:
    """Heading, counts and table; nothing on the pages of a campaign that replicates none."""
    found = page.analysis.replication
    if found is None:
        return Html("")
    title = heading(tr("Replication"))
    if found.problem:
        return joined([title, paragraph(headline_text(found), "missing")])
    groups = [
        Group(tr("Ratios"), [_row(cell) for cell in found.cells if cell.cell.b is not None]),
        Group(tr("Absolute values"), [_row(cell) for cell in found.cells if cell.cell.b is None]),
    ]
    shown = [group for group in groups if group.rows]
    return joined(
        [
            title,
            paragraph(headline_text(found)),
            bullets(lines(found)),
            grouped_table([*map(tr, HEADS)], shown, tr(CAPTION)),
        ]
    )


def _row(cell: JudgedCell) -> tuple[str, tuple[str, ...]]:
    style = "" if cell.outcome == "inside" else "refused"
    outcome = tr(OUTCOMES[cell.outcome])
    if cell.reason:
        return style, (cell_text(cell), f"{outcome}: {cell.reason}")
    new, rounds = value_text(cell, cell.new), str(len(cell.values))
    return style, (cell_text(cell), new, interval_text(cell), rounds, outcome)
