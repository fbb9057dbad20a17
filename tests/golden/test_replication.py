"""A published golden campaign, measured again: what counts, what is inside, what is refused."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commwall.analysis.quantities import PRIMARY
from commwall.analysis.replication.judging import Replication, judge_replication
from commwall.analysis.replication.predicting import NO_SPREAD, predict
from commwall.analysis.result import analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.derived import Derived
from commwall.cli.main import main
from commwall.records.bundle import collect, write_bundle
from commwall.records.layout import Layout
from commwall.records.predictions import PredictionError, basis, read_predictions, write_predictions
from commwall.records.store import read_plan, write_record
from commwall.report.page import open_page
from commwall.report.replication import section
from commwall.schema.base import digest
from commwall.schema.errors import PlanError
from commwall.schema.record import Record
from tests.golden.build import AGAIN, CAMPAIGN, CASE, FAST, SLOW, record, write_campaign
from tests.golden.replica import OWN, Change, looked_at, publish, replicate


@pytest.fixture
def published(tmp_path: Path) -> Layout:
    return publish(tmp_path)


def judged(layout: Layout) -> Replication:
    found = analyse_campaign(layout, OWN, 0.95).replication
    assert found is not None
    return found


def slower(made: Record) -> Record:
    """Twice the time of every step on the slow link."""
    if made.id.platform != SLOW:
        return made
    doubled = tuple(
        s.model_copy(update={"values": tuple(2 * v for v in s.values)})
        if s.metric == "step_time_s"
        else s
        for s in made.series
    )
    return made.model_copy(update={"series": doubled})


def other_protocol(made: Record) -> Record:
    return made.model_copy(update={"protocol": made.protocol.model_copy(update={"version": "2"})})


def other_torch(made: Record) -> Record:
    assert made.software.runtime is not None
    runtime = made.software.runtime.model_copy(update={"torch": "9.0"})
    return made.model_copy(
        update={"software": made.software.model_copy(update={"runtime": runtime})}
    )


def other_python(made: Record) -> Record:
    software = made.software.model_copy(update={"python": "3.12.1"})
    return made.model_copy(update={"software": software})


def test_predictions_by_hand(published: Layout) -> None:
    predictions = read_predictions(published, CAMPAIGN)
    by_sides = {(item.cell.a, item.cell.b): item for item in predictions.predicted}
    assert set(by_sides) == {(FAST, SLOW), (FAST, None), (SLOW, None)}
    ratio = by_sides[FAST, SLOW]
    assert (ratio.cell.metric, ratio.rounds) == ("throughput_samples_per_s", (1, 2, 3, 4, 5))
    assert ratio.centre == pytest.approx(2)
    # ln 1.25 / sqrt(2) = 0.15779; 2.7764 x 0.15779 x sqrt(1/5 + 1/2) = 0.36653
    assert ratio.bounds[1].low == pytest.approx(2 * math.exp(-0.36653), rel=1e-4)
    assert ratio.bounds[1].high == pytest.approx(2 * math.exp(0.36653), rel=1e-4)
    # four rounds of 80 and one of 80 / 1.02 samples per second
    assert by_sides[FAST, None].centre == pytest.approx(80 / 1.02**0.2)
    assert len(predictions.records) == 15
    reasons = {(item.cell.a, item.cell.b): item.reason for item in predictions.absent}
    assert reasons[FAST, None] == NO_SPREAD
    assert "no energy counter" in reasons[SLOW, None]


def test_the_same_again_is_inside(published: Layout) -> None:
    replicate(published)
    found = judged(published)
    assert [cell.outcome for cell in found.cells] == ["inside"] * 3
    assert (found.ratios.inside, found.ratios.outside, found.ratios.share) == (1, 0, 1.0)
    assert (found.values.inside, found.agrees, found.told) == (2, True, ())
    (ratio,) = [cell for cell in found.cells if cell.cell.b]
    assert (ratio.values, ratio.new) == (pytest.approx((2, 2)), pytest.approx(2))


def test_a_slower_link_is_outside_and_the_other_platform_is_not(published: Layout) -> None:
    replicate(published, slower)
    found = judged(published)
    outcomes = {(cell.cell.a, cell.cell.b): cell.outcome for cell in found.cells}
    assert outcomes[FAST, SLOW] == "outside"  # 4 is above 2.89
    assert (outcomes[FAST, None], outcomes[SLOW, None]) == ("inside", "outside")
    assert (found.ratios.share, found.agrees) == (0.0, False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (other_protocol, "protocol.version: 2 and 1"),
        (other_torch, "software.runtime.torch: 9.0 and 2.13.0"),
    ],
)
def test_what_must_agree_keeps_a_cell_from_counting(
    published: Layout, change: Change, words: str
) -> None:
    replicate(published, change)
    found = judged(published)
    assert {cell.outcome for cell in found.cells} == {"does not count"}
    assert words in (found.cells[0].reason or "")
    assert (found.ratios.uncounted, found.agrees) == (1, None)


def test_a_value_not_above_zero_leaves_no_value_to_judge_as_it_leaves_no_ratio(
    published: Layout,
) -> None:
    replicate(published)
    own, predictions = looked_at(published, OWN), read_predictions(published, CAMPAIGN)
    cells = [without_speed(cell) for cell in own.cells]
    found = judge_replication(predictions, basis(published, predictions), own.verdicts, cells)
    (fast,) = (each for each in found.cells if (each.cell.a, each.cell.b) == (FAST, None))
    assert (fast.outcome, fast.reason) == ("missing", f"{FAST} is not above zero in round 2")
    assert found.values.inside == 1


def test_a_value_not_above_zero_predicts_nothing(tmp_path: Path) -> None:
    own = looked_at(write_campaign(tmp_path), CAMPAIGN)
    found = predict(replace(own, cells=tuple(map(without_speed, own.cells))))
    reasons = {(each.cell.a, each.cell.b, each.cell.metric): each.reason for each in found.absent}
    assert reasons[FAST, None, PRIMARY.metric_id] == "not above zero in round 2"


def without_speed(cell: Cell) -> Cell:
    """A cell of the fast link's round 2 as one that reached nothing."""
    place = cell.record.id
    nothing = replace(cell, derived=Derived({**cell.derived.values, PRIMARY: 0.0}))
    return nothing if (place.platform, place.round) == (FAST, 2) else cell


