"""The README's finding: its figure and its numbers, from the records of the reference campaign.

Writes docs/finding.svg and prints what the README says of them (`make docs`); tests/contracts holds
all of it against the records.
"""

import io
import sys
from pathlib import Path

from commwall.analysis.quantities import PRIMARY
from commwall.analysis.result import Analysis, analyse
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.verdicts.judging import Verdict
from commwall.records.evidence import look_at
from commwall.records.hardware import read_hardware
from commwall.records.layout import Layout
from commwall.report.figures import step_parts_figure
from commwall.report.style import looks_of
from commwall.schema.units import significant

ROOT = Path(__file__).resolve().parents[1]
CAMPAIGN = "h200x2"
FASTER, SLOWER = "h200x2-nvlink", "h200x2-hoststaged"
CONFIDENCE = 0.95


def reference() -> Analysis:
    """What the campaign's records say, whether or not the workflow has looked at them here."""
    return analyse(look_at(Layout(ROOT), CAMPAIGN), CONFIDENCE, read_hardware(ROOT))


def verdicts(analysis: Analysis) -> list[Verdict]:
    """Training throughput over both links, each case that has a ratio."""
    return [
        verdict
        for verdict in analysis.verdicts
        if (verdict.comparison.a, verdict.comparison.b) == (FASTER, SLOWER)
        and verdict.quantity == PRIMARY
        and verdict.ratio
    ]


def table_rows(analysis: Analysis) -> list[str]:
    """A row for each case: throughput over both links [sample/s], their ratio, and A/A's [1]."""
    return [_row(verdict) for verdict in verdicts(analysis)]


def _row(verdict: Verdict) -> str:
    assert verdict.ratio and verdict.medians  # chosen by `verdicts`
    fast, slow = (significant(value, 4) for value in verdict.medians)
    twice = verdict.control.ratio if verdict.control else None
    noise = f"{twice.centre:.3f}" if twice else "–"
    return f"| {verdict.case} | {fast} | {slow} | {verdict.ratio.centre:.2f} | {noise} |"


def sentences(analysis: Analysis) -> list[str]:
    """What the README says in words: how far the campaign is, and from which ratio to which."""
    found = verdicts(analysis)
    ratios = [verdict.ratio.centre for verdict in found if verdict.ratio]
    done = max(verdict.n for verdict in found)
    planned = max(verdict.n + verdict.refused_rounds for verdict in found)
    won = sum(verdict.winner is not None for verdict in found)
    return [
        f"the ratio runs from {min(ratios):.2f} to {max(ratios):.2f}",
        f"{done} of {planned} rounds",
        f"names a winner in {won or 'none'} of {len(found)} cases",
    ]


def figure(analysis: Analysis) -> bytes:
    """Where a step's time goes in cases with a control, as SVG: same bytes from same records."""
    platforms = Tables(analysis).platforms
    cases = [verdict.case for verdict in verdicts(analysis) if verdict.control]
    chosen = platforms["case"].isin(cases) & platforms["platform"].isin([FASTER, SLOWER])
    stream = io.BytesIO()
    shown = Tables(analysis, platforms=platforms[chosen])
    drawn = step_parts_figure(shown, looks_of(analysis.names))
    drawn.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


if __name__ == "__main__":
    found = reference()
    (ROOT / "docs" / "finding.svg").write_bytes(figure(found))
    sys.stdout.write("\n".join([*table_rows(found), *sentences(found)]) + "\n")
