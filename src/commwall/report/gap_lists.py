"""What is missing, refused or doubtful, as lists that leave room for the rest of a page.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator, Sequence

from commwall.analysis.gaps import GapLine
from commwall.language.translate import tr, tr_later, trn
from commwall.report.html import Html, bullets, folded, paragraph

GAP_HEADS = {
    "problem": tr_later("Problems"),
    "accident": tr_later("Accidents of the last run (measured again by the next)"),
    "record": tr_later("Records that are not used"),
    "pair": tr_later("Rounds whose records must not be compared"),
    "missing": tr_later("Planned records that are missing"),
    "stale": tr_later("Records made by older code or for an older plan"),
    "mark": tr_later("Doubts"),
    "value": tr_later("Values that could not be had"),
}
_FOLDED = ("missing", "stale")
"""Kinds of gaps that fill pages where a campaign is not finished, or old."""
_FEW_LINES = 3
"""So many of a suite are shown unfolded."""


def gap_lists(gaps: Sequence[GapLine]) -> Iterator[Html]:
    """A list for each kind below its title, gravest first; long ones folded by suite."""
    for kind, head in GAP_HEADS.items():
        if own := [gap for gap in gaps if gap.kind == kind]:
            yield paragraph(tr("{title}:", title=tr(head)), "lead")
            yield from _by_suite(own) if kind in _FOLDED else [bullets(map(str, own))]


def _by_suite(gaps: Sequence[GapLine]) -> Iterator[Html]:
    """Gaps of one kind, a line for each suite that a reader opens."""
    for suite in dict.fromkeys(gap.suite for gap in gaps):
        own = [gap for gap in gaps if gap.suite == suite]
        title = trn("Suite {suite}: {n} record", "Suite {suite}: {n} records",
                    sum(gap.records for gap in own), suite=suite)  # fmt: skip
        shown = bullets(map(str, own))
        yield folded(title, shown) if len(own) > _FEW_LINES else shown
