"""What campaigns have measured of a number that a text states.

Layer: claims. Reads no file: campaigns are analysed by who asks. Only cells of the GPU that the
claim names are looked at, and what they say decides no verdict: the text's machine was another.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from commwall.analysis.names import BUSBW, MEMORY_BANDWIDTH
from commwall.analysis.pairs import Cell
from commwall.analysis.points import Point, points
from commwall.analysis.result import Analysis
from commwall.claims.scene import Entry
from commwall.claims.wording import told, told_range
from commwall.language.translate import tr
from commwall.schema.case import CollectivesCase, MemoryCase
from commwall.schema.claims import Claim, Measured
from commwall.schema.facts import GpuFactsFile
from commwall.schema.quantities import Quantity, unit_of
from commwall.schema.units import rate_text, size_text
from commwall.stats.intervals import geometric_interval

QUANTITIES = {
    "busbw_bytes_per_s": BUSBW,
    "memory_bandwidth_bytes_per_s": MEMORY_BANDWIDTH,
}
RATE = unit_of("byte/s").dimension


@dataclass(frozen=True)
class Beside:
    """A number of a text and what one platform of a campaign measured."""

    claim: str
    stated: str
    """The number, in one direction if it is a link's rate."""
    what: str
    campaign: str
    platform: str
    measured: str
    above: bool
    """Whether the number lies above all that was measured."""


def beside(claim: Claim, scene: dict[str, Entry], analyses: Iterable[Analysis]) -> Iterator[Beside]:
    """All cells that can be set beside the numbers of a claim.

    Args:
        claim: with the cells that it asks for.
        scene: its quantities, rates of links in one direction.
        analyses: campaigns to look into.
    """
    for analysis in analyses:
        for wanted in claim.measured:
            found = list(_by_place(analysis, wanted).items())
            # No treatment of the link acts on copies: one platform tells what all would.
            for (platform, _), cells in found if wanted.metric == BUSBW.metric_id else found[:1]:
                yield _compared(claim, wanted, scene[wanted.number], analysis, platform, cells)


def _by_place(analysis: Analysis, wanted: Measured) -> dict[tuple[str, str], list[Cell]]:
    """Platform and case -> its rounds."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in analysis.cells:
        if not cell.refusals and _fits(cell, wanted, analysis.facts.gpus):
            place = cell.record.id
            found.setdefault((place.platform, place.case), []).append(cell)
    return found


def _fits(cell: Cell, wanted: Measured, gpus: GpuFactsFile) -> bool:
    case, runtime = cell.record.case, cell.record.software.runtime
    if isinstance(case, CollectivesCase):
        operation: str = case.collective
    elif isinstance(case, MemoryCase):
        operation = case.operation
    else:
        return False
    kind = gpus.root.get(wanted.gpu)
    names = set(runtime.device_names) if runtime else set()
    alike = kind is not None and bool(names) and names <= set(kind.names)
    ranks = wanted.ranks in (None, cell.record.platform.world_size)
    return alike and ranks and operation == wanted.operation


def _compared(
    claim: Claim, wanted: Measured, stated: Entry, analysis: Analysis, platform: str,
    cells: list[Cell],
) -> Beside:  # fmt: skip
    largest = [_largest(points(cell.record)) for cell in cells]
    values = [median(point.values[QUANTITIES[wanted.metric]] for point in own) for own in largest]
    size, ranks = largest[0][0].message_bytes, cells[0].record.platform.world_size
    case = cells[0].record.id.case
    return Beside(
        claim.id,
        told_range((stated.least.value, stated.most.value), stated.least.dimension),
        tr(
            "case {case}, {size} among {n} {gpu}",
            case=case,
            size=size_text(size),
            n=ranks,
            gpu=wanted.gpu,
        ),
        analysis.evidence.index.campaign,
        analysis.names.get(platform, platform),
        interval_text(values, analysis),
        stated.least.value > max(values),
    )


def _largest(own: tuple[Point, ...]) -> list[Point]:
    """The points of the largest size, one a pair of devices."""
    size = max(point.message_bytes for point in own)
    return [point for point in own if point.message_bytes == size]


def interval_text(values: list[float], analysis: Analysis) -> str:
    """The rounds' values in words: their median, and the interval if there are two or more."""
    plan = analysis.evidence.plan
    interval = geometric_interval(
        values, confidence=analysis.confidence, seed=plan.seed if plan else 0
    )
    middle = told(Quantity(median(values), RATE))
    if interval is None:
        return tr("{middle} (n = {n}, no interval)", middle=middle, n=len(values))
    return tr(
        "{middle} ({least} to {most}, n = {n})",
        middle=middle,
        least=rate_text(interval.low),
        most=rate_text(interval.high),
        n=len(values),
    )
