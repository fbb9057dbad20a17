"""Values of one record of suite `mitigations`: time per sample with and without, and their ratio.

Layer: analysis. Reads no file.
"""

from dataclasses import dataclass
from statistics import median

from commwall.analysis.quantities import MITIGATED, SPEEDUP, UNMITIGATED, Quantity
from commwall.analysis.values.derived import Derived
from commwall.analysis.values.energy import domains, energy_doubt
from commwall.analysis.values.readings import by_rank, gap_reason, measured, slowest_rank
from commwall.language.translate import clauses, tr
from commwall.schema.case import Leg
from commwall.schema.mitigation import StepCase
from commwall.schema.record import Record

_LEG_OF: dict[Quantity, Leg] = {UNMITIGATED: "full", MITIGATED: "mitigated"}


@dataclass(frozen=True)
class Timing:
    """What a record says of one of its two legs."""

    sample_time_s: float
    """Median step time of the slowest rank over the samples of a step of all ranks [s]."""
    energy_j_per_sample: float | None
    """Of all counted domains over the leg's windows; None where that of one is not known."""


def timing(record: Record, leg: Leg) -> Timing | str:
    """The timing of leg `full` or `mitigated`, or why there is none."""
    case = record.case
    assert isinstance(case, StepCase)  # the caller chose the record
    series = measured(record, "step_time_s", leg)
    if not series or len({len(each.values) for each in series}) > 1 or not series[0].values:
        return gap_reason(record, leg, "step_time_s") or tr(
            "leg {leg} has no steps of all ranks", leg=leg
        )
    steps = slowest_rank(record, leg)
    if min(steps) <= 0:
        return tr("leg {leg} has a step time that is not above zero", leg=leg)
    batches = case.mitigation.batches if leg == "mitigated" else 1
    samples = case.batch_per_gpu * batches * record.platform.world_size
    energy_j = _energy_j(record, leg)
    per_sample = None if energy_j is None else energy_j / (samples * len(steps))
    return Timing(median(steps) / samples, per_sample)


def _energy_j(record: Record, leg: Leg) -> float | None:
    """Energy of all windows of a leg [J]; None unless each of them has that of every domain.

    Both legs are timed in equally many windows: where one has fewer energies, some were lost.
    """
    legs = {own: by_rank(record, "energy_j", own) for own in _LEG_OF.values()}
    windows = {len(values) for counted in legs.values() for values in counted.values()}
    counted = legs[leg]
    whole = len(windows) == 1 and set(counted) == set(domains(record, counted))
    energies = [value for values in counted.values() for value in values]
    if not whole or energy_doubt(record, leg) or min(energies, default=0) <= 0:
        return None
    return sum(energies)


def mitigated_values(record: Record) -> Derived:
    """A record's quantities, and why others are absent; its case is one of a step."""
    derived = Derived()
    for quantity, leg in _LEG_OF.items():
        found = timing(record, leg)
        if isinstance(found, str):
            derived.absent[quantity] = found
        else:
            derived.values[quantity] = 1 / found.sample_time_s
    if derived.absent:
        derived.absent[SPEEDUP] = clauses(derived.absent.values())
    else:
        derived.values[SPEEDUP] = derived.values[MITIGATED] / derived.values[UNMITIGATED]
    return derived
