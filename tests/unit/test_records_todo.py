"""What is owed: one judge for all."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commwall.cli.main import main
from commwall.records.files import write_atomically
from commwall.records.index import build_index
from commwall.records.layout import Layout
from commwall.records.state import Attempt, write_attempt, write_state
from commwall.records.store import write_record
from commwall.records.todo import Due, examine, todo
from commwall.schema.plan import Plan
from commwall.schema.treatment import EmulatedLink
from tests import samples

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CASE = "bert-demo-b4"
EVERYTHING = (Due(round=1, cases=(CASE,)), Due(round=2, cases=(CASE,)))


@pytest.fixture
def plan() -> Plan:
    return samples.plan()


@pytest.fixture
def layout(tmp_path: Path, plan: Plan) -> Layout:
    """A campaign with all its records."""
    names = [platform.name for platform in plan.platforms]
    records = [samples.record(plan, name, round_) for name in names for round_ in (1, 2)]
    return samples.write_campaign(tmp_path, plan, records)


def owed(layout: Layout, plan: Plan, key: str = samples.KEY) -> tuple[Due, ...]:
    return todo(plan, "training", examine(layout, plan, "training", key))


def standing(layout: Layout, plan: Plan, key: str | None = samples.KEY) -> dict[str, int]:
    found = [finding.standing for finding in examine(layout, plan, "training", key)]
    return {word: found.count(word) for word in sorted(set(found))}


def path_of(layout: Layout, platform: str = "slow", round_: int = 2) -> Path:
    return layout.record_path("golden", platform, "training", CASE, round_)


def test_all_records_present_owes_nothing(layout: Layout, plan: Plan) -> None:
    assert owed(layout, plan) == ()
    assert standing(layout, plan) == {"fresh": 6}


def test_an_empty_campaign_owes_everything(tmp_path: Path, plan: Plan) -> None:
    assert owed(Layout(tmp_path), plan) == EVERYTHING


def test_one_missing_record_makes_its_case_due_in_that_round_only(
    layout: Layout, plan: Plan
) -> None:
    path_of(layout).unlink()
    assert owed(layout, plan) == (Due(round=2, cases=(CASE,)),)


def test_a_truncated_record_is_invalid_and_due(layout: Layout, plan: Plan) -> None:
    path_of(layout).write_text("{")
    assert standing(layout, plan) == {"fresh": 5, "invalid": 1}
    assert owed(layout, plan) == (Due(round=2, cases=(CASE,)),)


def test_a_withdrawn_record_is_due_and_its_reason_kept(layout: Layout, plan: Plan) -> None:
    digest = json.loads(path_of(layout).read_text())["digest"]
    withdrawal = {"withdrawn": [{"digest": digest, "reason": "a backup ran beside it"}]}
    write_atomically(layout.withdrawn_path("golden"), json.dumps(withdrawal))
    findings = examine(layout, plan, "training", samples.KEY)
    assert [f.reason for f in findings if f.standing == "withdrawn"] == ["a backup ran beside it"]
    assert owed(layout, plan) == (Due(round=2, cases=(CASE,)),)


def test_records_of_one_round_measured_apart_are_no_round(layout: Layout, plan: Plan) -> None:
    write_record(layout, samples.record(plan, "slow", 2, round_id="later"))
    assert standing(layout, plan) == {"fresh": 6}
    assert owed(layout, plan) == (Due(round=2, cases=(CASE,)),)


def test_another_key_makes_all_stale(layout: Layout, plan: Plan) -> None:
    assert standing(layout, plan, key="training-2-0123") == {"stale": 6}
    assert owed(layout, plan, key="training-2-0123") == EVERYTHING


def test_a_changed_treatment_is_stale_a_changed_label_is_not(layout: Layout, plan: Plan) -> None:
    def with_link(**update: object) -> Plan:
        slow = plan.platform("slow")
        assert isinstance(slow.treatment, EmulatedLink)
        link = slow.treatment.model_copy(update=update)
        changed = slow.model_copy(update={"treatment": link})
        others = tuple(changed if p.name == "slow" else p for p in plan.platforms)
        return plan.model_copy(update={"platforms": others})

    assert standing(layout, with_link(bandwidth_bytes_per_s=1e6)) == {"fresh": 4, "stale": 2}
    label = plan.platform("slow").treatment.label.model_copy(update={"title": "emulated, slower"})
    assert standing(layout, with_link(label=label)) == {"fresh": 6}


def test_a_record_of_another_kind_of_machine_is_invalid(layout: Layout, plan: Plan) -> None:
    foreign = samples.record(plan.model_copy(update={"fingerprint": "0" * 64}), "slow", 2)
    write_record(layout, foreign)
    assert standing(layout, plan) == {"fresh": 5, "invalid": 1}


def test_another_machine_s_campaign_is_read_but_not_owed(layout: Layout, plan: Plan) -> None:
    path_of(layout).unlink()
    assert standing(layout, plan, key=None) == {"missing": 1, "valid": 5}
    assert write_state(layout, plan, "training", None, NOW).due == ()
    index = build_index(layout, "golden")
    assert not index.mine and not index.owed and len(index.gaps) == 1


def test_state_is_written_only_if_it_differs(layout: Layout, plan: Plan) -> None:
    path = layout.state_path("golden", "training")
    write_state(layout, plan, "training", samples.KEY, NOW)
    before = path.stat().st_mtime_ns
    write_state(layout, plan, "training", samples.KEY, NOW.replace(year=2027))
    assert path.stat().st_mtime_ns == before
    path_of(layout).unlink()
    write_state(layout, plan, "training", samples.KEY)
    assert path.stat().st_mtime_ns > before


def test_unfinished_work_is_never_settled(layout: Layout, plan: Plan) -> None:
    path_of(layout).unlink()
    first = write_state(layout, plan, "training", samples.KEY, NOW)
    second = write_state(layout, plan, "training", samples.KEY, NOW.replace(year=2027))
    assert first.looked_at != second.looked_at


def test_a_new_record_changes_the_state(layout: Layout, plan: Plan) -> None:
    before = write_state(layout, plan, "training", samples.KEY)
    for platform in plan.platforms:
        write_record(layout, samples.record(plan, platform.name, 2, round_id="again"))
    assert write_state(layout, plan, "training", samples.KEY) != before


def refuse(layout: Layout, why: str) -> None:
    """Leave what the measuring verb leaves when it measures nothing."""
    attempt = Attempt(
        campaign="golden",
        suite="training",
        started_at=NOW,
        ended_at=NOW,
        measured=0,
        refused=why,
    )
    write_attempt(layout.attempt_path("golden", "training"), attempt)


def test_the_index_tells_what_is_owed_and_what_happened(layout: Layout, plan: Plan) -> None:
    path_of(layout).unlink()
    write_state(layout, plan, "training", samples.KEY, NOW)
    refuse(layout, "no space")
    index = build_index(layout, "golden")
    assert index.mine and index.owed
    assert index.due["training"] == (Due(round=2, cases=(CASE,)),)
    assert index.problems == ("no space",)


def test_who_is_refused_is_not_told_to_run_again_and_no_more(
    layout: Layout, plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path_of(layout).unlink()
    write_state(layout, plan, "training", samples.KEY, NOW)
    monkeypatch.chdir(layout.root)
    assert main(["check", "golden"]) == 1
    assert "next      run `make report" in capsys.readouterr().out
    refuse(layout, "campaign golden belongs to another kind of machine")
    assert main(["check", "golden"]) == 1
    told = capsys.readouterr().out
    assert "problem   campaign golden belongs to another kind" in told
    assert "next      see to the problem above, then run" in told


def test_a_malformed_plan_is_a_problem_not_a_stop(layout: Layout) -> None:
    layout.plan_path("golden").write_text("{")
    index = build_index(layout, "golden")
    assert "results/golden/plan.json" in index.problems[0]
    assert not index.mine and not index.owed


@pytest.mark.parametrize("name", ["plan.json", "withdrawn.json"])
@pytest.mark.parametrize("verb", ["index", "check", "compare"])
def test_who_names_a_campaign_that_cannot_be_read_is_refused_the_workflow_is_not(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, verb: str, name: str
) -> None:
    monkeypatch.chdir(layout.root)
    write_atomically(layout.campaign_dir("golden") / name, "{")
    assert main(["index"]) == 0, "nobody has named it"
    assert main([verb, "golden"]) == 2
    if verb != "compare":
        assert main([verb, "golden", "--parent", str(os.getppid())]) == 0


def test_a_withdrawal_that_no_record_has_is_told(layout: Layout) -> None:
    path = layout.withdrawn_path("golden")
    digest = json.loads(path_of(layout).read_text())["digest"]
    for listed, told in ((digest, False), ("0" * 64, True)):
        content = {"withdrawn": [{"digest": listed, "reason": "a loose cable"}]}
        write_atomically(path, json.dumps(content))
        index = build_index(layout, "golden")
        assert any("a loose cable" in note for note in index.notes) == told
        assert not any("a loose cable" in problem for problem in index.problems), (
            "what was measured anew keeps its withdrawal"
        )
    write_atomically(path, json.dumps({"withdrawn": [{"digest": digest[:12], "reason": "short"}]}))
    assert build_index(layout, "golden").unreadable


def test_this_machines_own_plan_unreadable_is_owed_until_it_is_restored(
    layout: Layout, plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_state(layout, plan, "training", samples.KEY, NOW)
    layout.plan_path("golden").write_text("{")
    index = build_index(layout, "golden")
    assert index.mine and index.unknown and index.owed
    monkeypatch.chdir(layout.root)
    assert main(["check", "golden"]) == 1
    assert "restore the plan" in capsys.readouterr().out


def test_a_damaged_attempt_file_hides_neither_records_nor_what_is_owed(
    layout: Layout, plan: Plan
) -> None:
    path_of(layout).unlink()
    write_state(layout, plan, "training", samples.KEY, NOW)
    write_atomically(layout.attempt_path("golden", "training"), "{")
    index = build_index(layout, "golden")
    assert index.mine and index.owed and len(index.findings) == 6
    assert "training.json" in index.problems[0]


def test_a_campaign_nobody_looked_at_says_so(layout: Layout) -> None:
    index = build_index(layout, "golden")
    assert not index.mine and not index.owed
    assert "has not looked" in index.problems[0]


def test_what_is_missing_of_a_campaign_nobody_looked_at_may_be_owed(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path_of(layout).unlink()
    monkeypatch.chdir(layout.root)
    assert main(["check", "golden"]) == 1
    told = capsys.readouterr().out
    assert "5 of 6 records" in told and "so does `make report`" in told
    assert "what this machine owes cannot be told; see the problem above" in told
    write_atomically(layout.origin_path("golden"), "{}")
    assert main(["check", "golden"]) == 0, "of what was measured elsewhere nothing is owed here"
    assert "problem" not in capsys.readouterr().out


def test_a_folder_that_is_no_campaign_s_name_is_left_alone(layout: Layout) -> None:
    for name in ("golden (copy)", "$(touch x)"):
        write_atomically(layout.root / "results" / name / "plan.json", "{}")
    assert layout.campaigns() == ("golden",)
