"""Collectives and copies of one record, size by size, and what a round says of them.

Layer: analysis. Reads no file. A size whose time the emulated link did not set has no bandwidth
to be judged by: its values are shown as they are, and enter no verdict.
"""

from dataclasses import dataclass

from commwall.analysis.quantities import (
    ALGBW,
    BUSBW,
    EAGER_TIME,
    LATENCY,
    MEMORY_BANDWIDTH,
    NCCL_TESTS_TIME,
    OPERATION_TIME,
    Quantity,
)
from commwall.analysis.values.derived import Derived
from commwall.analysis.values.readings import typical_s
from commwall.language.translate import tr, tr_later
from commwall.schema.case import TRAFFIC, CollectivesCase, MemoryCase
from commwall.schema.collective import bus_bandwidth
from commwall.schema.record import Record
from commwall.schema.result import LEAST_BOUND_SHARE, Series
from commwall.schema.units import size_text

NOT_BINDING = tr_later("the CPU under the emulated link, not the link, sets the time of {size}")
"""Reason why a size is no evidence on the link."""


@dataclass(frozen=True)
class Point:
    """One size of a collective, a copy, or a copy between two devices."""

    message_bytes: int
    """Size of the full buffer [byte]."""
    rank: int | None
    """Rank that works while the others wait; None where all take part."""
    peer: int | None
    """Rank whose device receives."""
    bound_share: float | None
    """Least share of the time that the emulated link set; None where the link is a real one."""
    values: dict[Quantity, float]
    """Time of one operation, the median over groups of the slowest rank's [s], the bandwidths it
    implies [byte/s], and where they were timed the time of one that the host asks for and that of
    nccl-tests [s]."""

    @property
    def bound(self) -> bool:
        """False where something else than the link under test set the time."""
        return self.bound_share is None or self.bound_share >= LEAST_BOUND_SHARE


def points(record: Record) -> tuple[Point, ...]:
    """All sizes of a record that ranks timed alike, ascending; pairs of devices apart."""
    timed, *others = (_by_place(record, quantity) for quantity in (OPERATION_TIME, *_BESIDE))
    return tuple(
        _point(record, place, own, [other.get(place, []) for other in others])
        for place, own in timed.items()
        if place[0] and _usable(own)
    )


def operation_values(record: Record) -> Derived:
    """A record's quantities, and why others are absent.

    Bandwidths are those of the largest size (of the slowest device or pair of devices where they
    work one after the other), the latency that of the smallest.
    """
    found = points(record)
    largest, smallest = _planned_ends(record)
    memory = isinstance(record.case, MemoryCase)
    ends = dict.fromkeys((MEMORY_BANDWIDTH,) if memory else (BUSBW, ALGBW), largest)
    ends |= {} if memory else {LATENCY: smallest}
    derived = Derived()
    for quantity, message_bytes in ends.items():
        at_end = [point for point in found if point.message_bytes == message_bytes]
        reason = _why_absent(at_end, message_bytes)
        if reason:
            derived.absent[quantity] = reason
        elif quantity == LATENCY:
            derived.values[quantity] = at_end[0].values[OPERATION_TIME]
        else:
            derived.values[quantity] = min(point.values[quantity] for point in at_end)
    return derived


_BESIDE = (EAGER_TIME, NCCL_TESTS_TIME)
"""Other times of the same operation."""
Place = tuple[int, int | None, int | None]
"""Size [byte], rank where ranks are told apart, peer."""


def _by_place(record: Record, quantity: Quantity) -> dict[Place, list[Series]]:
    """Measured series of a quantity, those of ranks that work together in one place."""
    groups: dict[Place, list[Series]] = {}
    for series in record.series:
        if series.metric == quantity.metric_id and series.phase == "measured":
            rank = series.rank if _works_alone(record, series) else None
            groups.setdefault((series.message_bytes or 0, rank, series.peer), []).append(series)
    return groups


def _works_alone(record: Record, series: Series) -> bool:
    """Whether the other ranks waited: copies to a peer, and ranks that take turns."""
    in_turn = isinstance(record.case, MemoryCase) and record.case.ranks == "one_at_a_time"
    return in_turn or series.peer is not None


def _usable(own: list[Series]) -> bool:
    """Whether all ranks timed one number of groups, and no clock stood still."""
    lengths = {len(series.values) for series in own}
    above_zero = all(value > 0 for series in own for value in series.values)
    return len(lengths) == 1 and lengths != {0} and above_zero


def _planned_ends(record: Record) -> tuple[int, int]:
    """Largest and smallest size that the case asks for [byte]."""
    case = record.case
    if isinstance(case, MemoryCase):
        return case.buffer_bytes[-1], case.buffer_bytes[0]
    assert isinstance(case, CollectivesCase)
    sizes = case.message_sizes(record.platform.world_size)
    return sizes[-1], sizes[0]


def _why_absent(at_end: list[Point], message_bytes: int) -> str | None:
    if not at_end:
        return tr(
            "{size} has no times, different numbers of them, or one that is not above zero",
            size=size_text(message_bytes),
        )
    if not all(point.bound for point in at_end):
        return tr(NOT_BINDING, size=size_text(message_bytes))
    return None


def _point(record: Record, place: Place, own: list[Series], others: list[list[Series]]) -> Point:
    message_bytes, rank, peer = place
    time_s = typical_s(own)
    beside = {q: typical_s(o) for q, o in zip(_BESIDE, others, strict=True) if _usable(o)}
    return Point(
        message_bytes=message_bytes,
        rank=rank,
        peer=peer,
        bound_share=_bound_share(record, message_bytes),
        values={OPERATION_TIME: time_s, **_bandwidths(record, message_bytes, time_s), **beside},
    )


def _bandwidths(record: Record, message_bytes: int, time_s: float) -> dict[Quantity, float]:
    case = record.case
    if isinstance(case, MemoryCase):
        return {MEMORY_BANDWIDTH: TRAFFIC[case.operation].counted * message_bytes / time_s}
    assert isinstance(case, CollectivesCase)
    busbw = bus_bandwidth(
        message_bytes=message_bytes,
        time_s=time_s,
        ranks=record.platform.world_size,
        collective=case.collective,
    )
    return {BUSBW: busbw, ALGBW: message_bytes / time_s}


def _bound_share(record: Record, message_bytes: int) -> float | None:
    shares = [
        value
        for series in record.series
        if series.metric == "link_bound_share" and series.message_bytes == message_bytes
        for value in series.values
    ]
    return min(shares, default=None)
