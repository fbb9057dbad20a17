"""One golden campaign against another: what became slower, what is not comparable or told."""

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from commwall.analysis.changes.judging import compare_campaigns
from commwall.analysis.changes.words import noise_text
from commwall.analysis.quantities import PRIMARY
from commwall.cli.main import main
from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.records.texts import model_text
from commwall.schema.case import TrainingCase
from commwall.schema.change import CampaignChange, ChangedCell
from commwall.schema.plan import Plan
from tests.golden import mitigations, splits
from tests.golden.build import CAMPAIGN, CASE, FAST, SLOW, plan
from tests.golden.replica import looked_at
from tests.golden.update import AFTER, Change, Planned, renamed_case, same, timed, updated, write


def changed(layout: Layout, tolerance: float = 0.03) -> CampaignChange:
    sides = (looked_at(layout, name) for name in (CAMPAIGN, AFTER))
    return compare_campaigns(*sides, tolerance)


def cell(change: CampaignChange, a: str, b: str | None = None) -> ChangedCell:
    return next(each for each in change.cells if (each.a, each.b) == (a, b))


def exit_code(root: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.chdir(root)
    return main(["compare", CAMPAIGN, AFTER, *words])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, CAMPAIGN)
    return tmp_path


def test_the_same_values_cannot_tell_and_pass(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = changed(write(root, AFTER))
    assert {each.outcome for each in found.cells} == {"cannot tell"}
    assert [each.change for each in found.cells] == [pytest.approx(1.0)] * 3
    assert found.told == ()
    assert exit_code(root, monkeypatch) == 0
    shown = capsys.readouterr().out
    assert (
        "none of 2 values is shown to be slower by more than 3.0 %; 1 leaves that open "
        "(2 cannot tell)" in shown
    )
    assert "nothing that records tell" in shown


def test_longer_steps_are_slower_by_the_reciprocal(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fast = cell(changed(write(root, AFTER, timed(1.1))), FAST)
    assert fast.outcome == "slower"
    assert fast.change == pytest.approx(1 / 1.1)
    assert fast.beyond_tolerance
    assert exit_code(root, monkeypatch) == 1
    assert exit_code(root, monkeypatch, "--tolerance", "9%") == 1
    assert exit_code(root, monkeypatch, "--tolerance", "9.1 %") == 0  # 1 - 1 / 1.1 is 9.09 %
    assert "slower" in capsys.readouterr().out


def test_what_the_rounds_leave_open_is_told_and_fails_a_strict_gate(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A point loss of a fifth whose interval reaches from none to half."""
    factors = (1.0, 1.6, 1.05, 1.9, 1.0)
    found = changed(write(root, AFTER, lambda made: timed(factors[made.id.round - 1])(made)))
    fast = cell(found, FAST)
    assert (fast.outcome, fast.left_open) == ("cannot tell", True)
    assert fast.change is not None and fast.change < 0.85
    assert exit_code(root, monkeypatch) == 0
    shown = capsys.readouterr().out
    assert (
        "none of 2 values is shown to be slower by more than 3.0 %; 2 leave that open "
        "(2 cannot tell)" in shown
    )
    assert "? cannot tell" in shown
    assert exit_code(root, monkeypatch, "--strict") == 1
    assert exit_code(root, monkeypatch, "--strict", "--tolerance", "60%") == 0
    shown = capsys.readouterr().out
    assert "none of 2 values is slower by more than 60.0 % (2 cannot tell)" in shown


def test_a_strict_gate_wants_every_value(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = write(root, AFTER)
    assert exit_code(root, monkeypatch, "--strict", "--tolerance", "60%") == 0
    for path in layout.records_dir(AFTER).glob(f"{FAST}/**/*.json"):
        path.write_text("{}")
    assert exit_code(root, monkeypatch, "--tolerance", "60%") == 0
    assert exit_code(root, monkeypatch, "--strict", "--tolerance", "60%") == 1


def test_a_round_that_is_not_above_zero_refuses_the_value(root: Path) -> None:
    write(root, AFTER)
    layout = Layout(root)
    before, after = (looked_at(layout, name) for name in (CAMPAIGN, AFTER))
    first, *others = after.cells
    values = dict.fromkeys(first.derived.values, 0.0)
    nothing = replace(first, derived=replace(first.derived, values=values))
    found = compare_campaigns(before, replace(after, cells=(nothing, *others)), 0.03)
    where = first.record.id
    own = cell(found, where.platform)
    assert own.outcome == "missing"
    assert own.reason == (
        f"{AFTER}: {where.platform} is not above zero in round {where.round}: no ratio"
    )


@pytest.mark.parametrize(("change", "above"), [(0.9, True), (0.91, False), (1.1, False)])
def test_a_change_is_held_against_the_noise_floor_in_logarithms(change: float, above: bool) -> None:
    """A floor of 10.5 % reaches down to 1 / 1.105 = 0.905."""
    told = ChangedCell(
        suite="training", case=CASE, metric=PRIMARY.metric_id, a=FAST, unit="sample/s",
        outcome="faster" if change > 1 else "slower", change=change, noise_floor_before=0.105,
    )  # fmt: skip
    assert ("is not above it" in noise_text(told)) != above


def test_shorter_steps_are_faster_and_pass(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = changed(write(root, AFTER, timed(0.8)))
    assert cell(found, FAST).outcome == "faster"
    assert cell(found, FAST).change == pytest.approx(1.25)
    assert exit_code(root, monkeypatch) == 0


def test_a_ratio_of_platforms_is_judged_apart(root: Path) -> None:
    """Both platforms twice as slow: values change, their ratio does not; one of them: both do."""
    both = changed(write(root, AFTER, timed(2.0)))
    assert cell(both, FAST).outcome == "slower"
    assert cell(both, FAST, SLOW).outcome == "cannot tell"
    one = changed(write(root, AFTER, timed(4.0, SLOW)))
    assert cell(one, FAST).outcome == "cannot tell"
    ratio = cell(one, FAST, SLOW)
    assert (ratio.outcome, ratio.change) == ("larger", pytest.approx(4.0))
    assert not ratio.beyond_tolerance


def test_what_differs_is_told_first(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = changed(write(root, AFTER, updated))
    assert [each.what for each in found.told] == ["driver", "NCCL", "boot"]
    assert found.told[0].before == ()
    exit_code(root, monkeypatch)
    shown = capsys.readouterr().out
    assert "driver: not told before, 610.43 after" in shown
    assert shown.index("driver:") < shown.index("values\n")


def test_the_noise_floors_of_both_stand_beside(root: Path) -> None:
    fast = cell(changed(write(root, AFTER)), FAST)
    assert fast.noise_floor_before == fast.noise_floor_after
    assert fast.noise_floor_before is not None
    assert 0.01 < fast.noise_floor_before < 0.05


def other_case(**update: object) -> Planned:
    """The plan with its case altered."""

    def change(own: Plan) -> Plan:
        suite = own.suites[0]
        asked = TrainingCase.model_validate({**suite.cases[CASE].model_dump(), **update})
        return own.model_copy(
            update={"suites": (suite.model_copy(update={"cases": {CASE: asked}}),)}
        )

    return change


def other_link(own: Plan) -> Plan:
    platforms = [
        p.model_copy(
            update={"treatment": p.treatment.model_copy(update={"latency_s": 1e-3})}
        )
        for p in own.platforms
    ]  # fmt: skip
    return own.model_copy(update={"platforms": tuple(platforms)})


def test_other_parameters_are_not_comparable_and_named(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = changed(write(root, AFTER, planned=other_case(batch_per_gpu=8)))
    assert {each.outcome for each in found.cells} == {"not comparable"}
    assert cell(found, FAST).reason == "case.batch_per_gpu: 4 and 8"
    assert exit_code(root, monkeypatch) == 3
    assert "nothing could be compared (2 not comparable)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "planned", "words"),
    [
        (same, other_link, "platform.treatment: "),
        (
            lambda r: r.model_copy(
                update={"protocol": r.protocol.model_copy(update={"version": "2"})}
            ),
            lambda p: p,
            "protocol.version: 1 and 2",
        ),
    ],
)
def test_another_link_or_procedure_is_not_comparable(
    root: Path, change: Change, planned: Planned, words: str
) -> None:
    fast = cell(changed(write(root, AFTER, change, planned)), FAST)
    assert fast.outcome == "not comparable"
    assert fast.reason is not None
    assert words in fast.reason


def test_a_case_of_another_name_and_the_same_parameters_is_the_same(root: Path) -> None:
    found = changed(write(root, AFTER, timed(1.1), renamed_case))
    assert cell(found, FAST).outcome == "slower"
    assert cell(found, FAST).case == CASE


def test_campaigns_with_nothing_in_common_are_told_in_a_few_lines(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("commwall.cli.changes.MOST_ALIKE", 1)
    write(root, AFTER, planned=lambda own: renamed_case(other_case(batch_per_gpu=8)(own)))
    assert exit_code(root, monkeypatch) == 3
    first, *rest = capsys.readouterr().out.splitlines()
    assert "nothing could be compared" in first
    assert rest == [
        f"  2 cells have no counterpart ({name} has no such case); --all lists them"
        for name in (AFTER, CAMPAIGN)
    ]
    assert exit_code(root, monkeypatch, "--all") == 3
    assert "missing         bert-renamed" in capsys.readouterr().out


@pytest.mark.parametrize("golden", [splits, mitigations])
def test_cases_of_every_suite_are_compared_by_what_is_fast_in_them(
    tmp_path: Path, golden: ModuleType
) -> None:
    side = looked_at(golden.write_campaign(tmp_path), golden.CAMPAIGN)
    assert side.evidence.plan is not None
    found = compare_campaigns(side, side, 0.03)
    assert {each.suite for each in found.cells} == {s.suite for s in side.evidence.plan.suites}
    assert {each.outcome for each in found.cells} == {"cannot tell"}, "none is missing"


def test_a_case_that_one_side_has_alone_is_missing(root: Path) -> None:
    def other(own: Plan) -> Plan:
        return renamed_case(other_case(batch_per_gpu=8)(own))

    found = changed(write(root, AFTER, planned=other))
    assert [(each.case, each.reason) for each in found.values] == [
        *[(CASE, f"{AFTER} has no such case")] * 2,
        *[("bert-renamed", f"{CAMPAIGN} has no such case")] * 2,
    ]


def test_records_that_are_refused_are_no_value(root: Path) -> None:
    layout = write(root, AFTER)
    for path in layout.records_dir(AFTER).glob(f"{FAST}/**/*.json"):
        path.write_text("{}")
    fast = cell(changed(layout), FAST)
    assert (fast.outcome, fast.reason) == ("missing", f"{AFTER}: no record")


def test_one_round_has_no_interval_and_compares_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = changed(write(root, AFTER, timed(2.0), rounds=1))
    assert cell(found, FAST).outcome == "cannot tell"
    assert cell(found, FAST).reason == "a campaign with one round has no interval"
    assert exit_code(root, monkeypatch) == 3


def test_json_follows_the_schema(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = write(root, AFTER, timed(1.1))
    assert exit_code(root, monkeypatch, "--json") == 1
    printed = capsys.readouterr().out
    assert json.loads(printed)["schema_version"] == 1
    assert CampaignChange.model_validate_json(printed) == changed(layout)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("compare", CAMPAIGN, "golden-afte"), f"{AFTER} (nearest)"),
        (("compare", "nothing-like-it", AFTER), "there is no such campaign"),
        (("compare", AFTER, AFTER), "has not changed against itself"),
        (("compare", CAMPAIGN, "empty"), "none of 15 records can be read"),
        (("compare", "malformed", AFTER), "cannot read a plan"),
        (("compare", CAMPAIGN, "--json"), "CAMPAIGN OTHER --json"),
        (("compare", CAMPAIGN, "--strict"), "CAMPAIGN OTHER --strict"),
    ],
)
def test_what_cannot_be_asked_is_told(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    told: str,
) -> None:
    layout = write(root, AFTER)
    write_atomically(
        layout.plan_path("empty"), model_text(plan().model_copy(update={"id": "empty"}))
    )
    write_atomically(layout.plan_path("malformed"), "{}")
    monkeypatch.chdir(root)
    assert main(list(words)) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("text", ["3", "0.03", "-1%", "nan%", "100%", "%"])
def test_a_tolerance_is_a_percentage(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        exit_code(root, monkeypatch, f"--tolerance={text}")
    assert ended.value.code == 2
    assert "is no percentage" in capsys.readouterr().err
