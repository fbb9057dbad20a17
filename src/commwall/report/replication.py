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
from commwall.report.html import Group, Html, bullets, grouped_table, heading, joined, paragraph
from commwall.report.page import Page

HEADS = ("cell", "new mean", "interval fixed beforehand", "new rounds", "outcome")
CAPTION = (
    "One row a cell: geometric mean over the new rounds, and the interval that the published "
    "campaign fixed for it."
)


def section(page: Page) -> Html:
    """Heading, counts and table; nothing on the pages of a campaign that replicates none."""
    found = page.analysis.replication
    if found is None:
        return Html("")
    if found.problem:
        return joined([heading("Replication"), paragraph(headline_text(found), "missing")])
    groups = [
        Group("Ratios", [_row(cell) for cell in found.cells if cell.cell.b is not None]),
        Group("Absolute values", [_row(cell) for cell in found.cells if cell.cell.b is None]),
    ]
    return joined(
        [
            heading("Replication"),
            paragraph(headline_text(found)),
            bullets(lines(found)),
            grouped_table(HEADS, [group for group in groups if group.rows], CAPTION),
        ]
    )


def _row(cell: JudgedCell) -> tuple[str, tuple[str, ...]]:
    style = "" if cell.outcome == "inside" else "refused"
    if cell.reason:
        return style, (cell_text(cell), f"{cell.outcome}: {cell.reason}")
    new, rounds = value_text(cell, cell.new), str(len(cell.values))
    return style, (cell_text(cell), new, interval_text(cell), rounds, cell.outcome)
