"""Energy above idle, power and time apart, use of the GPUs: by hand from the golden GPU records."""

from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from statistics import fmean

import pandas as pd
import pytest

from commwall.analysis.limit_words import limit_sentence
from commwall.analysis.limits import CaseLimit, decide, parts_of
from commwall.analysis.quantities import (
    ABOVE_IDLE,
    ENERGY_PER_SAMPLE,
    MEAN_POWER,
    MEMORY_SHARE,
    MEMORY_TRAFFIC,
    STEP_TRAFFIC,
    TIME_PER_SAMPLE,
    Quantity,
)
from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.tables.energy_parts import EnergyPart, energy_parts, room_w
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.derive import derive
from commwall.analysis.values.derived import Derived
from commwall.analysis.values.energy import EnergyUse, energy_uses
from commwall.analysis.values.gpu_use import CACHED_BYTES, STATE_BYTES
from commwall.analysis.values.idle import idle_powers_w
from commwall.analysis.values.readings import gradient_bytes, slowest_rank
from commwall.records.hardware import read_hardware
from commwall.records.store import read_record
from commwall.report.energy.gpu_use import disturbance_table, use_table
from commwall.report.page import open_page
from commwall.schema.record import Record
from commwall.schema.result import Gap, Mark, Series
from commwall.schema.units import volume_text
from tests.golden import build
from tests.golden.gpus import CAMPAIGN, CASE, DIRECT, STAGED, record, write_campaign

ROOT = Path(__file__).parents[2]
PEAKS = read_hardware(ROOT).gpus
PER_WH = Quantity("efficiency_above_idle_samples_per_wh")


def values(platform: str, round_: int = 1) -> dict[Quantity, float]:
    return derive(record(platform, round_), PEAKS).values


def uses(golden: Record) -> tuple[EnergyUse, ...]:
    return energy_uses(golden, idle_powers_w([golden]))


def without(golden: Record, drop: Callable[[Series], bool], *gaps: Gap) -> Derived:
    kept = tuple(series for series in golden.series if not drop(series))
    return derive(golden.model_copy(update={"series": kept, "gaps": gaps}), PEAKS)


@pytest.mark.parametrize(
    ("quantity", "direct", "staged"),
    [
        (MEAN_POWER, 600, 400),
        (TIME_PER_SAMPLE, 0.0125, 0.025),
        (ENERGY_PER_SAMPLE, 7.5, 10),
        (ABOVE_IDLE, 5, 5),
        (PER_WH, 720, 720),
        (MEMORY_SHARE, 0.5, 0.25),
        (MEMORY_TRAFFIC, 2.4e12, 1.2e12),
        (STEP_TRAFFIC, 0.24e12, 0.24e12),
        (Quantity("mean_sm_active_share"), 0.6, 0.6),
        (Quantity("mean_tensor_active_share"), 0.3, 0.3),
        (Quantity("mean_nvlink_sent_bytes_per_s"), 40e9, 0),
        (Quantity("mean_pcie_received_bytes_per_s"), 1e6, 8e9),
    ],
)
def test_values_of_a_round(quantity: Quantity, direct: float, staged: float) -> None:
    assert values(DIRECT)[quantity] == pytest.approx(direct)
    assert values(STAGED)[quantity] == pytest.approx(staged)


def test_a_step_moves_the_same_bytes_however_long_it_takes() -> None:
    moved = [values(STAGED, round_)[STEP_TRAFFIC] for round_ in (1, 2, 3)]
    assert moved == pytest.approx([0.24e12] * 3)
    assert volume_text(moved[0]) == "240 GB"


def test_energy_of_each_gpu_and_of_both() -> None:
    first, second, both = uses(record(DIRECT, 1))
    assert (first.rank, second.rank, both.rank) == (0, 1, None)
    assert (first.energy_j, both.energy_j, both.samples) == (150, 300, 40)
    assert (first.power_w, both.power_w) == pytest.approx((300, 600))
    assert (first.idle_power_w, both.idle_power_w) == (100, 200)
    assert both.above_idle_j == pytest.approx(200)
    assert both.polled_difference == pytest.approx(-0.02)


def test_power_of_the_second_before_the_window_is_not_the_windows() -> None:
    golden = record(DIRECT, 1)
    early = tuple(
        s.model_copy(update={"values": (0.2, 0.9, *s.values[2:])}) if s.metric == "power_time_s"
        else s for s in golden.series
    )  # fmt: skip
    *_, both = uses(golden.model_copy(update={"series": early}))
    assert both.polled_power_w == pytest.approx(600 * (1.0 + 0.99) / 2)


