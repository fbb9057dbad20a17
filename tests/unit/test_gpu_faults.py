"""What GPUs refuse, or tell wrongly, ends in the mark or gap that says so, and in nothing else."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from commwall.host import gpu_users
from commwall.host.gpm import QUESTIONS, UNSUPPORTED
from commwall.host.gpu_state import METRICS_OF_STATE
from commwall.host.link_counters import LinkTraffic
from commwall.host.processes import MARK_VARIABLE
from commwall.schema.device_metrics import DEVICE_METRICS
from tests.unit.fake_nvml import GPM, deny, field, gpm_answers, refuse, sampling
from tests.unit.recorded_gpus import END_NS, MARK, OWN, SECOND, START_NS, Clock, processes, replayed

Change = Callable[[Clock], dict[str, Any]]
ENERGY = "nvmlDeviceGetTotalEnergyConsumption"
POWER = "nvmlDeviceGetPowerUsage"
REASONS = "nvmlDeviceGetCurrentClocksEventReasons"
USERS = "nvmlDeviceGetComputeRunningProcesses"
FIELDS = "nvmlDeviceGetFieldValues"
SUPPORT = "nvmlGpmQueryDeviceSupport"
CLOCK = "nvmlDeviceGetClockInfo"
WIDTH = "nvmlDeviceGetCurrPcieLinkWidth"
SAMPLE = "nvmlGpmSampleGet"
MONITORED = "nvmlGpmMetricsGet"
TEN = 10 * SECOND
BEFORE_HOPPER = SimpleNamespace(isSupportedDevice=0)


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], Any]:
    return lambda change: replayed(monkeypatch, tmp_path, change)


def unchanged(clock: Clock) -> dict[str, Any]:
    return {}


def always(name: str, reply: Any) -> Change:
    return lambda clock: {name: reply}


def later(name: str, before: Any, after: Any) -> Change:
    """Another answer from the middle of the window on."""
    return lambda clock: {name: lambda *_: after if clock.ns >= TEN else before}


def denied(
    name: str, answer: Callable[..., Any], start_ns: int = TEN, end_ns: int = END_NS
) -> Change:
    """Refused for a while, by default from the middle of the window on; else as `answer` says.

    Args:
        name: of the function of NVML.
        answer: from the clock and the function's arguments.
        start_ns: when the refusals begin [ns].
        end_ns: when they end [ns].
    """

    def change(clock: Clock) -> dict[str, Any]:
        def reply(*asked: Any) -> Any:
            return deny() if start_ns <= clock.ns <= end_ns else answer(clock, *asked)

        return {name: reply}

    return change


def sampled() -> Callable[..., Any]:
    """Samples as ever."""
    take = sampling()
    return lambda clock, *asked: take(*asked)


ASKED: dict[str, tuple[str, Callable[..., Any], set[str]]] = {
    "energy": (ENERGY, lambda clock, h: clock.energy_mj(), {"energy_j"}),
    "power": (POWER, lambda clock, h: clock.power_mw(), {"power_w", "power_time_s"}),
    "reasons": (REASONS, lambda clock, h: 0, {"throttled", "power_capped"}),
    "users": (USERS, lambda clock, h: processes(OWN[h]), {"contended"}),
    "clocks": (CLOCK, lambda clock, h, kind: 1980, {"sm_clock_hz", "memory_clock_hz"}),
    "temperature": ("nvmlDeviceGetTemperature", lambda clock, h, kind: 34, {"temperature_c"}),
    "link": (WIDTH, lambda clock, h: 16, {"link_degraded"}),
    "samples": (SAMPLE, sampled(), {*QUESTIONS}),
    "monitoring": (MONITORED, lambda clock, query: gpm_answers(GPM)(query), {*QUESTIONS}),
}
"""What is asked -> the function, its sound answer, and what is absent without it."""
DOUBTS = {"reasons", "users", "link"}
"""Of which a single refusal leaves a mark that cannot be ruled out."""


def answering(values: Mapping[int, float]) -> Change:
    """Performance monitoring that answers these numbers only."""
    return always("nvmlGpmMetricsGet", gpm_answers(values))


def stuck(clock: Clock) -> dict[str, Any]:
    return {ENERGY: lambda handle: clock.energy_mj(min(clock.ns, TEN))}


def fallen(clock: Clock) -> dict[str, Any]:
    """As if the driver had been loaded anew at 10 s."""
    return {ENERGY: lambda handle: clock.energy_mj(clock.ns % TEN)}


def stranger(clock: Clock) -> dict[str, Any]:
    return {USERS: lambda h: processes(OWN[h], *([4711] if h == 1 and clock.ns >= TEN else []))}


def hosts_numbers(*others: int) -> Change:
    """In a container that shows the host's process numbers, none of which is known here."""
    return always(USERS, lambda handle: processes(9001 + handle, *others))


