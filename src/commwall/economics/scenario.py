"""A scenario whose references and currencies are resolved: each number with unit and source.

Layer: economics. Reads and writes no file.
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

from commwall.economics.uncertain import Uncertain
from commwall.language.translate import tr
from commwall.schema.economics import Asked


@dataclass(frozen=True)
class Entry:
    """One assumption, or one measured quantity, that enters the sums."""

    key: str
    """Its place in the file: `a.purchase.server`; of a workload `bert-large:speedup`."""
    asked: Asked
    """Words, unit and bounds."""
    amount: Uncertain
    unit: str
    """As readers see it, with the currency."""
    source: str
    date: datetime.date | None = None
    """None for what a campaign measured: its records have their days."""
    together: str | None = None
    """Name of those that move together."""
    measured_with: str | None = None
    """The workload whose rounds measured it, so that its quantities are drawn of them at once."""

    @property
    def words(self) -> str:
        """What it is called in front of readers."""
        return tr(self.asked.words)

    @property
    def group(self) -> str:
        """What it moves with: itself alone, if nothing else is stated."""
        return self.together or self.key

    @property
    def drawn_with(self) -> str:
        """What has the same numbers of the generator."""
        return f"{self.measured_with}:" if self.measured_with else self.group


@dataclass(frozen=True)
class Gain:
    """A gain that the scenario states."""

    kind: str
    """published or modelled."""
    speedup: Uncertain
    source: str
    date: datetime.date


@dataclass(frozen=True)
class Scenario:
    """What an answer rests on besides measured gains."""

    name: str
    title: str
    difference: str
    currency: str
    side_a: str
    side_b: str
    gpus: int | None
    entries: Mapping[str, Entry]
    """Key -> assumption; what the file leaves out is not there."""
    gains: Mapping[str, Gain] = field(default_factory=dict)
    mix: Mapping[str, float] | None = None
    """Workload -> its weight; None for equal shares."""

    def bill(self, side: str) -> tuple[str, ...]:
        """Keys of what one side buys."""
        return tuple(key for key in self.entries if key.startswith(f"{side}.purchase."))
