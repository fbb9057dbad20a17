"""Answers: who decides, what moves and what turns them."""

import math

import pytest

from commwall.economics.costs import NOTHING_PAID, NoCost, costs
from commwall.economics.judging import Answer, judge
from commwall.economics.scenario import Scenario
from commwall.economics.uncertain import Stated
from commwall.economics.wording import DECISIONS, flips_text, middle_text, sentence, swing_label
from commwall.economics.work import Subject, Workload, measured, subjects
from commwall.schema.errors import ConfigError
from commwall.stats.roots import Change, bisect, nearest_change
from tests.unit.test_economics_sums import CASE, VALUES, scenario, without

SUBJECT = Subject("bert", ((CASE, 1.0),))
LEAN = {key: VALUES[key] for key in (
    "a.purchase.server", "b.purchase.server", "trainings_per_month", "training_h",
    "engineer_per_h", "waiting_share", "depreciation_years",
)}  # fmt: skip
"""Waiting alone: 40 h x 12.5 $ = 500 $ a month, in a year 6,000 $ for 7,305 $ more."""


def bought(own: Scenario, subject: Subject = SUBJECT) -> Answer:
    return judge(own, subject, 0.95).answers[0]


def gaining(*speedups: float) -> Subject:
    return Subject("bert", ((measured("bert", {"speedup": speedups}, "a campaign"), 1.0),))


def test_certain_numbers_give_one_result() -> None:
    answer = bought(scenario(dict(LEAN)))
    assert answer.decision == "leave" and answer.result is not None
    assert answer.result.certain and answer.result.median == pytest.approx(6000 - 7305)
    assert answer.favour == 0 and answer.swings == ()
    assert answer.payback_months and answer.payback_months.median == pytest.approx(14.61)


@pytest.mark.parametrize("speedup", [1.0, 0.8])
def test_gain_0_never_pays_back(speedup: float) -> None:
    answer = bought(scenario(dict(LEAN)), gaining(speedup))
    assert answer.decision == "leave"
    assert answer.payback_months and answer.payback_months.low == math.inf
    assert "never pays back" in sentence(
        judge(scenario(dict(LEAN)), gaining(speedup), 0.95), answer
    )


def test_flips_are_solved_not_sampled() -> None:
    """Break-even is a saving of 7305 / 12 a month, linear in all that multiplies it."""
    flips = {flip.entry.key: flip for flip in bought(scenario(dict(LEAN))).flips}
    factor = 7305 / 6000
    for key in ("trainings_per_month", "training_h", "engineer_per_h", "waiting_share",
                "depreciation_years"):  # fmt: skip
        assert flips[key].at == pytest.approx(VALUES[key] * factor, rel=1e-9)
        assert flips[key].rises and not flips[key].inside
    # Half the time saved is worth 500 $ a month: 1 - 1 / g must be half of that factor.
    assert flips["bert:speedup"].at == pytest.approx(1 / (1 - factor / 2))
    assert flips["a.purchase.server"].at == pytest.approx(VALUES["a.purchase.server"] - 1305)


def test_what_cannot_turn_the_answer_is_not_named() -> None:
    answer = bought(scenario({**LEAN, "waiting_share": 1.0, "discount_rate": 0.05}))
    assert answer.decision == "take"
    assert "discount_rate" not in {flip.entry.key for flip in answer.flips}


def test_the_largest_swing_comes_first_and_those_together_move_as_one() -> None:
    own = scenario(
        {
            **VALUES,
            "waiting_share": Stated(0.2, 0.3),
            "a.rent": Stated(20, 40),
            "b.rent": Stated(10, 30),
        }
    )
    rents = {k: e for k, e in own.entries.items() if k.endswith("rent")}
    tied = {k: type(e)(**{**vars(e), "together": "tier"}) for k, e in rents.items()}
    own = type(own)(**{**vars(own), "entries": {**own.entries, **tied}})
    judged = judge(own, SUBJECT, 0.95)
    answer = judged.answers[1]
    first, second = answer.swings
    assert [entry.key for entry in first.entries] == ["a.rent", "b.rent"]
    # For an hour at 2 x 10 or 2 x 30 $ of rent, half an hour at 2 x 20 or 2 x 40 $; 25 $ who wait.
    assert first.results == (pytest.approx(1 - 32.5 / 45), pytest.approx(1 - 52.5 / 85))
    assert [entry.key for entry in second.entries] == ["waiting_share"]
    names = "; ".join(entry.words for entry in first.entries)
    assert swing_label(first) == f"{names}: low ends to high ends"
    drawn = judged.draws.values
    assert drawn["a.rent"] - drawn["b.rent"] == pytest.approx(10)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("share", "decision"),
    [(Stated(0.5, 0.9), "take"), (Stated(0.0, 0.2), "leave"), (Stated(0.1, 0.9), "open")],
)
def test_decided_only_where_the_interval_lies_on_one_side(share: Stated, decision: str) -> None:
    answer = bought(scenario({**LEAN, "waiting_share": share}))
    assert answer.decision == decision
    assert answer.result and (answer.result.low > 0) == (decision == "take")


