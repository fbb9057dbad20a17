"""Whether what was measured of a memory is within what its way carries at most.

Layer: measure. Reads and writes no file. A rate above it says that something else than the way
was timed: a cache, a copy that did not happen, a clock.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from commwall.records.paths import MemoryPath, Place, memory_path
from commwall.schema.case import TRAFFIC, MemoryCase
from commwall.schema.facts import HardwareFacts
from commwall.schema.result import CaseResult, Check, Series


@dataclass(frozen=True)
class _Rate:
    """The highest rate of one rank at one size, beside the nominal one."""

    words: str
    bytes_per_s: float
    nominal_bytes_per_s: float
    path: MemoryPath

    @property
    def share(self) -> float:
        return self.bytes_per_s / self.nominal_bytes_per_s


def path_rate_check(
    case: MemoryCase, result: CaseResult, place: Place, facts: HardwareFacts
) -> Check | None:
    """The rate nearest to its bound, or farthest above it; None where no bound is known.

    Args:
        case: what was measured.
        result: what the workers found.
        place: where.
        facts: of GPUs and links.
    """
    worst = max(_rates(case, result, place, facts), key=lambda rate: rate.share, default=None)
    if worst is None:
        return None
    return Check(
        name="path_rate_bound",
        passed=worst.share <= 1,
        found=worst.words,
        expected=f"<= {worst.nominal_bytes_per_s:.6g} byte/s, nominal of {worst.path.words}",
    )


def _rates(
    case: MemoryCase, result: CaseResult, place: Place, facts: HardwareFacts
) -> Iterator[_Rate]:
    counted = TRAFFIC[case.operation].counted
    for series in result.series:
        if not _is_timed(series):
            continue
        size, ends = series.message_bytes or 0, (series.rank, series.peer)
        path = memory_path(case.operation, size, ends, place, facts)
        if path.nominal_bytes_per_s is not None:
            fastest_s = min(series.values)
            rate = counted * size / fastest_s
            where = f"rank {series.rank}: {counted} x {size} byte / {fastest_s:.6g} s"
            yield _Rate(f"{where} = {rate:.6g} byte/s", rate, path.nominal_bytes_per_s, path)


def _is_timed(series: Series) -> bool:
    """Whether it holds times of an operation, all above zero."""
    timed = series.metric == "operation_time_s" and series.phase == "measured"
    return timed and bool(series.values) and min(series.values) > 0