def test_what_may_differ_is_told(published: Layout) -> None:
    replicate(published, other_python)
    found = judged(published)
    assert found.agrees is True
    assert [str(each) for each in found.told] == ["software.python: 3.12.1 and 3.11.0"]


def test_the_table_has_every_cell_with_its_interval(published: Layout) -> None:
    replicate(published)
    table = Tables(analyse_campaign(published, OWN, 0.95)).replication
    assert list(table["outcome"]) == ["inside"] * 3
    row = table[table["b"].notna()].iloc[0]
    assert (row["mean"], row["rounds"], row["published_rounds"]) == (pytest.approx(2), 2, 5)
    assert row["low"] < 2 < row["high"]
    assert Tables(analyse_campaign(published, CAMPAIGN, 0.95)).replication.empty


def test_the_section_stands_on_a_replications_page_only(published: Layout) -> None:
    replicate(published)
    markup = section(open_page(published.root, OWN, 0.95)).markup
    assert "This replication agrees with golden: 1 of 1 ratios (100%)" in markup
    assert "1.3863 to 2.8854" in markup
    assert section(open_page(published.root, CAMPAIGN, 0.95)).markup == ""


def test_predictions_are_fixed_once(published: Layout) -> None:
    again = predict(looked_at(published, CAMPAIGN))
    with pytest.raises(PredictionError, match="fixed once"):
        write_predictions(published, again)


