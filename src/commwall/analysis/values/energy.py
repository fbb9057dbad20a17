"""Energy of one record, of every counted domain and of all together.

Layer: analysis. Reads no file. A domain is the GPU of a rank, or all domains of a CPU in one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from commwall.analysis.values.idle import IdlePowers, gpu_of
from commwall.analysis.values.readings import by_rank, slowest_rank, window_samples
from commwall.language.translate import clauses, tr
from commwall.schema.case import Leg
from commwall.schema.device_metrics import POWER_AVERAGED_S
from commwall.schema.record import Record
from commwall.schema.result import MarkName

ENERGY_DOUBTFUL: MarkName = "energy_doubtful"


@dataclass(frozen=True)
class EnergyUse:
    """What one domain, or all, took in the timed window of leg `full`."""

    rank: int | None
    """Whose GPU it is; None for all counted domains together."""
    window_s: float
    """Time of the steps [s]."""
    samples: int
    """Of all ranks together."""
    energy_j: float | None
    """By the counter; None where a domain has none, or the mark says that it is doubtful [J]."""
    polled_power_w: float | None
    """Mean of the polled readings, which are of the second before, from the first second on; None
    as energy is, since nobody knows which of the two is wrong [W]."""
    idle_power_w: float | None
    """The lowest reading of the campaign's before a launch [W]."""

    @property
    def power_w(self) -> float | None:
        """By the counter [W]."""
        return None if self.energy_j is None else self.energy_j / self.window_s

    @property
    def polled_difference(self) -> float | None:
        """Polled power relative to that by the counter [1]."""
        if self.power_w is None or self.polled_power_w is None:
            return None
        return self.polled_power_w / self.power_w - 1

    @property
    def above_idle_j(self) -> float | None:
        """Energy without what the domain takes idle [J]."""
        if self.energy_j is None or self.idle_power_w is None:
            return None
        return self.energy_j - self.idle_power_w * self.window_s


def energy_uses(record: Record, idle_w: IdlePowers) -> tuple[EnergyUse, ...]:
    """Every domain of a training record, then all together; nothing without steps or readings.

    Args:
        record: of suite training.
        idle_w: of the campaign's GPUs.
    """
    window_s, samples = sum(slowest_rank(record, "full")), window_samples(record)
    counted, polled, times = (
        by_rank(record, metric) for metric in ("energy_j", "power_w", "power_time_s")
    )
    ranks = domains(record, (*counted, *polled))
    if not ranks or window_s <= 0:
        return ()
    if energy_doubt(record, "full"):
        counted, polled = {}, {}
    single = tuple(
        EnergyUse(
            rank=rank,
            window_s=window_s,
            samples=samples,
            energy_j=_counted_j(counted.get(rank, ())),
            polled_power_w=_polled_w(polled.get(rank, ()), times.get(rank, ())),
            idle_power_w=None if rank is None else idle_w.get(gpu_of(record, rank)),
        )
        for rank in ranks
    )
    return single if ranks == [None] else (*single, _together(single))


def domains(record: Record, told: Iterable[int | None]) -> list[int | None]:
    """What a sum over all domains needs: every rank's GPU, or the CPU's that are told."""
    own = list(dict.fromkeys(told))
    on_gpus = record.platform.device == "cuda"
    return list(range(record.platform.world_size)) if own and on_gpus else own


def energy_doubt(record: Record, leg: Leg) -> str | None:
    """What contradicts the energy of a leg, by the record's marks; None if nothing does."""
    seen = [m.detail for m in record.marks if m.name == ENERGY_DOUBTFUL and m.leg in (leg, None)]
    if not seen:
        return None
    details = clauses(dict.fromkeys(seen))
    return tr("two ways to read the energy disagree ({details})", details=details)


def _together(single: tuple[EnergyUse, ...]) -> EnergyUse:
    """The sum; a part that one domain lacks is not known of all."""
    return EnergyUse(
        rank=None,
        window_s=single[0].window_s,
        samples=single[0].samples,
        energy_j=_sum([use.energy_j for use in single]),
        polled_power_w=_sum([use.polled_power_w for use in single]),
        idle_power_w=_sum([use.idle_power_w for use in single]),
    )


def _counted_j(energies_j: Sequence[float]) -> float | None:
    """A counter that shows nothing, or less, counted nothing."""
    return sum(energies_j) if sum(energies_j) > 0 else None


def _polled_w(powers_w: Sequence[float], times_s: Sequence[float]) -> float | None:
    """Mean of the readings that tell of the window alone; of all where their times are unknown."""
    if len(times_s) == len(powers_w):
        pairs = zip(powers_w, times_s, strict=True)
        powers_w = [power_w for power_w, time_s in pairs if time_s >= POWER_AVERAGED_S]
    return fmean(powers_w) if powers_w else None


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
