"""Missing, failed, withdrawn and incomparable records: named, and nothing stops."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from commwall.analysis.quantities import Quantity
from commwall.analysis.result import Analysis, EvidenceMissing, analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.values.cells import Cell
from commwall.analysis.verdicts.wording import noise_text, sentence
from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.records.texts import model_text
from commwall.report.exposed import exposed_note
from commwall.report.page import open_page
from commwall.schema.errors import PlanError
from commwall.schema.record import Record, Status
from commwall.schema.result import Check, Mark, MarkName
from commwall.stats.paired import paired_ratio
from tests.golden.build import (
    AGAIN,
    CAMPAIGN,
    CASE,
    FAST,
    SLOW,
    Change,
    plan,
    steps,
    write_campaign,
)
from tests.samples import write_index


def _analysis(root: Path, change: Change, rounds: int = 5) -> Analysis:
    return analyse_campaign(write_campaign(root, change, rounds), CAMPAIGN, 0.95)


def _only(platform: str, round_: int, change: Change) -> Change:
    def changed(record: Record) -> Record | None:
        hit = (record.id.platform, record.id.round) == (platform, round_)
        return change(record) if hit else record

    return changed


def _reasons(analysis: Analysis) -> str:
    return "\n".join(str(gap) for gap in analysis.gaps)


def _other_torch(record: Record) -> Record:
    runtime = record.software.runtime
    assert runtime is not None
    software = record.software.model_copy(
        update={"runtime": runtime.model_copy(update={"torch": "2.12.0"})}
    )
    return record.model_copy(update={"software": software})


def _failed(record: Record) -> Record:
    status = Status(state="failed", cause="out_of_memory", detail="rank 1 asked for 3 GiB")
    return record.model_copy(update={"status": status, "series": ()})


def _other_round(record: Record) -> Record:
    other = record.id.model_copy(update={"round_id": "another"})
    return record.model_copy(update={"id": other})


def _other_loss(record: Record) -> Record:
    series = tuple(
        s.model_copy(update={"values": (9.5, 9.0, 8.4)}) if s.metric == "loss" else s
        for s in record.series
    )
    return record.model_copy(update={"series": series})


def _failed_check(record: Record) -> Record:
    check = Check(name="gradients_agree", passed=False, found="1.0 and 2.0", expected="equal")
    return record.model_copy(update={"checks": (check,)})


def _contended(record: Record) -> Record:
    mark = Mark(name="contended", detail="another process used the device")
    return record.model_copy(update={"marks": (mark,)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda record: None, "missing: no record"),
        (_failed, "failed (out of memory): rank 1 asked for 3 GiB"),
        (_other_torch, "software.runtime.torch: 2.13.0 and 2.12.0"),
        (_other_round, "id.round_id: golden-round-4 and another"),
        (_other_loss, "loss: "),
        (_failed_check, "check gradients_agree failed: found 1.0 and 2.0, expected equal"),
        (_contended, "marked contended: another process used the device"),
    ],
)
def test_an_unusable_round_is_named_and_the_others_count(
    tmp_path: Path, change: Change, words: str
) -> None:
    analysis = _analysis(tmp_path, _only(SLOW, 4, change))
    verdict = analysis.primary[0]
    assert verdict.rounds == (1, 2, 3, 5)
    assert verdict.refused_rounds == 1
    lines = [line for line in _reasons(analysis).splitlines() if "round 4" in line]
    assert any(words in line and "golden-slow" in line for line in lines)
    assert analysis.primary[1].rounds == (1, 2, 3, 4, 5)


@pytest.mark.parametrize("name", get_args(MarkName))
def test_a_mark_keeps_its_round_out_or_is_only_told(tmp_path: Path, name: MarkName) -> None:
    """The list of those that do stands here a second time on purpose."""
    keeps_out = name in ("host_bound", "throttled", "contended", "emulation_not_binding")

    def marked(record: Record) -> Record:
        mark = Mark(name=name, leg="full", detail="as a test says")
        return record.model_copy(update={"marks": (mark,)})

    analysis = _analysis(tmp_path, _only(SLOW, 4, marked))
    assert analysis.primary[0].rounds == ((1, 2, 3, 5) if keeps_out else (1, 2, 3, 4, 5))
    line, *values = (gap for gap in analysis.gaps if "as a test says" in str(gap))
    assert line.kind == ("record" if keeps_out else "mark")
    doubtful = name == "energy_doubtful"
    assert [gap.kind for gap in values] == ["value"] * doubtful


@pytest.mark.parametrize("name", get_args(MarkName))
def test_a_doubt_about_energy_takes_the_energy_alone(tmp_path: Path, name: MarkName) -> None:
    def marked(record: Record) -> Record:
        mark = Mark(name=name, leg="full", detail="as a test says")
        return record.model_copy(update={"marks": (mark,)})

    cells = _analysis(tmp_path, _only(FAST, 4, marked)).cells
    (cell,) = (c for c in cells if _of_platform(c, FAST) and c.record.id.round == 4)
    assert Quantity("throughput_samples_per_s") in cell.derived.values
    for metric in ("energy_j_per_sample", "energy_efficiency_samples_per_wh", "mean_power_w"):
        found = cell.derived.absent.get(Quantity(metric))
        doubt = "two ways to read the energy disagree (as a test says)"
        assert found == (doubt if name == "energy_doubtful" else None)


def test_where_no_round_compares_the_verdict_says_why(tmp_path: Path) -> None:
    analysis = _analysis(tmp_path, lambda r: _other_loss(r) if r.id.platform == SLOW else r)
    reason = analysis.primary[0].why_none
    assert reason is not None and "golden-slow are not comparable: loss: " in reason


def test_a_round_with_other_software_on_all_platforms_is_not_pooled(tmp_path: Path) -> None:
    analysis = _analysis(tmp_path, lambda r: _other_torch(r) if r.id.round == 2 else r)
    assert all(verdict.rounds == (1, 3, 4, 5) for verdict in analysis.primary)
    assert "not comparable with round 1: software.runtime.torch: 2.12.0 and 2.13.0" in _reasons(
        analysis
    )


def test_a_platform_does_not_pool_a_round_with_other_software(tmp_path: Path) -> None:
    analysis = _analysis(tmp_path, _only(SLOW, 4, _other_torch))
    used = [c.record.id.round for c in analysis.cells if _of_platform(c, SLOW) and not c.refusals]
    assert used == [1, 2, 3, 5]
    reason = "golden-slow, bert-golden, round 4: not used, not comparable with round 1: "
    assert reason + "software.runtime.torch: 2.12.0 and 2.13.0" in _reasons(analysis)


def _of_platform(cell: Cell, platform: str) -> bool:
    return cell.record.id.platform == platform


def test_an_edited_record_is_a_gap(tmp_path: Path) -> None:
    layout = write_campaign(tmp_path)
    path = layout.record_path(CAMPAIGN, FAST, "training", CASE, 1)
    edited = json.loads(path.read_text())
    edited["machine"]["cpu_count"] = 64
    path.write_text(json.dumps(edited))
    write_index(layout, CAMPAIGN)
    analysis = analyse_campaign(layout, CAMPAIGN, 0.95)
    assert f"{FAST}, {CASE}, round 1: invalid: " in _reasons(analysis)
    assert analysis.primary[0].rounds == (2, 3, 4, 5)


@pytest.mark.parametrize("value", [0.0, -1.0, 1e308, 1e18, 1e-60, 5e-324])
@pytest.mark.parametrize("rounds", [(1,), (1, 2, 3, 4, 5)])
@pytest.mark.parametrize("metric", ["step_time_s", "energy_j", "peak_memory_bytes", "loss"])
def test_a_sealed_record_of_absurd_numbers_is_a_gap(
    tmp_path: Path, metric: str, rounds: tuple[int, ...], value: float
) -> None:
    def absurd(record: Record) -> Record:
        if record.id.round not in rounds or record.id.platform != FAST:
            return record
        series = tuple(
            s.model_copy(update={"values": (value,) * len(s.values)}) if s.metric == metric else s
            for s in record.series
        )
        return record.model_copy(update={"series": series})

    analysis = _analysis(tmp_path, absurd)
    assert not Tables(analysis).ratios.empty
    assert all(sentence(verdict, analysis.names) for verdict in analysis.verdicts)
    if value in (1e308, 5e-324):
        told = "round 1" if len(rounds) == 1 else "rounds 1 to 5"
        assert f"{FAST}, {CASE}, {told}: invalid: series." in _reasons(analysis)


def test_a_record_measured_otherwise_than_planned_is_refused(tmp_path: Path) -> None:
    layout = write_campaign(tmp_path)
    edited = json.loads(layout.plan_path(CAMPAIGN).read_text())
    edited["suites"][0]["cases"][CASE]["batch_per_gpu"] = 8
    layout.plan_path(CAMPAIGN).write_text(json.dumps(edited))
    write_index(layout, CAMPAIGN)
    analysis = analyse_campaign(layout, CAMPAIGN, 0.95)
    assert analysis.primary[0].ratio is None
    assert (
        f"{FAST}, {CASE}, rounds 1 to 5: not used, for instance round 1 measured otherwise than "
        "the plan says: case.batch_per_gpu: 4 and 8"
    ) in _reasons(analysis)
    assert "still used" not in _reasons(analysis)


def test_one_round_has_no_interval_and_no_winner(tmp_path: Path) -> None:
    analysis = _analysis(tmp_path, lambda r: r, rounds=1)
    words = sentence(analysis.primary[0], analysis.names)
    assert words.endswith("cannot tell with 1 round, one round has no interval; ratio 2.000.")
    assert analysis.primary[0].ratio is not None
    row = Tables(analysis).ratios.iloc[0]
    assert row["n"] == 1 and row["ratio"] == pytest.approx(2)
    assert row[["winner", "effect_percent", "effect_low_percent"]].isna().all()


def test_undecided_names_the_rounds_needed(tmp_path: Path) -> None:
    analysis = _analysis(tmp_path, _only(AGAIN, 1, _a_little_slower))
    control = analysis.primary[1]
    comparison = control.comparison.model_copy(update={"control": False})
    undecided = replace(control, comparison=comparison)
    words = sentence(undecided, analysis.names)
    assert (
        "cannot tell with 5 rounds, more would be needed than are worth measuring; ratio 1.0"
    ) in words
    assert "the same" not in words
    # mean of the logarithms 0.1, deviation 0.2: as 0.05 and 0.1 in test_stats_paired.py
    a = [math.exp(0.1 + 0.2 * place) for place in (-1, 0, 1)]
    near = replace(undecided, ratio=paired_ratio(a, [1.0] * 3, confidence=0.95))
    words = sentence(near, analysis.names)
    assert words.endswith("about 18 would be needed; ratio 1.105 (0.6724 to 1.816).")
    assert "the same" not in words


@pytest.mark.parametrize(
    ("comm_ms", "rounds", "means"),
    [
        (150, 5, "does not lie below 0, so that rounds below it are no more than the noise of two"),
        (40, 5, "lies below 0, so that it is more than noise"),
        (40, 1, "so that the noise of two legs timed one after the other (full − packed)"),
    ],
)
def test_overlap_below_zero_is_explained(
    tmp_path: Path, comm_ms: int, rounds: int, means: str
) -> None:
    def change(record: Record) -> Record:
        if record.id.platform != SLOW:
            return record
        others = tuple(s for s in record.series if s.leg != "comm")
        return record.model_copy(update={"series": (*others, *steps({"comm": comm_ms}))}).sealed()

    write_campaign(tmp_path, change, rounds)
    note = exposed_note(open_page(tmp_path, CAMPAIGN, 0.95)).markup
    told = [line for line in note.split("<li>") if "slow link, emulated, bert-golden: mean" in line]
    assert len(told) == 1 and means in told[0]
    mean = {150: "26.1 %", 40: "−177.0 %"}[comm_ms] if rounds == 5 else "−170.0 %"
    assert f"mean overlap {mean}" in told[0]


def _a_little_slower(record: Record) -> Record:
    series = tuple(
        s.model_copy(update={"values": tuple(1.02 * v for v in s.values)})
        if s.leg == "full" and s.metric == "step_time_s"
        else s
        for s in record.series
    )
    return record.model_copy(update={"series": series})


def test_without_a_control_the_noise_floor_is_said_to_be_unknown(tmp_path: Path) -> None:
    analysis = _analysis(tmp_path, lambda r: None if r.id.platform == AGAIN else r)
    assert noise_text(analysis.primary[0]).startswith(
        "Noise floor: unknown, A/A control: no round has"
    )


def test_the_noise_floor_of_a_leg_gives_the_reason_of_throughput(tmp_path: Path) -> None:
    analysis = _analysis(tmp_path, lambda r: None if r.id.platform == AGAIN else r)
    floors = {noise_text(v) for v in analysis.verdicts if v.comparison.b == SLOW}
    assert floors == {noise_text(analysis.primary[0])}
    assert Quantity("step_time_s", "comm") in {v.quantity for v in analysis.verdicts if not v.n}


def test_a_control_of_one_round_gives_no_floor_and_its_card_says_the_same(tmp_path: Path) -> None:
    def change(record: Record) -> Record | None:
        return None if record.id.platform == AGAIN and record.id.round > 1 else record

    verdict, control = _analysis(tmp_path, change).primary
    assert verdict.noise_floor is None
    assert noise_text(verdict) == "Noise floor: unknown, A/A control: one round has no interval."
    assert noise_text(control).endswith("noise floor unknown, one round has no interval.")


def test_rounds_without_spread_cannot_tell(tmp_path: Path) -> None:
    analysis = _analysis(tmp_path, lambda r: r)
    (verdict,) = (
        v
        for v in analysis.verdicts
        if v.quantity == Quantity("step_time_s", "comm") and v.comparison.b == SLOW
    )
    assert verdict.ratio is not None and verdict.ratio.centre == pytest.approx(40 / 150)
    assert verdict.winner is None
    assert sentence(verdict, analysis.names).endswith(
        "cannot tell with 5 rounds, the rounds show no spread, so no interval can be trusted; "
        "ratio 0.2667."
    )


def test_a_step_time_of_zero_is_absent_with_its_reason(tmp_path: Path) -> None:
    def stopped(record: Record) -> Record:
        series = tuple(
            s.model_copy(update={"values": (0.0,) * len(s.values)}) if s.leg == "comm" else s
            for s in record.series
        )
        return record.model_copy(update={"series": series})

    analysis = _analysis(tmp_path, _only(SLOW, 4, stopped))
    assert "leg comm has a step time that is not above zero" in _reasons(analysis)
    assert analysis.primary[0].rounds == (1, 2, 3, 4, 5)


def test_marks_of_several_rounds_are_one_line_with_one_example(tmp_path: Path) -> None:
    def marked(record: Record) -> Record:
        if record.id.platform != SLOW or record.id.round not in (2, 4, 5):
            return record
        detail = f"drifted by {record.id.round} %"
        marks = (Mark(name="warmup_not_settled", leg="full", detail=detail),)
        return record.model_copy(update={"marks": marks})

    own = [str(gap) for gap in _analysis(tmp_path, marked).gaps if gap.kind == "mark"]
    place = f"{SLOW}, {CASE}, rounds 2, 4, 5, leg full"
    assert own == [f"{place}: warmup not settled: for instance round 2, drifted by 2 %"]


def test_no_records_at_all(tmp_path: Path) -> None:
    analysis = _analysis(tmp_path, lambda r: None)
    assert all(verdict.ratio is None for verdict in analysis.verdicts)
    assert "no verdict, no round has a usable record" in sentence(
        analysis.primary[0], analysis.names
    )
    missing = [gap for gap in analysis.gaps if gap.kind == "missing"]
    assert [gap.records for gap in missing] == [5, 5, 5]
    assert str(missing[0]) == f"{FAST}, {CASE}, rounds 1 to 5: missing: no record"


def test_a_percentage_of_a_record_stands_as_everywhere_else(tmp_path: Path) -> None:
    def marked(record: Record) -> Record:
        mark = Mark(name="warmup_not_settled", detail="above 10% of 4 % 100%")
        return record.model_copy(update={"marks": (mark,)})

    own = [gap for gap in _analysis(tmp_path, marked).gaps if gap.kind == "mark"]
    assert own and {gap.suite for gap in own} == {"training"}
    assert all("above 10 % of 4 % 100 %" in str(gap) for gap in own)


def test_a_malformed_plan_is_a_problem_not_a_stop(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    write_atomically(layout.plan_path(CAMPAIGN), "{")
    write_index(layout, CAMPAIGN)
    analysis = analyse_campaign(layout, CAMPAIGN, 0.95)
    assert analysis.verdicts == ()
    assert [gap.kind for gap in analysis.gaps] == ["problem"]


def test_a_campaign_without_index_says_what_to_run(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    write_atomically(layout.plan_path(CAMPAIGN), model_text(plan()))
    with pytest.raises(PlanError, match="commwall index golden"):
        analyse_campaign(layout, CAMPAIGN, 0.95)


def test_a_record_that_has_gone_since_the_index_is_named(tmp_path: Path) -> None:
    layout = write_campaign(tmp_path)
    layout.record_path(CAMPAIGN, FAST, "training", CASE, 3).unlink()
    with pytest.raises(EvidenceMissing, match=r"lists r03\.json, which is not there"):
        analyse_campaign(layout, CAMPAIGN, 0.95)
