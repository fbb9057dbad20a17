"""A step with its gradient buckets over any link, and what it tells of its workload's traits.

Layer: model. Reads and writes no file.

Traits of a workload (`commwall.model.traits`) are not measured apart. They are estimated on the
link where the whole step was measured, and carried to another link, which has its own times and its
own contention with the load of the sweep.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from commwall.model.step import Exchange, ModelledStep, Timeline, run_step
from commwall.model.sweep import SweptLink
from commwall.model.traits import Traits, most_probable


@dataclass(frozen=True)
class BucketedStep:
    """A workload's step as compute alone has it, and the buckets that it exchanges."""

    timeline: Timeline
    bucket_bytes: tuple[int, ...]
    """Bytes of each bucket in the order of exchange [byte]."""
    ranks: int
    """Processes, one a GPU."""

    def step(self, link: SweptLink, own: Traits) -> ModelledStep:
        """The step over a link.

        Args:
            link: its sweeps.
            own: traits of this workload.
        """
        return self._run(self._exchanges(link), own)

    def traits(self, link: SweptLink, step_s: float, doubt_s: float) -> Traits:
        """What a measured step tells of this workload.

        Args:
            link: over which it was measured.
            step_s: the step, exchange included [s].
            doubt_s: how far that may differ from the model for other reasons [s].
        """
        exchanges = self._exchanges(link)
        return most_probable(
            link.beside.prior, lambda own: self._run(exchanges, own).step_s, step_s, doubt_s
        )

    def _exchanges(self, link: SweptLink) -> tuple[Exchange, ...]:
        """One for each bucket; one process exchanges nothing."""
        return link.exchanges(self.bucket_bytes) if self.ranks > 1 else ()

    def _run(self, exchanges: Sequence[Exchange], own: Traits) -> ModelledStep:
        return run_step(self.timeline, [each.beside(own) for each in exchanges])

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
