"""The ways of copies: what each carries at most, how much of that was reached, what is shared.

Layer: analysis. Reads no file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from commwall.analysis.quantities import MEMORY_BANDWIDTH
from commwall.analysis.result import Analysis
from commwall.analysis.tables.rows import Row, platform_columns, round_columns
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.operations import points
from commwall.records.paths import MemoryPath, Place, memory_path
from commwall.schema.case import TRAFFIC, MemoryCase
from commwall.schema.facts import HardwareFacts
from commwall.schema.record import Record


@dataclass(frozen=True)
class Reached:
    """What a memory operation reached of its way's nominal rate at one size."""

    message_bytes: int
    rank: int | None
    """Rank that works while the others wait; None where all do."""
    peer: int | None
    bandwidth_bytes_per_s: float
    path: MemoryPath

    @property
    def nominal_share(self) -> float | None:
        """Share of the nominal rate [1]; None where that is not known."""
        nominal = self.path.nominal_bytes_per_s
        return None if nominal is None else self.bandwidth_bytes_per_s / nominal


def reached(record: Record, facts: HardwareFacts) -> tuple[Reached, ...]:
    """All sizes of a record of suite `memory`, ascending; none of another suite.

    Args:
        record: one cell of a campaign.
        facts: of GPUs and links.
    """
    case = record.case
    if not isinstance(case, MemoryCase):
        return ()
    platform = record.platform
    place = Place(platform.device, platform.world_size, record.machine, record.gaps)
    return tuple(
        Reached(
            point.message_bytes,
            point.rank,
            point.peer,
            point.values[MEMORY_BANDWIDTH],
            memory_path(
                case.operation, point.message_bytes, (point.rank, point.peer), place, facts
            ),
        )
        for point in points(record)
    )


def path_rows(analysis: Analysis) -> Iterator[Row]:
    """Rows of table `paths`."""
    for cell in analysis.cells:
        case = cell.record.case
        if not isinstance(case, MemoryCase):
            continue
        place = {**platform_columns(cell.record, analysis), **round_columns(cell.record)}
        fixed = {**place, "operation": case.operation, "ranks": case.ranks}
        for one in reached(cell.record, analysis.facts):
            yield {
                **fixed,
                "rank": one.rank,
                "message_bytes": one.message_bytes,
                "peer": one.peer,
                "kind": one.path.kind,
                "path": one.path.words,
                "bandwidth_bytes_per_s": one.bandwidth_bytes_per_s,
                "nominal_bytes_per_s": one.path.nominal_bytes_per_s,
                "nominal_share": one.nominal_share,
                "unknown": one.path.unknown,
                "admitted": not cell.refusals,
            }


def sharing_rows(analysis: Analysis) -> Iterator[Row]:
    """Rows of table `sharing`: cases that differ in nothing but who works at a time."""
    cells = [cell for cell in analysis.cells if not cell.refusals]
    for together in cells:
        for alone in cells:
            if not _differ_in_turns(together, alone):
                continue
            record = together.record
            case = record.case
            place = {**platform_columns(record, analysis), **round_columns(record)}
            rates, others = rank_rates(record), rank_rates(alone.record)
            for (rank, size), rate in rates.items():
                if (rank, size) in others:
                    yield {
                        **place,
                        "case_alone": alone.record.id.case,
                        "operation": case.operation if isinstance(case, MemoryCase) else None,
                        "rank": rank,
                        "message_bytes": size,
                        "together_bytes_per_s": rate,
                        "alone_bytes_per_s": others[rank, size],
                        "together_share": rate / others[rank, size],
                    }


def rank_rates(record: Record) -> dict[tuple[int, int], float]:
    """Bandwidth of each rank by itself: (rank, size [byte]) -> [byte/s]."""
    case = record.case
    if not isinstance(case, MemoryCase):
        return {}
    counted = TRAFFIC[case.operation].counted
    return {
        (series.rank, series.message_bytes): counted * series.message_bytes / median(series.values)
        for series in record.series
        if series.metric == "operation_time_s"
        and series.phase == "measured"
        and series.rank is not None
        and series.message_bytes is not None
        and series.values
        and min(series.values) > 0
    }


def _differ_in_turns(together: Cell, alone: Cell) -> bool:
    """Whether they are of one launch, one operation, and the second has the ranks take turns."""
    a, b = together.record, alone.record
    if not isinstance(a.case, MemoryCase) or not isinstance(b.case, MemoryCase):
        return False
    same_launch = (a.id.platform, a.id.round_id) == (b.id.platform, b.id.round_id)
    in_turn = a.case.model_copy(update={"ranks": "one_at_a_time"})
    between = TRAFFIC[a.case.operation].between
    return same_launch and between != "peer" and a.case.ranks == "together" and b.case == in_turn