def test_one_gpu_without_energy_leaves_no_sum() -> None:
    golden = record(DIRECT, 1)
    lacking = without(golden, lambda s: s.metric == "energy_j" and s.rank == 1)
    assert lacking.absent[MEAN_POWER] == "energy_j is of 1 of 2 GPUs only"
    assert PER_WH in lacking.absent
    reason = Gap(what="energy_j", reason="GPU of rank 1: the counter stood still")
    told = without(golden, lambda s: s.metric == "energy_j" and s.rank == 1, reason)
    assert told.absent[ENERGY_PER_SAMPLE] == reason.reason
    kept = tuple(s for s in golden.series if s.metric != "energy_j" or s.rank == 0)
    one, other, both = uses(golden.model_copy(update={"series": kept}))
    assert (one.energy_j, other.energy_j, both.energy_j) == (150, None, None)
    assert both.polled_power_w == pytest.approx(588)
    assert both.polled_difference is None


def test_idle_power_that_one_gpu_lacks_leaves_energy_as_it_is() -> None:
    found = without(record(DIRECT, 1), lambda s: s.metric == "idle_power_w" and s.rank == 0)
    assert found.values[ENERGY_PER_SAMPLE] == pytest.approx(7.5)
    assert found.absent[ABOVE_IDLE] == "idle_power_w is of 1 of 2 GPUs only"


def test_gpus_that_take_less_than_idle_have_no_samples_per_watt_hour() -> None:
    golden = record(DIRECT, 1)
    hot = tuple(
        s.model_copy(update={"values": (300.0,)}) if s.metric == "idle_power_w" else s
        for s in golden.series
    )
    found = derive(golden.model_copy(update={"series": hot}), PEAKS)
    assert found.values[ABOVE_IDLE] == pytest.approx(0)
    assert found.absent[PER_WH] == "the GPUs took no more than idle"


def test_what_is_absent_says_why() -> None:
    def is_dram(series: Series) -> bool:
        return series.metric == "dram_active_share"

    golden = record(DIRECT, 1)
    silent = without(golden, is_dram)
    assert silent.absent[MEMORY_SHARE] == "the record holds no reading of the GPUs' own counters"
    before = Gap(what="dram_active_share", reason="NVML: no monitoring before Hopper")
    assert without(golden, is_dram, before).absent[STEP_TRAFFIC] == before.reason
    half = without(golden, lambda s: is_dram(s) and s.rank == 1)
    assert half.absent[MEMORY_TRAFFIC] == "dram_active_share is of 1 of 2 GPUs only"
    assert half.values[Quantity("mean_sm_active_share")] == pytest.approx(0.6)
    on_cpu = derive(build.record(build.FAST, 1), PEAKS)
    assert on_cpu.absent[MEMORY_SHARE] == "a CPU has no such counters"
    assert on_cpu.absent[ABOVE_IDLE] == "the power of a CPU is not polled before a launch"


def reading(metric: str, *values: float, rank: int = 1, parameters: int | None = None) -> Derived:
    """What the golden record says if one GPU's counter reads this."""
    golden = record(DIRECT, 1)
    runtime = golden.software.runtime
    assert runtime is not None
    if parameters:
        runtime = runtime.model_copy(update={"parameters": parameters})
    series = tuple(
        s.model_copy(update={"values": values}) if (s.metric, s.rank) == (metric, rank) else s
        for s in golden.series
    )
    software = golden.software.model_copy(update={"runtime": runtime})
    return derive(golden.model_copy(update={"series": series, "software": software}), PEAKS)


@pytest.mark.parametrize(
    ("metric", "values", "reason"),
    [
        ("dram_active_share", (0.5, 1.3), "dram_active_share reads 130 %, and no share is above"),
        ("sm_active_share", (0.9, 1.02), "sm_active_share reads 102 %, and no share is above"),
        ("tensor_active_share", (-0.1, 0.3), "tensor_active_share reads less than 0"),
        ("pcie_sent_bytes_per_s", (-1.0, 5.0), "pcie_sent_bytes_per_s reads less than 0"),
        ("dram_active_share", (0.0, 0.0), "dram_active_share stays at 0 on a GPU that did steps"),
        ("sm_active_share", (0.0, 0.0), "sm_active_share stays at 0 on a GPU that did steps"),
    ],
)
def test_what_a_counter_cannot_read_is_absent(
    metric: str, values: tuple[float, ...], reason: str
) -> None:
    share = MEMORY_SHARE if metric == "dram_active_share" else Quantity(f"mean_{metric}")
    found = reading(metric, *values)
    assert share not in found.values
    assert found.absent[share].startswith(reason)
    assert (MEMORY_TRAFFIC in found.absent) is (share == MEMORY_SHARE)


