"""A data-parallel step as two streams: compute, and an exchange of gradient buckets beside it.

Layer: model. Reads and writes no file.

Compute goes on for itself; as it passes the place where a bucket holds all its gradients, that
bucket may be exchanged. Buckets are exchanged one after another, in order, as DDP has it. While
both streams work, each slows the other: compute loses a share of each second, and the exchange
takes longer by a factor. The optimiser begins when compute and the last exchange are over.
Rates change only where a stream begins or ends, so the times follow exactly, without steps in time.

Source of the order of events: Li et al., "PyTorch Distributed", VLDB 2020, sections 3.2 and 4.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from commwall.model.traits import Traits
from commwall.schema.errors import UnitError


@dataclass(frozen=True)
class Timeline:
    """A step whose gradients are packed into buckets, which nobody exchanges."""

    ready_s: tuple[float, ...]
    """From the start of the step until each bucket could be exchanged, in order of exchange [s]."""
    backward_end_s: float
    """From the start of the step until the backward pass is over [s]."""
    step_s: float
    """The whole step; what follows the backward pass is the optimiser's [s]."""

    def __post_init__(self) -> None:
        last_s = max(self.ready_s, default=0.0)
        if (
            not 0 <= last_s <= self.backward_end_s <= self.step_s
            or min(self.ready_s, default=0) < 0
        ):
            raise UnitError(
                "a step's times contradict each other",
                found=f"last bucket ready after {last_s:g} s, backward over after "
                f"{self.backward_end_s:g} s, step over after {self.step_s:g} s",
                expected="no time below 0, and each at least as large as the one before",
            )

    @property
    def optimiser_s(self) -> float:
        """Time of the optimiser, which waits for all buckets [s]."""
        return self.step_s - self.backward_end_s


@dataclass(frozen=True)
class Exchange:
    """What the exchange of one bucket takes, and takes away."""

    alone_s: float
    """Its time with nothing beside it [s]."""
    lost: float = 0.0
    """Compute lost while it runs beside compute, of each second [1]; at most 1: all of it."""
    stretch: float = 1.0
    """How many times longer it takes beside compute [1]; at least 1."""

    def __post_init__(self) -> None:
        if self.alone_s < 0 or not 0 <= self.lost <= 1 or self.stretch < 1:
            raise UnitError(
                "an exchange that cannot be",
                found=f"{self.alone_s:g} s alone, {self.lost:g} lost, stretch {self.stretch:g}",
                expected="a time of 0 or more, a loss of 0 to 1, a stretch of 1 or more",
            )

    def beside(self, own: Traits) -> "Exchange":
        """The same beside a workload; however little that drags, never faster than alone."""
        lost, longer = min(1.0, own.sensitivity * self.lost), own.sensitivity * (self.stretch - 1)
        return Exchange(self.alone_s, lost, max(1.0, (1 + longer) * (1 + own.drag)))


@dataclass(frozen=True)
class ModelledStep:
    """When the streams are over."""

    step_s: float
    """The whole step [s]."""
    compute_end_s: float
    """End of the backward pass, slowed by what ran beside it [s]."""
    exchanges_s: tuple[tuple[float, float], ...]
    """Start and end of each bucket's exchange [s]."""


def run_step(timeline: Timeline, exchanges: Sequence[Exchange]) -> ModelledStep:
    """Let both streams run.

    Args:
        timeline: the step without exchange.
        exchanges: one for each bucket, or none: one process exchanges nothing.

    Raises:
        UnitError: if there are exchanges, but not one for each bucket.
    """
    if exchanges and len(exchanges) != len(timeline.ready_s):
        raise UnitError(
            "a step has one exchange for each bucket",
            found=f"{len(exchanges)} exchanges, {len(timeline.ready_s)} buckets",
        )
    streams = _Streams(timeline.backward_end_s)
    ready_s = timeline.ready_s if exchanges else ()
    spans = [streams.exchange(*each) for each in zip(ready_s, exchanges, strict=True)]
    compute_end_s = streams.compute_end_s()
    end_s = max(compute_end_s, streams.now_s)
    return ModelledStep(end_s + timeline.optimiser_s, compute_end_s, tuple(spans))


class _Streams:
    """Both streams up to now."""

    def __init__(self, compute_s: float) -> None:
        self.now_s = 0.0
        """Where the exchange is; compute is as far, or over."""
        self._compute_s = compute_s
        """What compute takes alone."""
        self._done_s = 0.0
        """How much of that is done."""
        self._compute_end_s: float | None = None

    def exchange(self, ready_s: float, bucket: Exchange) -> tuple[float, float]:
        """Wait until compute has come to a bucket, then exchange it; its start and end [s]."""
        wait_s = max(0.0, ready_s - self._done_s)
        self._advance(wait_s, wait_s)
        start_s, speed = self.now_s, 1 - bucket.lost
        beside_s = bucket.alone_s * bucket.stretch
        left_s = self._compute_s - self._done_s
        if left_s > speed * beside_s:
            self._advance(beside_s, speed * beside_s)
        else:
            alone_s = bucket.alone_s
            if left_s > 0:
                alone_s -= left_s / speed / bucket.stretch
                self._advance(left_s / speed, left_s)
            self._compute_end_s = self.compute_end_s()
            self.now_s += alone_s
        return start_s, self.now_s

    def compute_end_s(self) -> float:
        """When compute is over, if nothing more runs beside it [s]."""
        if self._compute_end_s is not None:
            return self._compute_end_s
        return self.now_s + self._compute_s - self._done_s

    def _advance(self, time_s: float, done_s: float) -> None:
        self.now_s += time_s
        self._done_s += done_s