def test_the_middle_is_told_apart_from_the_median_of_the_draws() -> None:
    judged = judge(scenario({**LEAN, "waiting_share": Stated(0.1, 0.9)}), SUBJECT, 0.95)
    said = middle_text(judged, judged.answers[0])
    # 12.5 $ an hour are 25 % of an engineer's wait: at 50 % twice as much, 12,000 $ for 7,305 $.
    assert said and said == "4,700 $ with every number at its middle"
    assert f", {said};" in sentence(judged, judged.answers[0])
    certain = judge(scenario({**LEAN, "waiting_share": 1.0}), SUBJECT, 0.95)
    assert middle_text(certain, certain.answers[0]) is None


def test_a_gain_of_one_round_is_told_with_the_verdict() -> None:
    rich = scenario({**LEAN, "waiting_share": 1.0})
    judged = judge(rich, gaining(2.0), 0.95)
    said = sentence(judged, judged.answers[0])
    assert said.startswith(
        "Bought: if the speed-up is exactly 2.00, take the faster link (the gain is "
    )
    judged = judge(rich, gaining(1.9, 2.0, 2.1), 0.95)
    assert "exactly" not in sentence(judged, judged.answers[0])
    assert judged.subject.evidence == "measured, n = 3"


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        ("a.purchase.server", "bill of both sides"),
        ("training_h", "hours of a training"),
        ("depreciation_years", "no time of use"),
    ],
)
def test_no_verdict_says_what_is_missing(missing: str, reason: str) -> None:
    answer = bought(scenario(dict(without(missing))))
    assert answer.decision == "none" and reason in str(answer.reason)


def test_a_stated_pay_back_that_nothing_can_reach_says_so() -> None:
    kept = {**without("training_h"), "engineer_per_h": 0.0, "freed_share": 0.0, "energy_price": 0.0}
    answer = bought(scenario({**kept, "published_payback_months": 14.0}))
    assert answer.decision == "none"
    assert answer.reason == (
        "no length of a training makes it pay back in the time that the text states"
    )


def test_what_costs_nothing_is_not_divided_by() -> None:
    free = scenario({**LEAN, "b.purchase.server": 0.0, "waiting_share": 0.0, "utilisation": 1.0})
    told = costs(judge(free, SUBJECT, 0.95), 0.95)
    assert NoCost("bought: cost", NOTHING_PAID) in told


def test_words_of_flips_name_direction_and_unit() -> None:
    answer = bought(scenario(dict(LEAN)))
    assert flips_text(answer, most=1) == "price falls below 13,305 $ (now 14,610 $)"
    assert len(flips_text(answer).split("; or ")) == 3
    assert set(DECISIONS) == {"take", "leave", "open", "none"}


def test_a_mix_takes_equal_shares_or_those_given() -> None:
    one, other = (measured(name, {"speedup": (2.0,)}, "c") for name in ("x", "y"))
    both: dict[str, Workload] = {"x": one, "y": other}
    assert [s.name for s in subjects(both, None, ())] == ["x", "y", "mix"]
    assert [share for _, share in subjects(both, None, ())[-1].parts] == [0.5, 0.5]
    given = subjects(both, {"x": 3, "y": 1}, ())[-1]
    assert [share for _, share in given.parts] == [0.75, 0.25]


def test_a_mix_of_unknown_workloads_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError) as caught:
        subjects({"bert-large": CASE}, {"bert-larg": 1, "zzz": 2}, ("resnet-50",))
    found = str(caught.value.parts["found"])
    assert "mix.bert-larg: no such workload; did you mean 'bert-large'?" in found
    assert "mix.zzz" in found


def test_a_mix_with_a_workload_without_gain_has_no_answer() -> None:
    assert [s.name for s in subjects({"x": CASE}, {"x": 1, "y": 1}, ("y",))] == ["x"]


def test_roots() -> None:
    assert bisect(lambda x: x * x - 2, 0, 2) == pytest.approx(math.sqrt(2))
    assert bisect(lambda x: 2 - x * x, 0, 2) == pytest.approx(math.sqrt(2))
    with pytest.raises(ValueError, match="no change of sign"):
        bisect(lambda x: 1.0, 0, 1)
    wave = nearest_change(math.cos, 0.0, [-2.0, 1.0, 2.0])
    assert wave is not None and wave.at == pytest.approx(math.pi / 2) and wave.rises
    assert nearest_change(lambda x: x, 0.0, [-1.0, 1.0]) == Change(0.0, True)
    assert nearest_change(lambda x: x, 1.0, [0.0, 2.0]) == Change(0.0, False)
    assert nearest_change(lambda x: 1.0, 1.0, [0.0, 2.0]) is None


def test_what_the_rent_alone_saves_is_told_apart_from_those_who_wait() -> None:
    own = judge(scenario(VALUES), SUBJECT, 0.95)
    rented = own.answers[1]
    assert rented.result is not None and rented.rent_alone is not None
    alone = 1 - own.middle.time * VALUES["a.rent"] / VALUES["b.rent"]
    assert rented.rent_alone.median == pytest.approx(alone)
    assert rented.rent_alone.median < rented.result.median
    assert f"of the rent for the same work it saves {100 * alone:g} %" in sentence(own, rented)
    nobody = judge(scenario(without("waiting_share")), SUBJECT, 0.95).answers[1]
    assert nobody.rent_alone is None
