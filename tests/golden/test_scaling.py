"""Growing numbers of GPUs on golden records: the curve, and steps predicted from fewer."""

from pathlib import Path

import pytest

from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.scaling.links import named_ladders
from commwall.analysis.scaling.tables import Scaling, scaling_tables
from commwall.analysis.steps.predictions import NO_TIME
from commwall.records.ladders import ladders
from commwall.schema.plan import Plan
from tests.golden import build, steps
from tests.golden.scaling import (
    CAMPAIGN,
    CASES,
    OTHER_COMPUTE,
    SIZES,
    plan,
    platform,
    write_campaign,
)

STAGED = "host-staged"


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    layout = write_campaign(tmp_path_factory.mktemp("scaling"))
    return analyse_campaign(layout, CAMPAIGN, 0.95)


@pytest.fixture(scope="module")
def scaling(analysis: Analysis) -> Scaling:
    return scaling_tables(analysis)


def test_platforms_of_one_link_are_a_ladder() -> None:
    assert [[p.name for p in ladder.platforms] for ladder in ladders(plan())] == [
        ["nvlink2", "nvlink4", "nvlink8"],
        ["hoststaged2", "hoststaged4", "hoststaged8"],
    ]


def test_a_control_and_one_process_are_no_rungs() -> None:
    assert ladders(build.plan()) == () and ladders(steps.plan()) == ()
    again = platform("nvlink2").model_copy(update={"name": "again2"})
    alone = platform("nvlink2").model_copy(update={"name": "alone", "world_size": 1})
    pair = (platform("nvlink4"), again, platform("nvlink2"), alone)
    (ladder,) = ladders(with_platforms(plan(), *pair))
    assert [p.name for p in ladder.platforms] == ["again2", "nvlink4"]


def test_links_are_called_by_what_their_titles_share_and_told_apart() -> None:
    assert list(named_ladders(plan())) == ["NVLink", STAGED]
    alike = [own.treatment.label.model_copy(update={"title": "link"}) for own in plan().platforms]
    renamed = [
        own.model_copy(update={"treatment": own.treatment.model_copy(update={"label": label})})
        for own, label in zip(plan().platforms, alike, strict=True)
    ]
    names = list(named_ladders(with_platforms(plan(), *renamed)))
    assert names == ["link [nvlink8]", "link [hoststaged8]"]
    emulated = [
        build.platform("golden-fast", 1e9).model_copy(update={"name": f"p{n}", "world_size": n})
        for n in SIZES
    ]
    assert list(named_ladders(with_platforms(plan(), *emulated))) == ["fast link, emulated"]


def test_between_machines_links_are_one_if_as_many_processes_share_them() -> None:
    two, four = (
        platform("nvlink4").model_copy(update={"name": f"n{nodes}", "nodes": nodes})
        for nodes in (2, 4)
    )
    eight = two.model_copy(update={"name": "n4-8", "nodes": 4, "world_size": 8})
    assert ladders(with_platforms(plan(), two, four)) == ()
    (ladder,) = ladders(with_platforms(plan(), two, four, eight))
    assert [p.name for p in ladder.platforms] == ["n2", "n4-8"]


def with_platforms(golden: Plan, *platforms: object) -> Plan:
    return golden.model_copy(update={"platforms": platforms})


def test_the_curve_begins_with_one_gpu_and_bends(scaling: Scaling) -> None:
    rows = scaling.scaling
    assert len(rows) == 2 * len(CASES) * (1 + len(SIZES))
    own = rows[(rows["case"] == "first") & (rows["link"] == "NVLink")].set_index("ranks")
    assert list(own["samples_per_s"]) == pytest.approx(
        [4 / 11.2e-3, 8 / 14e-3, 16 / 16e-3, 32 / 17e-3]
    )
    assert list(own["efficiency"]) == pytest.approx([1, 0.8, 0.7, 11.2 / 17])
    width = (own["efficiency_high"] - own["efficiency_low"]).fillna(0)
    assert width.max() < 1e-9, "rounds differ by one factor in both legs"
    assert (own["samples_per_s_low"] < own["samples_per_s"]).all()
    assert list(own["n"]) == [3] * 4


