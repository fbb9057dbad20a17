"""A step with its gradient buckets over any link, and how much it suffers beside an exchange.

Layer: model. Reads and writes no file.

One number of a workload is not measured apart: its sensitivity, how much compute and exchange
take from each other relative to the load of the sweep. It is solved for on the link where the
whole step was measured, and carried to another link, which has its own times and its own contention
with that load.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from commwall.model.step import Exchange, ModelledStep, Timeline, run_step
from commwall.model.sweep import Link

MOST = 64.0
"""A sensitivity beyond this is none: the step does not depend on it."""
_HALVINGS = 20
"""They leave a millionth of the sensitivity open."""


@dataclass(frozen=True)
class BucketedStep:
    """A workload's step as compute alone has it, and the buckets that it exchanges."""

    timeline: Timeline
    bucket_bytes: tuple[int, ...]
    """Bytes of each bucket in the order of exchange [byte]."""
    ranks: int
    """Processes, one a GPU."""

    def step(self, link: Link, sensitivity: float) -> ModelledStep:
        """The step over a link.

        Args:
            link: its sweeps.
            sensitivity: contention of this workload over that of the sweep's load [1].
        """
        return self._run(self._exchanges(link), sensitivity)

    def sensitivity(self, link: Link, step_s: float) -> float:
        """The sensitivity with which the model gives a measured step.

        Args:
            link: over which it was measured.
            step_s: the step, exchange included [s].

        Returns:
            At least 0 and at most MOST [1]; 0 where the step is even shorter than without any
            contention. The step never gets shorter as it rises, so that halving finds it.
        """
        exchanges, low, high = self._exchanges(link), 0.0, 1.0
        while high < MOST and self._run(exchanges, high).step_s < step_s:
            low, high = high, 2 * high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._run(exchanges, middle).step_s < step_s:
                low = middle
            else:
                high = middle
        return low

    def _exchanges(self, link: Link) -> tuple[Exchange, ...]:
        """One for each bucket; one process exchanges nothing."""
        return link.exchanges(self.bucket_bytes) if self.ranks > 1 else ()

    def _run(self, exchanges: Sequence[Exchange], sensitivity: float) -> ModelledStep:
        return run_step(self.timeline, [each.beside(sensitivity) for each in exchanges])

    def merged(self, bucket_bytes: int) -> "BucketedStep":
        """The same step with larger buckets: neighbours join until they hold so many bytes.

        A joined bucket is ready when its last part is. Smaller buckets cannot be had this way:
        when a part of a bucket was ready was not measured.

        Args:
            bucket_bytes: bytes from which on a bucket is closed [byte].
        """
        groups = joined_buckets(self.bucket_bytes, bucket_bytes)
        ready_s = tuple(self.timeline.ready_s[group[-1]] for group in groups)
        sizes = tuple(sum(self.bucket_bytes[index] for index in group) for group in groups)
        return replace(self, timeline=replace(self.timeline, ready_s=ready_s), bucket_bytes=sizes)


def joined_buckets(sizes: Sequence[int], least_bytes: int) -> tuple[tuple[int, ...], ...]:
    """Places of the buckets that become one each: neighbours, of at least so many bytes together.

    The last ones are joined whatever they hold. Source: PyTorch's reducer closes a bucket once its
    gradients reach the limit (torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment).
    """
    groups: list[tuple[int, ...]] = []
    open_: tuple[int, ...] = ()
    for index in range(len(sizes)):
        open_ += (index,)
        if sum(sizes[place] for place in open_) >= least_bytes:
            groups.append(open_)
            open_ = ()
    return tuple([*groups, open_] if open_ else groups)
