"""Sums that one can do by hand: pay-back, present value, costs, energy, carbon, rents."""

import datetime
import math
from typing import Any

import numpy as np
import pytest

from commwall.economics import formulas
from commwall.economics.costs import Cost, NoCost, costs
from commwall.economics.judging import judge
from commwall.economics.scenario import Entry, Scenario
from commwall.economics.sums import Sums
from commwall.economics.uncertain import OfRounds, Shorter, Stated
from commwall.economics.work import Subject, measured
from commwall.schema.economics import PRICE, RENT, Asked, asked_keys

DAY = datetime.date(2026, 11, 30)
VALUES = {
    # An hour of the slower machine, 2 GPUs: 20 $ of rent each, 1 kW; the faster is twice as fast.
    "a.purchase.server": 14_610.0,
    "b.purchase.server": 7_305.0,
    "a.rent": 30.0,
    "b.rent": 20.0,
    "trainings_per_month": 10.0,
    "training_h": 4.0,
    "engineer_per_h": 100.0,
    "waiting_share": 0.25,
    "freed_share": 0.1,
    "energy_price": 0.5,
    "pue": 2.0,
    "carbon": 0.4,
    "utilisation": 0.5,
    "depreciation_years": 1.0,
    "discount_rate": 0.0,
}
CASE = measured(
    "bert",
    {"speedup": (2.0,), "rate": (100.0,), "power": (1000.0,), "power_ratio": (1.5,)},
    "a campaign",
    epoch_samples=36_000,
)


def scenario(values: dict[str, float | Stated]) -> Scenario:
    """A scenario of these numbers, certain unless they are ranges."""
    asked = {**asked_keys(), "a.rent": RENT, "b.rent": RENT}
    entries = {
        key: Entry(
            key,
            asked.get(key, PRICE),
            value if isinstance(value, Stated) else Stated.certain(value),
            "$",
            "a test",
            DAY,
        )
        for key, value in values.items()
    }
    return Scenario("hand", "By hand", "none", "$", "A", "B", 2, entries)


def sums(values: dict[str, float], case: object = CASE) -> Sums:
    """The sums of one workload."""
    subject = Subject("bert", ((case, 1.0),))  # type: ignore[arg-type]
    quantities = {key: entry.amount.middle for key, entry in subject.quantities.items()}
    return Sums(scenario(dict(values)), subject, {**values, **quantities})


def without(*keys: str) -> dict[str, float]:
    return {key: value for key, value in VALUES.items() if key not in keys}


# Formulas ----------------------------------------------------------------------------------


def test_pay_back_is_extra_price_over_saving() -> None:
    assert formulas.payback_months(59_000.0, 59_000 / 14) == pytest.approx(14)
    assert formulas.payback_months(100.0, 0.0) == math.inf
    assert formulas.payback_months(100.0, -1.0) == math.inf
    assert formulas.payback_months(0.0, 0.0) == 0


def test_a_month_s_money_without_interest_is_worth_its_number_of_months() -> None:
    assert formulas.months_worth(3.0, 0.0) == 36
    yearly = 1.01**12 - 1  # one per cent a month
    assert formulas.months_worth(2 / 12, yearly) == pytest.approx(1 / 1.01 + 1 / 1.01**2)
    both = formulas.months_worth(1.0, np.array([0.0, yearly]))
    assert both == pytest.approx([12, (1 - 1.01**-12) / 0.01])


def test_net_present_value_is_savings_less_the_extra_price() -> None:
    assert formulas.net_present_value(1000.0, 100.0, 12.0) == 200


def test_a_machine_bears_its_price_in_the_hours_in_which_it_works() -> None:
    # 12 months of 730.5 hours, half of them busy: 4383 hours.
    assert formulas.capital_per_hour(4383.0, 12.0, 0.5) == pytest.approx(1)


def test_kilowatt_hours_are_power_times_hours_times_pue() -> None:
    assert formulas.energy_kwh(1500.0, 2.0, 1.5) == pytest.approx(4.5)


def test_rents_break_even_where_a_training_costs_the_same() -> None:
    assert formulas.rent_break_even(1.5, 0.0, 40.0) == 1.5
    ratio = formulas.rent_break_even(2.0, 25.0, 40.0)
    assert ratio == pytest.approx(2 + 25 / 40)
    assert (ratio * 40 + 25) / 2 == pytest.approx(40 + 25)


# Sums --------------------------------------------------------------------------------------


