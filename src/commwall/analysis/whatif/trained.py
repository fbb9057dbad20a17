"""What measured training cases say of another step: its MFU, and the share of its exchange hidden.

Layer: analysis. Reads no file. A model that was measured is told by its own cases, another one by
those of all models given. A range is from the least to the greatest value of any case and round.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from commwall.model.estimates import Estimate, Origin
from commwall.schema.units import significant

SAME_WORK = 0.02
"""Chosen: a formula's FLOPs of a step differ by less from those that PyTorch counts."""


@dataclass(frozen=True)
class Trained:
    """A training case in one round on one platform, as far as models start from it."""

    case: str
    model: str
    """As `whatif` names it."""
    platform: str
    flops: float
    """Of a step of one GPU [FLOP]."""
    mfu: float | None
    """Of forward and backward pass alone [1]."""
    hidden: float | None
    """Share of what could be hidden that was; None also where the exchange is too short [1]."""

    def does(self, flops: float) -> bool:
        """Whether its step is one of so much work."""
        return abs(flops / self.flops - 1) < SAME_WORK


def mfu_of(trained: Iterable[Trained], model: str | None, flops: float) -> Estimate | None:
    """MFU of a step of so much work on one GPU; None where none was measured.

    Args:
        trained: to learn from.
        model: as `whatif` names it; None is one of which only sizes are known.
        flops: of its step [FLOP].
    """
    known = [each for each in trained if each.mfu]
    own = [each for each in known if each.model == model]
    same = [each for each in own if each.does(flops)]
    if own and not same:
        return _of_another_batch(own, flops)
    used = same or list(_largest(known))
    if not used:
        return None
    whose = "" if same else ", other models"
    return _between(_shares(used), "measured", _basis(used) + whose)


def hidden_of(trained: Iterable[Trained], model: str | None, platform: str) -> Estimate | None:
    """Share hidden over a platform's link; None where it was not measured.

    At most all of what could be: noise that makes a step shorter than its compute hides no more.
    """
    known = [each for each in trained if each.platform == platform and each.hidden is not None]
    own = [each for each in known if each.model == model]
    shares = [min(1.0, each.hidden) for each in own or known if each.hidden is not None]
    if not shares:
        return None
    whose = "" if own else ", other models"
    return _between(shares, "measured", f"share hidden by {_names(own or known)}{whose}")


def _largest(known: Sequence[Trained]) -> Iterator[Trained]:
    """Of each model the case of most work: of other models, small batches tell least."""
    for _, cases in groupby(sorted(known, key=attrgetter("model")), key=attrgetter("model")):
        own = list(cases)
        most = max(each.flops for each in own)
        yield from (each for each in own if each.flops == most)


def _of_another_batch(own: Sequence[Trained], flops: float) -> Estimate:
    """The tightest ends that the cases of a model give for another batch of it.

    Of two batches the larger takes no less time than the smaller, and no more for each sample.
    """
    lows, highs = [], []
    for _, cases in groupby(sorted(own, key=attrgetter("case")), key=attrgetter("case")):
        measured = list(cases)
        more = flops / measured[0].flops
        lows.append(min(_shares(measured)) * min(1.0, more))
        highs.append(min(1.0, max(_shares(measured)) * max(1.0, more)))
    times = " and ".join(significant(flops / size) for size in sorted({e.flops for e in own}))
    words = (
        f"{_basis(own)}, of which this step does {times} times the work: a larger batch takes no "
        "less time, and no more for each sample"
    )
    return _between((max(lows), min(highs)), "modelled", words)


def _shares(used: Iterable[Trained]) -> list[float]:
    return [each.mfu for each in used if each.mfu]


def _basis(used: Sequence[Trained]) -> str:
    return f"MFU without exchange and update of {_names(used)}"


def _names(used: Sequence[Trained]) -> str:
    """Cases, and how many records a range is of: one has no width."""
    cases = ", ".join(dict.fromkeys(each.case for each in used))
    return f"{cases} ({len(used)} record{'s' if len(used) > 1 else ''})"


def _between(values: Sequence[float], origin: Origin, basis: str) -> Estimate:
    return Estimate(min(values), max(values), origin, basis)
