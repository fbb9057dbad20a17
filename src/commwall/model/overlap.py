"""How much of an exchange a step waits for, and where the faster of two links begins to pay.

Layer: model. Reads and writes no file. A step of compute time C that exchanges for time E takes

    T = C + E - o min(E, f C)

f C is the part of the compute beside which gradients can travel, the backward pass; o says how much
of what could be hidden there is: 0 nothing, 1 all. T grows with C and E and falls with o.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from commwall.model.links import Values

BACKWARD_SHARE = 2 / 3
"""Of the compute of a step. Source: Kaplan et al., Scaling laws for neural language models,
arXiv:2001.08361, section 2.1: the backward pass has twice the FLOPs of the forward pass."""


def exposed_s(
    compute_s: Values, exchange_s: Values, overlap: Values, window: Values = BACKWARD_SHARE
) -> Values:
    """Time that the exchange adds to a step [s].

    Args:
        compute_s: of the step without exchange [s].
        exchange_s: of all gradients with nothing in the way [s].
        overlap: o, between 0 and 1.
        window: f, share of the compute beside which gradients can travel.
    """
    return exchange_s - overlap * np.minimum(exchange_s, window * compute_s)


def hidden_share(compute_s: float, exchange_s: float, exposed: float) -> float | None:
    """The overlap o that a measured step implies; below 0 where the exchange costs more than it
    takes alone, None where nothing could be hidden [1]."""
    possible = min(exchange_s, BACKWARD_SHARE * compute_s)
    return (exchange_s - exposed) / possible if possible > 0 else None


@dataclass(frozen=True)
class TwoLinks:
    """The same step over a faster and a slower link, everything for each byte of gradients."""

    fast_s_per_byte: float
    """Time of the exchange over the faster link [s/byte]."""
    slow_s_per_byte: float
    """Over the slower one [s/byte]."""

    def gain(self, compute_s_per_byte: Values, overlap: Values) -> Values:
        """Step time over the slower link over that over the faster one, less 1 [1]."""
        fast, slow = (
            compute_s_per_byte + exposed_s(compute_s_per_byte, each, overlap)
            for each in (self.fast_s_per_byte, self.slow_s_per_byte)
        )
        return slow / fast - 1

    @property
    def highest_gain(self) -> float:
        """Gain of a step that computes nothing [1]."""
        return self.slow_s_per_byte / self.fast_s_per_byte - 1

    def crossing(self, gain: float, overlap: float) -> float | None:
        """Compute for each byte at which the faster link gains so much; above it, less [s/byte].

        The gain falls with compute. It has three branches, of which each is solved: both exchanges
        outlast the backward pass, only the slower one, none.

        Args:
            gain: above 0 [1].
            overlap: o, between 0 and 1.

        Returns:
            None if no step gains so much.
        """
        if not 0 < gain < self.highest_gain:
            return None
        return next(self._roots(gain, overlap), None)

    def _roots(self, gain: float, overlap: float) -> Iterator[float]:
        """Solutions of the branches that lie where their branch holds."""
        fast, slow, hidden = self.fast_s_per_byte, self.slow_s_per_byte, overlap * BACKWARD_SHARE
        ends = fast / BACKWARD_SHARE, slow / BACKWARD_SHARE
        excess = (slow - fast) / gain - fast
        both = excess / (1 - hidden)
        one = (slow - (1 + gain) * (1 - overlap) * fast) / (gain + hidden)
        none = (1 - overlap) * excess
        if both <= ends[0]:
            yield both
        if ends[0] <= one <= ends[1]:
            yield one
        if none >= ends[1]:
            yield none
