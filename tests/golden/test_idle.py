"""Idle power is one for a GPU and campaign: the lowest that was read before any launch."""

from pathlib import Path

import pytest

from commwall.analysis.quantities import ABOVE_IDLE, Quantity
from commwall.analysis.result import analyse_campaign
from commwall.analysis.values.idle import gpu_of, idle_powers_w
from commwall.report.energy.page import energy_table
from commwall.report.page import open_page
from commwall.schema.record import Record
from tests.golden.gpus import CAMPAIGN, DIRECT, IDLE_W, STAGED, record, write_campaign

PER_WH = Quantity("efficiency_above_idle_samples_per_wh")


def pausing(golden: Record, *powers_w: float) -> Record:
    """The record with other readings before its launch."""
    series = tuple(
        own.model_copy(update={"values": powers_w}) if own.metric == "idle_power_w" else own
        for own in golden.series
    )
    return golden.model_copy(update={"series": series if powers_w else tuple(
        own for own in golden.series if own.metric != "idle_power_w")})  # fmt: skip


@pytest.mark.parametrize(
    "powers_w",
    [(127.0,) * 10 + (101.0,), (300.0, 300.0), (0.0, 110.0), ()],
    ids=["fading", "after other work", "a reading of zero", "not read"],
)
def test_a_launch_after_work_has_the_idle_power_of_the_campaign(
    tmp_path: Path, powers_w: tuple[float, ...]
) -> None:
    """400 J above 200 W x 1 s idle in 40 samples, on both links, whatever the pause shows."""

    def change(golden: Record) -> Record:
        return pausing(golden, *powers_w) if golden.id.platform == STAGED else golden

    analysis = analyse_campaign(write_campaign(tmp_path, change), CAMPAIGN, 0.95)
    first = {c.record.id.platform: c.derived.values for c in analysis.cells
             if c.record.id.round == 1}  # fmt: skip
    assert first[STAGED][ABOVE_IDLE] == pytest.approx(5)
    assert first[DIRECT][PER_WH] / first[STAGED][PER_WH] == pytest.approx(1)


def test_a_reading_under_load_at_the_end_of_a_pause_does_nothing() -> None:
    golden = pausing(record(DIRECT, 1), 76.0, 76.0, 650.0)
    assert set(idle_powers_w([golden]).values()) == {76.0}


def test_every_gpu_has_its_own_idle_power() -> None:
    golden, other = record(DIRECT, 1), pausing(record(DIRECT, 2), 80.0)
    gpus = tuple(
        gpu.model_copy(update={"uuid_digest": f"other {gpu.uuid_digest}"})
        for gpu in other.machine.gpus
    )
    machine = other.machine.model_copy(update={"gpus": gpus})
    other = other.model_copy(update={"machine": machine})
    found = idle_powers_w([golden, other])
    assert [found[gpu_of(golden, rank)] for rank in (0, 1)] == [IDLE_W] * 2
    assert [found[gpu_of(other, rank)] for rank in (0, 1)] == [80.0] * 2


def test_a_gpu_whose_uuid_was_not_read_is_known_by_its_place() -> None:
    golden = record(DIRECT, 1)
    bare = golden.model_copy(update={"machine": golden.machine.model_copy(update={"gpus": ()})})
    assert len({gpu_of(bare, 0), gpu_of(bare, 1), gpu_of(golden, 0)}) == 3
    assert len(idle_powers_w([bare])) == 2


def test_ranks_of_a_second_machine_have_its_gpus() -> None:
    golden = record(DIRECT, 1)
    first, second = golden.machine.gpus
    halves = [golden.machine.model_copy(update={"gpus": (gpu,)}) for gpu in (first, second)]
    platform = golden.platform.model_copy(update={"nodes": 2})
    spread = golden.model_copy(
        update={"platform": platform, "machine": halves[0], "other_nodes": (halves[1],)}
    )
    assert [gpu_of(spread, rank) for rank in (0, 1)] == [first.uuid_digest, second.uuid_digest]


@pytest.mark.parametrize(("lowest_w", "told"), [(104.0, False), (106.0, True)])
def test_pages_say_what_idle_is_and_how_far_launches_were_from_it(
    tmp_path: Path, lowest_w: float, told: bool
) -> None:
    def change(golden: Record) -> Record:
        return pausing(golden, 127.0, lowest_w) if golden.id.platform == STAGED else golden

    write_campaign(tmp_path, change)
    shown = energy_table(open_page(tmp_path, CAMPAIGN, 0.95)).markup
    assert "Idle is the lowest power of each GPU before any launch of the campaign" in shown
    assert ("one GPU before them was 100 W to 106 W" in shown) is told
