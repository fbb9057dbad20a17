"""What mitigations cost numerically: loss and gradient error over all seeds of a campaign.

Layer: analysis. Reads no file.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

from commwall.analysis.values.cells import Cell
from commwall.analysis.values.readings import all_values
from commwall.language.translate import tr_later
from commwall.schema.base import canonical_json
from commwall.schema.case import Leg
from commwall.schema.mitigation import Mitigation, PriceCase
from commwall.schema.record import Record
from commwall.stats.intervals import Interval, mean_interval

UNPRICED = tr_later(
    "its price was not measured: the campaign has no usable case of kind price for it"
)

MOST_FREE_NAT = 0.02
"""Chosen: a hundredth of what the small task's training wins, about 2 nat (decision 028) [nat]."""


@dataclass(frozen=True)
class Price:
    """What a mitigation costs in loss."""

    differences_nat: tuple[float, ...]
    """Loss with it less loss without it, one value a seed, shape (seeds,); empty where it changes
    no arithmetic."""
    interval: Interval | None
    """Of their mean; None without seeds, or where all agree."""
    gradient_error: float | None
    """Median over the steps looked at; None where no gradient is exchanged [1]."""

    @property
    def mean_nat(self) -> float:
        """Mean difference; 0 where no arithmetic is changed [nat]."""
        return fmean(self.differences_nat) if self.differences_nat else 0.0

    @property
    def verdict(self) -> Literal["free", "loss", "unsettled"]:
        """loss: the interval lies above 0; free: it does not, and ends below `MOST_FREE_NAT`;
        unsettled: it is too wide to tell, or there is one seed."""
        if not self.differences_nat:
            return "free"
        if len(self.differences_nat) == 1:
            return "unsettled"
        around = self.interval
        low, high = (around.low, around.high) if around else (self.mean_nat, self.mean_nat)
        if low > 0:
            return "loss"
        return "free" if high <= MOST_FREE_NAT else "unsettled"


NO_PRICE = Price((), None, 0.0)
"""Of what changes how a step is run, and not what it computes: each record checks the losses."""


class PriceList:
    """Prices of all mitigations that a campaign has priced.

    Args:
        cells: of the campaign.
        confidence: level of the intervals.
        seed: of the bootstrap's generator.
    """

    def __init__(self, cells: Iterable[Cell], *, confidence: float, seed: int) -> None:
        groups: dict[str, list[Record]] = {}
        for record in _once_a_round(cells):
            assert isinstance(record.case, PriceCase)
            groups.setdefault(_key(record.case.mitigation), []).append(record)
        self._prices = {key: _price(own, confidence, seed) for key, own in groups.items()}

    def of(self, mitigation: Mitigation) -> Price | None:
        """The price; None if it was not measured."""
        return self._prices.get(_key(mitigation)) if mitigation.numerical else NO_PRICE


def _key(mitigation: Mitigation) -> str:
    """Mitigations that compute the same have one price."""
    return canonical_json(mitigation.numerical)


def _once_a_round(cells: Iterable[Cell]) -> Iterator[Record]:
    """Price records, of each round and mitigation one: the link plays no part in them."""
    seen = set()
    for cell in cells:
        record = cell.record
        if isinstance(record.case, PriceCase) and not cell.refusals:
            place = record.id.round, record.case.model_dump_json()
            if place not in seen:
                seen.add(place)
                yield record


def _price(records: list[Record], confidence: float, seed: int) -> Price:
    differences = tuple(
        own - plain
        for record in records
        for plain, own in zip(_losses(record, "full"), _losses(record, "mitigated"), strict=True)
    )
    errors = [error for record in records for error in all_values(record, "gradient_error")]
    around = None
    if differences:
        around = mean_interval(differences, confidence=confidence, seed=seed)
    return Price(differences, around, median(errors) if errors else None)


def _losses(record: Record, leg: Leg) -> tuple[float, ...]:
    """Loss of each seed; all ranks have the same weights, so rank 0 speaks for them."""
    own = [s for s in record.series if (s.metric, s.leg, s.rank) == ("held_out_loss", leg, 0)]
    return own[0].values if own else ()
