"""Energy and MFU of GPU records with round numbers."""

from pathlib import Path

import pytest

from commwall.analysis.quantities import Quantity
from commwall.analysis.result import analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.values.derive import derive
from commwall.records.hardware import read_hardware
from commwall.report.energy.page import power_figure, powers
from commwall.report.style import looks_of
from commwall.schema.facts import GpuFactsFile
from commwall.schema.record import Record
from commwall.schema.result import Series
from tests.golden.build import CAMPAIGN, FAST, SLOW, record, write_campaign

PEAKS = GpuFactsFile.model_validate(
    {
        "made-up": {
            "names": ["Made-up 1"],
            **dict.fromkeys(
                ("bfloat16_dense_flops", "memory_bytes_per_s"),
                {
                    "value": 1e12,
                    "unit": "1/s",
                    "source": "a test",
                    "date": "2026-01-01",
                    "grade": "estimate",
                },
            ),
        }
    }
)
ROOT = Path(__file__).parents[2]
MFU = Quantity("mfu")


def on_gpus(golden: Record, name: str = "Made-up 1", step_flops: float | None = 4e10) -> Record:
    """The golden record as if two GPUs had made it, with 500 W by the counter, 100 W idle."""
    runtime = golden.software.runtime
    assert runtime is not None
    update = {"device_names": (name, name), "step_flops": step_flops}
    software = golden.software.model_copy(update={"runtime": runtime.model_copy(update=update)})
    full_s = sum(sorted(s.values)[2] for s in golden.series if s.leg == "full" and s.rank == 0
                 and s.metric == "step_time_s" and s.phase == "measured") * 5  # fmt: skip
    own = [s for s in golden.series if s.metric != "energy_j"]
    for rank in (0, 1):
        values = {"energy_j": (250 * full_s,), "power_w": (251.0, 249.0), "idle_power_w": (50.0,)}
        for metric, measured in values.items():
            unit = "J" if metric == "energy_j" else "W"
            leg = None if metric == "idle_power_w" else "full"
            own.append(Series(metric=metric, unit=unit, leg=leg, rank=rank, values=measured))
    return golden.model_copy(
        update={
            "platform": golden.platform.model_copy(update={"device": "cuda"}),
            "case": golden.case.model_copy(update={"precision": "bfloat16"}),
            "software": software,
            "series": tuple(own),
            "gaps": (),
        }
    )


def test_energy_of_all_gpus_counts() -> None:
    values = derive(on_gpus(record(FAST, 1))).values
    # 8 samples in 0.1 s at 500 W: 8 / 50 samples a joule
    assert values[Quantity("mean_power_w")] == pytest.approx(500, rel=0.02)
    per_j = values[Quantity("energy_efficiency_samples_per_j")]
    assert per_j == pytest.approx(0.16, rel=0.02)
    assert values[Quantity("energy_efficiency_samples_per_wh")] == pytest.approx(3600 * per_j)


def test_idle_power_of_other_gpus_than_those_with_energy_tells_nothing() -> None:
    golden = on_gpus(record(FAST, 1))
    series = tuple(
        s.model_copy(update={"rank": None}) if (s.metric, s.rank) == ("idle_power_w", 1) else s
        for s in golden.series
    )
    absent = derive(golden.model_copy(update={"series": series})).absent
    of_one = "idle_power_w is of 1 of 2 GPUs only"
    assert absent[Quantity("energy_above_idle_j_per_sample")] == of_one
    assert absent[Quantity("efficiency_above_idle_samples_per_wh")] == of_one


def test_mfu_is_the_share_of_the_peak() -> None:
    # 4e10 in 0.1 s are 4e11 of 1e12 a second
    assert derive(on_gpus(record(FAST, 1)), PEAKS).values[MFU] == pytest.approx(0.4)


def test_mfu_of_what_is_unknown_is_absent_with_its_reason() -> None:
    unknown = derive(on_gpus(record(FAST, 1), "Made-up 1 PCIe"), PEAKS)
    assert "peak of Made-up 1 PCIe is unknown" in unknown.absent[MFU]
    assert "FLOPs of a step" in derive(on_gpus(record(FAST, 1), step_flops=None), PEAKS).absent[MFU]
    single = on_gpus(record(FAST, 1))
    whole = single.model_copy(
        update={"case": single.case.model_copy(update={"precision": "float32"})}
    )
    assert "bfloat16" in derive(whole, PEAKS).absent[MFU]
    assert "CPU" in derive(record(FAST, 1), PEAKS).absent[MFU]


def test_the_peaks_on_file_are_those_of_the_named_gpus_only() -> None:
    peaks = read_hardware(ROOT).gpus
    found = peaks.of("NVIDIA H200")
    assert found is not None
    assert found.bfloat16_dense_flops and found.memory_bytes_per_s
    assert found.bfloat16_dense_flops.value == pytest.approx(989e12)
    assert found.memory_bytes_per_s.value == pytest.approx(4.8e12)
    assert peaks.of("NVIDIA H200 NVL") is None
    card = peaks.of("NVIDIA H100 PCIe")
    assert card and card.bfloat16_dense_flops
    assert card.bfloat16_dense_flops.value == pytest.approx(756e12)  # not that of the SXM module
    assert card.power_w and card.power_w.value == pytest.approx(350)  # nor half of its draw
    assert read_hardware(ROOT / "nothing").gpus.root == {}


def test_power_is_summed_over_gpus_and_drawn(tmp_path: Path) -> None:
    golden = write_campaign(tmp_path, lambda r: None if r.id.platform == SLOW else _sealed(r))
    tables = Tables(analyse_campaign(golden, CAMPAIGN, 0.95))
    power = powers(tables).set_index("platform")
    assert power.loc[FAST, "power_w"] == pytest.approx(500, rel=0.02)
    assert power.loc[FAST, "polled_power_w"] == pytest.approx(500)
    assert power.loc[FAST, "idle_power_w"] == pytest.approx(100)
    figure = power_figure(tables, looks_of([FAST, SLOW, "golden-fast-again"]))
    assert len(figure.axes) == 1
    assert figure.axes[0].get_xlim()[0] == 0


def _sealed(golden: Record) -> Record:
    """As `on_gpus`, but of the plan's platform and case, so that the record is valid."""
    changed = on_gpus(golden)
    return golden.model_copy(update={"series": changed.series, "gaps": ()}).sealed()