def test_a_sound_gpu_has_every_series_no_mark_and_no_gap(replay: Any) -> None:
    found = replay(unchanged).found(START_NS, END_NS)
    assert (found.marks, found.gaps) == ((), ())
    metrics = {"energy_j", "power_w", "idle_power_w", *(metric.id for metric in DEVICE_METRICS)}
    for rank in (0, 1):
        own = {series.metric: series.values for series in found.series if series.rank == rank}
        assert own.keys() == metrics
        assert own["energy_j"] == pytest.approx((6500.0,))
        assert set(own["power_w"]) == {650.0}
        assert set(own["idle_power_w"]) == {76.0, 650.0}, "a GPU at work from 2 s on"
        assert set(own["dram_active_share"]) == {0.888}
        assert set(own["nvlink_sent_bytes_per_s"]) == {3 * 2.0**20}
        assert set(own["pcie_received_bytes_per_s"]) == {2 * 2.0**20}
        assert set(own["memory_clock_hz"]) == {3201e6}
    assert all(series.leg == "full" for series in found.series if series.metric != "idle_power_w")


@pytest.mark.parametrize(
    ("change", "mark", "detail"),
    [
        (later(REASONS, 0, 0x40), "throttled", "rank 0: hardware thermal slowdown in 50%"),
        (
            always(REASONS, lambda handle: 0x80 * handle),
            "throttled",
            "rank 1: hardware power brake",
        ),
        (later(REASONS, 0, 4), "power_capped", "rank 0: software power cap in 50% of the readings"),
        (stranger, "contended", "GPU of rank 1 is in use by process 4711, in 5"),
        (hosts_numbers(9003), "contended", "3 processes compute on the GPUs of 2 ranks"),
        (always(POWER, lambda handle: 700_000), "energy_doubtful", "650.0 W by the counter, 700"),
        (later("nvmlDeviceGetCurrPcieLinkGeneration", 5, 4), "link_degraded", "generation 4 of 5"),
        (always("nvmlDeviceGetCurrPcieLinkWidth", lambda h: 8), "link_degraded", "8 of 16 lanes"),
    ],
)
def test_what_disturbs_is_marked_alone(replay: Any, change: Change, mark: str, detail: str) -> None:
    found = replay(change).found(START_NS, END_NS)
    assert {own.name for own in found.marks} == {mark}
    assert detail in " ".join(own.detail for own in found.marks)
    assert (found.gaps, {own.leg for own in found.marks}) == ((), {"full"})


def test_power_averaged_over_the_time_before_a_window_raises_no_doubt(replay: Any) -> None:
    """The driver's first readings in a window are still of what was before it."""

    def lagging(clock: Clock) -> dict[str, Any]:
        def power(handle: int) -> int:
            return 76_000 if clock.ns < START_NS + 10**9 else 650_000

        return {POWER: power}

    found = replay(lagging).found(START_NS, START_NS + 5 * 10**9)
    assert found.marks == ()


@pytest.mark.parametrize(
    ("change", "absent", "reason"),
    [
        (always(ENERGY, refuse), {"energy_j"}, "NVML: Not Supported"),
        (always(ENERGY, lambda handle: 7), {"energy_j"}, "the counter moved 0 times"),
        (stuck, {"energy_j"}, "the counter stood still for 5.0 s of the window"),
        (fallen, {"energy_j"}, "the counter fell from 5287 J to 0 J"),
        (always(POWER, deny), {"power_w", "power_time_s", "idle_power_w"}, "Insufficient Perm"),
        (always(REASONS, deny), {"throttled", "power_capped"}, "Insufficient Permissions"),
        (
            always(REASONS, None),
            {"throttled", "power_capped"},
            f"the installed bindings of NVML lack {REASONS}",
        ),
        (always(USERS, deny), {"contended"}, "Insufficient Permissions"),
        (hosts_numbers(), {"contended"}, "own processes under their numbers"),
        (always(USERS, lambda handle: []), {"contended"}, "own processes under their numbers"),
        (always("nvmlDeviceGetMaxPcieLinkWidth", refuse), {"link_degraded"}, "Not Supported"),
        (always("nvmlDeviceGetTemperature", refuse), {"temperature_c"}, "Not Supported"),
        (
            always("nvmlDeviceGetClockInfo", deny),
            {"sm_clock_hz", "memory_clock_hz"},
            "Insufficient Permissions",
        ),
        (always(SUPPORT, lambda handle: BEFORE_HOPPER), {*QUESTIONS}, UNSUPPORTED),
        (always(SUPPORT, None), {*QUESTIONS}, f"lack {SUPPORT}"),
        (always("nvmlGpmSampleGet", deny), {*QUESTIONS}, "Insufficient Permissions"),
        (
            answering({2: 9, 5: 9, 10: 9, 60: 9, 61: 9}),
            {"pcie_sent_bytes_per_s", "pcie_received_bytes_per_s"},
            "NVML: Not Supported",
        ),
        (answering({**GPM, 10: float("nan")}), {"dram_active_share"}, "NVML answers nan"),
    ],
)
def test_what_is_refused_is_absent_alone_and_says_why(
    replay: Any, change: Change, absent: set[str], reason: str
) -> None:
    found = replay(change).found(START_NS, END_NS)
    assert {gap.what for gap in found.gaps} == absent
    assert all(reason in gap.reason for gap in found.gaps), found.gaps
    assert not absent & {series.metric for series in found.series}
    assert found.marks == ()