def test_a_shared_bridge_shows_in_the_rate_of_the_exchange(scaling: Scaling) -> None:
    rows = scaling.scaling[scaling.scaling["case"] == "first"]
    rates = rows.pivot(index="link", columns="ranks", values="busbw_bytes_per_s")
    together = 2.5 * 2**20
    assert list(rates.loc["NVLink", list(SIZES)]) == pytest.approx([together / 5e-3] * 3)
    staged = together / 10e-3
    assert list(rates.loc[STAGED, list(SIZES)]) == pytest.approx([staged, staged, staged / 2])


def test_steps_of_more_gpus_follow_from_two(scaling: Scaling) -> None:
    rows = scaling.scaled_steps
    assert len(rows) == 2 * len(CASES) * 3
    own = rows[(rows["case"] == "first") & (rows["source_ranks"] == 2)]
    found = own.set_index(["link", "target_ranks"])
    assert dict(found["predicted_s"]) == pytest.approx(
        {("NVLink", 4): 16e-3, ("NVLink", 8): 17e-3, (STAGED, 4): 22e-3, (STAGED, 8): 24e-3}
    )
    assert dict(found["error_percent"]) == pytest.approx(
        {("NVLink", 4): 0, ("NVLink", 8): 0, (STAGED, 4): 0, (STAGED, 8): 100 * (24 / 41 - 1)},
        abs=1e-3,
    )
    assert found.loc[(STAGED, 8), "exchange_percent"] == pytest.approx(100 * (24 / 41 - 1))
    assert found.loc[(STAGED, 8), "compute_percent"] == pytest.approx(0, abs=1e-6)


def test_four_foretell_what_two_do(scaling: Scaling) -> None:
    rows = scaling.scaled_steps.query("target_ranks == 8 and case == 'second'")
    by_source = rows.pivot(index="link", columns="source_ranks", values="predicted_s")
    assert list(by_source[4]) == pytest.approx(list(by_source[2]))


def test_other_compute_is_named_and_intervals_come_from_other_cases(scaling: Scaling) -> None:
    rows = scaling.scaled_steps.query("link == 'NVLink' and source_ranks == 2")
    (row,) = rows.query(f"target_ranks == 8 and case == {OTHER_COMPUTE!r}").to_dict("records")
    assert row["error_percent"] == pytest.approx(100 * (17 / 18 - 1), abs=0.02)
    assert row["compute_percent"] == pytest.approx(row["error_percent"], abs=0.02)
    assert row["misfit_cases"] == 3 and row["inside"] is False
    assert row["predicted_low_s"] < 17e-3 < row["predicted_high_s"] < 18e-3


def test_predictions_of_other_links_stay_within_one_size(analysis: Analysis) -> None:
    assert analysis.steps
    sizes = {(p.place.source[-1], p.place.target[-1]) for p in analysis.steps.predictions}
    assert sizes == {("2", "2"), ("4", "4"), ("8", "8")}
    assert not any(p.place.control for p in analysis.steps.predictions)


def test_what_lacks_a_leg_says_so(tmp_path: Path) -> None:
    def change(own):  # type: ignore[no-untyped-def]
        kept = tuple(s for s in own.series if s.leg not in ("packed", "single"))
        return own.model_copy(update={"series": kept})

    found = scaling_tables(analyse_campaign(write_campaign(tmp_path, change), CAMPAIGN, 0.95))
    alone = found.scaling[found.scaling["ranks"] == 1]
    assert alone["reason"].str.contains("leg single").all() and (alone["n"] == 0).all()
    assert (found.scaled_steps["n"] == 0).all()
    assert found.scaled_steps["reason"].str.startswith("leg packed").all()


def test_noise_that_leaves_a_step_no_time_predicts_nothing_of_more(tmp_path: Path) -> None:
    """The exchange alone takes four times as long in round 1 of two GPUs host-staged."""

    def change(own):  # type: ignore[no-untyped-def]
        slow = (own.id.platform, own.id.case, own.id.round) == ("hoststaged2", "first", 1)
        series = (
            s.model_copy(update={"values": tuple(4 * v for v in s.values)})
            if slow and s.leg == "comm"
            else s
            for s in own.series
        )
        return own.model_copy(update={"series": tuple(series)})

    found = scaling_tables(analyse_campaign(write_campaign(tmp_path, change), CAMPAIGN, 0.95))
    rows = found.scaled_steps.query("case == 'first' and link == @STAGED")
    none = rows[rows["source"] == "hoststaged2"]
    assert set(none["reason"]) == {NO_TIME} and (none["n"] == 0).all()
    assert (rows[rows["source"] == "hoststaged4"]["n"] == 3).all()
