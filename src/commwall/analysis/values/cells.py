"""Records of a campaign with what follows from each, and whether it may count.

Layer: analysis. Reads no file.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from commwall.analysis.quantities import Quantity
from commwall.analysis.values.clocks import highest_clock_hz
from commwall.analysis.values.derive import derive
from commwall.analysis.values.derived import Derived
from commwall.analysis.values.idle import idle_powers_w
from commwall.records.admit import refusals
from commwall.records.comparable import not_as_planned
from commwall.records.evidence import Evidence
from commwall.schema.facts import GpuFactsFile
from commwall.schema.record import Record


@dataclass(frozen=True)
class Cell:
    """One record with what follows from it."""

    record: Record
    derived: Derived
    refusals: tuple[str, ...]
    """Why its numbers may not enter a verdict; empty if they may."""


def not_positive(cells: Iterable[Cell], quantity: Quantity) -> Cell | None:
    """The first cell whose value has no logarithm; None if all that are known have one."""
    return next((c for c in cells if c.derived.values.get(quantity, 1.0) <= 0), None)


def read_cells(evidence: Evidence, peaks: GpuFactsFile) -> tuple[Cell, ...]:
    """One cell for every readable record; one that was not measured as planned is refused."""
    highest_hz, idle_w = highest_clock_hz(evidence.records), idle_powers_w(evidence.records)
    return tuple(
        Cell(
            record,
            derive(record, peaks, highest_hz, idle_w),
            (*_not_planned(record, evidence), *refusals(record)),
        )
        for record in evidence.records
    )


def _not_planned(record: Record, evidence: Evidence) -> Iterator[str]:
    other = not_as_planned(record, evidence.plan) if evidence.plan else None
    if other:
        yield other
