"""Successive halving: the best of several candidates within a time, by noisy measurements.

Layer: measure. Reads and writes no file. All candidates are looked at briefly, the best of them
longer, and so on; each round of it, a rung, times about as long. What a candidate showed in earlier
rungs still counts, weighted by how long it was looked at. The last rung measures the best one
alone, so that what is told of it is not what chose it.

Source: Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter
    Optimization", AISTATS 2016, algorithm 1.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

FACTORS = (2, 3, 4, 8)
"""By which a rung is smaller than the one before, and its windows longer; the gentlest that the
time allows is taken."""
Candidate = TypeVar("Candidate")
Measure = Callable[[tuple[Candidate, ...], float], dict[Candidate, float]]
"""Measures candidates over windows of a length [s]: the logarithm of how much better each is than
the baseline. A candidate that is missing could not be measured, and is dropped."""


class Costs(NamedTuple):
    """What a search takes besides its windows."""

    rung_s: float
    """A rung, whatever it measures [s]."""
    candidate_s: float
    """A candidate in a rung [s]."""
    windows: float
    """Windows of a candidate in a rung."""

    def of(self, candidates: int, window_s: float) -> float:
        """A rung [s]."""
        return self.rung_s + candidates * (self.candidate_s + self.windows * window_s)


class Schedule(NamedTuple):
    """How a search spends its time."""

    factor: int
    """By which a rung is smaller than the one before, and its windows longer."""
    window_s: float
    """Window of the first rung [s]."""


@dataclass(frozen=True)
class Rung(Generic[Candidate]):
    """One round of measurements."""

    window_s: float
    scores: dict[Candidate, float]
    """Of this rung alone."""


@dataclass
class Halving(Generic[Candidate]):
    """A search and what it has seen."""

    measure: Measure[Candidate]
    rungs: list[Rung[Candidate]] = field(default_factory=list)

    def search(
        self,
        candidates: Sequence[Candidate],
        schedule: Schedule,
        may_begin: Callable[[int, float], bool] = lambda count, window_s: True,
    ) -> Candidate | None:
        """The best candidate; None if none could be measured.

        Args:
            candidates: all different.
            schedule: how the time is spent.
            may_begin: whether there is time for a rung of so many candidates with windows of that
                length [s]; asked before every rung but the first.
        """
        left, window_s = tuple(candidates), schedule.window_s
        while left and (not self.rungs or may_begin(len(left), window_s)):
            found = self.measure(left, window_s)
            self.rungs.append(Rung(window_s, found))
            left = self.ranked(tuple(found))
            if len(left) <= 1:
                break
            left = left[: math.ceil(len(left) / schedule.factor)]
            window_s *= schedule.factor
        return left[0] if left else None

    def ranked(self, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Candidates by what all rungs say of them, best first."""
        return tuple(sorted(candidates, key=self.score, reverse=True))

    @property
    def confirmed(self) -> bool:
        """Whether the last rung measured one candidate alone, so that it did not choose it."""
        return len(self.rungs) > 1 and len(self.rungs[-1].scores) == 1

    def score(self, candidate: Candidate) -> float:
        """Mean over the rungs that measured it, weighted by their windows."""
        seen = [(r.window_s, r.scores[candidate]) for r in self.rungs if candidate in r.scores]
        return sum(w * score for w, score in seen) / sum(w for w, _ in seen)


def rung_sizes(candidates: int, factor: int) -> tuple[int, ...]:
    """How many candidates each rung measures, if none drops out: 8 by 2 -> 8, 4, 2, 1."""
    sizes = [candidates]
    while sizes[-1] > 1:
        sizes.append(math.ceil(sizes[-1] / factor))
    return tuple(sizes)


def schedule_within(
    candidates: int, within_s: float, costs: Costs, least_window_s: float
) -> Schedule | None:
    """How to spend a time on so many candidates; None where it does not suffice.

    Args:
        candidates: how many there are.
        within_s: time for all [s].
        costs: what the search takes besides windows.
        least_window_s: shorter windows say nothing [s].
    """
    for factor in FACTORS:
        window_s = _window_s(candidates, within_s, costs, factor)
        if window_s >= least_window_s:
            return Schedule(factor, window_s)
    return None


def least_time_s(candidates: int, costs: Costs, least_window_s: float) -> float:
    """Least time for which `schedule_within` finds a way [s]."""
    return min(
        _fixed_s(candidates, costs, factor)
        + least_window_s * costs.windows * _weighted(candidates, factor)
        for factor in FACTORS
    )


def _window_s(candidates: int, within_s: float, costs: Costs, factor: int) -> float:
    left_s = within_s - _fixed_s(candidates, costs, factor)
    return left_s / (costs.windows * _weighted(candidates, factor))


def _fixed_s(candidates: int, costs: Costs, factor: int) -> float:
    sizes = rung_sizes(candidates, factor)
    return len(sizes) * costs.rung_s + sum(sizes) * costs.candidate_s


def _weighted(candidates: int, factor: int) -> int:
    """Candidates of all rungs, each as often as its window is longer than the first rung's."""
    return sum(size * factor**place for place, size in enumerate(rung_sizes(candidates, factor)))
