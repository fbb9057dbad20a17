"""What campaigns have measured of what a text states.

Layer: claims. Reads no file: campaigns are analysed by who asks. Only cells of the GPU that the
claim names are looked at, and what they say decides no verdict: the text's machine was another.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import median

from commwall.analysis.quantities import MEMORY_BANDWIDTH, Quantity
from commwall.analysis.result import Analysis
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.operations import points
from commwall.analysis.verdicts.pairs import Pairing
from commwall.claims.scene import Entry
from commwall.claims.wording import told_in, told_range
from commwall.language.translate import tr
from commwall.schema.case import Case, CollectivesCase, MemoryCase
from commwall.schema.claims import Claim, Measured
from commwall.schema.facts import GpuFactsFile
from commwall.schema.metric import Direction
from commwall.schema.quantities import unit_of
from commwall.schema.units import size_text
from commwall.stats.intervals import Interval, geometric_interval
from commwall.stats.paired import paired_ratio

PERCENT, TIMES = "%", "x"
"""Units in which a ratio of two links is told: by how much one is better, or how many times."""


@dataclass(frozen=True)
class Beside:
    """What a text states and what a campaign measured, over one link or over two."""

    claim: str
    stated: str
    """The number, in one direction if it is a link's rate; "" if the text gives none."""
    what: str
    campaign: str
    platform: str
    measured: str
    above: bool | None
    """Whether the number lies above all that was measured; None if there is no number."""


@dataclass(frozen=True)
class Rounds:
    """One value a round of a case."""

    cell: Cell
    """Of one round, for what all share."""
    platform: str
    """Or the two that are compared, as readers know them."""
    values: tuple[float, ...]
    """In SI units, shape (n,)."""
    middle: float
    ends: tuple[float, float] | None
    """Of its interval; None for one round, and for rounds without spread."""

    def changes(self, direction: Direction) -> "Rounds":
        """By how much the first link is better, in place of the ratio [1]."""
        sign = 1 if direction == "higher" else -1

        def change(ratio: float) -> float:
            return sign * (ratio - 1)

        low, high = sorted(map(change, self.ends)) if self.ends else (0.0, 0.0)
        return replace(
            self,
            values=tuple(map(change, self.values)),
            middle=change(self.middle),
            ends=(low, high) if self.ends else None,
        )


def beside(claim: Claim, scene: dict[str, Entry], analysis: Analysis) -> Iterator[Beside]:
    """All cells of a campaign that can be set beside a claim.

    Args:
        claim: with the cells that it asks for.
        scene: its quantities, rates of links in one direction.
        analysis: the campaign.
    """
    for wanted in claim.measured:
        stated = scene[wanted.number] if wanted.number else None
        read = _ratios if wanted.is_ratio else _single_values
        for own in read(analysis, wanted):
            yield _compared(claim.id, wanted, stated, analysis.campaign, own)


def _compared(
    claim: str, wanted: Measured, stated: Entry | None, campaign: str, own: Rounds
) -> Beside:
    """The rounds of a case beside a number, in its terms."""
    number = stated.number if stated else None
    unit = number.unit if number and number.unit == PERCENT else TIMES
    if wanted.is_ratio and unit == PERCENT:
        own = own.changes(_quantity(wanted).metric.direction)

    def tell(*values: float) -> str:
        if wanted.is_ratio:
            return told_in(values, unit)
        return told_range(values, unit_of(_quantity(wanted).metric.unit).dimension)

    return Beside(
        claim=claim,
        stated=tell(stated.least.value, stated.most.value) if stated else "",
        what=_cell_text(own.cell, wanted),
        campaign=campaign,
        platform=own.platform,
        measured=rounds_text(own, tell),
        above=stated.least.value > max(own.values) if stated else None,
    )