@pytest.mark.parametrize("asked", ASKED)
def test_what_is_refused_from_the_middle_of_the_window_on_is_absent_and_says_why(
    replay: Any, asked: str
) -> None:
    name, answer, absent = ASKED[asked]
    found = replay(denied(name, answer)).found(START_NS, END_NS)
    assert {gap.what for gap in found.gaps} == absent
    assert {gap.reason for gap in found.gaps} == {"NVML: Insufficient Permissions"}
    assert not absent & {series.metric for series in found.series}
    assert found.marks == ()


@pytest.mark.parametrize("asked", ASKED)
def test_half_a_second_of_ten_may_be_refused_of_all_but_marks(replay: Any, asked: str) -> None:
    name, answer, absent = ASKED[asked]
    found = replay(denied(name, answer, TEN, TEN + SECOND // 2)).found(START_NS, END_NS)
    assert {gap.what for gap in found.gaps} == (absent if asked in DOUBTS else set())
    assert found.marks == ()


def test_a_counter_that_is_stuck_is_so_although_one_reading_was_refused(replay: Any) -> None:
    """And one that is read again after a while of refusals did not stand still."""
    once = denied(ENERGY, lambda clock, h: 7, TEN, TEN + SECOND // 50)
    (gap,) = replay(once).found(START_NS, END_NS).gaps
    assert gap.reason.startswith("the counter moved 0 times")
    again = denied(ENERGY, lambda clock, h: clock.energy_mj(), TEN, TEN + 2 * SECOND)
    (gap,) = replay(again).found(START_NS, END_NS).gaps
    assert gap.reason == "NVML: Insufficient Permissions"


def test_a_mark_that_is_given_needs_no_further_reading(replay: Any) -> None:
    """Hot for half the window, then refused: only the power cap cannot be ruled out."""
    found = replay(denied(REASONS, lambda clock, h: 0x40)).found(START_NS, END_NS)
    assert {mark.name for mark in found.marks} == {"throttled"}
    assert [gap.what for gap in found.gaps] == ["power_capped"]
    narrow = replay(denied(WIDTH, lambda clock, h: 8)).found(START_NS, END_NS)
    assert ({mark.name for mark in narrow.marks}, narrow.gaps) == ({"link_degraded"}, ())


def test_clocks_that_are_refused_after_leg_full_are_a_gap_of_the_leg(replay: Any) -> None:
    meter = replay(denied(CLOCK, lambda clock, h, kind: 1980))
    assert meter.states(START_NS, TEN - SECOND, "packed").gaps == ()
    (gap,) = meter.states(TEN, TEN + SECOND, "nosync").gaps
    assert gap.what == "clocks of leg nosync"
    assert gap.reason == "NVML: Insufficient Permissions"


@pytest.mark.parametrize("asked", ["reasons", "users"])
def test_marks_that_are_in_doubt_only_in_another_leg_are_a_gap_of_it(
    replay: Any, asked: str
) -> None:
    name, answer, absent = ASKED[asked]
    meter = replay(denied(name, answer))
    assert meter.states(START_NS, TEN - SECOND, "packed").gaps == ()
    gaps = meter.states(TEN, TEN + SECOND, "nosync").gaps
    assert {gap.what for gap in gaps} == absent
    assert {gap.reason for gap in gaps} == {"leg nosync: NVML: Insufficient Permissions"}
    never = replay(always(name, deny))
    assert never.states(TEN, TEN + SECOND, "nosync").gaps == (), "leg full says it"


def test_a_leg_between_two_looks_at_users_is_judged_by_both(replay: Any) -> None:
    """A stranger comes at 10 s; a leg of 0.4 s lies between the looks at 10.2 and 10.8 s."""
    meter = replay(stranger)
    start_ns, end_ns = TEN + SECOND // 4, TEN + 65 * SECOND // 100
    assert not any(start_ns <= look.time_ns <= end_ns for look in meter.looks.looks)
    found = meter.disturbances(start_ns, end_ns, "nosync")
    assert [(mark.name, mark.leg) for mark in found] == [("contended", "nosync")]
    before = meter.disturbances(start_ns - 2 * SECOND, end_ns - 2 * SECOND, "nosync")
    assert before == ()


def test_what_one_gpu_alone_lacks_names_its_rank(replay: Any) -> None:
    change = always(ENERGY, lambda handle: refuse() if handle else 7)
    (gap,) = replay(change).found(START_NS, END_NS).gaps
    assert "GPU of rank 0: the counter moved 0 times" in gap.reason
    assert "GPU of rank 1: NVML: Not Supported" in gap.reason


def test_a_stranger_outside_the_window_does_not_mark_it(replay: Any) -> None:
    meter = replay(stranger)
    assert meter.found(START_NS, TEN - SECOND).marks == ()
    assert [mark.name for mark in meter.found(TEN, END_NS).marks] == ["contended"]


@pytest.mark.parametrize(
    ("change", "marks"),
    [
        (unchanged, []),
        (stranger, ["contended"]),
        (later(REASONS, 0, 0x20), ["throttled", "throttled"]),
        (always("nvmlDeviceGetCurrPcieLinkWidth", lambda h: 8 * (h + 1)), ["link_degraded"]),
        (later("nvmlDeviceGetCurrPcieLinkGeneration", 5, 1), []),
    ],
    ids=["sound", "stranger", "hot", "half a slot", "idle at the end"],
)
def test_cases_without_legs_are_watched_as_a_whole(
    replay: Any, change: Change, marks: list[str]
) -> None:
    found = replay(change).disturbances(START_NS, END_NS, None)
    assert [(mark.name, mark.leg) for mark in found] == [(name, None) for name in marks]


def test_other_legs_are_watched_for_all_but_links(replay: Any) -> None:
    """In leg `single` a GPU may be idle."""
    meter = replay(always("nvmlDeviceGetCurrPcieLinkWidth", lambda handle: 8))
    assert meter.disturbances(START_NS, END_NS, "single") == ()
    meter = replay(stranger)
    assert [mark.leg for mark in meter.disturbances(TEN, END_NS, "nosync")] == ["nosync"]
    assert meter.disturbances(START_NS, TEN - SECOND, "nosync") == ()


def test_the_power_cap_of_another_leg_is_marked_there(replay: Any) -> None:
    meter = replay(later(REASONS, 0, 4))
    assert meter.disturbances(START_NS, TEN - SECOND, "nosync") == ()
    found = meter.disturbances(TEN, END_NS, "packed")
    assert [(mark.name, mark.leg) for mark in found] == [("power_capped", "packed")] * 2


def test_a_leg_of_four_tenths_of_a_second_has_clocks_and_temperatures_of_its_own(
    replay: Any,
) -> None:
    meter = replay(later("nvmlDeviceGetClockInfo", 1620, 1980))
    found = meter.states(TEN, TEN + 4 * SECOND // 10, "nosync")
    own = {(series.metric, series.rank): series for series in found.series}
    assert own.keys() == {(metric, rank) for metric in METRICS_OF_STATE for rank in (0, 1)}
    assert {series.leg for series in own.values()} == {"nosync"}
    assert len(own["sm_clock_hz", 0].values) >= 2
    assert {*own["sm_clock_hz", 0].values} == {1980e6}
    assert found.gaps == ()


def test_a_leg_in_which_nobody_looked_says_so_and_a_refusal_stands_with_leg_full(
    replay: Any,
) -> None:
    between = (TEN + SECOND // 100, TEN + SECOND // 50)
    gaps = replay(unchanged).states(*between, "packed").gaps
    unseen = "not looked at in the window"
    assert {gap.what: gap.reason for gap in gaps} == {
        "clocks of leg packed": unseen,
        "throttled": f"leg packed: {unseen}",
        "power_capped": f"leg packed: {unseen}",
    }
    denied_gaps = replay(always(CLOCK, deny)).states(*between, "packed").gaps
    assert {gap.what for gap in denied_gaps} == {"throttled", "power_capped"}


def test_a_worker_that_is_listed_after_its_end_is_no_stranger(
    replay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 10 s on rank 0 has no environment any more, but is still listed."""

    def change(clock: Clock) -> dict[str, Any]:
        living = {101: {MARK_VARIABLE: MARK}, 102: {MARK_VARIABLE: MARK}}
        monkeypatch.setattr(
            gpu_users,
            "environment_of",
            lambda pid: {} if pid == 101 and clock.ns >= TEN else living[pid],
        )
        return {}

    meter = replay(change)
    assert len(meter.looks.looks) > 20
    assert meter.disturbances(START_NS, END_NS, None) == ()


def wrapping(clock: Clock) -> dict[str, Any]:
    """Counters of 32 bits that begin again in the middle of the window."""

    def reply(handle: int, fields: list[tuple[int, int]]) -> list[Any]:
        own = clock.links(fields)
        return [field((each.value.ullVal + 2**32 - 10 * 1024) % 2**32, kind=1) for each in own]

    return {FIELDS: reply}


def beginning_again(clock: Clock) -> dict[str, Any]:
    """Counters of 64 bits of which one falls."""

    def reply(handle: int, fields: list[tuple[int, int]]) -> list[Any]:
        own = clock.links(fields)
        return [field(0), *own[1:]] if handle and clock.ns >= TEN else own

    return {FIELDS: reply}


@pytest.mark.parametrize("change", [unchanged, wrapping])
def test_link_counters_give_the_payload_of_the_window(replay: Any, change: Change) -> None:
    """Read 200 ms apart, at the very ends of this window."""
    traffic = replay(change).traffic(START_NS, END_NS)
    assert isinstance(traffic, LinkTraffic)
    assert traffic.nvlink_sent_bytes == (10 * 2**20,) * 2
    assert traffic.nvlink_received_bytes == (20 * 2**20,) * 2
    assert traffic.pcie_sent_bytes_per_s == pytest.approx((2**20,) * 2)
    assert traffic.pcie_received_bytes_per_s == pytest.approx((2**21,) * 2)
    assert traffic.gaps == ()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (beginning_again, "GPU of rank 1: a link counter fell"),
        (always(FIELDS, deny), "NVML: Insufficient Permissions"),
        (always(FIELDS, lambda h, fields: [field(0, error=3)] * len(fields)), "Not Supported"),
        (always(FIELDS, lambda h, fields: [field(0, kind=0)] * len(fields)), "no count"),
        (always("nvmlDeviceGetNvLinkState", refuse), "no NVLink of the GPU is up (NVML: Not Supp"),
        (always("nvmlDeviceGetNvLinkState", lambda h, link: 0), "no NVLink of the GPU is up"),
    ],
)
def test_nvlink_that_is_not_counted_is_absent_with_its_reason(
    replay: Any, change: Change, reason: str
) -> None:
    traffic = replay(change).traffic(START_NS, END_NS)
    assert (traffic.nvlink_sent_bytes, traffic.nvlink_received_bytes) == (None, None)
    assert {gap.what for gap in traffic.gaps} == {
        "traffic.nvlink_sent_bytes", "traffic.nvlink_received_bytes"
    }  # fmt: skip
    assert all(reason in gap.reason for gap in traffic.gaps), traffic.gaps
    assert traffic.pcie_sent_bytes_per_s is not None


def test_without_monitoring_pcie_is_polled(replay: Any) -> None:
    def change(clock: Clock) -> dict[str, Any]:
        return {
            SUPPORT: lambda handle: BEFORE_HOPPER,
            "nvmlDeviceGetPcieThroughput": lambda handle, way: (
                (37_800_000 if way == 0 else 31_900_000) * (START_NS <= clock.ns <= END_NS)
            ),
        }

    traffic = replay(change).traffic(START_NS, END_NS)
    assert traffic.pcie_sent_bytes_per_s == (37.8e9, 37.8e9)
    assert traffic.pcie_received_bytes_per_s == (31.9e9, 31.9e9)


def test_pcie_that_nothing_tells_is_absent_with_both_reasons(replay: Any) -> None:
    replies = {SUPPORT: lambda handle: BEFORE_HOPPER, "nvmlDeviceGetPcieThroughput": deny}
    meter = replay(lambda clock: replies)
    traffic = meter.traffic(START_NS, END_NS)
    assert traffic.pcie_sent_bytes_per_s is None
    (sent, received) = traffic.gaps
    assert (sent.what, received.what) == (
        "traffic.pcie_sent_bytes_per_s", "traffic.pcie_received_bytes_per_s"
    )  # fmt: skip
    assert UNSUPPORTED in sent.reason and "Insufficient Permissions" in sent.reason