def test_edited_predictions_are_no_predictions(published: Layout) -> None:
    replicate(published)
    path = published.predictions_path(CAMPAIGN)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["predicted"][0]["bounds"][1]["high"] = 100.0
    path.write_text(json.dumps(content), encoding="utf-8")
    found = judged(published)
    assert found.problem is not None and "it was edited" in found.problem
    assert "No judgement" in section(open_page(published.root, OWN, 0.95)).markup


def confidence(content: dict[str, Any]) -> None:
    content["confidence"] = 99.0


def ends(content: dict[str, Any]) -> None:
    content["predicted"][0]["bounds"][0] = {"low": 9.0, "high": 1.0}


def no_ends(content: dict[str, Any]) -> None:
    content["predicted"][0]["bounds"] = []


def metric(content: dict[str, Any]) -> None:
    content["predicted"][0]["cell"]["metric"] = "<script>"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (confidence, "no probability below 1"),
        (ends, "9 is above 1"),
        (no_ends, "no interval"),
        (metric, "no metric of the registry"),
    ],
)
def test_predictions_that_mean_nothing_are_none_though_their_digest_is_right(
    published: Layout, change: Callable[[dict[str, Any]], None], found: str
) -> None:
    path = published.predictions_path(CAMPAIGN)
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    del content["digest"]
    path.write_text(json.dumps({**content, "digest": digest(content)}), encoding="utf-8")
    with pytest.raises(PredictionError, match="cannot be trusted") as error:
        read_predictions(published, CAMPAIGN)
    assert found in str(error.value)


def test_files_nested_too_deeply_are_no_crash(published: Layout) -> None:
    deep = "[" * 100_000
    published.predictions_path(CAMPAIGN).write_text(deep, encoding="utf-8")
    with pytest.raises(PredictionError, match="nested too deeply"):
        read_predictions(published, CAMPAIGN)
    published.plan_path(CAMPAIGN).write_text(deep, encoding="utf-8")
    with pytest.raises(PlanError, match="nested too deeply"):
        read_plan(published.plan_path(CAMPAIGN))


def test_predictions_made_after_the_replication_was_planned_do_not_count(
    published: Layout,
) -> None:
    replicate(published, digest="0" * 64)
    assert "not those that stood" in (judged(published).problem or "")


def test_another_published_record_is_noticed(published: Layout) -> None:
    replicate(published)
    write_record(published, slower(record(SLOW, 1)))
    assert "rest on another record" in (judged(published).problem or "")


def test_one_round_predicts_nothing(tmp_path: Path) -> None:
    layout = write_campaign(tmp_path, rounds=1)
    with pytest.raises(PredictionError, match="predicts nothing") as told:
        predict(looked_at(layout, CAMPAIGN))
    assert NO_SPREAD in str(told.value)


def test_a_campaign_with_gaps_predicts_nothing_yet(tmp_path: Path) -> None:
    layout = write_campaign(tmp_path, lambda r: None if r.id.round == 5 else r)
    with pytest.raises(PredictionError, match="once all of it is measured") as told:
        predict(looked_at(layout, CAMPAIGN))
    assert "3 of 15 records are missing" in str(told.value)


# The verbs ------------------------------------------------------------------------------------