def _single_values(analysis: Analysis, wanted: Measured) -> Iterator[Rounds]:
    """Rounds of every case over every link that is asked for."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in analysis.cells:
        if _fits(cell, wanted, analysis) and wanted.links in ((), (cell.record.platform.path,)):
            place = cell.record.id
            found.setdefault((place.platform, place.case), []).append(cell)
    # No treatment of the link acts on copies: one platform tells what all would.
    on_device = wanted.metric == MEMORY_BANDWIDTH.metric_id
    for (platform, _), cells in list(found.items())[: 1 if on_device else None]:
        values = tuple(_value(cell, wanted) for cell in cells)
        around = geometric_interval(values, confidence=analysis.confidence, seed=analysis.seed)
        name = analysis.names.get(platform, platform)
        yield Rounds(cells[0], name, values, median(values), _ends(around))


def _ratios(analysis: Analysis, wanted: Measured) -> Iterator[Rounds]:
    """Rounds of every case that was measured over both links, the first relative to the second."""
    for pairing in analysis.pairings:
        pairs = list(_ordered(pairing, analysis, wanted))
        if pairs and not pairing.comparison.control:
            first, second = zip(*pairs, strict=True)
            ratio = paired_ratio(
                [_value(cell, wanted) for cell in first],
                [_value(cell, wanted) for cell in second],
                confidence=analysis.confidence,
                seed=analysis.seed,
            )
            a, b = (analysis.names[cell.record.id.platform] for cell in pairs[0])
            sides = tr("{a} against {b}", a=a, b=b)
            yield Rounds(first[0], sides, ratio.ratios, ratio.centre, _ends(ratio.interval))


def _ordered(pairing: Pairing, analysis: Analysis, wanted: Measured) -> Iterator[tuple[Cell, Cell]]:
    """Pairs that are asked for, the cell over the first link first."""
    for pair in pairing.pairs:
        for a, b in (pair, pair[::-1]):
            ways = (a.record.platform.path, b.record.platform.path)
            if ways == wanted.links and all(_fits(cell, wanted, analysis) for cell in (a, b)):
                yield a, b


def _fits(cell: Cell, wanted: Measured, analysis: Analysis) -> bool:
    """Whether a cell counts and is of the case and the GPU that are asked for."""
    return (
        not cell.refusals
        and _quantity(wanted) in cell.derived.values
        and _has(cell.record.case, wanted.case)
        and wanted.ranks in (None, cell.record.platform.world_size)
        and _on_gpu(cell, wanted.gpu, analysis.facts.gpus)
    )


def _has(case: Case, parameters: Mapping[str, str | None]) -> bool:
    """Whether a case has these parameters."""
    own = case.model_dump(include=set(parameters))
    return {key: None if own[key] is None else str(own[key]) for key in own} == parameters


def _on_gpu(cell: Cell, gpu: str, gpus: GpuFactsFile) -> bool:
    kind, runtime = gpus.root.get(gpu), cell.record.software.runtime
    names = set(runtime.device_names) if runtime else set()
    return kind is not None and bool(names) and names <= set(kind.names)


def _quantity(wanted: Measured) -> Quantity:
    return Quantity(wanted.metric)


def _value(cell: Cell, wanted: Measured) -> float:
    return cell.derived.values[_quantity(wanted)]


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    return (interval.low, interval.high) if interval else None


def _cell_text(cell: Cell, wanted: Measured) -> str:
    """Case and GPUs; the size of its largest message or buffer, or what was measured."""
    told = {
        "case": cell.record.id.case,
        "n": cell.record.platform.world_size,
        "gpu": wanted.gpu,
    }
    if not isinstance(cell.record.case, CollectivesCase | MemoryCase):
        quantity = _quantity(wanted).label
        return tr("{quantity}, case {case} among {n} {gpu}", quantity=quantity, **told)
    size = max(point.message_bytes for point in points(cell.record))
    return tr("case {case}, {size} among {n} {gpu}", size=size_text(size), **told)


def rounds_text(own: Rounds, tell: Callable[[float], str]) -> str:
    """The rounds' values in words: the middle, and the interval if they have one."""
    middle, n = tell(own.middle), len(own.values)
    if own.ends is None:
        return tr("{middle} (n = {n}, no interval)", middle=middle, n=n)
    least, most = map(tell, own.ends)
    return tr("{middle} ({least} to {most}, n = {n})", middle=middle, least=least, most=most, n=n)
