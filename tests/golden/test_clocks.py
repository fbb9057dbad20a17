"""Legs at different clocks, the power limit, and what they keep from being told.

The golden GPUs' processors run at 1.98 GHz. Lowered, those of rank 0 run at 1.8 GHz in leg `full`,
9 % below; at their power limit, both GPUs draw 300 of 310 W.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from commwall.analysis.quantities import Quantity
from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.values.clocks import (
    APART,
    apart,
    at_power_limit,
    highest_clock_hz,
    leg_clocks_hz,
)
from commwall.analysis.values.derive import derive
from commwall.analysis.verdicts.decompose import Decomposition, Undecomposed
from commwall.report.energy.gpu_use import disturbance_table
from commwall.report.exposed import exposed_note
from commwall.report.limits import limit_table
from commwall.report.page import open_page
from commwall.schema.case import Leg
from commwall.schema.record import Record
from commwall.schema.result import Mark, Series
from tests.golden.gpus import AGAIN, CAMPAIGN, CASE, DIRECT, STAGED, record, write_campaign

FULL, LOWERED = 1.98e9, 1.8e9
DIFFERENCES = ("exposed_comm_time_s", "overlap_ratio", "scaling_efficiency")
CAPPED = Mark(name="power_capped", leg="full", detail="software power cap in 90% of the readings")


def clocks(leg: Leg, *by_rank: float) -> tuple[Series, ...]:
    return tuple(
        Series(metric="sm_clock_hz", unit="Hz", leg=leg, rank=rank, values=(hz, hz))
        for rank, hz in enumerate(by_rank)
    )


def in_both(full: tuple[float, float], nosync: tuple[float, float]) -> tuple[Series, ...]:
    return *clocks("full", *full), *clocks("nosync", *nosync)


def at_clocks(golden: Record, *series: Series) -> Record:
    """The record with these clocks instead of its own."""
    others = tuple(own for own in golden.series if own.metric != "sm_clock_hz")
    return golden.model_copy(update={"series": (*others, *series)})


def lowered(golden: Record) -> Record:
    return at_clocks(golden, *clocks("full", LOWERED, FULL))


def limited_to(golden: Record, power_w: float) -> Record:
    gpus = tuple(gpu.model_copy(update={"power_limit_w": power_w}) for gpu in golden.machine.gpus)
    return golden.model_copy(update={"machine": golden.machine.model_copy(update={"gpus": gpus})})


def unpolled(golden: Record) -> Record:
    """The record with a series of power that holds no reading."""
    series = (
        own.model_copy(update={"values": ()}) if own.metric == "power_w" else own
        for own in golden.series
    )
    return golden.model_copy(update={"series": tuple(series)})


def on(platform: str, change: Callable[[Record], Record]) -> Callable[[Record], Record]:
    return lambda golden: change(golden) if golden.id.platform == platform else golden


def analysed(root: Path, change: Callable[[Record], Record]) -> Analysis:
    return analyse_campaign(write_campaign(root, change), CAMPAIGN, 0.95)


@pytest.mark.parametrize(
    ("legs", "series", "found"),
    [
        (("full", "nosync"), clocks("full", FULL, FULL), False),
        (("full", "nosync"), clocks("full", 0.991 * FULL, FULL), False),
        (("full", "nosync"), clocks("full", FULL, 0.989 * FULL), True),
        (("full", "nosync"), in_both((LOWERED, FULL), (LOWERED, FULL)), False),
        (("full", "nosync"), in_both((FULL, FULL), (LOWERED, FULL)), True),
        (("full", "single"), clocks("full", FULL, LOWERED), False),  # rank 0 alone times it
        (("full", "comm"), clocks("full", LOWERED, FULL), False),  # computes nothing
        (("packed", "nosync"), clocks("full", LOWERED, FULL), False),  # both short
        (("full", "nosync"), (), False),  # nothing is known
    ],
)  # fmt: skip
def test_legs_are_compared_at_like_clocks_only(
    legs: tuple[Leg, ...], series: tuple[Series, ...], found: bool
) -> None:
    assert apart(at_clocks(record(DIRECT, 1), *series), legs, FULL) is found
    assert not apart(at_clocks(record(DIRECT, 1), *series), legs, None)


def test_differences_of_legs_at_different_clocks_are_absent_with_the_reason() -> None:
    golden = lowered(record(DIRECT, 1))
    assert leg_clocks_hz(golden, "full") == {0: LOWERED, 1: FULL}
    sound, derived = derive(record(DIRECT, 1), highest_hz=FULL), derive(golden, highest_hz=FULL)
    lost = {Quantity(metric) for metric in DIFFERENCES}
    assert lost <= sound.values.keys()
    assert sound.values.keys() - derived.values.keys() == lost
    assert {derived.absent[quantity] for quantity in lost} == {APART}


def test_the_highest_clock_of_the_campaign_stands_for_legs_that_were_not_watched(
    tmp_path: Path,
) -> None:
    """One platform always runs lower than the other: only its own records cannot know."""
    analysis = analysed(tmp_path, on(STAGED, lambda own: at_clocks(own, *clocks("full", LOWERED))))
    assert highest_clock_hz(analysis.evidence.records) == FULL
    rounds = Tables(analysis).rounds
    exposed = rounds[rounds["metric"] == "exposed_comm_time_s"]
    assert set(exposed["platform"]) == {DIRECT, AGAIN}


def test_verdicts_on_leg_full_stand_and_the_rest_says_why(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, on(DIRECT, lowered))
    verdict = analysis.primary[0]
    assert verdict.n == 3 and verdict.winner == DIRECT
    (split,) = (d for d in analysis.decompositions if not d.comparison.control)
    assert isinstance(split, Undecomposed) and split.reason == APART
    (line,) = (str(gap) for gap in analysis.gaps if APART in str(gap))
    assert line.startswith(f"{DIRECT}, {CASE}, rounds 1 to 3: no exposed communication, overlap")


def test_without_lowered_clocks_the_gap_is_split(tmp_path: Path) -> None:
    splits = analysed(tmp_path, lambda golden: golden).decompositions
    assert all(isinstance(split, Decomposition) for split in splits)


@pytest.mark.parametrize(
    ("change", "limited"),
    [
        (lambda own: own, False),
        (lowered, False),  # for whatever reason
        (lambda own: limited_to(lowered(own), 310.0), True),
        (lambda own: limited_to(lowered(own), 330.0), False),
        (lambda own: limited_to(own, 310.0), False),  # at full clocks
        (lambda own: unpolled(limited_to(lowered(own), 310.0)), False),
        (lambda own: lowered(own).model_copy(update={"marks": (CAPPED,)}), True),
        (lambda own: own.model_copy(update={"marks": (CAPPED,)}), False),
    ],
)
def test_a_power_limit_limits_where_it_lowers_clocks(
    change: Callable[[Record], Record], limited: bool
) -> None:
    assert at_power_limit(change(record(DIRECT, 1)), FULL) is limited


def test_pages_name_power_and_clock(tmp_path: Path) -> None:
    """Of 100 ms at most 10 are exposed communication; the host's part is not measured."""
    write_campaign(tmp_path, on(DIRECT, lambda own: limited_to(lowered(own), 310.0)))
    page = open_page(tmp_path, CAMPAIGN, 0.95)
    note = exposed_note(page).markup
    assert "NVLink [golden-nvlink], bert-golden-gpu, rounds 1 to 3: left out." in note
    assert "ran at 1.80 GHz, in leg nosync at 1.98 GHz (the highest clock seen)" in note
    told = disturbance_table(page).markup
    assert "At the power limit: bert-golden-gpu on NVLink [golden-nvlink], in 3 of 3 rounds" in told
    assert "slowest GPU at 1.80 GHz in leg full; the highest clock seen is 1.98 GHz" in told
    assert "at most 10.0 % of the step is exposed communication" in limit_table(page).markup
