"""Energy of one record, of every counted domain and of all together.

Layer: analysis. Reads no file. A domain is the GPU of a rank, or all domains of a CPU in one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from commwall.analysis.values.readings import by_rank, slowest_rank, window_samples
from commwall.schema.device_metrics import POWER_AVERAGED_S
from commwall.schema.record import Record


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
    """By the counter; None where a domain has none [J]."""
    polled_power_w: float | None
    """Mean of the polled readings, which are of the second before, from the first second on [W]."""
    idle_power_w: float | None
    """Median of the readings before the launch [W]."""

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


def energy_uses(record: Record) -> tuple[EnergyUse, ...]:
    """Every domain of a training record, then all together; nothing without steps or readings."""
    window_s, samples = sum(slowest_rank(record, "full")), window_samples(record)
    counted, polled, times, idle = (
        by_rank(record, metric)
        for metric in ("energy_j", "power_w", "power_time_s", "idle_power_w")
    )
    ranks = list(dict.fromkeys((*counted, *polled)))
    if not ranks or window_s <= 0:
        return ()
    single = tuple(
        EnergyUse(
            rank=rank,
            window_s=window_s,
            samples=samples,
            energy_j=sum(counted[rank]) if rank in counted else None,
            polled_power_w=_polled_w(polled.get(rank, ()), times.get(rank, ())),
            idle_power_w=median(idle[rank]) if rank in idle else None,
        )
        for rank in ranks
    )
    return single if ranks == [None] else (*single, _together(single))


def whole_energy(record: Record) -> EnergyUse:
    """All counted domains together; of a record that has energy."""
    return energy_uses(record)[-1]


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


def _polled_w(powers_w: Sequence[float], times_s: Sequence[float]) -> float | None:
    """Mean of the readings that tell of the window alone; of all where their times are unknown."""
    if len(times_s) == len(powers_w):
        pairs = zip(powers_w, times_s, strict=True)
        powers_w = [power_w for power_w, time_s in pairs if time_s >= POWER_AVERAGED_S]
    return fmean(powers_w) if powers_w else None


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
