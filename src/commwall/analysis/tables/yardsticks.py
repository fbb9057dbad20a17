"""The own times of collectives beside those of nccl-tests.

Layer: analysis. Reads no file.
"""

from collections.abc import Iterator

from commwall.analysis.quantities import NCCL_TESTS_TIME, OPERATION_TIME
from commwall.analysis.result import Analysis
from commwall.analysis.tables.rows import Row, platform_columns, round_columns
from commwall.analysis.values.operations import points


def yardstick_rows(analysis: Analysis) -> Iterator[Row]:
    """Table `yardsticks`: sizes that nccl-tests timed after the same launch."""
    for cell in analysis.cells:
        for point in points(cell.record):
            if NCCL_TESTS_TIME in point.values:
                own_s, beside_s = point.values[OPERATION_TIME], point.values[NCCL_TESTS_TIME]
                yield {
                    **platform_columns(cell.record, analysis),
                    **round_columns(cell.record),
                    "message_bytes": point.message_bytes,
                    "operation_time_s": own_s,
                    "nccl_tests_time_s": beside_s,
                    "rate_ratio": beside_s / own_s,
                    "admitted": not cell.refusals,
                }
