"""Energy of processor packages and memory from the kernel's running counters (RAPL).

Layer: host. Reads `/sys/class/powercap`; writes nothing.
"""

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from commwall.host.background import Background
from commwall.host.link_counters import LinkTraffic
from commwall.host.meter import ENERGY, Metered
from commwall.schema.case import Leg
from commwall.schema.device_metrics import DEVICE_METRICS
from commwall.schema.result import Gap, Mark, Series

POWERCAP = Path("/sys/class/powercap")
SAMPLE_PERIOD_S = 0.1
MICROJOULE = 1e-6
UNTOLD = tuple(
    Gap(what=metric.id, reason="only GPUs tell it, and the ranks compute on the CPU")
    for metric in DEVICE_METRICS
)
"""What a CPU has no such counters for."""


@dataclass(frozen=True)
class Domain:
    """One counter."""

    name: str
    """`package-0`, or `package-0/dram` for memory that no package counts."""
    path: Path
    """File with the running energy [µJ]."""
    range_uj: int
    """The counter starts again at 0 after this value [µJ]."""


@dataclass(frozen=True)
class Sample:
    """All counters at one moment."""

    time_ns: int
    """CLOCK_MONOTONIC [ns]."""
    counters_uj: tuple[int, ...]
    """One value a domain [µJ]."""


class EnergySampler(Background):
    """Reads the counters in a thread while it is entered, ten times a second.

    The counters themselves move about every millisecond; a window's ends are interpolated
    between two readings, so that its energy belongs to exactly its duration.
    """

    def __init__(self, root: Path = POWERCAP, period_s: float = SAMPLE_PERIOD_S) -> None:
        self.domains, self.gap = find_domains(root)
        self._period_s = period_s
        self._samples: list[Sample] = []
        super().__init__("energy")

    def __enter__(self) -> Self:
        if self.domains:
            self._samples.append(read_counters(self.domains))
        return super().__enter__()

    def energy(self, start_ns: int, end_ns: int) -> float | Gap:
        """Energy of all domains over a window [J], or why it is not known.

        Args:
            start_ns: start of the window, CLOCK_MONOTONIC [ns].
            end_ns: its end [ns].
        """
        if self.gap:
            return self.gap
        return integrate(self.domains, self._samples, start_ns, end_ns)

    def found(self, start_ns: int, end_ns: int) -> Metered:
        """Energy of a window of leg `full` as a series, or the gap."""
        energy = self.energy(start_ns, end_ns)
        if isinstance(energy, Gap):
            return Metered(gaps=(energy, *UNTOLD))
        own = Series(metric=ENERGY, unit="J", leg="full", values=(energy,))
        return Metered((own,), gaps=UNTOLD)

    def disturbances(self, start_ns: int, end_ns: int, leg: Leg | None) -> tuple[Mark, ...]:
        """None: a CPU tells of none."""
        return ()

    def states(self, start_ns: int, end_ns: int, leg: Leg) -> Metered:
        """Nothing: those of a CPU are not read, of which leg `full` tells."""
        return Metered()

    def traffic(self, start_ns: int, end_ns: int) -> LinkTraffic | Gap:
        """Nothing: a CPU has no such links."""
        return Gap(what="traffic", reason="the ranks compute on the CPU: there is no such link")

    def read_on(self) -> None:
        """Read the counters, if there are any."""
        while self.domains and not self.stopped_after(self._period_s):
            try:
                self._samples.append(read_counters(self.domains))
            except OSError as error:
                self.gap = _gap(f"a counter stopped answering: {error.strerror}")
                return


def find_domains(root: Path) -> tuple[tuple[Domain, ...], Gap | None]:
    """Counters that do not overlap: every package, and memory beside it.

    `core` and `uncore` are parts of a package, `psys` contains them all; they are left out.

    Source: Linux kernel, Documentation/power/powercap/powercap.rst.

    Args:
        root: the powercap folder.

    Returns:
        The readable domains, and a gap if there is none.
    """
    found = []
    for folder in sorted(root.glob("intel-rapl:*")) if root.is_dir() else []:
        try:
            name = (folder / "name").read_text(encoding="ascii").strip()
            if name.startswith("package") or name == "dram":
                domain = Domain(
                    name=name,
                    path=folder / "energy_uj",
                    range_uj=int((folder / "max_energy_range_uj").read_text(encoding="ascii")),
                )
                read_counters([domain])
                found.append(domain)
        except PermissionError:
            return (), _gap("the kernel lets only root read its energy counters")
        except (OSError, ValueError) as error:
            return (), _gap(f"an energy counter cannot be read: {error}")
    if found:
        return tuple(found), None
    return (), _gap("the kernel shows no energy counter (a virtual machine, or not x86)")


def read_counters(domains: Sequence[Domain]) -> Sample:
    """All counters now.

    Raises:
        OSError: if one cannot be read.
    """
    values = tuple(int(domain.path.read_text(encoding="ascii")) for domain in domains)
    return Sample(time.monotonic_ns(), values)


def integrate(
    domains: Sequence[Domain], samples: Sequence[Sample], start_ns: int, end_ns: int
) -> float | Gap:
    """Energy over a window from readings around it [J], or why it is not known.

    Args:
        domains: shape (n,).
        samples: in time order, each with n counters.
        start_ns: start of the window [ns].
        end_ns: its end [ns].
    """
    if len(samples) < 2 or samples[0].time_ns > start_ns or samples[-1].time_ns < end_ns:
        return _gap("the counter was not sampled over the whole window")
    energy_uj = 0.0
    for before, after in itertools.pairwise(samples):
        duration_ns = after.time_ns - before.time_ns
        inside_ns = min(after.time_ns, end_ns) - max(before.time_ns, start_ns)
        if inside_ns > 0:
            energy_uj += _rise_uj(domains, before, after) * inside_ns / duration_ns
    return energy_uj * MICROJOULE


def _rise_uj(domains: Sequence[Domain], before: Sample, after: Sample) -> int:
    """Energy between two readings [µJ]; a counter that fell has passed its range once."""
    rises = zip(domains, before.counters_uj, after.counters_uj, strict=True)
    return sum(
        end - start if end >= start else end - start + domain.range_uj
        for domain, start, end in rises
    )


def _gap(reason: str) -> Gap:
    return Gap(what=ENERGY, reason=reason)
