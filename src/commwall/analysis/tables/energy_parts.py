"""Energy on each link, and what separates two links: energy per sample = power x time per sample.

Layer: analysis. Reads no file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from commwall.analysis.quantities import (
    ENERGY_PER_SAMPLE,
    MEAN_POWER,
    TIME_PER_SAMPLE,
    Quantity,
    step_time,
)
from commwall.analysis.result import Analysis
from commwall.analysis.tables.rows import (
    Row,
    pair_columns,
    percent,
    platform_columns,
    quantity_columns,
    ratio_columns,
    round_columns,
)
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.energy import EnergyUse, energy_uses
from commwall.analysis.verdicts.pairs import Pairing
from commwall.stats.paired import PairedRatio, paired_ratio

FULL_STEP = step_time("full")
PARTS = (ENERGY_PER_SAMPLE, MEAN_POWER, TIME_PER_SAMPLE)
"""The whole, then its two factors."""


@dataclass(frozen=True)
class EnergyPart:
    """One of the three quantities, paired over the rounds that have all of them."""

    quantity: Quantity
    median_a: float
    """In the quantity's unit."""
    median_b: float
    ratio: PairedRatio
    """a / b."""


def energy_parts(pairing: Pairing, confidence: float, seed: int) -> tuple[EnergyPart, ...]:
    """Energy per sample of two platforms and its factors; empty without a usable round.

    The factors are paired in the same rounds, so that energy = power x time holds exactly for
    the geometric means.

    Args:
        pairing: the rounds of one comparison and case.
        confidence: level of the intervals.
        seed: of the plan.
    """
    usable = [pair for pair in pairing.pairs if all(_known(cell) for cell in pair)]
    if not usable:
        return ()
    parts = []
    for quantity in PARTS:
        a, b = ([pair[i].derived.values[quantity] for pair in usable] for i in (0, 1))
        ratio = paired_ratio(a, b, confidence=confidence, seed=seed)
        parts.append(EnergyPart(quantity, median(a), median(b), ratio))
    return tuple(parts)


def _known(cell: Cell) -> bool:
    return all(cell.derived.values.get(quantity, 0) > 0 for quantity in PARTS)


def room_w(parts: tuple[EnergyPart, ...]) -> float:
    """Power that nobody counts which would make up for the difference in energy [W].

    What the side with less energy per sample may take more than the other in parts that are not
    counted before its lead is gone: its power times (the other's energy / its own - 1).
    """
    energy, power, _ = parts
    ratio = energy.ratio.centre
    return power.median_a * (1 / ratio - 1) if ratio < 1 else power.median_b * (ratio - 1)


def energy_part_rows(analysis: Analysis) -> Iterator[Row]:
    """Rows of table `energy_parts`."""
    for pairing in analysis.pairings:
        parts = energy_parts(pairing, analysis.confidence, analysis.seed)
        for part in parts:
            yield {
                **pair_columns(pairing, analysis),
                **quantity_columns(part.quantity),
                "median_a": part.median_a,
                "median_b": part.median_b,
                **ratio_columns(part.ratio),
                "uncounted_power_w": room_w(parts),
            }


def energy_rows(analysis: Analysis) -> Iterator[Row]:
    """Rows of table `energy`."""
    for cell in analysis.cells:
        record = cell.record
        if FULL_STEP in cell.derived.values:
            place = {**platform_columns(record, analysis), **round_columns(record)}
            for use in energy_uses(record, analysis.idle_w):
                yield {**place, **_columns(use), "admitted": not cell.refusals}


def _columns(use: EnergyUse) -> Row:
    return {
        "rank": use.rank,
        "window_s": use.window_s,
        "energy_j": use.energy_j,
        "power_w": use.power_w,
        "polled_power_w": use.polled_power_w,
        "polled_difference_percent": percent(use.polled_difference),
        "idle_power_w": use.idle_power_w,
        "energy_j_per_sample": None if use.energy_j is None else use.energy_j / use.samples,
        "energy_above_idle_j_per_sample": (
            None if use.above_idle_j is None else use.above_idle_j / use.samples
        ),
    }
