"""What is read of devices while a launch runs, whatever reads it.

Layer: host. Reads and writes no file.
"""

from typing import NamedTuple, Protocol

from commwall.host.link_counters import LinkTraffic
from commwall.schema.case import Leg
from commwall.schema.result import Gap, Mark, Series

ENERGY = "energy_j"
"""Metric of the energy of a window."""


class Metered(NamedTuple):
    """What a meter says of a window: values, disturbances, and what it cannot tell."""

    series: tuple[Series, ...] = ()
    marks: tuple[Mark, ...] = ()
    gaps: tuple[Gap, ...] = ()


class Meter(Protocol):
    """Something that was read while a launch ran."""

    def found(self, start_ns: int, end_ns: int) -> Metered:
        """All that is told of a window of leg `full`, its ends on CLOCK_MONOTONIC [ns]."""

    def disturbances(self, start_ns: int, end_ns: int, leg: Leg | None) -> tuple[Mark, ...]:
        """What disturbed another leg meanwhile, or a whole case (None)."""

    def states(self, start_ns: int, end_ns: int, leg: Leg) -> Metered:
        """Clocks and temperatures in another leg than `full`, and what is not known only there."""

    def traffic(self, start_ns: int, end_ns: int) -> LinkTraffic | Gap:
        """What the links of the GPUs carried meanwhile, or why nothing is known of it."""