def test_what_an_owner_saves_in_an_hour() -> None:
    own = sums(VALUES)
    assert own.time == 0.5
    assert own.saved_by_owner_per_h == pytest.approx(
        {
            "waiting": 0.5 * 100 * 0.25,
            "energy": (2.0 - 1.5) * 0.5,  # 1 kW x PUE 2, and 1.5 kW x PUE 2 for half an hour
            "freed": 0.5 * 0.1 * 2 * 20,
        }
    )
    assert own.saved_per_month == pytest.approx(40 * (12.5 + 0.25 + 2))
    assert own.payback_months == pytest.approx(7305 / 590)
    assert own.net_present_value == pytest.approx(12 * 590 - 7305)


def test_a_price_level_multiplies_both_bills() -> None:
    assert sums({**VALUES, "price_level": 1.5}).extra_price == pytest.approx(1.5 * 7305)


def test_costs_of_the_same_work() -> None:
    own = sums(VALUES)
    # b: 7305 $ / 4383 h = 1.667 $ of capital, 25 $ of waiting, 2 kWh at 0.5 $.
    assert own.cost_per_h("b", "bought") == pytest.approx(7305 / 4383 + 25 + 1)
    assert own.cost_per_h("a", "bought") == pytest.approx(0.5 * (14_610 / 4383 + 25) + 0.75)
    assert own.cost_per_h("b", "rented") == 2 * 20 + 25
    assert own.cost_per_h("a", "rented") == 0.5 * (2 * 30 + 25)
    assert own.rent_saved == pytest.approx(1 - 42.5 / 65)
    assert own.rent_break_even == pytest.approx(2 + 25 / 40)
    assert own.rent_ratio == 1.5


def test_table_of_costs() -> None:
    judged = judge(scenario(dict(VALUES)), Subject("bert", ((CASE, 1.0),)), 0.95)
    found = {cost.what: cost for cost in costs(judged, 0.95) if isinstance(cost, Cost)}
    rented = found["rented: a million samples"]
    # 100 sample/s: 360,000 in an hour of the slower side.
    assert (rented.unit, rented.b.median) == ("$", pytest.approx(65 / 0.36))
    assert rented.ratio.median == pytest.approx(42.5 / 65)
    assert found["rented: an epoch"].b.median == pytest.approx(6.5)
    assert found["rented: a training"].b.median == pytest.approx(4 * 65)
    assert found["rented: samples for money"].b.median == pytest.approx(360_000 / 65)
    assert found["samples for energy"].b.median == pytest.approx(180_000)
    assert found["samples for energy"].a.median == pytest.approx(240_000)
    assert found["energy of a training"].b.median == pytest.approx(8)
    assert found["carbon dioxide of a training"].a.median == pytest.approx(4 * 1.5 * 0.4)
    assert {cost.unit for cost in found.values()} == {
        "$", "sample/$", "sample/kWh", "kWh", "kg",
    }  # fmt: skip


def test_what_is_not_stated_has_no_cost_and_a_reason() -> None:
    subject = Subject("bert", ((CASE, 1.0),))
    lean = scenario(dict(without("a.rent", "utilisation", "carbon")))
    absent = {c.what: c.reason for c in costs(judge(lean, subject, 0.95), 0.95)
              if isinstance(c, NoCost)}  # fmt: skip
    assert absent.keys() == {"bought: cost", "rented: cost", "carbon dioxide of a training"}


def test_a_grid_without_carbon_emits_none() -> None:
    subject = Subject("bert", ((CASE, 1.0),))
    clean = judge(scenario({**VALUES, "carbon": 0.0}), subject, 0.95)
    found = {c.what: c for c in costs(clean, 0.95)}
    none = found["carbon dioxide of a training"]
    assert isinstance(none, NoCost) and none.reason == "as stated, none is emitted"
    assert isinstance(found["energy of a training"], Cost)


def test_a_mix_adds_up_time_by_shares_of_the_slower_side() -> None:
    slow = measured("resnet", {"speedup": (1.0,), "rate": (100.0,)}, "a campaign", no_energy="why")
    mix = Subject("mix", ((CASE, 0.25), (slow, 0.75)))
    quantities = {key: entry.amount.middle for key, entry in mix.quantities.items()}
    own = Sums(scenario(dict(VALUES)), mix, {**VALUES, **quantities})
    assert own.time == pytest.approx(0.25 / 2 + 0.75)
    assert mix.no_energy == "why"
    assert own.energy_kwh("a") is None and "energy" not in own.saved_by_owner_per_h


# Uncertain numbers -------------------------------------------------------------------------


def test_rounds_are_drawn_as_student_s_interval_says() -> None:
    rounds = OfRounds((1.8, 2.0, 2.0 / 0.9))
    low, high = rounds.ends(0.9) or (0, 0)
    drawn = rounds.draw(np.random.default_rng(1), 200_000)
    assert rounds.middle == pytest.approx(2)
    assert np.mean(drawn < low) == pytest.approx(0.05, abs=0.003)
    assert np.mean(drawn > high) == pytest.approx(0.05, abs=0.003)


