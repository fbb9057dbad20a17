"""Money of the golden campaigns, with arithmetic one can do in the head.

Both GPUs take 400 W host-staged and 600 W over NVLink, which trains twice as fast: for an hour of
work host-staged 0.4 kWh and 0.3 kWh.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from commwall.analysis.money.answers import EMULATED, Money, money_of_campaign
from commwall.analysis.money.tables import results_table
from commwall.analysis.result import analyse_campaign
from commwall.economics.judging import Answer
from commwall.economics.wording import sentence
from commwall.records.layout import Layout
from commwall.report.money.page import flips_table, open_money, results_picture
from commwall.schema.errors import ConfigError
from tests.golden import build, gpus

SCENARIO = {
    "title": "In round numbers",
    "difference": "a made-up price.",
    "currency": "EUR",
    "source": "a test",
    "date": "2026-11-30",
    "a": {"words": "with NVLink", "purchase": {"server": 3000}, "rent": 3},
    "b": {"words": "without", "purchase": {"server": 1000}, "rent": 2},
    "trainings_per_month": 10,
    "training_h": 4,
    "engineer_per_h": 100,
    "waiting_share": 0.5,
    "energy_price": 0.5,
    "pue": 2,
    "carbon": 0.4,
    "utilisation": 0.5,
    "depreciation_years": 1,
    "discount_rate": 0,
}
"""40 h a month: half of them saved, 50 EUR/h for who waits, and 0.2 kWh at the meter an hour."""


def assume(root: Path, **changes: object) -> None:
    """Write the assumptions of a checkout."""
    (root / "config").mkdir(exist_ok=True)
    text = yaml.safe_dump({**SCENARIO, **changes})
    (root / "config" / "economics.yaml").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    root = tmp_path_factory.mktemp("checkout")
    yield gpus.write_campaign(root)


def judged(layout: Layout, **changes: object) -> Money:
    assume(layout.root, **changes)
    analysis = analyse_campaign(layout, gpus.CAMPAIGN, 0.95)
    (money,) = money_of_campaign(layout.root, analysis)
    return money


def bought(money: Money) -> Answer:
    assert money.foremost is not None
    return money.foremost.answers[0]


def test_saving_pay_back_and_present_value(layout: Layout) -> None:
    money = judged(layout)
    assert money.sides == "NVLink [golden-nvlink] against host-staged"
    assert money.foremost is not None and money.scenario.gpus == 2
    sums = money.foremost.middle
    assert sums.saved_by_owner_per_h == pytest.approx({"waiting": 25, "energy": 0.1})
    assert sums.saved_per_month == pytest.approx(40 * 25.1)
    assert sums.payback_months == pytest.approx(2000 / 1004)
    assert sums.net_present_value == pytest.approx(12 * 1004 - 2000)
    assert sums.rent_saved == pytest.approx(1 - (2 * 3 + 50) / 2 / (2 * 2 + 50))


def test_the_gain_enters_with_its_interval(layout: Layout) -> None:
    """Speed-ups 2, 1.8 and 2 / 0.9: the mean of logarithms is that of 2, its error 0.0608."""
    money = judged(layout, energy_price=None)
    answer, sums = bought(money), money.foremost.middle  # type: ignore[union-attr]
    assert answer.decision == "take" and answer.result is not None
    assert money.foremost and money.foremost.subject.evidence == "measured, n = 3"
    for speedup, end in ((1.539, answer.result.low), (2.599, answer.result.high)):
        there = sums.changed({f"{gpus.CASE}:speedup": speedup}).net_present_value
        assert there == pytest.approx(end, rel=0.02)
    (swing,) = answer.swings
    assert swing.ends == (pytest.approx((1.539, 2.599), rel=1e-3),)


def test_an_engineer_who_does_not_wait_leaves_the_energy_alone(layout: Layout) -> None:
    answer = bought(judged(layout, waiting_share=0))
    assert answer.decision == "leave"
    assert answer.payback_months is not None
    assert answer.payback_months.median == pytest.approx(2000 / 4, rel=0.02)
    assert {flip.entry.key for flip in answer.flips} >= {"a.purchase.server", "waiting_share"}


def test_a_workload_without_usable_energy_leaves_it_out_and_says_so(tmp_path: Path) -> None:
    def without_energy(record: build.Record) -> build.Record:
        kept = tuple(s for s in record.series if s.metric != "energy_j")
        return record.model_copy(update={"series": kept})

    money = judged(gpus.write_campaign(tmp_path, without_energy))
    assert money.foremost is not None
    sums = money.foremost.middle
    assert sums.saved_by_owner_per_h == pytest.approx({"waiting": 25})
    assert sums.subject.no_energy


def test_the_mix_must_name_cases_of_the_campaign(layout: Layout) -> None:
    with pytest.raises(ConfigError, match="mix names workloads that do not exist"):
        judged(layout, mix={"bert-golden-gp": 1})
    assert len(judged(layout, mix={gpus.CASE: 1}).judged) == 1


def test_a_stated_gain_stands_in_only_where_none_was_measured(layout: Layout) -> None:
    gains = {name: {"kind": "modelled", "speedup": 5} for name in (gpus.CASE, "my-own")}
    money = judged(layout, gains=gains)
    found = {each.subject.name: each for each in money.judged}
    assert found[gpus.CASE].middle.time == pytest.approx(0.5)
    assert found["my-own"].subject.evidence == "modelled"
    assert found["mix"].subject.evidence == "measured, n = 3; modelled"


def test_one_comparison_may_be_asked_for(layout: Layout) -> None:
    assume(layout.root)
    analysis = analyse_campaign(layout, gpus.CAMPAIGN, 0.95)
    sides = (gpus.DIRECT, gpus.STAGED)
    assert len(money_of_campaign(layout.root, analysis, sides=sides)) == 1
    with pytest.raises(ConfigError) as caught:
        money_of_campaign(layout.root, analysis, sides=sides[::-1])
    assert caught.value.parts["expected"] == f"--a {gpus.DIRECT} --b {gpus.STAGED}"


def test_no_price_belongs_to_an_emulated_link(tmp_path: Path) -> None:
    layout = build.write_campaign(tmp_path)
    assume(tmp_path)
    analysis = analyse_campaign(layout, build.CAMPAIGN, 0.95)
    found = money_of_campaign(tmp_path, analysis)
    assert found and {money.refusal for money in found} == {EMULATED}
    assert [money.judged for money in found] == [()] * len(found)


def test_currency_stands_in_every_sentence(layout: Layout) -> None:
    money = judged(layout)
    assert money.foremost is not None
    assert " EUR (" in sentence(money.foremost, bought(money))


def test_what_stands_on_one_round_is_hollow_and_has_no_range(tmp_path: Path) -> None:
    layout = gpus.write_campaign(tmp_path, lambda r: r if r.id.round == 1 else None)
    assume(layout.root)
    page = open_money(layout.root, gpus.CAMPAIGN, 0.95)
    results = results_table(page.answers)
    assert results["firm"].tolist() == [False, False]
    panels = results_picture(page).axes
    marks = [line for axes in panels for line in axes.lines if line.get_marker() == "o"]
    assert [mark.get_markerfacecolor() for mark in marks] == ["white", "white"]
    turned = flips_table(page).markup
    assert f"speed-up of {gpus.CASE}" in turned and "no range given" in turned
