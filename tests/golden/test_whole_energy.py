"""Energy that lacks a part, or is in doubt, is no energy: of a GPU, a window, a counter."""

from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from commwall.analysis.quantities import ENERGY_PER_SAMPLE, MEAN_POWER, PRIMARY, Quantity
from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.values.derive import derive
from commwall.analysis.values.energy import energy_uses
from commwall.analysis.values.mitigated import timing
from commwall.analysis.verdicts.judging import Verdict
from commwall.report.energy.page import energy_table, parts_table
from commwall.report.energy.power_trace import trace_figure
from commwall.report.page import open_page
from commwall.schema.case import Leg
from commwall.schema.record import Record
from commwall.schema.result import Mark, Series
from tests.golden import mitigations
from tests.golden.build import SLOW
from tests.golden.gpus import CAMPAIGN, DIRECT, STAGED, record, write_campaign

PER_WH = Quantity("energy_efficiency_samples_per_wh")
DETAIL = "GPU of rank 1: 150.0 W by the counter, 294.0 W polled"
DOUBT = Mark(name="energy_doubtful", leg="full", detail=DETAIL)
Change = Callable[[Record], Record]


def having(golden: Record, change: Callable[[Series], Series | None]) -> Record:
    """The record with each series changed or left out."""
    series = tuple(own for own in map(change, golden.series) if own is not None)
    return golden.model_copy(update={"series": series})


def without_rank_1(*metrics: str) -> Change:
    return lambda golden: having(
        golden, lambda s: None if s.rank == 1 and s.metric in metrics else s
    )


def nothing_counted(golden: Record) -> Record:
    """The counter of rank 1 stands at zero, while power is polled."""
    return having(
        golden,
        lambda s: s.model_copy(update={"values": (0.0,)}) if (s.metric, s.rank) == ("energy_j", 1)
        else s,
    )  # fmt: skip


def doubtful(golden: Record) -> Record:
    """Its counter says half."""
    halved = having(
        golden,
        lambda s: s.model_copy(update={"values": tuple(v / 2 for v in s.values)})
        if s.metric == "energy_j" else s,
    )  # fmt: skip
    return halved.model_copy(update={"marks": (DOUBT, DOUBT)})


def analysed(root: Path, change: Change, *platforms: str) -> Analysis:
    layout = write_campaign(root, lambda r: change(r) if r.id.platform in platforms else r)
    return analyse_campaign(layout, CAMPAIGN, 0.95)


def verdict(analysis: Analysis, quantity: Quantity) -> Verdict:
    (found,) = (
        own for own in analysis.verdicts if own.quantity == quantity and not own.comparison.control
    )
    return found


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (without_rank_1("energy_j"), "energy_j is of 1 of 2 GPUs only"),
        (without_rank_1("energy_j", "power_w"), "energy_j is of 1 of 2 GPUs only"),
        (nothing_counted, "energy_j is not above zero"),
        (doubtful, f"two ways to read the energy disagree ({DETAIL})"),
    ],
)
def test_energy_that_lacks_a_part_is_absent_everywhere(
    tmp_path: Path, change: Change, why: str
) -> None:
    golden = change(record(DIRECT, 1))
    derived = derive(golden)
    assert {derived.absent[q] for q in (MEAN_POWER, ENERGY_PER_SAMPLE, PER_WH)} == {why}
    *_, both = energy_uses(golden, {})
    assert (both.rank, both.energy_j, both.power_w, both.polled_difference) == (None,) * 4
    analysis = analysed(tmp_path, change, DIRECT)
    assert verdict(analysis, PER_WH).ratio is None and why in str(
        verdict(analysis, PER_WH).why_none
    )
    assert verdict(analysis, PRIMARY).n == 3  # the speed stays
    energy = Tables(analysis).energy
    direct = energy[(energy["platform"] == DIRECT) & energy["rank"].isna()]
    assert len(direct) == 3 and direct["energy_j_per_sample"].isna().all()
    page = open_page(tmp_path, CAMPAIGN, 0.95)
    assert "no round has the energy of both sides" in parts_table(page).markup
    own = unescape(energy_table(page).markup).split("<tr>")
    assert any(
        "<td>NVLink [golden-nvlink]</td><td>absent</td><td>absent</td>" in row for row in own
    )


