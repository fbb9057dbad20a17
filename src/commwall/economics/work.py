"""What is trained: workloads with their gains, single or as a team's mix.

Layer: economics. Reads and writes no file.
"""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from commwall.economics.scenario import Entry, Scenario
from commwall.economics.uncertain import OfRounds, Uncertain
from commwall.language.translate import clauses, tr, tr_later
from commwall.schema.economics import SPEEDUP, Asked
from commwall.schema.errors import ConfigError
from commwall.schema.suggestion import suggestion

MIX = tr_later("mix")
KINDS = {"published": tr_later("published"), "modelled": tr_later("modelled")}
"""Kind of a gain that nobody measured here -> its words."""
NO_ENERGY = {
    "published": tr_later("the gain is published"),
    "modelled": tr_later("the gain is modelled"),
}
POWER = Asked("power, slower link", "W")
POWER_RATIO = Asked("power, faster / slower link", "1", open_below=True)
RATE = Asked("throughput, slower link", "sample/s", open_below=True)


@dataclass(frozen=True)
class Workload:
    """One workload over both links."""

    name: str
    evidence: str
    """Where its gain is from: "measured, n = 5", "published" …"""
    quantities: Mapping[str, Entry]
    """Key -> `speedup`, and where it was measured `rate`, `power` and `power_ratio`."""
    epoch_samples: int | None = None
    no_energy: str | None = None
    """Why its energy is not known."""
    caveat: str | None = None
    """What a verdict must say of the gain: that it has no interval."""

    def key(self, quantity: str) -> str:
        """Key of one of its quantities."""
        return f"{self.name}:{quantity}"

    @property
    def has_energy(self) -> bool:
        """Whether both power and its ratio are known."""
        return {self.key("power"), self.key("power_ratio")} <= self.quantities.keys()

    @property
    def has_rate(self) -> bool:
        """Whether its samples per second are known."""
        return self.key("rate") in self.quantities


@dataclass(frozen=True)
class Subject:
    """What one answer is about: a workload, or several with their shares of machine time."""

    name: str
    parts: tuple[tuple[Workload, float], ...]
    """Workload and share of the hours over the slower link; shares add up to 1."""

    @property
    def alone(self) -> Workload | None:
        """The workload, where it is one."""
        return self.parts[0][0] if len(self.parts) == 1 else None

    @property
    def evidence(self) -> str:
        """Where the gains are from."""
        return clauses(dict.fromkeys(workload.evidence for workload, _ in self.parts))

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a verdict must say of the gains."""
        return tuple(dict.fromkeys(w.caveat for w, _ in self.parts if w.caveat))

    @property
    def no_energy(self) -> str | None:
        """Why the energy is not known; None where it is."""
        reasons = (w.no_energy or tr("not measured") for w, _ in self.parts if not w.has_energy)
        return next(reasons, None)

    @property
    def quantities(self) -> dict[str, Entry]:
        """All quantities of its workloads."""
        return {
            key: entry for workload, _ in self.parts for key, entry in workload.quantities.items()
        }


def measured(
    name: str,
    values: Mapping[str, tuple[float, ...]],
    source: str,
    *,
    rounds: Mapping[str, tuple[int, ...]] | None = None,
    epoch_samples: int | None = None,
    no_energy: str | None = None,
) -> Workload:
    """A workload that a campaign measured.

    Args:
        name: of the case.
        values: one of each round: `speedup` [1], `rate` [sample/s], `power` [W], `power_ratio` [1].
        source: the campaign.
        rounds: their numbers from 0 on, of each quantity; the first ones if left out.
        epoch_samples: samples of an epoch.
        no_energy: why there is no power.
    """
    asked = {"speedup": SPEEDUP, "rate": RATE, "power": POWER, "power_ratio": POWER_RATIO}
    numbers = rounds or {}
    amounts = {
        quantity: OfRounds(own, numbers.get(quantity, ())) for quantity, own in values.items()
    }
    n, spread = len(values["speedup"]), amounts["speedup"].has_spread
    entries = (_entry(name, key, asked[key], amounts[key], source) for key in amounts)
    return Workload(
        name=name,
        evidence=_measured_text(n, spread=spread),
        quantities={entry.key: replace(entry, measured_with=name) for entry in entries},
        epoch_samples=epoch_samples,
        no_energy=no_energy,
        caveat=None if spread else _no_interval_text(n),
    )


def _measured_text(rounds: int, *, spread: bool) -> str:
    if spread:
        return tr("measured, n = {n}", n=rounds)
    return tr("measured, n = {n}, no interval", n=rounds)


def _no_interval_text(rounds: int) -> str:
    """What a verdict says of a gain without interval."""
    if rounds == 1:
        return tr("the gain is the point of one round, which has no interval")
    return tr("the gain is the point of rounds that show no spread, which has no interval")


def stated(scenario: Scenario) -> Iterable[Workload]:
    """The workloads whose gains the scenario states."""
    for name, gain in scenario.gains.items():
        entry = _entry(name, "speedup", SPEEDUP, gain.speedup, gain.source, gain.date)
        evidence, no_energy = tr(KINDS[gain.kind]), tr(NO_ENERGY[gain.kind])
        yield Workload(name, evidence, {entry.key: entry}, no_energy=no_energy)


def subjects(
    workloads: Mapping[str, Workload], mix: Mapping[str, float] | None, known: Iterable[str]
) -> tuple[Subject, ...]:
    """One subject of each workload, and the mix last where there are several.

    Args:
        workloads: those with a gain, by name.
        mix: weights by name; None gives all of them equal ones.
        known: names of all workloads, with or without a gain.

    Raises:
        ConfigError: if the mix names a workload that is not known.
    """
    names = [*dict.fromkeys((*workloads, *known))]
    strangers = [name for name in mix or {} if name not in names]
    if strangers:
        raise ConfigError(
            "the mix names workloads that do not exist",
            found="\n".join(_stranger(name, names) for name in strangers),
            expected=f"some of: {', '.join(names)}",
            next_step="correct `mix` in the file of assumptions",
        )
    single = tuple(Subject(name, ((workload, 1.0),)) for name, workload in workloads.items())
    weights = mix or dict.fromkeys(workloads, 1.0)
    if len(weights) < 2 or not weights.keys() <= workloads.keys():
        return single
    total = sum(weights.values())
    parts = tuple((workloads[name], weight / total) for name, weight in weights.items())
    return (*single, Subject(tr(MIX), parts))


def _stranger(name: str, names: list[str]) -> str:
    hint = suggestion(name, names)
    return f"mix.{name}: no such workload" + (f"; {hint}" if hint else "")


def _entry(
    name: str,
    quantity: str,
    asked: Asked,
    amount: Uncertain,
    source: str,
    date: datetime.date | None = None,
) -> Entry:
    """One quantity of a workload, named after it."""
    own = replace(asked, words=tr("{what} of {workload}", what=tr(asked.words), workload=name))
    return Entry(f"{name}:{quantity}", own, amount, asked.unit, source, date)
