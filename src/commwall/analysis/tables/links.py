"""What a link looks like from its collectives: a latency and a rate, and what NCCL chose.

Layer: analysis. Reads no file. Of each round a line is fitted to the times over the sizes:

    time = latency + bytes on the wire / rate

A line is a summary, not a law. NCCL changes its protocol with the size (LL has the least latency,
SIMPLE the highest rate), so in between a time may lie well off; the largest relative misfit
stands beside each fit, and beyond its sizes the line says nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import geometric_mean

from commwall.analysis.names import OPERATION_TIME
from commwall.analysis.result import Analysis
from commwall.analysis.tables.columns import Row, platform_columns, round_columns
from commwall.analysis.values.operations import points
from commwall.analysis.verdicts.pairs import Cell
from commwall.language.translate import clauses, tr
from commwall.schema.case import CollectivesCase
from commwall.schema.collective import wire_share
from commwall.schema.record import Record
from commwall.stats.intervals import geometric_interval
from commwall.stats.lines import LEAST_POINTS, Line, relative_line


@dataclass(frozen=True)
class LinkFit:
    """The line of one round."""

    line: Line
    """Time [s] over the bytes on the wire [byte]."""
    sizes: tuple[int, ...]
    """Sizes of the full buffer that were used, ascending [byte]."""
    misfits: tuple[float, ...]
    """Line over time, less 1, of each size [1]."""

    @property
    def latency_s(self) -> float:
        """Time of an operation without bytes [s]."""
        return self.line.intercept

    @property
    def bytes_per_s(self) -> float:
        """One rate for all sizes, as bus bandwidth; of large ones it is higher [byte/s]."""
        return 1 / self.line.slope

    @property
    def worst(self) -> tuple[float, int]:
        """The misfit farthest from 0 [1] and its size [byte]."""
        return max(zip(self.misfits, self.sizes, strict=True), key=lambda pair: abs(pair[0]))


def fit_link(record: Record) -> LinkFit | str:
    """The line of a record of a collective, or why it has none."""
    case, ranks = record.case, record.platform.world_size
    assert isinstance(case, CollectivesCase)  # the caller chose the record
    used = [point for point in points(record) if point.bound]
    if len(used) < LEAST_POINTS:
        return tr("fewer than {n} sizes whose time the link sets", n=LEAST_POINTS)
    share = wire_share(case.collective, ranks)
    wire_bytes = [share * point.message_bytes for point in used]
    times_s = [point.values[OPERATION_TIME] for point in used]
    line = relative_line(wire_bytes, times_s)
    if line is None or line.intercept <= 0 or line.slope <= 0:
        return tr("the times follow no line with a latency and a rate above zero")
    sizes = tuple(point.message_bytes for point in used)
    return LinkFit(line, sizes, line.misfits(wire_bytes, times_s))


def link_rows(analysis: Analysis) -> Iterator[Row]:
    """Table `links`: one row for each collective and platform with admitted rounds."""
    admitted = [cell for cell in analysis.cells if not cell.refusals and _measured(cell.record)]

    def key(cell: Cell) -> tuple[str, str]:
        return cell.record.id.case, cell.record.id.platform

    for _, cells in groupby(sorted(admitted, key=key), key=key):
        yield _link_row(list(cells), analysis)


def choice_rows(analysis: Analysis) -> Iterator[Row]:
    """Table `choices`: what NCCL chose, by platform, case, round and size."""
    for cell in analysis.cells:
        for choice in cell.record.nccl_choices:
            yield {
                **platform_columns(cell.record, analysis),
                **round_columns(cell.record),
                **choice.model_dump(),
            }


def _measured(record: Record) -> bool:
    return isinstance(record.case, CollectivesCase) and record.status.state == "ok"


def _link_row(cells: Sequence[Cell], analysis: Analysis) -> Row:
    record = cells[0].record
    case = record.case
    assert isinstance(case, CollectivesCase)
    found = [fit_link(cell.record) for cell in cells]
    fits = [fit for fit in found if isinstance(fit, LinkFit)]
    reasons = dict.fromkeys(reason for reason in found if isinstance(reason, str))
    return {
        **platform_columns(record, analysis),
        "collective": case.collective,
        "dtype": case.dtype,
        "in_place": case.in_place,
        "wire_share": wire_share(case.collective, record.platform.world_size),
        "n": len(fits),
        "confidence": analysis.confidence,
        **_summary("link_latency", "s", [fit.latency_s for fit in fits], analysis),
        **_summary("link_rate", "bytes_per_s", [fit.bytes_per_s for fit in fits], analysis),
        **_range(fits),
        "reason": clauses(reasons) or None,
    }


def _summary(name: str, unit: str, values: Sequence[float], analysis: Analysis) -> Row:
    """Geometric mean over the rounds and its interval; none of equal rounds, or of one."""
    if not values:
        return {}
    plan = analysis.evidence.plan
    seed, spread = plan.seed if plan else 0, max(values) > min(values)
    around = (
        geometric_interval(values, confidence=analysis.confidence, seed=seed) if spread else None
    )
    return {
        f"{name}_{unit}": geometric_mean(values),
        f"{name}_low_{unit}": around.low if around else None,
        f"{name}_high_{unit}": around.high if around else None,
    }


def _range(fits: Iterable[LinkFit]) -> Row:
    """Sizes between which the lines hold, and the worst misfits of any round."""
    own = list(fits)
    if not own:
        return {}
    misfit, size = max((fit.worst for fit in own), key=lambda worst: abs(worst[0]))
    return {
        "smallest_bytes": min(fit.sizes[0] for fit in own),
        "largest_bytes": max(fit.sizes[-1] for fit in own),
        "misfit_percent": 100 * misfit,
        "misfit_bytes": size,
        "misfit_at_largest_percent": 100 * max((fit.misfits[-1] for fit in own), key=abs),
    }
