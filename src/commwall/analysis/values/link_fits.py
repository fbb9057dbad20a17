"""What a link looks like from one sweep of a collective: a latency and a rate.

Layer: analysis. Reads no file. A line is fitted to the times over the sizes:

    time = latency + bytes on the wire / rate

A line is a summary, not a law. NCCL changes its protocol with the size (LL has the least latency,
SIMPLE the highest rate), so in between a time may lie well off; the largest relative misfit
stands beside each fit, and beyond its sizes the line says nothing.
"""

from dataclasses import dataclass

from commwall.analysis.quantities import OPERATION_TIME
from commwall.analysis.values.operations import points
from commwall.language.translate import tr
from commwall.schema.case import CollectivesCase
from commwall.schema.collective import wire_share
from commwall.schema.record import Record
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