def verb(layout: Layout, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.chdir(layout.root)
    return main(list(words))


def test_the_verb_counts_and_tells_by_its_exit_code(
    published: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replicate(published)
    assert verb(published, monkeypatch, "replicate", "--judge", OWN, CAMPAIGN) == 0
    said = capsys.readouterr().out
    assert "Ratios: 1 inside, 0 outside." in said
    assert "Absolute values: 2 inside, 0 outside." in said
    assert "inside          bert-golden, throughput, golden-fast / golden-slow: 2.0000" in said
    assert "What must agree: id.suite" in said and "nothing does" in said
    replicate(published, slower)
    assert verb(published, monkeypatch, "replicate", CAMPAIGN, "--judge", OWN) == 3
    assert "does not agree with golden: 0 of 1 ratios" in capsys.readouterr().out


def test_a_replication_that_is_not_measured_yet_is_owed(
    published: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replicate(published)
    for path in published.records_dir(OWN).rglob("r*.json"):
        path.unlink()
    assert verb(published, monkeypatch, "replicate", CAMPAIGN, "--judge", OWN) == 1
    said = capsys.readouterr().out
    assert "does not yet judge golden" in said
    assert "Records of golden-replica are missing: 4." in said


def test_what_cannot_be_judged_is_refused(
    published: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*words: str) -> str:
        assert verb(published, monkeypatch, "replicate", *words) == 2
        return capsys.readouterr().err

    assert "there is no such campaign" in refused("goldn")
    assert "golden (nearest)" in refused("goldn")
    assert "golden is no replication of golden" in refused(CAMPAIGN, "--judge", CAMPAIGN)
    replicate(published, other_protocol)
    told = refused(CAMPAIGN, "--judge", OWN)
    assert "nothing of golden-replica counts as a replication of golden" in told
    assert "protocol.version: 2 and 1" in told
    assert "on a machine of its kind only" in refused(CAMPAIGN)
    published.predictions_path(CAMPAIGN).unlink()
    assert "has no predictions to be replicated by" in refused(CAMPAIGN, "--judge", OWN)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("replicate", CAMPAIGN, "--name", "No Name"), "'No Name' is no name"),
        (("replicate", CAMPAIGN, "--rounds", "0"), "invalid choice: 0"),
        (("measure", CAMPAIGN, "training", "--within", "-1"), "'-1' is no time above zero"),
        (("measure", CAMPAIGN, "training", "--within", "nan"), "'nan' is no time above zero"),
    ],
)
def test_words_that_are_no_values_are_told(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    assert stopped.value.code == 2
    assert told in capsys.readouterr().err


def test_the_verb_fixes_and_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = write_campaign(tmp_path)
    assert verb(layout, monkeypatch, "predict", CAMPAIGN) == 0
    said = capsys.readouterr().out
    assert "1 ratios and 2 values, from 15 records" in said and NO_SPREAD in said
    assert verb(layout, monkeypatch, "predict", CAMPAIGN) == 2
    assert "fixed once" in capsys.readouterr().err


def test_predictions_travel_and_are_not_replaced_by_others(
    published: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Layout(published.root / "elsewhere")
    here.root.mkdir()
    bundle = published.root / "b.tar.gz"
    write_bundle(bundle, CAMPAIGN, collect(published, CAMPAIGN)[0])
    assert verb(here, monkeypatch, "import", str(bundle)) == 0
    assert read_predictions(here, CAMPAIGN) == read_predictions(published, CAMPAIGN)
    gone = here.record_path(CAMPAIGN, AGAIN, "training", CASE, 5)
    gone.unlink()
    assert verb(here, monkeypatch, "import", str(bundle)) == 0
    assert gone.exists()
    others = read_predictions(here, CAMPAIGN).model_copy(update={"confidence": 0.99})
    here.predictions_path(CAMPAIGN).unlink()
    write_predictions(here, others)
    assert verb(here, monkeypatch, "import", str(bundle)) == 2
    assert "its predictions are others" in capsys.readouterr().err


def test_a_bundle_whose_predictions_rest_on_other_records_is_refused(
    published: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Layout(published.root / "elsewhere")
    here.root.mkdir()
    bundle = published.root / "b.tar.gz"
    files = collect(published, CAMPAIGN)[0]
    lost = f"records/{SLOW}/training/{CASE}/r03.json"
    write_bundle(bundle, CAMPAIGN, {n: c for n, c in files.items() if n != lost})
    assert verb(here, monkeypatch, "import", str(bundle)) == 2
    assert "rest on another record" in capsys.readouterr().err
    assert not here.campaign_dir(CAMPAIGN).exists()
