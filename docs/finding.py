"""The README's finding: its figure and its numbers, from the records of the committed sample.

Writes docs/finding.svg and prints the rows of the README's table (`make docs`); tests/contracts
holds both against the records.
"""

import io
import sys
from pathlib import Path

from commwall.analysis.names import PRIMARY
from commwall.analysis.result import Analysis, analyse
from commwall.analysis.tables.tidy import Tables
from commwall.records.evidence import look_at
from commwall.records.hardware import read_hardware
from commwall.records.layout import Layout
from commwall.report.figures import step_parts_figure
from commwall.report.style import looks_of
from commwall.schema.units import significant

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = "gpu-sample-655c9664"
CONFIDENCE = 0.95


def sample() -> Analysis:
    """What the sample's records say, whether or not the workflow has looked at them here."""
    return analyse(look_at(Layout(ROOT), SAMPLE), CONFIDENCE, read_hardware(ROOT))


def table_rows(analysis: Analysis) -> dict[str, str]:
    """Case -> its row: throughput over both links [sample/s] and their ratio [1]."""
    found = {}
    for verdict in analysis.verdicts:
        if verdict.quantity == PRIMARY and verdict.ratio and verdict.medians:
            fast, slow = (significant(value, 4) for value in verdict.medians)
            row = f"| {verdict.case} | {fast} | {slow} | {verdict.ratio.centre:.2f} |"
            found[verdict.case] = row
    return found


def figure(analysis: Analysis) -> bytes:
    """Where a step's time goes in these cases, as SVG: the same bytes from the same records."""
    platforms = Tables(analysis).platforms
    shown = platforms[platforms["case"].isin(list(table_rows(analysis)))]
    stream = io.BytesIO()
    drawn = step_parts_figure(Tables(analysis, platforms=shown), looks_of(analysis.names))
    drawn.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


if __name__ == "__main__":
    found = sample()
    (ROOT / "docs" / "finding.svg").write_bytes(figure(found))
    sys.stdout.write("\n".join(table_rows(found).values()) + "\n")
