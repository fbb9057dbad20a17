"""Scenario files: units and currencies, references, what is refused, and the articles' figures."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from commwall.analysis.money.answers import money_of_scenario
from commwall.cli.main import main
from commwall.economics.files import home_of, read_scenario, shipped
from commwall.economics.wording import sentence, solved_text
from commwall.records.layout import Layout
from commwall.records.store import read_plan
from commwall.schema.economics import Economics
from commwall.schema.errors import ConfigError

ROOT = Path(__file__).parents[2]
LEAN: dict[str, Any] = {
    "title": "A test",
    "difference": "none",
    "currency": "$",
    "source": "a test",
    "date": "2026-11-30",
    "gpus": 2,
    "a": {"words": "fast", "purchase": {"server": 3000}, "rent": 3},
    "b": {"words": "slow", "purchase": {"server": 1000, "switch": 500}, "rent": 2},
    "gains": {"bert": {"kind": "modelled", "speedup": {"low": 1.5, "high": 2.5}}},
}


def test_the_example_of_a_mix_names_cases_that_shipped_campaigns_have() -> None:
    text = (ROOT / "config/economics.yaml").read_text(encoding="utf-8")
    (example,) = re.findall(r"in any unit: `(\{.*\})`", text)
    for campaign in ("h200x2", "gpu-sample-655c9664"):
        plan = read_plan(Layout(ROOT).plan_path(campaign))
        assert yaml.safe_load(example).keys() <= plan.suite("training").cases.keys()


def written(tmp_path: Path, **changes: Any) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({**LEAN, **changes}), encoding="utf-8")
    return str(path)


def middles(tmp_path: Path, **changes: Any) -> dict[str, float]:
    entries = read_scenario(ROOT, written(tmp_path, **changes)).entries
    return {key: entry.amount.middle for key, entry in entries.items()}


def refusal(tmp_path: Path, **changes: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        read_scenario(ROOT, written(tmp_path, **changes))
    assert caught.value.parts["where"] == str(tmp_path / "mine.yaml")
    return str(caught.value.parts["found"])


# Units and currencies ----------------------------------------------------------------------


def test_energy_prices_and_carbon_are_scaled(tmp_path: Path) -> None:
    found = middles(
        tmp_path,
        energy_price={"value": 80, "unit": "$/MWh"},
        carbon={"value": 390, "unit": "g/kWh"},
        training_h={"value": 2, "unit": "day"},
        waiting_share={"value": 30, "unit": "%"},
    )
    assert found["energy_price"] == pytest.approx(0.08)
    assert found["carbon"] == pytest.approx(0.39)
    assert found["training_h"] == pytest.approx(48)
    assert found["waiting_share"] == pytest.approx(0.3)


def test_another_currency_needs_a_rate(tmp_path: Path) -> None:
    price = {"value": 100, "unit": "EUR/MWh"}
    told = refusal(tmp_path, energy_price=price)
    assert told == (
        "energy_price: is in EUR, the file in $, and `rates` has none for it; "
        "rates.EUR with value, source and date"
    )
    rate = {"value": 1.1, "source": "a bank of the test", "date": "2026-11-30"}
    assert middles(tmp_path, energy_price=price, rates={"EUR": rate})["energy_price"] == (
        pytest.approx(0.11)
    )


def test_a_price_counts_for_each_gpu_and_times(tmp_path: Path) -> None:
    bill = {"server": {"value": 10, "per_gpu": True, "times": 3}, "cables": 5}
    found = middles(tmp_path, a={"words": "fast", "purchase": bill})
    assert found["a.purchase.server"] == 60
    assert found["a.purchase.cables"] == 5


def test_facts_bring_unit_range_source_and_day() -> None:
    entry = read_scenario(ROOT, gpus=2).entries["a.rent"]
    assert entry.amount.ends(0.95) == (2.69, 3.99)
    assert (entry.unit, str(entry.date)) == ("$/GPU/h", "2026-11-09")
    assert "runpod" in entry.source


def test_what_states_no_source_takes_the_file_s(tmp_path: Path) -> None:
    entry = read_scenario(ROOT, written(tmp_path, training_h=3)).entries["training_h"]
    assert (entry.source, str(entry.date), entry.unit) == ("a test", "2026-11-30", "h")


def test_every_shipped_file_reads_and_states_sources() -> None:
    assert len(shipped(ROOT)) >= 4
    for name in (None, *shipped(ROOT)):
        scenario = read_scenario(ROOT, name, gpus=2)
        assert all(entry.source and entry.date for entry in scenario.entries.values())
        assert scenario.difference


def test_the_shipped_file_explains_every_key() -> None:
    text = (ROOT / "config/economics.yaml").read_text(encoding="utf-8")
    assert [name for name in Economics.model_fields if f"{name}:" not in text
            and f"`{name}`" not in text] == []  # fmt: skip


# Refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"a": {"words": "x", "purchase": {"server": -5}}},
         "a.purchase.server: must be at least 0, value is -5"),
        ({"utilisation": 1.2}, "utilisation: must be at most 1, value is 1.2"),
        ({"utilisation": {"value": 120, "unit": "%"}},
         "utilisation: must be at most 1, value is 1.2"),
        ({"waiting_share": {"low": 0.5, "high": 1.5}},
         "waiting_share: must be at most 1, high is 1.5"),
        ({"price_level": {"low": 80, "likely": 100, "high": 130}},
         "price_level: must be at most 10, low is 80"),
        ({"pue": 0.9}, "pue: must be at least 1, value is 0.9"),
        ({"training_h": 0}, "training_h: must be above 0, value is 0"),
        ({"pue": {"low": 2, "high": 1}}, "pue: the range is upside down: 2, 2, 1"),
        ({"pue": {"low": 1, "likely": 3, "high": 2}}, "pue: the range is upside down: 1, 3, 2"),
        ({"pue": {"low": 1}}, "pue: a range needs low and high"),
        ({"pue": {"value": 1, "low": 1, "high": 2}}, "pue: needs one of"),
        ({"pue": True}, "pue: must be a number"),
        ({"currency": "dollars"}, "currency: "),
        ({"utilization": 0.5}, "utilization: unknown key; did you mean 'utilisation'?"),
        ({"energy_price": {"value": 1, "unit": "$/h"}},
         "energy_price: unit '$/h' is $/s, expected a unit of currency/kWh"),
        ({"energy_price": {"value": 1, "unit": "$/kWhh"}}, "energy_price: unknown unit 'kWhh'"),
        ({"pue": {"fact": "energy/pua"}},
         "pue: there is no fact 'energy/pua'; did you mean 'energy/pue'?"),
        ({"pue": {"fact": "prices/h100-sxm-rent"}},
         "pue: unit '$/GPU/h' is $/s, expected a unit of 1"),
        ({"pue": {"fact": "energy/pue", "unit": "%"}}, "pue: a fact or claim has its own unit"),
        ({"pue": {"claim": "a/b/c"}}, "pue: there is no number of a claim 'a/b/c'"),
        ({"training_h": 2, "published_payback_months": 3}, "name one"),
        ({"gains": {"x": {"kind": "published"}}}, "gains.x: needs one of: speedup; shorter_share"),
        ({"gains": {"x": {"kind": "measured", "speedup": 2}}}, "gains.x.kind: "),
        ({"mix": {"bert": 0}}, "mix.bert: "),
        ({"a": {"words": "x", "rent": 0}}, "a.rent: must be above 0, value is 0"),
        ({"gpus": None}, "gpus: must be stated where rents of a GPU are"),
        ({"trainings_per_month": 100, "training_h": {"low": 5, "high": 15}},
         "trainings_per_month: 100 of 10 h each are 1000 h, a month has 730.5"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_with_key_and_reason(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    assert told in refusal(tmp_path, **changes)


def test_a_missing_currency_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({k: v for k, v in LEAN.items() if k != "currency"}))
    with pytest.raises(ConfigError, match="currency: Field required"):
        read_scenario(ROOT, str(path))


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    told = refusal(tmp_path, utilisation=2, pue=0, training_h="long")
    assert [line.split(":")[0] for line in told.splitlines()] == [
        "training_h", "pue", "utilisation",
    ]  # fmt: skip
    told = refusal(tmp_path, pue={"fact": "energy/none"}, carbon={"fact": "energy/none"})
    assert len(told.splitlines()) == 2


def test_an_unknown_scenario_and_endless_ones_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_scenario(ROOT, "article-paybak")
    assert "article-payback" in str(caught.value.parts["expected"])
    path = tmp_path / "round.yaml"
    path.write_text(f"extends: {path}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="without end"):
        read_scenario(ROOT, str(path))


def test_a_checkout_without_assumptions_takes_the_package_s(tmp_path: Path) -> None:
    assert home_of(tmp_path) == ROOT
    assert home_of(ROOT) == ROOT


# The articles' figures ---------------------------------------------------------------------


def told(name: str) -> tuple[str, str | None]:
    money = money_of_scenario(ROOT, 0.95, name)
    (judged,) = money.judged
    return sentence(judged, judged.answers[0]), solved_text(judged)


def test_fourteen_months_need_hours_that_the_article_does_not_state() -> None:
    words, solved = told("article-payback")
    assert "it pays back in 14.0 months" in words
    # 59,000 $ / 14 = 4,214 $ a month, over 80 $ 52.7 h, over 20 trainings 2.63 h; 30 % of 8.78 h.
    assert solved == (
        "What a pay-back in 14 months needs: 2.63 h of an engineer saved in each training, 52.7 h "
        "a month; a training over the slower link then takes 8.78 h."
    )


def test_with_listed_prices_the_same_training_pays_back_earlier() -> None:
    # 8 x (16,250 - 13,288) $ = 23,696 $, over 20 x 80 $ x 0.3 x 8.78 h = 4,214.4 $.
    assert "it pays back in 5.62 months" in told("article-listed-premium")[0]


def test_nobody_waits_nothing_pays_back() -> None:
    words, _ = told("article-nobody-waits")
    assert words == "Bought: do not take the faster link; it never pays back."


def test_the_hours_of_the_variants_are_those_solved_for() -> None:
    (judged,) = money_of_scenario(ROOT, 0.95, "article-payback").judged
    solved = judged.entries["training_h"].amount.middle
    for name in ("article-listed-premium", "article-nobody-waits"):
        stated = read_scenario(ROOT, name).entries["training_h"].amount.middle
        assert stated == pytest.approx(solved, abs=0.005)


def test_rents_break_even_at_the_gain_where_nobody_waits() -> None:
    (judged,) = money_of_scenario(ROOT, 0.95, "rental").judged
    assert judged.middle.rent_break_even == pytest.approx(1.4)
    # (2.69 + 3.99) / (1.99 + 2.89)
    assert judged.middle.rent_ratio == pytest.approx(3.34 / 2.44)
    assert judged.answers[1].decision == "open"


# The verb ----------------------------------------------------------------------------------


def test_the_verb_labels_a_modelled_gain_and_prints_every_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cost", "--scenario", written(tmp_path, training_h=2)]) == 0
    out = capsys.readouterr().out
    assert "\nbert: speed-up 2.00 (1.53 to 2.47), modelled\n" in out
    assert "Rented: take the faster link" in out
    assert "length of a training: 2 h" in out and "a test (2026-11-30)" in out
    assert "Energy: the gain is modelled." in out


def test_the_verb_refuses_what_it_cannot_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cost"]) == 2
    told = capsys.readouterr().err
    assert "neither a campaign nor a scenario" in told and "article-payback" in told
    lean = {key: value for key, value in LEAN.items() if key != "gains"}
    path = tmp_path / "lean.yaml"
    path.write_text(yaml.safe_dump(lean), encoding="utf-8")
    assert main(["cost", "--scenario", str(path)]) == 2
    assert "the scenario states no gains" in capsys.readouterr().err
    assert main(["cost", "--a", "x", "--b", "y"]) == 2
    assert main(["cost", "--campaign", "z", "--a", "x"]) == 2
    assert "go together" in capsys.readouterr().err
    assert main(["cost", "--scenario", written(tmp_path, pue=0)]) == 2
    assert "pue: must be at least 1" in capsys.readouterr().err
