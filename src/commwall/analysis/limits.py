"""What limits a training case: compute, memory, power, host or link.

Layer: analysis. Reads no file. The rule, on the medians over rounds of the shares of a step of
leg `full`:

1. A step divides into exposed communication, the host's gaps, and the device's own work. With
   h(leg) the share of a leg's step in which the device waits for the host,
   own work = (1 - h(nosync)) nosync, host = h(full) full, and exposed communication is the rest.
   Negative parts count as 0.
2. Exposed communication or gaps that are larger than both other parts limit: the link or the
   host. A part that is not known is at most what the known ones leave.
3. Else power limits, where the power limit kept the clocks of leg `full` down. Exposed
   communication is then not known, for leg `nosync` ran at higher ones; but it is at most full -
   nosync, since at the clocks of leg `full` leg `nosync` would take longer.
4. Else the device's own work limits: compute or memory, whichever is nearer to its bound while
   the device works (share of the step / share of own work), if at least half of it is reached.
   With both known and below half: neither, and what else limits was not measured.
5. Whatever the parts do not decide is not told.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Literal

from commwall.analysis.quantities import EXPOSED, HOST_GAP, MEMORY_SHARE, Quantity, step_time
from commwall.analysis.result import Analysis
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.clocks import at_power_limit
from commwall.analysis.values.gpu_use import memory_share_least
from commwall.analysis.values.training import MFU
from commwall.records.admit import refusals
from commwall.schema.case import Leg, TrainingCase
from commwall.schema.facts import GpuFactsFile
from commwall.schema.record import Record

Limit = Literal["link", "host", "compute", "memory", "power", "neither", "device", "unknown"]
"""neither: the device's own work, at less than half of both its bounds; device: its own work, of
which is not known whether compute or memory bounds it."""
FULL = step_time("full")
HALF = 0.5
"""Least share of a bound that may be called the limit: below it something else takes longer."""
QUEUED = "queued_step_time_s"
HOST_BOUND = "host_bound"


@dataclass(frozen=True)
class Parts:
    """Shares of one step of leg `full` [1]; None where a part is not known."""

    exposed: float | None
    """Exposed communication, negative where the exchange costs less than noise. Without the
    host's gaps where these are known."""
    host: float | None
    """Gaps in which the device waits for the host."""
    mfu: float | None = None
    memory: float | None = None
    """Measured traffic of the device's memory, as share of its nominal rate."""
    memory_least: float | None = None
    """Lower bound of `memory` by counted bytes."""
    marked_host_bound: bool = False
    """Whether the workers found that the host decides, and could not tell by how much."""
    exposed_most: float | None = None
    """What exposed communication is at most; known even where legs at different clocks do not tell
    it."""
    power_limited: bool = False
    """Whether the power limit kept the clocks down."""

    @property
    def own_work(self) -> float | None:
        """The device's own work; None where another part is not known."""
        if self.exposed is None or self.host is None:
            return None
        return 1 - max(0.0, self.exposed) - max(0.0, self.host)

    @property
    def power_decides(self) -> bool:
        """Whether the power limit does, since neither link nor host can."""
        if not self.power_limited or self.exposed_most is None or self.host is None:
            return False
        link, host = max(0.0, self.exposed_most), max(0.0, self.host)
        return max(link, host) < 1 - link - host

    @property
    def left(self) -> float:
        """What the known parts leave for those that are not known."""
        return 1 - max(0.0, self.exposed or 0.0) - max(0.0, self.host or 0.0)


@dataclass(frozen=True)
class CaseLimit:
    """What limits one case on one platform, and the parts that say so."""

    cells: tuple[Cell, ...]
    """Rounds used; those that the host decides are among them, unlike in verdicts."""
    parts: Parts
    """Medians over the rounds."""
    limit: Limit
    rounds: tuple[tuple[Limit, int], ...]
    """What single rounds say, the most frequent first."""


def split_step(
    full_s: float, nosync_s: float | None, gap_full: float | None, gap_nosync: float | None
) -> tuple[float | None, float | None]:
    """Exposed communication and the host's gaps as shares of a step of leg `full` [1].

    Args:
        full_s: step time of leg full [s].
        nosync_s: of leg nosync; None where it was not measured [s].
        gap_full: share of the full step in which the device waits for the host; None if unknown.
        gap_nosync: of the step without exchange; None if unknown.

    Returns:
        (exposed, host). Without both gaps exposed communication is full - nosync, which holds
        the difference of the gaps as well.
    """
    if nosync_s is None:
        return None, gap_full
    if gap_full is None or gap_nosync is None:
        return 1 - nosync_s / full_s, gap_full
    return 1 - gap_full - (1 - gap_nosync) * nosync_s / full_s, gap_full


def decide(parts: Parts) -> Limit:
    """Which part limits, by the rule above."""
    link, host, left = max(0.0, parts.exposed or 0.0), max(0.0, parts.host or 0.0), parts.left
    if parts.host is None and parts.marked_host_bound:
        return "host"
    if parts.exposed is not None and link > max(host, left):
        return "link"
    if parts.host is not None and host > max(link, left):
        return "host"
    if parts.power_decides:
        return "power"
    own_work = parts.own_work
    if own_work is None or own_work <= 0:
        return "unknown"
    return _device_limit(parts, own_work)


