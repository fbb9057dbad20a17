"""From the values of assumptions and gains to costs and savings, for one number or all draws.

Layer: economics. Reads and writes no file. Everything is counted for an hour of work of the
slower side: the faster one needs 1 / speed-up hours for the same work, its `time`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from commwall.economics import formulas
from commwall.economics.formulas import SECONDS_PER_HOUR, Value
from commwall.economics.scenario import Scenario
from commwall.economics.work import Subject

WAITING = ("engineer_per_h", "waiting_share")
WORK = ("trainings_per_month", "training_h")


@dataclass(frozen=True)
class Sums:
    """All sums of one subject in one scenario with one set of values."""

    scenario: Scenario
    subject: Subject
    values: Mapping[str, Value]
    """Key -> number or draws, of the scenario's entries and the subject's quantities."""

    def knows(self, *keys: str) -> bool:
        """Whether all of these are stated."""
        return all(key in self.values for key in keys)

    def changed(self, values: Mapping[str, Value]) -> "Sums":
        """The same with some other values."""
        return Sums(self.scenario, self.subject, {**self.values, **values})

    def both(self, quantity: Callable[[str], Value | None]) -> tuple[Value, Value] | None:
        """A quantity of the faster and of the slower side; None where one is not known."""
        a, b = quantity("a"), quantity("b")
        return None if a is None or b is None else (a, b)

    @property
    def time(self) -> Value:
        """Hours of the faster side for an hour of work of the slower one [1]."""
        return sum(
            share / self.values[workload.key("speedup")] for workload, share in self.subject.parts
        )

    @property
    def waiting_per_h(self) -> Value:
        """Cost of those who wait, for an hour that a training lasts [money/h]; 0 if not stated."""
        if not self.knows(*WAITING):
            return 0.0
        return self.values["engineer_per_h"] * self.values["waiting_share"]

    def energy_kwh(self, side: str) -> Value | None:
        """At the meter, for an hour of work of the slower side [kWh]; None where not measured.

        Without a PUE the energy is that of the GPUs alone.
        """
        if self.subject.no_energy:
            return None
        return sum(
            share * formulas.energy_kwh(*self._power_and_time(workload.name, side), self._pue)
            for workload, share in self.subject.parts
        )

    def _power_and_time(self, name: str, side: str) -> tuple[Value, Value]:
        power_w = self.values[f"{name}:power"]
        if side == "b":
            return power_w, 1.0
        return power_w * self.values[f"{name}:power_ratio"], 1 / self.values[f"{name}:speedup"]

    @property
    def _pue(self) -> Value:
        return self.values.get("pue", 1.0)

    # Bought ----------------------------------------------------------------------------

    def price(self, side: str) -> Value | None:
        """Of the machine of one side [money]; None where no bill is stated."""
        bill = self.scenario.bill(side)
        if not bill:
            return None
        return self.values.get("price_level", 1.0) * sum(self.values[key] for key in bill)

    @property
    def extra_price(self) -> Value | None:
        """What the faster side costs more [money]."""
        prices = self.both(self.price)
        return None if prices is None else prices[0] - prices[1]

    @property
    def worth_months(self) -> Value | None:
        """What one a month over the time of use is worth today [month]."""
        if not self.knows("depreciation_years"):
            return None
        rate = self.values.get("discount_rate", 0.0)
        return formulas.months_worth(self.values["depreciation_years"], rate)

    @property
    def work_h_per_month(self) -> Value | None:
        """Hours of work a month over the slower link [h/month]."""
        if not self.knows(*WORK):
            return None
        return self.values["trainings_per_month"] * self.values["training_h"]

    @property
    def saved_by_owner_per_h(self) -> dict[str, Value]:
        """What the owner of the faster machine saves an hour of work, by cause [money/h]."""
        saved = {}
        freed = 1 - self.time
        if self.knows(*WAITING):
            saved["waiting"] = freed * self.waiting_per_h
        energies = self.both(self.energy_kwh)
        if energies and self.knows("energy_price"):
            saved["energy"] = (energies[1] - energies[0]) * self.values["energy_price"]
        if self.knows("freed_share", "b.rent"):
            saved["freed"] = freed * self.values["freed_share"] * self.rent_per_h("b")
        return saved

    @property
    def saved_per_month(self) -> Value | None:
        """What the owner of the faster machine saves a month [money/month]."""
        hours = self.work_h_per_month
        return None if hours is None else hours * sum(self.saved_by_owner_per_h.values())

    @property
    def payback_months(self) -> Value | None:
        """[month]; None where price or work are not stated."""
        if self.extra_price is None or self.saved_per_month is None:
            return None
        return formulas.payback_months(self.extra_price, self.saved_per_month)

    @property
    def net_present_value(self) -> Value | None:
        """[money]; None where price, work or time of use are not stated."""
        extra, saved, worth = self.extra_price, self.saved_per_month, self.worth_months
        if extra is None or saved is None or worth is None:
            return None
        return formulas.net_present_value(extra, saved, worth)

    # Rented ----------------------------------------------------------------------------

    def rent_per_h(self, side: str) -> Value:
        """Of all GPUs of a side [money/h]."""
        return self.values[f"{side}.rent"] * (self.scenario.gpus or 1)

    @property
    def rents(self) -> bool:
        """Whether both sides have a rent."""
        return self.knows("a.rent", "b.rent")

    @property
    def rent_ratio(self) -> Value:
        """Rent of the faster side relative to the other's [1]."""
        return self.rent_per_h("a") / self.rent_per_h("b")

    @property
    def rent_break_even(self) -> Value:
        """The ratio of rents at which a training costs the same [1]."""
        return formulas.rent_break_even(1 / self.time, self.waiting_per_h, self.rent_per_h("b"))

    @property
    def rent_saved(self) -> Value | None:
        """What renting the faster side saves, relative to the cost over the other [1].

        None where the rents are not stated.
        """
        costs = self.both(lambda side: self.cost_per_h(side, "rented"))
        return None if costs is None else 1 - costs[0] / costs[1]

    @property
    def rent_saved_alone(self) -> Value:
        """The same of the rent alone, as if nobody waited for a training [1]."""
        return 1 - self.time * self.rent_ratio

    # Costs -----------------------------------------------------------------------------

    def cost_per_h(self, side: str, way: str) -> Value | None:
        """Of what an hour of the slower side does [money/h]; None where not all is stated."""
        time = self.time if side == "a" else 1.0
        if way == "rented":
            return time * (self.rent_per_h(side) + self.waiting_per_h) if self.rents else None
        price, worth = self.price(side), self.worth_months
        if price is None or worth is None or not self.knows("utilisation"):
            return None
        capital = formulas.capital_per_hour(price, worth, self.values["utilisation"])
        return time * (capital + self.waiting_per_h) + self._energy_cost_per_h(side)

    def _energy_cost_per_h(self, side: str) -> Value:
        energy = self.energy_kwh(side)
        return 0.0 if energy is None else energy * self.values.get("energy_price", 0.0)

    def samples_per_h(self) -> Value | None:
        """Samples in an hour of the slower side [sample/h]; None for a mix, and if not measured."""
        own = self.subject.alone
        return self.values[own.key("rate")] * SECONDS_PER_HOUR if own and own.has_rate else None

    def carbon_kg_per_h(self, side: str) -> Value | None:
        """Of what an hour of the slower side does [kg/h]."""
        energy = self.energy_kwh(side)
        known = energy is not None and self.knows("carbon")
        return energy * self.values["carbon"] if known and energy is not None else None
