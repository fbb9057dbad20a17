"""Energy of the windows of a case that trains: legs apart, one value a window."""

from collections.abc import Mapping

import pytest

from commwall.host.link_counters import LinkTraffic
from commwall.host.meter import Metered
from commwall.measure.window_energy import energy_of, states_of
from commwall.schema.case import Leg
from commwall.schema.result import CaseResult, Gap, Mark, Series, Window

STUCK = "GPU of rank 1: the counter stood still"


class Meter:
    """Two GPUs that take 1 and 2 J a nanosecond, and tell their clock.

    Args:
        stuck_ns: windows that begin then do not have the energy of these ranks.
        doubtful_ns: windows that begin then have it doubted.
    """

    def __init__(
        self, stuck_ns: Mapping[int, tuple[int, ...]] = {}, doubtful_ns: tuple[int, ...] = ()
    ) -> None:
        self._stuck_ns, self._doubtful_ns = stuck_ns, doubtful_ns

    def found(self, start_ns: int, end_ns: int) -> Metered:
        joule, stuck = float(end_ns - start_ns), self._stuck_ns.get(start_ns, ())
        energies = tuple(
            Series(metric="energy_j", unit="J", leg="full", rank=rank, values=(joule * (rank + 1),))
            for rank in (0, 1)
            if rank not in stuck
        )
        clock = Series(
            metric="sm_clock_hz", unit="Hz", leg="full", rank=0, values=(float(start_ns),)
        )
        capped = Mark(name="power_capped", leg="full", detail=f"at {start_ns}")
        doubt = Mark(name="energy_doubtful", leg="full", detail=f"at {start_ns}")
        marks = (capped, doubt) if start_ns in self._doubtful_ns else (capped,)
        gaps = (Gap(what="energy_j", reason=STUCK),) if stuck else ()
        return Metered((*energies, clock), marks, (Gap(what="power_w", reason="none"), *gaps))

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


TURNS = result(("full", 0, 10), ("mitigated", 10, 25), ("mitigated", 25, 45), ("full", 45, 75))
FULL = {("full", 0): (10, 30), ("full", 1): (20, 60)}
MITIGATED = {("mitigated", 0): (15, 20), ("mitigated", 1): (30, 40)}


def energies(found: Metered) -> dict[tuple[Leg | None, int | None], tuple[float, ...]]:
    return {(s.leg, s.rank): s.values for s in found.series if s.metric == "energy_j"}


def test_blocks_in_turns_have_one_value_each() -> None:
    found = energy_of(Meter(), TURNS)
    assert energies(found) == FULL | MITIGATED
    assert [s.values for s in found.series if s.metric == "sm_clock_hz"] == [(0.0,)]


@pytest.mark.parametrize(
    ("stuck_ns", "kept", "place"),
    [
        ({0: (1,)}, MITIGATED, "leg full, window 1 of 2"),
        ({45: (1,)}, MITIGATED, "leg full, window 2 of 2"),
        ({25: (0, 1)}, FULL, "leg mitigated, window 2 of 2"),
        ({10: (1,), 25: (1,)}, FULL, "leg mitigated, window 1 of 2"),
    ],
)
def test_a_leg_of_which_one_window_lacks_energy_has_none(
    stuck_ns: dict[int, tuple[int, ...]],
    kept: dict[tuple[Leg, int], tuple[float, ...]],
    place: str,
) -> None:
    found = energy_of(Meter(stuck_ns), TURNS)
    assert energies(found) == kept
    reasons = [gap.reason for gap in found.gaps if gap.what == "energy_j"]
    assert reasons == [f"{place}: {STUCK}"]
    assert [gap.what for gap in found.gaps] == ["power_w", "energy_j"]


def test_where_no_window_has_energy_the_meters_own_words_stand() -> None:
    meter = Meter(dict.fromkeys((0, 10, 25, 45), (0, 1)))
    assert energy_of(meter, TURNS) == meter.found(0, 10)


def test_a_doubt_of_any_window_is_kept_with_its_leg() -> None:
    found = energy_of(Meter(doubtful_ns=(0, 25, 45)), TURNS).marks
    assert [(mark.name, mark.leg, mark.detail) for mark in found] == [
        ("power_capped", "full", "at 0"),
        ("energy_doubtful", "full", "at 0"),
        ("energy_doubtful", "mitigated", "at 25"),
        ("energy_doubtful", "full", "at 45"),
    ]


def test_a_training_case_has_the_meters_own_words() -> None:
    meter, trained = Meter(), result(("full", 0, 10), ("nosync", 10, 20))
    assert energy_of(meter, trained) == meter.found(0, 10)


def test_windows_of_a_leg_have_their_clocks_together_and_leg_full_its_own() -> None:
    turns = result(("full", 0, 10), ("nosync", 10, 25), ("comm", 25, 30), ("nosync", 30, 45))
    found = {series.leg: series.values for series in states_of(Meter(), turns).series}
    assert found == {"nosync": (10, 30), "comm": (25,)}


def test_of_later_windows_of_leg_full_what_is_not_known_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meter, told = Meter(), Meter.states

    def refused(own: Meter, start_ns: int, end_ns: int, leg: Leg) -> Metered:
        gap = Gap(what="throttled", reason=f"leg {leg}: refused at {start_ns}")
        return told(own, start_ns, end_ns, leg)._replace(gaps=(gap,))

    monkeypatch.setattr(Meter, "states", refused)
    turns = result(("full", 0, 10), ("mitigated", 10, 20), ("full", 20, 30))
    found = states_of(meter, turns)
    assert [gap.reason for gap in found.gaps] == [
        "leg mitigated: refused at 10",
        "leg full: refused at 20",
    ]
    assert {series.leg for series in found.series} == {"mitigated"}


def test_without_a_window_all_of_it_is_a_gap() -> None:
    found = energy_of(Meter(), result())
    assert found.series == () and "energy_j" in {gap.what for gap in found.gaps}