def _device_limit(parts: Parts, own_work: float) -> Limit:
    """Compute or memory, by how near each is to its bound while the device works."""
    mfu, memory, least = (
        None if share is None else share / own_work
        for share in (parts.mfu, parts.memory, parts.memory_least)
    )
    if memory is None:
        certain = least is not None and least >= HALF and mfu is not None and least > mfu
        return "memory" if certain else "device"
    if mfu is None:
        return "device"
    if max(mfu, memory) < HALF:
        return "neither"
    return "compute" if mfu > memory else "memory"


def parts_of(cell: Cell, peaks: GpuFactsFile, highest_hz: float | None = None) -> Parts | None:
    """Shares of the step of one record; None without leg full.

    Args:
        cell: of suite training.
        peaks: of the GPUs that are known.
        highest_hz: highest clock of the GPUs' processors in the campaign; None if unknown [Hz].
    """
    values, record = cell.derived.values, cell.record

    def of_leg(metric_id: str, leg: Leg) -> float | None:
        return values.get(Quantity(metric_id, leg))

    full_s = of_leg("step_time_s", "full")
    if full_s is None:
        return None
    on_cpu = record.platform.device == "cpu"  # the host computes: it never waits for itself
    gaps = [0.0 if on_cpu else _not_negative(of_leg(HOST_GAP, leg)) for leg in ("full", "nosync")]
    exposed, host = split_step(full_s, of_leg("step_time_s", "nosync"), *gaps)
    return Parts(
        exposed=None if EXPOSED in cell.derived.absent else exposed,
        host=host,
        mfu=values.get(MFU),
        memory=values.get(MEMORY_SHARE),
        memory_least=memory_share_least(record, full_s, peaks),
        marked_host_bound=_marked_host_bound(record),
        exposed_most=_most(exposed, full_s, of_leg("step_time_s", "nosync")),
        power_limited=at_power_limit(record, highest_hz),
    )


def _most(exposed: float | None, full_s: float, nosync_s: float | None) -> float | None:
    """The larger share, with the host's gaps and without; steps at higher clocks are shorter."""
    if exposed is None or nosync_s is None:
        return None
    return max(exposed, 1 - nosync_s / full_s)


def _not_negative(gap: float | None) -> float | None:
    """A gap of which noise leaves less than nothing is none."""
    return None if gap is None else max(0.0, gap)


def _marked_host_bound(record: Record) -> bool:
    """Whether the host decides the step by a mark alone: without steps enqueued beforehand, from
    which its share follows. A mark of the exchange alone says nothing of the step."""
    measured = any(series.metric == QUEUED and series.leg == "full" for series in record.series)
    legs = {mark.leg for mark in record.marks if mark.name == HOST_BOUND}
    return not measured and bool(legs & {None, "full", "single"})


def limits(analysis: Analysis) -> tuple[CaseLimit, ...]:
    """The limit of every training case on every platform, in the order of the records."""
    groups: dict[tuple[str, str], list[tuple[Cell, Parts]]] = {}
    highest_hz = analysis.highest_clock_hz
    for cell in analysis.cells:
        parts = parts_of(cell, analysis.facts.gpus, highest_hz) if _usable(cell) else None
        if parts:
            key = (cell.record.id.case, cell.record.id.platform)
            groups.setdefault(key, []).append((cell, parts))
    return tuple(_case_limit(group) for group in groups.values())


def _usable(cell: Cell) -> bool:
    """Admitted but for the mark that says what this module asks: that the host decides."""
    record = cell.record
    marks = tuple(mark for mark in record.marks if mark.name != HOST_BOUND)
    others = refusals(record.model_copy(update={"marks": marks}))
    pooled_out = set(cell.refusals) - set(refusals(record))
    return isinstance(record.case, TrainingCase) and not others and not pooled_out


def _case_limit(group: list[tuple[Cell, Parts]]) -> CaseLimit:
    found = [parts for _, parts in group]
    typical = Parts(
        exposed=_median(parts.exposed for parts in found),
        host=_median(parts.host for parts in found),
        mfu=_median(parts.mfu for parts in found),
        memory=_median(parts.memory for parts in found),
        memory_least=_median(parts.memory_least for parts in found),
        marked_host_bound=2 * sum(parts.marked_host_bound for parts in found) > len(found),
        exposed_most=_median(parts.exposed_most for parts in found),
        power_limited=2 * sum(parts.power_limited for parts in found) > len(found),
    )
    single = Counter(decide(parts) for parts in found)
    cells = tuple(cell for cell, _ in group)
    return CaseLimit(cells, typical, decide(typical), tuple(single.most_common()))


def _median(values: Iterator[float | None]) -> float | None:
    """Median over the rounds; None where one of them does not know it."""
    known = list(values)
    return None if None in known else median(value for value in known if value is not None)