def test_one_doubtful_round_leaves_the_others(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, lambda r: doubtful(r) if r.id.round == 2 else r, DIRECT)
    found = verdict(analysis, PER_WH)
    assert found.rounds == (1, 3) and found.medians == pytest.approx((480, (360 + 324) / 2))
    assert verdict(analysis, PRIMARY).rounds == (1, 2, 3)


@pytest.mark.parametrize("change", [without_rank_1("energy_j", "power_w", "power_time_s"),
                                    without_rank_1("power_w"), doubtful])  # fmt: skip
def test_power_over_time_is_drawn_of_all_gpus_or_not(tmp_path: Path, change: Change) -> None:
    analysed(tmp_path, change, DIRECT)
    page = open_page(tmp_path, CAMPAIGN, 0.95)
    (axes,) = trace_figure(page.tables, page.looks).axes
    assert len(axes.get_lines()) == 2 * 2  # the two others, each with its idle power
    analysed(tmp_path / "all", change, DIRECT, STAGED, "golden-nvlink-again")
    page = open_page(tmp_path / "all", CAMPAIGN, 0.95)
    figure = trace_figure(page.tables, page.looks)
    assert not figure.axes and "no usable round has that of all GPUs" in str(figure.get_label())


def test_idle_power_of_one_gpu_is_not_drawn_as_that_of_all(tmp_path: Path) -> None:
    analysed(tmp_path, without_rank_1("idle_power_w"), DIRECT, STAGED, "golden-nvlink-again")
    page = open_page(tmp_path, CAMPAIGN, 0.95)
    (axes,) = trace_figure(page.tables, page.looks).axes
    assert len(axes.get_lines()) == 3


def mitigated(change: Callable[[Series], Series | None], *marks: Mark) -> dict[Leg, float | None]:
    """Energy per sample of both legs of two batches a step: 0.5 and 0.375 J where nothing lacks."""
    golden = having(mitigations.record(SLOW, "two-batches", 1), change)
    golden = golden.model_copy(update={"marks": marks})
    found: dict[Leg, float | None] = {}
    for leg in ("full", "mitigated"):
        own = timing(golden, leg)
        assert not isinstance(own, str)
        found[leg] = own.energy_j_per_sample
    return found


def test_a_window_that_lacks_its_energy_leaves_none() -> None:
    def cut(series: Series) -> Series:
        lost = (series.metric, series.leg) == ("energy_j", "mitigated")
        return series.model_copy(update={"values": series.values[:1]}) if lost else series

    assert mitigated(lambda s: s) == {"full": 0.5, "mitigated": 0.375}
    assert mitigated(cut) == {"full": None, "mitigated": None}
    assert mitigated(lambda s: None if s.metric == "energy_j" and s.leg == "full" else s) == {
        "full": None, "mitigated": 0.375,
    }  # fmt: skip


def test_a_doubt_takes_the_energy_of_its_leg() -> None:
    mark = DOUBT.model_copy(update={"leg": "mitigated"})
    assert mitigated(lambda s: s, mark) == {"full": 0.5, "mitigated": None}


def test_mitigations_on_gpus_have_the_energy_of_all_ranks_or_none() -> None:
    golden = mitigations.record(SLOW, "two-batches", 1)
    platform = golden.platform.model_copy(update={"device": "cuda"})
    kept = tuple(s for s in golden.series if s.metric != "energy_j")

    def energy(*ranks: int) -> float | None:
        counted = (
            Series(metric="energy_j", unit="J", leg=leg, rank=rank, values=(10.0, 10.0))
            for leg in ("full", "mitigated")
            for rank in ranks
        )
        update = {"platform": platform, "series": (*kept, *counted)}
        found = timing(golden.model_copy(update=update), "full")
        assert not isinstance(found, str)
        return found.energy_j_per_sample

    assert energy(0, 1) == pytest.approx(1.0)  # 40 J for 5 steps of 8 samples
    assert energy(0) is None
