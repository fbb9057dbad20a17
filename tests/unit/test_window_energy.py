"""Energy of the windows of a case that trains: legs apart, one value a window."""

from commwall.host.link_counters import LinkTraffic
from commwall.host.meter import Metered
from commwall.measure.window_energy import energy_of, states_of
from commwall.schema.case import Leg
from commwall.schema.result import CaseResult, Gap, Mark, Series, Window


class Meter:
    """Two GPUs that take 1 and 2 J a nanosecond, and tell their clock."""

    def found(self, start_ns: int, end_ns: int) -> Metered:
        joule = float(end_ns - start_ns)
        energies = tuple(
            Series(metric="energy_j", unit="J", leg="full", rank=rank, values=(joule * (rank + 1),))
            for rank in (0, 1)
        )
        clock = Series(
            metric="sm_clock_hz", unit="Hz", leg="full", rank=0, values=(float(start_ns),)
        )
        return Metered((*energies, clock))

    def disturbances(self, start_ns: int, end_ns: int, leg: Leg | None) -> tuple[Mark, ...]:
        return ()

    def states(self, start_ns: int, end_ns: int, leg: Leg) -> Metered:
        clock = Series(metric="sm_clock_hz", unit="Hz", leg=leg, rank=0, values=(float(start_ns),))
        return Metered((clock,))

    def traffic(self, start_ns: int, end_ns: int) -> LinkTraffic | Gap:
        return Gap(what="traffic", reason="none")


def result(*windows: tuple[Leg, int, int]) -> CaseResult:
    own = tuple(Window(leg=leg, start_ns=start, end_ns=end) for leg, start, end in windows)
    return CaseResult(case="case", status="ok", windows=own)


def test_blocks_in_turns_have_one_value_each() -> None:
    turns = result(("full", 0, 10), ("mitigated", 10, 25), ("mitigated", 25, 45), ("full", 45, 75))
    found = energy_of(Meter(), turns).series
    energies = {(s.leg, s.rank): s.values for s in found if s.metric == "energy_j"}
    assert energies == {
        ("full", 0): (10, 30), ("full", 1): (20, 60),
        ("mitigated", 0): (15, 20), ("mitigated", 1): (30, 40),
    }  # fmt: skip
    assert [s.values for s in found if s.metric == "sm_clock_hz"] == [(0.0,)]


def test_a_training_case_has_the_meters_own_words() -> None:
    meter, trained = Meter(), result(("full", 0, 10), ("nosync", 10, 20))
    assert energy_of(meter, trained) == meter.found(0, 10)


def test_windows_of_a_leg_have_their_clocks_together_and_leg_full_its_own() -> None:
    turns = result(("full", 0, 10), ("nosync", 10, 25), ("comm", 25, 30), ("nosync", 30, 45))
    found = {series.leg: series.values for series in states_of(Meter(), turns).series}
    assert found == {"nosync": (10, 30), "comm": (25,)}


def test_without_a_window_all_of_it_is_a_gap() -> None:
    found = energy_of(Meter(), result())
    assert found.series == () and "energy_j" in {gap.what for gap in found.gaps}
