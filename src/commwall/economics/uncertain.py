"""Numbers that are not certain: as somebody states them, and as rounds measured them.

Layer: economics. Reads and writes no file. Each has a middle, ends for one-way sensitivity, and
can be drawn from.
"""

import math
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from commwall.stats.intervals import is_one_value, t_quantile

Draws: TypeAlias = NDArray[np.float64]
_MOST_LOG = 50.0
"""Two rounds can draw any power of e; beyond this one no answer changes."""


class Uncertain(Protocol):
    """What a sum may rest on."""

    @property
    def middle(self) -> float:
        """The one value where only one is asked for."""

    def ends(self, confidence: float) -> tuple[float, float] | None:
        """Least and most that it is taken for; None where it is one number."""

    def draw(self, generator: np.random.Generator, count: int) -> Draws:
        """Independent draws, shape (count,)."""


@dataclass(frozen=True)
class Stated:
    """A number as somebody states it: certain, between two ends, or with a likeliest value."""

    low: float
    high: float
    likely: float | None = None
    """Top of the triangle; None where all between the ends are alike."""

    @classmethod
    def certain(cls, value: float) -> "Stated":
        """A number without range."""
        return cls(value, value)

    @property
    def middle(self) -> float:
        """The likeliest value, or the centre of the range."""
        return (self.low + self.high) / 2 if self.likely is None else self.likely

    def ends(self, confidence: float) -> tuple[float, float] | None:
        """The whole range, whatever the level."""
        return None if self.low == self.high else (self.low, self.high)

    def draw(self, generator: np.random.Generator, count: int) -> Draws:
        """Uniform, or triangular where a value is likeliest."""
        if self.low == self.high:
            return np.full(count, self.low)
        if self.likely is None:
            return generator.uniform(self.low, self.high, count)
        return generator.triangular(self.low, self.likely, self.high, count)

    def scaled(self, factor: float) -> "Stated":
        """All of it times a positive number."""
        likely = None if self.likely is None else self.likely * factor
        return Stated(self.low * factor, self.high * factor, likely)


@dataclass(frozen=True)
class Shorter:
    """A speed-up stated as the share by which a training is shorter."""

    share: Stated

    @property
    def middle(self) -> float:
        """Of the share's middle."""
        return 1 / (1 - self.share.middle)

    def ends(self, confidence: float) -> tuple[float, float] | None:
        """Those of the share."""
        ends = self.share.ends(confidence)
        return None if ends is None else (1 / (1 - ends[0]), 1 / (1 - ends[1]))

    def draw(self, generator: np.random.Generator, count: int) -> Draws:
        """The share is drawn as it is stated."""
        return 1 / (1 - self.share.draw(generator, count))


@dataclass(frozen=True)
class OfRounds:
    """A positive quantity that rounds measured; its logarithm's mean has Student's distribution."""

    values: tuple[float, ...]
    """One of each round, shape (n,)."""
    rounds: tuple[int, ...] = ()
    """Their numbers from 0 on, shape (n,), for what else the same rounds measured; left out, they
    are the first."""

    @property
    def middle(self) -> float:
        """Geometric mean."""
        return math.exp(fmean(self._logs))

    @property
    def has_spread(self) -> bool:
        """Whether the rounds say how far off their mean may be; one round does not."""
        return not is_one_value(self._logs)

    def ends(self, confidence: float) -> tuple[float, float] | None:
        """Student's interval; None for one round, or rounds without spread."""
        if not self.has_spread:
            return None
        half = t_quantile(confidence, len(self.values) - 1) * self._error
        centre = fmean(self._logs)
        low, high = _exp(np.array([centre - half, centre + half]))
        return float(low), float(high)

    def draw(self, generator: np.random.Generator, count: int) -> Draws:
        """The middle plus Student's t with n - 1 degrees times its error, on logarithms.

        The t is a sum over rounds: a normal number of each round times that round's distance from
        the middle, divided by one root of chi-squared. Several quantities of the same rounds that
        are drawn by generators of one seed have those numbers in common. Together they are then of
        the multivariate t whose covariance is that of their logarithms.

        Source: Student, The probable error of a mean, Biometrika 6 (1908); Kotz and Nadarajah,
            Multivariate t Distributions and Their Applications (2004), section 1.1.
        """
        if not self.has_spread:
            return np.full(count, self.middle)
        numbers = self.rounds or range(len(self.values))
        centre = fmean(self._logs)
        apart = {number: log - centre for number, log in zip(numbers, self._logs, strict=True)}
        normal, scale = generator.spawn(2)  # apart, so that a missing round shifts no other's
        steps = np.zeros(count)
        for number in range(max(numbers) + 1):
            steps += apart.get(number, 0.0) * normal.standard_normal(count)
        squares = scale.chisquare(len(self.values) - 1, count)
        return _exp(centre + steps / np.sqrt(len(self.values) * squares))

    @property
    def _logs(self) -> list[float]:
        return [math.log(value) for value in self.values]

    @property
    def _error(self) -> float:
        return stdev(self._logs) / math.sqrt(len(self.values))


def _exp(logs: Draws) -> Draws:
    return np.asarray(np.exp(np.clip(logs, -_MOST_LOG, _MOST_LOG)))
