"""What a link takes for a bucket, from a sweep of its all-reduce over sizes.

Layer: model. Reads and writes no file.

With more ranks a ring all-reduce has more steps of smaller parts: of n ranks each passes on an n-th
of its buffer in each of 2 (n - 1) steps. So on n ranks a buffer n / k times as large takes
(n - 1) / (k - 1) times as long as on k ranks, if a step of the same bytes takes as long as before:
what ranks share (a switch, bridges of the host) would have to carry that much more at once.

Source of the steps of a ring: as in `commwall.model.collectives`.

Times are joined from size to size, not fitted by one line of latency and rate: NCCL changes its
protocol in between, which the joined times follow and a line does not. docs/decisions/021 has the
misfits of both against what whole exchanges took.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from commwall.model.step import Exchange
from commwall.model.traits import LIKE_A_LOAD, UNTOLD, Prior
from commwall.stats.lines import between


@dataclass(frozen=True)
class Sweep:
    """Times of one all-reduce over sizes, with nothing beside it."""

    message_bytes: tuple[int, ...]
    """Sizes of the buffer, ascending, at least two [byte]."""
    time_s: tuple[float, ...]
    """Time of one operation at each [s]."""

    def at(self, message_bytes: float) -> float:
        """Time for a buffer of any size [s]: beyond the largest, at the rate of the last two."""
        beyond = message_bytes - self.message_bytes[-1]
        if beyond <= 0:
            return between(self.message_bytes, self.time_s, message_bytes)
        (size, last), (time_s, last_s) = self.message_bytes[-2:], self.time_s[-2:]
        return last_s + beyond * max(0.0, last_s - time_s) / (last - size)

    def of_ranks(self, ranks: int, wanted: int) -> "Sweep":
        """The sweep that rings of `wanted` ranks would give, from this one of `ranks`."""
        longer = (wanted - 1) / (ranks - 1)
        sizes = _grown(self.message_bytes, ranks, wanted)
        return Sweep(sizes, tuple(longer * time_s for time_s in self.time_s))


@dataclass(frozen=True)
class Contention:
    """What an exchange and a known load take from each other, over sizes."""

    message_bytes: tuple[int, ...]
    """Sizes of the buffer, ascending [byte]."""
    lost: tuple[float, ...]
    """Compute lost of each second beside the exchange [1]."""
    stretch: tuple[float, ...]
    """Time of the exchange beside the load over its time alone [1]."""
    prior: Prior = LIKE_A_LOAD
    """What workloads are likely to be like beside that."""

    def at(self, message_bytes: float) -> tuple[float, float]:
        """Loss and stretch for a buffer of any size [1], within what can be: noise is left out."""
        lost = between(self.message_bytes, self.lost, message_bytes)
        stretch = between(self.message_bytes, self.stretch, message_bytes)
        return min(1.0, max(0.0, lost)), max(1.0, stretch)

    def of_ranks(self, ranks: int, wanted: int) -> "Contention":
        """The same of rings of `wanted` ranks: where their steps have the same bytes."""
        return replace(self, message_bytes=_grown(self.message_bytes, ranks, wanted))


UNKNOWN = Contention((1,), (1.0,), (2.0,), UNTOLD)
"""Stands for a link whose sweep beside a load was not measured: one work at a time, if a workload
were as sensitive as that. What counts is then the workload's sensitivity alone, and it is carried
over from link to link."""


@dataclass(frozen=True)
class SweptLink:
    """What sweeps tell of one link."""

    alone: Sweep
    beside: Contention = UNKNOWN

    def exchanges(self, bucket_bytes: Sequence[int]) -> tuple[Exchange, ...]:
        """The exchange of every bucket, beside the load of the sweep.

        Args:
            bucket_bytes: bytes of each bucket in the order of exchange [byte].
        """
        return tuple(Exchange(self.alone.at(b), *self.beside.at(b)) for b in bucket_bytes)

    def exchange_s(self, bucket_bytes: Sequence[int]) -> float:
        """All buckets one after another, with nothing beside them [s]."""
        return sum(map(self.alone.at, bucket_bytes))

    def as_exchanged(self, bucket_bytes: Sequence[int], exchange_s: float) -> "SweptLink":
        """The link with its times scaled to what the buckets took together.

        Args:
            bucket_bytes: bytes of each bucket [byte].
            exchange_s: measured time of all of them, one after another [s].
        """
        scale = exchange_s / self.exchange_s(bucket_bytes)
        times_s = tuple(scale * time_s for time_s in self.alone.time_s)
        return replace(self, alone=Sweep(self.alone.message_bytes, times_s))


def _grown(message_bytes: Sequence[int], ranks: int, wanted: int) -> tuple[int, ...]:
    """Buffers of which each of `wanted` ranks passes on as much as of these each of `ranks`."""
    return tuple(size * wanted // ranks for size in message_bytes)
