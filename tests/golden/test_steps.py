"""Predicted steps of the golden campaign; the arithmetic stands in tests/golden/steps.py."""

from pathlib import Path
from statistics import median

import pandas as pd
import pytest

from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.steps.predictions import NO_TIME
from commwall.analysis.steps.rows import predicted_step_rows
from commwall.analysis.steps.words import yardsticks
from commwall.analysis.tables.rows import Row
from commwall.analysis.tables.tidy import ROWS, Tables
from commwall.analysis.values.clocks import APART
from commwall.schema.case import TrainingCase
from commwall.schema.record import Record
from commwall.schema.result import Mark
from tests import samples
from tests.golden.steps import (
    AGAIN,
    AS_MODELLED,
    BESIDE,
    CAMPAIGN,
    CONTENTION,
    EXCHANGE,
    NVLINK,
    OPTIMISER,
    STAGED,
    STAGED_MS,
    SWEEP,
    Change,
    plan,
    records,
    without,
    write_campaign,
)

PARTS = ["compute_percent", "exchange_percent", "contention_percent"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    layout = write_campaign(tmp_path_factory.mktemp("steps"))
    return Tables(analyse_campaign(layout, CAMPAIGN, 0.95))


def predicted(root: Path, change: Change) -> pd.DataFrame:
    """Table `predicted_steps` of a changed campaign."""
    analysis = analyse_campaign(write_campaign(root, change), CAMPAIGN, 0.95)
    return pd.DataFrame(predicted_step_rows(analysis))


def row(found: Tables | pd.DataFrame, case: str, source: str, target: str) -> pd.Series:
    rows = found if isinstance(found, pd.DataFrame) else found.predicted_steps
    ((_, own),) = rows.query("case == @case and source == @source and target == @target").iterrows()
    return own


def model(tables: Tables, case: str, platform: str) -> pd.Series:
    ((_, found),) = tables.step_models.query("case == @case and platform == @platform").iterrows()
    return found


@pytest.mark.parametrize("case", STAGED_MS)
def test_host_staged_is_predicted_from_nvlink(tables: Tables, case: str) -> None:
    found = row(tables, case, NVLINK, STAGED)
    assert found["predicted_s"] == pytest.approx(17e-3)
    assert found["measured_s"] == pytest.approx(STAGED_MS[case][0] / 1000)
    assert found["exchange_s"] == pytest.approx(8e-3)
    assert found["packed_step_s"] == pytest.approx(12e-3)
    assert (found["sensitivity"], found["drag"]) == pytest.approx((1, 0), abs=1e-5)
    assert bool(found["contention_measured"]) and found["n"] == 3


@pytest.mark.parametrize("case", [AS_MODELLED, EXCHANGE])
def test_nvlink_is_predicted_from_host_staged(tables: Tables, case: str) -> None:
    """Where the source's own exchange is slower than its sweep says, its own is taken."""
    found = row(tables, case, STAGED, NVLINK)
    assert found["predicted_s"] == pytest.approx(14e-3, rel=1e-5)
    assert (found["sensitivity"], found["drag"]) == pytest.approx((1, 0), abs=1e-5)


@pytest.mark.parametrize(
    ("case", "parts"),
    [
        (AS_MODELLED, (0, 0, 0)),
        (OPTIMISER, (100 * (17 / 18 - 1), 0, 0)),
        (EXCHANGE, (0, 100 * (17 / 18.625 - 1), 0)),
        (CONTENTION, (0, 0, 100 * (17 / 16 - 1))),
    ],
)
def test_an_error_is_found_where_it_was_made(
    tables: Tables, case: str, parts: tuple[float, float, float]
) -> None:
    found = row(tables, case, NVLINK, STAGED)
    assert found[PARTS].tolist() == pytest.approx(parts, abs=1e-3)
    assert found["error_percent"] == pytest.approx(sum(parts), abs=1e-3)


def test_an_interval_knows_the_other_cases_only(tables: Tables) -> None:
    """The case that was predicted exactly is as doubtful as the three others were off."""
    exact, off = (row(tables, case, NVLINK, STAGED) for case in (AS_MODELLED, EXCHANGE))
    assert (exact["misfit_cases"], off["misfit_cases"]) == (3, 3)
    # with 3 degrees of freedom t is 3.18; misfits of 17 / 18, 17 / 18.625 and 17 / 16 as logarithms
    # are -0.0572, -0.0913 and 0.0606: root of the mean square 0.0714; the rounds add 0.0057
    half = 3.182 * (0.0714**2 + 0.0057**2) ** 0.5
    assert exact["predicted_high_s"] / 17e-3 == pytest.approx(2.71828**half, rel=1e-3)
    assert exact["predicted_low_s"] / 17e-3 == pytest.approx(2.71828**-half, rel=1e-3)
    assert off["half_width_percent"] < exact["half_width_percent"]


def test_controls_stand_apart(tables: Tables) -> None:
    found = tables.predicted_steps
    assert len(found) == 2 * len(STAGED_MS) + 4
    controls = found[found["control"]]
    assert controls["source"].tolist() == [NVLINK, AGAIN]
    assert controls["target"].tolist() == [AGAIN, NVLINK]
    real, control = tables.prediction_errors[tables.prediction_errors["source"].isna()].to_dict(
        "records"
    )
    assert (real["control"], real["judged"], real["cells"]) == (False, 8, 8)
    assert (control["control"], control["judged"]) == (True, 2)
    assert real["worst_error_percent"] == pytest.approx(100 * (17 / 18.625 - 1))
    assert (real["worst_case"], real["worst_source"]) == (EXCHANGE, NVLINK)
    assert real["inside"] == real["with_interval"] == 8


def test_what_the_model_rests_on(tables: Tables) -> None:
    found = model(tables, EXCHANGE, STAGED)
    times = ["first_ready_s", "backward_end_s", "packed_step_s", "comm_s", "swept_s"]
    assert (1000 * found[times]).tolist() == pytest.approx([4, 10, 12, 10, 8], rel=1e-4)
    assert found["sweep_error_percent"] == pytest.approx(-20)
    assert (found["lost"], found["stretch"]) == pytest.approx((0.2, 1.25))
    assert found["sweep"] == SWEEP
    unlike = model(tables, CONTENTION, STAGED)
    assert unlike["sensitivity"] < 1 and unlike["drag"] < 0
    # without contention the step takes 8 + 6 + 2 = 16 ms, to half a percent trusted: the most
    # probable traits are between that and the usual 17, near to it
    explained_s = _staged_s(unlike["sensitivity"], unlike["drag"])
    assert unlike["rest_s"] == pytest.approx(16e-3 - explained_s, rel=0.01)
    assert 0 < explained_s - 16e-3 < 2 * 0.005 * 16e-3


def _staged_s(sensitivity: float, drag: float) -> float:
    """Step [s] with little contention: only the last 2 ms of compute matter, and the first wait."""
    lost, stretch = 0.2 * sensitivity, max(1.0, (1 + 0.25 * sensitivity) * (1 + drag))
    ready_ms = 8 + lost * 2 * stretch
    beside_ms = 2 / (1 - lost)
    return (ready_ms + beside_ms + 6 - beside_ms / stretch + 2) / 1000


def test_joined_buckets_wait_for_the_last_gradient(tables: Tables) -> None:
    own = tables.bucket_sizes.query("case == @AS_MODELLED and platform == @NVLINK")
    assert own["buckets"].tolist() == [2, 1]
    # 2.5 MiB at 2 ms for 1.5 MiB beyond 512 KiB, so 3.667 ms from 8 on: compute is at 9.833 then
    assert own["step_s"].tolist() == pytest.approx([14e-3, (8 + 11 / 3 + 1 / 6 + 2) / 1000])


def test_packing_and_exchange_have_their_cost(tables: Tables) -> None:
    rounds = tables.rounds.query(
        "case == @AS_MODELLED and platform == @STAGED and round == 1"
    ).set_index("metric")["value"]
    assert rounds["packing_time_s"] == pytest.approx(0.5e-3)
    assert rounds["exchange_cost_time_s"] == pytest.approx(5e-3)


@pytest.mark.parametrize(
    ("lacking", "reason"),
    [
        ("packed", "leg packed has no step times"),
        ("bucket_ready_time_s", "bucket_ready_time_s was not measured"),
        ("backward_end_time_s", "backward_end_time_s was not measured"),
        ("full", "leg full has no step times"),
    ],
)
def test_what_lacks_something_is_a_gap_with_its_reason(
    tmp_path: Path, lacking: str, reason: str
) -> None:
    found = predicted(tmp_path, _only(AS_MODELLED, without(lacking)))
    own = found[found["case"] == AS_MODELLED]
    assert own["predicted_s"].isna().all() and (own["n"] == 0).all()
    assert set(own["reason"].str.partition(": ")[2]) == {reason}
    assert found[found["case"] != AS_MODELLED]["predicted_s"].notna().all()


def _only(case: str, change: Change) -> Change:
    return lambda own: change(own) if own.id.case == case else own


def test_a_target_needs_no_training(tmp_path: Path) -> None:
    def no_training(own: Record) -> Record | None:
        return None if (own.id.platform, own.id.suite) == (STAGED, "training") else own

    found = row(predicted(tmp_path, no_training), AS_MODELLED, NVLINK, STAGED)
    assert found["predicted_s"] == pytest.approx(17e-3)
    assert pd.isna(found["measured_s"]) and pd.isna(found["error_percent"])


def test_the_targets_training_does_not_change_its_prediction(
    tables: Tables, tmp_path: Path
) -> None:
    """Other steps, other compute legs, another exchange: the centre stays where it was."""

    def slower(own: Record) -> Record:
        if own.id.platform != STAGED or not isinstance(own.case, TrainingCase):
            return own
        series = (
            s.model_copy(update={"values": tuple(1.5 * value for value in s.values)})
            for s in own.series
        )
        return own.model_copy(update={"series": tuple(series)}).sealed()

    changed = predicted(tmp_path, slower)
    for case in STAGED_MS:
        before, after = (row(found, case, NVLINK, STAGED) for found in (tables, changed))
        assert after["predicted_s"] == before["predicted_s"]
        assert after["measured_s"] == pytest.approx(1.5 * before["measured_s"])


def test_without_a_sweep_beside_a_load_contention_is_carried_over(tmp_path: Path) -> None:
    def no_load(own: Record) -> Record | None:
        return None if (own.id.platform, own.id.case) == (STAGED, BESIDE) else own

    found = row(predicted(tmp_path, no_load), AS_MODELLED, NVLINK, STAGED)
    assert not found["contention_measured"]
    # a second of exchange takes k of compute, which makes it 1 + k times as long: on NVLink
    # 13 + k + k^2 + 2k / (1 - k^2) = 14, host-staged 16 + 2 (k + k^2) + 2k / (1 - k^2)
    k, nothing = found["sensitivity"], found["drag"]
    taken_ms = k + k**2 + 2 * k / (1 - k**2)
    assert taken_ms == pytest.approx(1, abs=0.02) and pd.isna(nothing)
    # half a percent of 14 ms is not trusted; what it leaves of the step is carried over
    staged_ms = 16 + 2 * (k + k**2) + 2 * k / (1 - k**2) + (1 - taken_ms)
    assert found["predicted_s"] == pytest.approx(staged_ms / 1000, rel=1e-5)


def test_the_same_link_under_another_name_has_the_same_contention(tmp_path: Path) -> None:
    def no_load(own: Record) -> Record | None:
        return None if (own.id.platform, own.id.case) == (AGAIN, BESIDE) else own

    found = row(predicted(tmp_path, no_load), AS_MODELLED, AGAIN, STAGED)
    assert found["contention_measured"]
    assert found["predicted_s"] == pytest.approx(17e-3)


@pytest.mark.parametrize(("platform", "side"), [(NVLINK, "source"), (STAGED, "target")])
def test_without_any_sweep_nothing_is_predicted(tmp_path: Path, platform: str, side: str) -> None:
    def no_sweep(own: Record) -> Record | None:
        return None if (own.id.platform, own.id.case) == (platform, SWEEP) else own

    found = row(predicted(tmp_path, no_sweep), AS_MODELLED, NVLINK, STAGED)
    assert found["n"] == 0
    assert found["reason"].startswith(f"{side}: no all-reduce was swept")


def test_a_round_kept_out_of_verdicts_predicts_nothing(tmp_path: Path) -> None:
    def host_bound(own: Record) -> Record:
        if own.id.platform != NVLINK or own.id.suite != "training" or own.id.round > 1:
            return own
        mark = Mark(name="host_bound", leg="full", detail="the device waits")
        return own.model_copy(update={"marks": (mark,)}).sealed()

    assert row(predicted(tmp_path, host_bound), AS_MODELLED, NVLINK, STAGED)["n"] == 2


def test_a_step_at_lower_clocks_than_its_packed_one_predicts_nothing(tmp_path: Path) -> None:
    """Its traits would take the clock for contention; as a target it is still held against."""

    def lowered(own: Record) -> Record:
        if own.id.platform != NVLINK or own.id.suite != "training":
            return own
        clocks = {"full": 1.8e9, "packed": 1.98e9}
        series = (samples.series("sm_clock_hz", "Hz", (hz,), leg, 0) for leg, hz in clocks.items())
        return own.model_copy(update={"series": (*own.series, *series)}).sealed()

    found = predicted(tmp_path, lowered)
    source, target = (
        row(found, AS_MODELLED, NVLINK, STAGED),
        row(found, AS_MODELLED, STAGED, NVLINK),
    )
    assert source["n"] == 0 and source["reason"] == f"source: {APART}"
    assert target["measured_n"] == 3 and pd.isna(target["compute_percent"])


def test_one_round_has_no_interval(tmp_path: Path) -> None:
    found = predicted(tmp_path, lambda own: own if own.id.round == 1 else None)
    own = row(found, AS_MODELLED, NVLINK, STAGED)
    assert own["predicted_s"] == pytest.approx(17e-3)
    assert pd.isna(own["predicted_low_s"])


@pytest.mark.parametrize(
    ("moments_ms", "known"), [((4, 8, 12.1), True), ((4, 8, 12.6), False), ((4, 11, 10), False)]
)
def test_moments_must_be_those_of_the_step(
    tmp_path: Path, moments_ms: tuple[float, float, float], known: bool
) -> None:
    """Noted steps may be 2 % longer than the timed ones, which take 11.88 to 12.12 ms."""

    def noted(own: Record) -> Record:
        at_ms = {("bucket_ready_time_s", b): moments_ms[b] for b in (0, 1)}
        at_ms["backward_end_time_s", None] = moments_ms[2]
        series = (
            s.model_copy(update={"values": (at_ms[s.metric, s.bucket] / 1000,) * 2})
            if (s.metric, s.bucket) in at_ms
            else s
            for s in own.series
        )
        return own.model_copy(update={"series": tuple(series)}).sealed()

    found = row(predicted(tmp_path, _only(AS_MODELLED, noted)), AS_MODELLED, NVLINK, STAGED)
    assert (found["n"] == 3) is known
    assert known or found["reason"].endswith("its step do not follow each other")


def test_the_model_is_held_against_guesses_without_it(tmp_path: Path) -> None:
    """Each case is predicted in both directions between NVLink and host-staged."""
    analysis = analyse_campaign(write_campaign(tmp_path), CAMPAIGN, 0.95)
    own = yardsticks(analysis)
    rows = pd.DataFrame(predicted_step_rows(analysis))
    rows = rows[~rows["source"].eq(AGAIN) & ~rows["target"].eq(AGAIN)]
    there = rows.set_index(["case", "source"])["measured_s"]
    back = [there[row.case, row.target] for row in rows.itertuples()]
    off = [abs(a / b - 1) for a, b in zip(back, rows["measured_s"], strict=True)]
    bare = abs(rows["packed_step_s"] / rows["measured_s"] - 1)
    assert own and own.n == len(rows) == 8
    assert own.as_source_percent == pytest.approx(100 * median(off))
    assert own.no_exchange_percent == pytest.approx(100 * bare.median())
    assert own.gain_off_percent < own.gain_percent


def longer(times: float, metric: str, leg: str | None = None) -> Change:
    """A change of round 1: a metric's values are so many times as large."""

    def change(own: Record) -> Record:
        series = (
            s.model_copy(update={"values": tuple(times * value for value in s.values)})
            if (s.metric, s.leg) == (metric, leg) and own.id.round == 1
            else s
            for s in own.series
        )
        return own.model_copy(update={"series": tuple(series)}).sealed()

    return change


def on(platform: str, change: Change) -> Change:
    return lambda own: change(own) if own.id.platform == platform else own


def all_rows(analysis: Analysis) -> dict[str, list[Row]]:
    """Every table of a campaign."""
    return {name: list(rows(analysis)) for name, rows in ROWS.items()}


@pytest.mark.parametrize("times", [2, 4, 8])
def test_noise_that_leaves_a_step_no_time_stops_no_table(tmp_path: Path, times: float) -> None:
    """One round's exchange alone takes so long that hardly anything is left without it."""
    change = _only(AS_MODELLED, on(STAGED, longer(times, "step_time_s", "comm")))
    analysis = analyse_campaign(write_campaign(tmp_path, change), CAMPAIGN, 0.95)
    tables = all_rows(analysis)
    found = pd.DataFrame(tables["predicted_steps"])
    own, back = row(found, AS_MODELLED, STAGED, NVLINK), row(found, AS_MODELLED, NVLINK, STAGED)
    assert own["n"] == 0 and own["reason"] == f"source: {NO_TIME}"
    assert back["predicted_s"] == pytest.approx(17e-3)
    other = row(found, OPTIMISER, STAGED, NVLINK)
    assert other["predicted_s"] == pytest.approx(15e-3) and other["predicted_low_s"] > 0


def test_noise_that_leaves_a_part_no_time_leaves_the_others_unknown(tmp_path: Path) -> None:
    """The rest of a slow exchange is a few ms below 0, and the target's own exchange takes 2 ms."""

    def change(own: Record) -> Record:
        times = {NVLINK: 2, STAGED: 0.25}.get(own.id.platform, 1)
        return longer(times, "step_time_s", "comm")(own) or own

    found = row(predicted(tmp_path, _only(AS_MODELLED, change)), AS_MODELLED, NVLINK, STAGED)
    assert found["n"] == 3 and found["predicted_s"] > 12e-3
    assert found[PARTS].isna().all() and found["error_percent"] < 0


def test_rounds_that_noise_leaves_no_time_are_left_out_of_joined_buckets(tmp_path: Path) -> None:
    """If all sizes take as long, one bucket takes half of what two do; the rest is that of two."""

    def alike(own: Record) -> Record:
        if own.id.case != SWEEP:
            return own
        series = (
            s.model_copy(update={"values": (3e-3, 3e-3)}) if s.metric == "operation_time_s" else s
            for s in own.series
        )
        return own.model_copy(update={"series": tuple(series)}).sealed()

    def change(own: Record) -> Record:
        slow = _only(AS_MODELLED, on(NVLINK, longer(10, "step_time_s", "comm")))(own)
        return alike(slow) if slow else own

    tables = all_rows(analyse_campaign(write_campaign(tmp_path, change), CAMPAIGN, 0.95))
    rows = pd.DataFrame(tables["bucket_sizes"]).query("platform == @NVLINK")
    assert rows.query("case == @AS_MODELLED")["n"].tolist() == [3, 2]
    assert rows.query("case == @OPTIMISER")["n"].tolist() == [3, 3]


def test_moments_that_were_one_before_rounding_are_those_of_a_step(tmp_path: Path) -> None:
    """Shortened to the packed step, the last bucket's would come an ulp after the backward pass."""
    packed_s, end_s = 0.01111, 0.011249

    def noted(own: Record) -> Record:
        at_s = {("bucket_ready_time_s", 1): end_s, ("backward_end_time_s", None): end_s}
        series = (
            s.model_copy(update={"values": (at_s[s.metric, s.bucket],) * 2})
            if (s.metric, s.bucket) in at_s
            else s.model_copy(update={"values": (packed_s,) * len(s.values)})
            if (s.metric, s.leg, s.phase) == ("step_time_s", "packed", "measured")
            else s
            for s in own.series
        )
        return own.model_copy(update={"series": tuple(series)}).sealed()

    found = predicted(tmp_path, _only(AS_MODELLED, on(NVLINK, noted)))
    assert row(found, AS_MODELLED, NVLINK, STAGED)["n"] == 3


def test_a_sweep_that_is_called_as_a_training_case_is_kept_apart(tmp_path: Path) -> None:
    golden = plan()
    training, collectives = golden.suites
    cases = {AS_MODELLED: collectives.cases[SWEEP], BESIDE: collectives.cases[BESIDE]}
    platforms = dict.fromkeys(collectives.platforms, tuple(cases))
    suites = (training, collectives.model_copy(update={"cases": cases, "platforms": platforms}))
    called = [
        own.model_copy(update={"id": own.id.model_copy(update={"case": AS_MODELLED})}).sealed()
        if own.id.case == SWEEP
        else own
        for own in records()
    ]
    layout = samples.write_campaign(tmp_path, golden.model_copy(update={"suites": suites}), called)
    samples.write_index(layout, CAMPAIGN)
    analysis = analyse_campaign(layout, CAMPAIGN, 0.95)
    assert not any(cell.refusals for cell in analysis.cells)
    found = pd.DataFrame(all_rows(analysis)["step_models"])
    assert found.query("case == @AS_MODELLED")["n"].tolist() == [3, 3, 3]