def of_one_generator(*quantities: OfRounds) -> list[Any]:
    """Draws of quantities by generators of one seed."""
    return [own.draw(np.random.default_rng(3), 100_000) for own in quantities]


def test_quantities_of_one_workload_are_drawn_of_its_rounds_at_once() -> None:
    """Twice the speed wherever it needs twice the power: their quotient is certain."""
    speed, power = (1.8, 2.0, 2.3, 1.9), (360.0, 400.0, 460.0, 380.0)
    fast, strong = of_one_generator(OfRounds(speed), OfRounds(power))
    assert strong / fast == pytest.approx(200)
    against = of_one_generator(OfRounds(speed), OfRounds(tuple(1 / own for own in speed)))
    assert against[0] * against[1] == pytest.approx(1)


def test_a_sum_of_logarithms_has_students_interval_of_its_rounds() -> None:
    a, b = (1.8, 2.0, 2.3, 1.9), (300.0, 310.0, 290.0, 305.0)
    x, y = of_one_generator(OfRounds(a), OfRounds(b))
    low, high = OfRounds(tuple(p * q for p, q in zip(a, b, strict=True))).ends(0.9) or (0, 0)
    assert np.mean(x * y < low) == pytest.approx(0.05, abs=0.003)
    assert np.mean(x * y > high) == pytest.approx(0.05, abs=0.003)


def test_a_missing_round_leaves_the_others_together() -> None:
    """Rounds that differ in the last one alone: what they share still moves together."""
    all_rounds = OfRounds((1.8, 2.0, 2.3, 1.9, 2.01))
    fewer = OfRounds((1.8, 2.3, 1.9, 2.01), rounds=(0, 2, 3, 4))
    x, y = of_one_generator(all_rounds, fewer)
    assert np.corrcoef(np.log(x), np.log(y))[0, 1] > 0.6  # of the first four it is 0.08


def test_energy_of_the_faster_side_is_told_as_its_rounds_tell_it() -> None:
    """The slower side swings by 3 %, the faster one is steady: so are its samples for energy."""
    slow = (103.0, 97.0, 102.0, 98.0, 100.0)
    case = measured(
        "bert",
        {
            "speedup": tuple(200 / own for own in slow), "rate": slow,
            "power": (300.0, 300.0, 300.0, 300.0, 300.1), "power_ratio": (4 / 3,) * 5,
        },
        "a campaign",
    )  # fmt: skip
    subject = Subject("bert", ((case, 1.0),))
    found = {c.what: c for c in costs(judge(scenario(dict(VALUES)), subject, 0.95), 0.95)}
    energy = found["samples for energy"]
    assert isinstance(energy, Cost)
    assert energy.a.high / energy.a.low < 1.001
    assert energy.b.high / energy.b.low > 1.03


@pytest.mark.parametrize("values", [(2.0,), (2.0, 2.0, 2.0)])
def test_one_round_or_no_spread_is_a_point(values: tuple[float, ...]) -> None:
    rounds = OfRounds(values)
    assert rounds.ends(0.95) is None
    assert set(rounds.draw(np.random.default_rng(1), 10)) == {rounds.middle}


def test_ranges_are_drawn_between_their_ends() -> None:
    generator = np.random.default_rng(1)
    flat = Stated(1.0, 3.0).draw(generator, 100_000)
    peaked = Stated(0.0, 3.0, likely=0.0).draw(generator, 100_000)
    assert flat.min() >= 1 and flat.max() <= 3 and flat.mean() == pytest.approx(2, abs=0.01)
    assert peaked.mean() == pytest.approx(1, abs=0.01)  # of a triangle, a third of the three


def test_shorter_trainings_are_a_speed_up() -> None:
    assert Shorter(Stated.certain(0.3)).middle == pytest.approx(1 / 0.7)
    halves = Shorter(Stated(0.0, 0.5))
    assert halves.ends(0.95) == (1, 2)
    drawn = halves.draw(np.random.default_rng(1), 100_000)
    assert np.mean(1 - 1 / drawn) == pytest.approx(0.25, abs=0.002)  # the share is even, not 1..2


def test_every_key_says_what_it_asks_for() -> None:
    keys = asked_keys()
    assert VALUES.keys() - keys.keys() == {
        "a.purchase.server", "b.purchase.server", "a.rent", "b.rent",
    }  # fmt: skip
    assert all(isinstance(asked, Asked) and asked.words for asked in keys.values())