def test_rounding_above_one_and_idle_tensor_cores_are_readings() -> None:
    assert reading("sm_active_share", 1.0, 1.005).values[Quantity("mean_sm_active_share")] > 0.8
    idle = reading("tensor_active_share", 0.0, 0.0).values
    assert idle[Quantity("mean_tensor_active_share")] == pytest.approx(0.15)


def test_a_counter_below_what_the_optimiser_moves_is_no_measurement() -> None:
    """28 byte x 2e8 in 0.1 s are 56 GB/s, 1.17 % of 4.8 TB/s."""
    found = reading("dram_active_share", 0.0116, parameters=200_000_000)
    why = "dram_active_share reads 1.2 % on a GPU whose optimiser alone takes 1.2 %"
    assert {found.absent[q] for q in (MEMORY_SHARE, MEMORY_TRAFFIC, STEP_TRAFFIC)} == {why}
    enough = reading("dram_active_share", 0.0117, parameters=200_000_000)
    assert enough.values[MEMORY_SHARE] == pytest.approx((0.5 + 0.0117) / 2)
    cached = reading("dram_active_share", 1e-6, parameters=CACHED_BYTES // STATE_BYTES - 1)
    assert MEMORY_SHARE in cached.values


def test_rates_over_pcie_that_a_known_transfer_does_not_explain_are_told(tmp_path: Path) -> None:
    """Both readings are of one counter: no other is named."""

    def busy(golden: Record) -> Record:
        if golden.id.platform != DIRECT:
            return golden
        series = tuple(
            s.model_copy(update={"values": (2e9,)}) if s.metric.startswith("pcie_received") else s
            for s in golden.series
        )
        return golden.model_copy(update={"series": series})

    write_campaign(tmp_path, busy)
    shown = unescape(use_table(open_page(tmp_path, CAMPAIGN, 0.95)).markup)
    assert shown.count("received over PCIe is not explained") == 1
    assert "2.00 GB/s received" in shown
    assert "the same counter read 1.00 MB/s at most during the known transfer" in shown
    assert "nvmlDeviceGetPcieThroughput" not in shown and "another counter" not in shown


def test_monitored_nvlink_bytes_of_a_step_are_those_of_its_buckets() -> None:
    """Of the reference campaign, 2 ranks: each sends its gradients' bytes once.

    Monitoring reads 1.7 to 3.3 % more than payload there; MB in place of MiB, 4.9 % less, would
    fall out.
    """
    ratios = {}
    for path in (ROOT / "results/h200x2/records").glob("h200x2-nvlink*/training/*/r*.json"):
        own = read_record(path)
        sent = derive(own, PEAKS).values[Quantity("mean_nvlink_sent_bytes_per_s")]
        ratios[str(path)] = sent * fmean(slowest_rank(own, "full")) / gradient_bytes(own)
    assert len(ratios) >= 12
    assert {path: ratio for path, ratio in ratios.items() if not 1.00 <= ratio <= 1.04} == {}


def test_a_gpu_that_is_not_on_file_has_a_share_and_no_rate() -> None:
    golden = record(DIRECT, 1)
    runtime = golden.software.runtime
    assert runtime is not None
    other = runtime.model_copy(update={"device_names": ("Made-up 9",) * 2})
    software = golden.software.model_copy(update={"runtime": other})
    found = derive(golden.model_copy(update={"software": software}), PEAKS)
    assert found.values[MEMORY_SHARE] == pytest.approx(0.5)
    assert "peak of Made-up 9 is unknown" in found.absent[MEMORY_TRAFFIC]


def test_measured_traffic_decides_between_compute_and_memory() -> None:
    golden = record(DIRECT, 1)
    derived = derive(golden, PEAKS)
    gaps = {Quantity("host_gap_share", leg): 0.0 for leg in ("full", "nosync")}
    known = replace(derived, values=derived.values | gaps)
    parts = parts_of(Cell(golden, known, ()), PEAKS)
    assert parts is not None and parts.memory == pytest.approx(0.5)
    # 50 of the 90 ms that are the device's own, against 40 of compute
    assert decide(parts) == "memory"
    words = limit_sentence(CaseLimit((), parts, "memory", (("memory", 1),)))
    assert "memory at 55.6 % of its own" in words and "or more" not in words


def parts_between(analysis: Analysis, a: str, b: str) -> tuple[EnergyPart, ...]:
    (pairing,) = (p for p in analysis.pairings if not p.comparison.control)
    assert (pairing.comparison.a, pairing.comparison.b) == (DIRECT, STAGED)
    turned = a == STAGED
    pairs = tuple(pair[::-1] if turned else pair for pair in pairing.pairs)
    comparison = pairing.comparison.model_copy(update={"a": a, "b": b})
    return energy_parts(replace(pairing, pairs=pairs, comparison=comparison), 0.95, 7)


def test_energy_is_power_times_time(tmp_path: Path) -> None:
    analysis = analyse_campaign(write_campaign(tmp_path), CAMPAIGN, 0.95)
    parts = parts_between(analysis, DIRECT, STAGED)
    energy, power, time = (part.ratio for part in parts)
    assert (energy.centre, power.centre, time.centre) == pytest.approx((0.75, 1.5, 0.5))
    assert power.interval is None  # the same in every round
    assert energy.interval is not None and energy.excludes_one
    assert energy.interval.low / 1.5 == pytest.approx(time.interval.low if time.interval else 0)
    assert [part.median_a for part in parts] == pytest.approx([7.5, 600, 0.0125])
    assert room_w(parts) == pytest.approx(200)
    # the other way round it is the same 200 W on the same side
    assert room_w(parts_between(analysis, STAGED, DIRECT)) == pytest.approx(200)


def test_rounds_without_energy_on_both_sides_have_no_parts(tmp_path: Path) -> None:
    def change(golden: Record) -> Record:
        if golden.id.platform != STAGED or golden.id.round == 2:
            return golden
        kept = tuple(s for s in golden.series if s.metric != "energy_j")
        return golden.model_copy(update={"series": kept})

    analysis = analyse_campaign(write_campaign(tmp_path, change), CAMPAIGN, 0.95)
    energy, _, time = parts_between(analysis, DIRECT, STAGED)
    assert (energy.ratio.n, time.ratio.n) == (1, 1)
    # 600 x 0.1 against 400 x 0.18
    assert energy.ratio.centre == pytest.approx(60 / 72)


def test_clocks_and_marks_of_all_records(tmp_path: Path) -> None:
    mark = Mark(name="throttled", leg="full", detail="power brake")
    gap = Gap(what="contended", reason="the host's numbers")

    def change(golden: Record) -> Record:
        hit = golden.id.platform == STAGED and golden.id.round == 3
        update = {"marks": (mark,), "gaps": (gap,)} if hit else {}
        return golden.model_copy(update=update)

    analysis = analyse_campaign(write_campaign(tmp_path, change), CAMPAIGN, 0.95)
    own = Tables(analysis).disturbance.set_index("platform")
    row = own.loc[STAGED]
    assert (row["case"], row["n"], row["throttled"], row["contended"]) == (CASE, 3, 1, 0)
    assert (row["sm_clock_min_hz"], row["sm_clock_median_hz"]) == (1.97e9, 1.98e9)
    assert (row["temperature_min_c"], row["temperature_max_c"]) == (40, 60)
    assert row["not_ruled_out"] == "contended (the host's numbers)"
    assert own.loc[DIRECT, "throttled"] == 0 and pd.isna(own.loc[DIRECT, "not_ruled_out"])
    shown = unescape(disturbance_table(open_page(tmp_path, CAMPAIGN, 0.95)).markup)
    assert "<td>throttled in 1 of 3</td>" in shown
    assert "Not ruled out on host-staged: contended (the host's numbers)." in shown


def test_a_cpu_has_no_clocks_and_says_so(tmp_path: Path) -> None:
    analysis = analyse_campaign(build.write_campaign(tmp_path), build.CAMPAIGN, 0.95)
    tables = Tables(analysis)
    assert set(tables.disturbance["reason"]) == {"clocks and temperatures of a CPU are not read"}
    assert tables.disturbance["sm_clock_max_hz"].isna().all()
    assert set(tables.traffic["reason"]) == {"the records hold no counted transfer"}
    assert tables.energy_parts.empty
