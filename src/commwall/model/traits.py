"""What a workload is like beside an exchange, and how that is told from one measured step.

Layer: model. Reads and writes no file.

Compute and exchange take from each other what a link's sweep beside a load says. A workload is no
such load; two traits of its own say how it differs. One measured step cannot tell both, but it need
not depend on both: where the exchange outlasts compute, what compute loses hardly counts, and the
step tells drag; where compute outlasts the exchange, it loses a share of the exchange's time, and
the step tells both alike. So both are estimated together, from what workloads are usually like, and
each takes the part of the surprise that the step owes to it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from commwall.stats.roots import bisect


@dataclass(frozen=True)
class Traits:
    """How a workload differs from the load of the sweep."""

    sensitivity: float = 1.0
    """Times as much as that load, compute and exchange take from each other [1]; at least 0."""
    drag: float = 0.0
    """Share by which the exchange takes longer beyond that while compute runs [1]."""


@dataclass(frozen=True)
class Prior:
    """What traits are likely before a step was measured."""

    usual: Traits
    spread: Traits
    """Standard deviation of each."""

    def moved(self, sensitivity: float, drag: float) -> Traits:
        """Traits that are so many spreads off the usual ones."""
        return Traits(
            max(0.0, self.usual.sensitivity + sensitivity * self.spread.sensitivity),
            self.usual.drag + drag * self.spread.drag,
        )


SPREAD = 0.2
"""Chosen on two links of one machine: docs/decisions/021 says what other values would give."""
LIKE_A_LOAD = Prior(Traits(1.0, 0.0), Traits(SPREAD, SPREAD))
"""Beside a load that was measured: neither more sensitive than that nor less."""
UNTOLD = Prior(Traits(0.0, 0.0), Traits(SPREAD, 0.0))
"""Where no load was measured: nothing is taken unless the step says so, and nothing tells loss from
stretch, so that sensitivity stands for both."""


def most_probable(
    prior: Prior, step: Callable[[Traits], float], measured_s: float, doubt_s: float
) -> Traits:
    """The most probable traits of a workload, given its step (maximum a posteriori).

    Traits leave the usual in proportion to what one spread of each makes of the step, as far as
    makes prior and step most probable together. With a step that is linear in the traits that is
    the maximum; with another one the way is that of the usual traits, the end is solved for.

    Args:
        prior: what traits are likely.
        step: the step that traits give [s]. It may get shorter as one of them rises: beside an
            early bucket that takes longer, compute may come past a later one that costs it more.
            Where the way of the usual traits leads to no such step therefore, they stay usual.
        measured_s: the step that was measured [s].
        doubt_s: standard error of that, over 0 [s].

    Source: Tarantola, "Inverse Problem Theory and Methods for Model Parameter Estimation", 2005,
        section 3.2: least squares with a prior.
    """
    usual_s = step(prior.usual)
    longer_s = (step(prior.moved(1, 0)) - usual_s, step(prior.moved(0, 1)) - usual_s)

    def moved(by: float) -> Traits:
        return prior.moved(by * longer_s[0], by * longer_s[1])

    def beyond_s(by: float) -> float:
        return step(moved(by)) + by * doubt_s**2 - measured_s

    # once doubt alone accounts for the surprise, traits have left the usual too far
    farthest = 2 * (measured_s - usual_s) / doubt_s**2
    if beyond_s(0.0) * beyond_s(farthest) > 0:
        return prior.usual
    return moved(bisect(beyond_s, 0.0, farthest))
