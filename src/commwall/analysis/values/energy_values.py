"""What a training record says of energy: power, energy per sample, the same above idle.

Layer: analysis. Reads no file. Energy is that of all domains or none: where one lacks it, or where
two ways to read it disagree, every value of it is absent with the reason.
"""

from collections.abc import Callable, Collection, Mapping

from commwall.analysis.quantities import Quantity
from commwall.analysis.values.derived import Derived
from commwall.analysis.values.energy import EnergyUse, energy_doubt, energy_uses
from commwall.analysis.values.gpu_use import of_some_gpus
from commwall.analysis.values.idle import IDLE, IdlePowers, gpu_of
from commwall.analysis.values.readings import by_rank, gap_reason, not_measured
from commwall.language.translate import tr
from commwall.schema.record import Record

ENERGY = "energy_j"
SECONDS_PER_HOUR = 3600
Formulas = Mapping[str, Callable[[float, EnergyUse], float]]
"""Metric -> its formula, of an energy [J] and of what is said of all domains."""
FORMULAS: Formulas = {
    "energy_efficiency_samples_per_j": lambda energy_j, whole: whole.samples / energy_j,
    "energy_efficiency_samples_per_wh": lambda energy_j, whole: (
        SECONDS_PER_HOUR * whole.samples / energy_j
    ),
    "mean_power_w": lambda energy_j, whole: energy_j / whole.window_s,
    "energy_j_per_sample": lambda energy_j, whole: energy_j / whole.samples,
}
"""Of all energy."""
ABOVE_IDLE = "energy_above_idle_j_per_sample"
PER_WH_ABOVE_IDLE = "efficiency_above_idle_samples_per_wh"
FORMULAS_ABOVE_IDLE: Formulas = {
    ABOVE_IDLE: FORMULAS["energy_j_per_sample"],
    PER_WH_ABOVE_IDLE: FORMULAS["energy_efficiency_samples_per_wh"],
}
"""Of the energy above idle, which may be negative."""


def energy_values(record: Record, idle_w: IdlePowers, why_no_steps: str | None) -> Derived:
    """Every quantity of energy, or the reason why it is absent.

    Args:
        record: of suite training.
        idle_w: idle power of the campaign's GPUs.
        why_no_steps: why leg `full` has no step times; None if it has.
    """
    uses = () if why_no_steps else energy_uses(record, idle_w)
    whole = uses[-1] if uses else None
    if whole is None or whole.energy_j is None:
        why = energy_doubt(record, "full") or gap_reason(record, ENERGY)
        why = why or why_no_steps or _why_no_energy(record)
        return Derived(absent=_all(why, FORMULAS, FORMULAS_ABOVE_IDLE))
    known = Derived(_computed(FORMULAS, whole.energy_j, whole))
    if whole.above_idle_j is None:
        why = gap_reason(record, IDLE) or _why_no_idle(record, idle_w)
        return known | Derived(absent=_all(why, FORMULAS_ABOVE_IDLE))
    if whole.above_idle_j > 0:
        return known | Derived(_computed(FORMULAS_ABOVE_IDLE, whole.above_idle_j, whole))
    above = FORMULAS_ABOVE_IDLE[ABOVE_IDLE](whole.above_idle_j, whole)
    why = tr("the GPUs took no more than idle")
    return known | Derived({Quantity(ABOVE_IDLE): above}, {Quantity(PER_WH_ABOVE_IDLE): why})


def _computed(formulas: Formulas, energy_j: float, whole: EnergyUse) -> dict[Quantity, float]:
    return {Quantity(name): compute(energy_j, whole) for name, compute in formulas.items()}


def _all(why: str, *formulas: Formulas) -> dict[Quantity, str]:
    """One reason for all quantities."""
    return {Quantity(name): why for own in formulas for name in own}


def _why_no_energy(record: Record) -> str:
    """Why the energy of all domains is not known, by what was counted."""
    counted = by_rank(record, ENERGY)
    if not counted:
        return not_measured(ENERGY)
    return _of_some(record, ENERGY, counted) or tr("{metric} is not above zero", metric=ENERGY)


def _why_no_idle(record: Record, idle_w: IdlePowers) -> str:
    if record.platform.device == "cpu":
        return tr("the power of a CPU is not polled before a launch")
    known = [rank for rank in range(record.platform.world_size) if gpu_of(record, rank) in idle_w]
    return (_of_some(record, IDLE, known) if known else None) or not_measured(IDLE)


def _of_some(record: Record, metric_id: str, ranks: Collection[int | None]) -> str | None:
    """That not all GPUs have a metric; None if they do."""
    gpus = range(record.platform.world_size if record.platform.device == "cuda" else 0)
    count = sum(rank in ranks for rank in gpus)
    return of_some_gpus(metric_id, count, len(gpus)) if count < len(gpus) else None
