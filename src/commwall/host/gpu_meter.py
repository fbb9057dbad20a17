"""What the GPUs of a launch tell of themselves while it runs: all readers together.

Layer: host. Reads and writes no file.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from commwall.host.gpu_power import PowerReader
from commwall.host.gpu_telemetry import LookReader, PcieReader
from commwall.host.link_counters import LinkTraffic, gathered
from commwall.host.meter import Metered
from commwall.schema.case import Leg
from commwall.schema.result import Gap, Mark


class GpuMeter:
    """Reads the GPUs of a launch in threads while it is entered.

    Args:
        digests: of the uuids of the GPUs, in rank order.
        root: where /proc hangs; another folder in tests.
        mark: which the launch's processes carry; None if there is none.
    """

    def __init__(
        self, digests: Sequence[str], root: Path = Path("/"), mark: str | None = None
    ) -> None:
        self.power = PowerReader(digests, root)
        self.looks = LookReader(digests, mark, root)
        self.pcie = PcieReader(digests, root)
        self._entered = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for reader in (self.power, self.looks, self.pcie):
                stack.enter_context(reader)
            self._entered = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._entered.close()

    def found(self, start_ns: int, end_ns: int) -> Metered:
        """What was read in a window of leg `full`, and idle power before it."""
        power, looks = self.power.found(start_ns, end_ns), self.looks.found(start_ns, end_ns)
        return Metered(
            power.series + looks.series, power.marks + looks.marks, power.gaps + looks.gaps
        )

    def disturbances(self, start_ns: int, end_ns: int, leg: Leg | None) -> tuple[Mark, ...]:
        """What disturbed another leg than `full`, or a whole case.

        Links are judged over a whole case only: in a leg a GPU may be idle, and lower its link.

        Args:
            start_ns: when it began, CLOCK_MONOTONIC [ns].
            end_ns: when it ended [ns].
            leg: which; None for a case.
        """
        window = (start_ns, end_ns)
        marks = self.power.slowed(*window) + self.looks.strangers(*window)
        if leg is None:
            marks += self.looks.links_held_down(*window)
        return tuple(mark.model_copy(update={"leg": leg}) for mark in marks)

    def states(self, start_ns: int, end_ns: int, leg: Leg) -> Metered:
        """Clocks and temperatures in another leg than `full`, and marks in doubt only there."""
        states = self.looks.states_found(start_ns, end_ns, leg)
        doubts = self.power.doubts(start_ns, end_ns) + self.looks.doubts(start_ns, end_ns)
        told = (Gap(what=own.what, reason=f"leg {leg}: {own.reason}") for own in doubts)
        return states._replace(gaps=(*states.gaps, *told))

    def traffic(self, start_ns: int, end_ns: int) -> LinkTraffic | Gap:
        """What the links of the GPUs carried in a window with quiet on both sides.

        NVLink payload is the difference of counters that were read in the quiet. The PCIe rate is
        what performance monitoring saw of the window, spread over its duration, or else the mean
        of NVML's readings of 20 ms within it.

        Args:
            start_ns: start of the window, CLOCK_MONOTONIC [ns].
            end_ns: its end [ns].
        """
        if self.looks.reason:
            return Gap(what="traffic", reason=self.looks.reason)
        ranks = range(len(self.looks.refusals))
        pcie = [self._pcie(rank, start_ns, end_ns) for rank in ranks]
        return gathered(self.looks.nvlink(start_ns, end_ns), pcie)

    def _pcie(self, rank: int, start_ns: int, end_ns: int) -> tuple[float, float] | str:
        """Rates of one GPU, or all reasons why they are not known."""
        found = self.looks.pcie(rank, start_ns, end_ns)
        polled = self.pcie.mean(rank, start_ns, end_ns) if isinstance(found, str) else None
        refused = self.pcie.refusals[rank].get("pcie")
        return polled or (f"{found}; {refused}" if refused else found)
