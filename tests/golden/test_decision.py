"""The decision report on golden campaigns: what it says, and that it says no more than is known."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from commwall.analysis.quantities import PRIMARY
from commwall.economics.wording import sentence
from commwall.language.translate import speaking
from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.records.texts import model_text
from commwall.report.controls import NO_FLOOR
from commwall.report.decision.content import (
    EMULATED,
    MOST_ANSWERS,
    NO_ENERGY,
    Decision,
)
from commwall.report.decision.figure import MOST_ROWS, Row, decision_figure, spread_evenly
from commwall.report.decision.page import DecisionPage, figure as shown_figure, open_decision
from commwall.report.decision.words import NOTHING_USED, ONE_ROUND, far_words
from commwall.report.style import NARROW_IN
from commwall.schema.plan import Comparison, Plan
from tests.golden import build, gpus, many, replica, splits
from tests.golden.test_money import assume
from tests.samples import write_index

REPOSITORY = Path(__file__).parents[2]


def opened(layout: Layout, campaign: str, language: str = "en") -> DecisionPage:
    return open_decision(layout.root, campaign, 0.95, language)


@pytest.fixture(scope="module")
def of_gpus(tmp_path_factory: pytest.TempPathFactory) -> DecisionPage:
    layout = gpus.write_campaign(tmp_path_factory.mktemp("checkout"))
    assume(layout.root)
    return opened(layout, gpus.CAMPAIGN)


@pytest.fixture(scope="module")
def of_many(tmp_path_factory: pytest.TempPathFactory) -> Decision:
    layout = many.write_campaign(tmp_path_factory.mktemp("checkout"))
    return opened(layout, many.CAMPAIGN).decision


def replanned(tmp_path: Path, change: Callable[[Plan], dict[str, object]]) -> Decision:
    """The golden campaign with another plan."""
    layout = build.write_campaign(tmp_path)
    golden = build.plan()
    path = layout.plan_path(build.CAMPAIGN)
    write_atomically(path, model_text(golden.model_copy(update=change(golden))))
    write_index(layout, build.CAMPAIGN)
    return opened(layout, build.CAMPAIGN).decision


def test_who_wins_by_how_much_and_how_surely(of_gpus: DecisionPage) -> None:
    """Twice as fast in the mean of three rounds, whose ratios are 2, 1.8 and 2 / 0.9."""
    told = of_gpus.decision
    assert "NVLink or host-staged" in told.question
    (answer,) = told.answers
    assert answer.verdict == "NVLink is faster by 100 % (54 to 160, n = 3) than host-staged."
    hours, rounds, floor, above = answer.details
    assert "10 hours over host-staged takes 5.00 (3.85 to 6.50) hours over NVLink" in hours
    assert "3 rounds" in rounds and "95 % interval" in rounds
    assert floor.endswith("the interval contains 1; noise floor 3.6 %.")
    assert above == "Every winner is above the noise floor of its own case."


def test_no_hours_are_told_of_a_case_not_to_be_relied_on(of_gpus: DecisionPage) -> None:
    """The same link measured twice differs as much as the two links do."""
    analysis, names = of_gpus.money.page.analysis, of_gpus.money.page.analysis.names
    (verdict,) = [v for v in analysis.verdicts if v.winner and v.quantity == PRIMARY]
    doubtful = replace(verdict, control=verdict)
    assert doubtful.above_noise is False
    assert list(far_words([doubtful], names)) == []
    (hours,) = far_words([verdict, doubtful], names)
    assert "takes 5.00 (3.85 to 6.50) hours" in hours


def test_money_is_what_the_money_page_says(of_gpus: DecisionPage) -> None:
    (money,) = of_gpus.money.answers
    assert money.foremost is not None
    verdicts = [sentence(money.foremost, answer) for answer in money.foremost.answers]
    assert of_gpus.decision.money[:2] == tuple(verdicts)
    gain, price, difference, assumed = of_gpus.decision.money[2:]
    assert gain.startswith(f"For {gpus.CASE}; speed-up 2.00")
    assert "with NVLink 3,000 EUR for 2 GPUs, rent 3 EUR/GPU/h; without 1,000 EUR" in price
    assert difference == "a made-up price." and '"In round numbers"' in assumed


def test_energy_is_told_with_what_is_not_in_it(of_gpus: DecisionPage) -> None:
    """600 W for half the time of 400 W: a third more samples for the same energy."""
    verdict, above_one, left_out = of_gpus.decision.energy
    assert above_one.startswith("Ratios are NVLink / ")
    assert "NVLink has higher samples per watt-hour by 33 % (3 to 73, n = 3)" in verdict
    assert "host beside GPUs, fans and power supplies are missing" in left_out


def test_cases_that_cannot_tell_are_counted(of_many: Decision) -> None:
    (answer,) = of_many.answers
    assert (
        "in 2 of 4 cases, by 50 % (resnet-demo) to 100 % (bert-demo); cannot tell, ratio 1.00 in "
        "swin-demo" in answer.verdict
    )
    assert "takes 5.00 to 6.67 hours over fast link, emulated." in answer.details[0]
    assert [row.winner for row in of_many.figure] == ["a", "a", None]
    assert of_many.figure[2].words.startswith("cannot tell: 1.000 (0.57")
    assert "transformer-xl-demo" in " ".join(of_many.not_measured)


def test_emulated_links_are_called_so_and_have_no_price(of_many: Decision) -> None:
    assert EMULATED in of_many.answers[0].details
    assert of_many.money == (of_many.money[0],) and "not for sale" in of_many.money[0]
    figure = decision_figure(of_many.figure, of_many.axis)
    assert "(emulated links)" in figure.get_suptitle().replace("\n", " ")


def test_one_round_names_no_winner(tmp_path: Path) -> None:
    layout = build.write_campaign(tmp_path, rounds=1)
    told = opened(layout, build.CAMPAIGN).decision
    seen, _, sure, _ = told.answers[0].details
    assert "cannot tell with 1 round" in told.answers[0].verdict
    assert "not proven: over fast link, emulated training ran 2.00 times as fast as" in seen
    assert sure == ONE_ROUND
    assert not re.search("is faster|trains faster", " ".join(told.answers[0].details))
    assert [(row.winner, row.interval) for row in told.figure] == [(None, None)]


def test_the_sample_of_two_gpus_decides_nothing(tmp_path: Path) -> None:
    layout, campaign = Layout(tmp_path), "gpu-sample-655c9664"
    shutil.copytree(REPOSITORY / "results" / campaign, layout.campaign_dir(campaign))
    write_index(layout, campaign)
    assume(layout.root)
    told = opened(layout, campaign).decision
    assert told.answers[0].verdict.startswith(
        "Cannot tell in any of 4 cases, one round has no interval; ratio 1.08 (resnet-50-b64) to "
        "2.25 (bert-large-s128-b32); transformer"
    )
    assert NO_FLOOR in told.answers[0].details
    (by_workload,) = (line for line in told.money if line.startswith("Rented, by workload: "))
    assert " for 3" in by_workload and "each as if its speed-up were exact" in by_workload
    assert {row.winner for row in told.figure} == {None} and len(told.figure) == 3


def test_without_a_comparison_it_says_so(tmp_path: Path) -> None:
    told = replanned(tmp_path, lambda _: {"comparisons": ()})
    assert told.question == "None: the campaign compares no links."
    assert told.answers[0].verdict == "No verdict: the campaign asks for no comparison."
    assert told.money == ("No verdict: the campaign compares no links.",)
    assert told.energy == (NO_ENERGY,)
    figure = decision_figure(told.figure, told.axis)
    assert figure.axes == [] and "No figure" in str(figure.get_label())


def test_what_is_missing_or_kept_out_is_counted(tmp_path: Path, of_many: Decision) -> None:
    assert "12 records are kept out of verdicts: page Method." in of_many.not_measured
    layout = build.write_campaign(tmp_path, lambda r: None if r.id.round == 2 else r)
    told = opened(layout, build.CAMPAIGN).decision
    assert "12 of 15 planned records measured." in told.not_measured
    assert "Rounds measured so far: 4 of 5." in told.answers[0].details
    assert not any("could not be used" in line for line in told.answers[0].details)


def test_a_round_of_one_side_was_measured_and_could_not_be_used(tmp_path: Path) -> None:
    lost = (build.SLOW, 2)
    layout = build.write_campaign(
        tmp_path, lambda r: None if (r.id.platform, r.id.round) == lost else r
    )
    details = opened(layout, build.CAMPAIGN).decision.answers[0].details
    assert "1 planned round of a case could not be used." in details
    assert not any("so far" in line for line in details)


def test_nothing_measured_is_no_verdict(tmp_path: Path) -> None:
    told = opened(build.write_campaign(tmp_path, lambda r: None), build.CAMPAIGN).decision
    assert "no verdict, no round has a usable record of both" in told.answers[0].verdict
    assert NOTHING_USED in told.answers[0].details and told.figure == ()


def test_many_comparisons_are_told_in_part_and_counted(tmp_path: Path) -> None:
    sides = (build.FAST, build.SLOW, build.AGAIN)
    asked = tuple(Comparison(a=a, b=b) for a in sides for b in sides if a != b)
    told = replanned(tmp_path, lambda _: {"comparisons": asked})
    assert len(told.answers) == MOST_ANSWERS
    assert (
        told.answers[0].details[-1]
        == f"{len(asked) - MOST_ANSWERS} more comparisons: page Summary."
    )
    assert len(told.sides) == 3


def test_other_suites_have_their_own_question(tmp_path: Path) -> None:
    layout = splits.write_campaign(tmp_path)
    told = opened(layout, splits.CAMPAIGN).decision
    assert told.question.startswith("Which link does better")
    assert "in 1 of 2 cases, by 900 %" in told.answers[0].verdict
    assert "hours" not in " ".join(told.answers[0].details)


def test_assumptions_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    layout = gpus.write_campaign(tmp_path)
    assume(tmp_path, utilisation=2)
    (line,) = opened(layout, gpus.CAMPAIGN).decision.money
    assert line.startswith("No verdict: ") and "config/economics.yaml" in line


def test_who_predicts_can_be_replicated(tmp_path: Path, of_many: Decision) -> None:
    lines = [
        command.line
        for command in opened(replica.publish(tmp_path), build.CAMPAIGN).decision.repeat
    ]
    assert lines[1] == f".venv/bin/commwall replicate {build.CAMPAIGN} --rounds 2"
    assert "COPY" not in lines[2] and "COPY" in of_many.repeat[-1].line


def test_only_a_file_that_exists_is_named_to_be_copied(tmp_path: Path) -> None:
    layout = build.write_campaign(tmp_path)
    alike = opened(layout, build.CAMPAIGN).decision.repeat[-1].words
    assert f"results/{build.CAMPAIGN}/plan.json" in alike and " copy " not in alike
    file = tmp_path / "config" / "campaigns" / f"{build.CAMPAIGN.rpartition('-')[0]}.yaml"
    file.parent.mkdir(parents=True)
    file.touch()
    copied = opened(layout, build.CAMPAIGN).decision.repeat[-1].words
    assert copied.startswith(f"Measure again: copy config/campaigns/{file.name} under a name")


def test_no_case_is_preferred_where_not_all_fit() -> None:
    rows = [Row(f"case-{k}", 2.0 - k * 0.05, None, None, None, "") for k in range(23)]
    shown = spread_evenly(rows)
    assert len(shown) == MOST_ROWS and {rows[0], rows[22]} <= set(shown)
    assert list(shown) == [row for row in rows if row in shown], "order of the plan"
    assert spread_evenly(rows[:3]) == tuple(rows[:3])


def test_the_figure_has_each_row_in_words(of_many: Decision) -> None:
    (axes,) = decision_figure(of_many.figure, of_many.axis).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        r.case for r in of_many.figure
    ]
    written = {text.get_text() for text in axes.texts}
    assert written >= {row.words for row in of_many.figure}
    assert "faster: fast link, emulated →" in written and "← faster: slow link, emulated" in written


def test_an_interval_beyond_the_axis_ends_in_an_arrow(of_many: Decision) -> None:
    wide = replace(of_many.figure[0], interval=(1e-5, 4e5))
    (axes,) = decision_figure((wide, of_many.figure[1]), of_many.axis).axes
    low, high = axes.get_xlim()
    assert low > 0.1 and high < 10
    arrows = {
        line.get_marker(): line.get_xdata() for line in axes.lines if line.get_marker() in "<>"
    }
    assert {marker: list(ends) for marker, ends in arrows.items()} == {"<": [low], ">": [high]}


def test_the_same_in_chinese(of_many: Decision, tmp_path: Path) -> None:
    layout = many.write_campaign(tmp_path)
    with speaking("zh"):
        told = opened(layout, many.CAMPAIGN, "zh").decision
    numbers = [
        sorted(re.findall(r"\d[\d,.]*", "".join(each.answers[0].details)))
        for each in (told, of_many)
    ]
    assert len(numbers[0]) > 5 and numbers[0] == numbers[1]
    assert [replace(row, words="") for row in told.figure] == [
        replace(row, words="") for row in of_many.figure
    ]
    assert told.question != of_many.question


def test_a_telephone_gets_the_figure_whole_with_its_values(of_gpus: DecisionPage) -> None:
    rows, sides = of_gpus.decision.figure, of_gpus.decision.axis
    wide, narrow = (decision_figure(rows, sides, narrow=each) for each in (False, True))
    assert narrow.get_figwidth() == NARROW_IN < wide.get_figwidth()
    assert rows[0].words in {text.get_text() for text in narrow.axes[0].texts}
    assert '<picture><source media="(max-width: 40rem)"' in shown_figure(of_gpus).markup
