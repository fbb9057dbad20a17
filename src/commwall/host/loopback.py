"""What the loopback interface carries, from the kernel's own counter.

Layer: host. Reads `/proc/net/dev`; writes nothing. Where GPUs exchange data through the network
stack of one machine, every byte passes the loopback.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from commwall.host.background import Background
from commwall.schema.result import QUIET_S, Gap

COUNTERS = Path("/proc/net/dev")
INTERFACE = "lo"
PERIOD_S = 0.1
SENT_COLUMN = 8
"""Of the numbers behind the interface's name: eight of what was received, then what was sent.

Source: Linux kernel, Documentation/filesystems/proc.rst, section "Networking info in /proc/net".
"""
WHAT = "traffic.loopback_bytes"


class Sample(NamedTuple):
    """The counter at one moment."""

    time_ns: int
    """CLOCK_MONOTONIC [ns]."""
    sent_bytes: int
    """Since the interface was made [byte]."""


class LoopbackSampler(Background):
    """Reads the counter in a thread while it is entered.

    Args:
        counters: the kernel's file; another one in tests.
        period_s: between two readings [s].
    """

    def __init__(self, counters: Path = COUNTERS, period_s: float = PERIOD_S) -> None:
        self._counters, self._period_s = counters, period_s
        self._samples: list[Sample] = []
        self._reason: str | None = None
        super().__init__("loopback")

    def __enter__(self) -> Self:
        self._read()
        return super().__enter__()

    def carried(self, start_ns: int, end_ns: int) -> int | Gap:
        """What the loopback carried in a window with quiet on both sides [byte], or why nothing
        is known of it.

        Args:
            start_ns: start of the window, CLOCK_MONOTONIC [ns].
            end_ns: its end [ns].
        """
        if self._reason:
            return Gap(what=WHAT, reason=self._reason)
        return rise(self._samples, start_ns, end_ns)

    def read_on(self) -> None:
        """Read the counter as long as it answers."""
        while not self._reason and not self.stopped_after(self._period_s):
            self._read()

    def _read(self) -> None:
        try:
            self._samples.append(read_counter(self._counters))
        except (OSError, ValueError) as error:
            self._reason = f"the counter of the loopback cannot be read: {error}"


def read_counter(counters: Path) -> Sample:
    """The counter now.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it does not tell of the loopback.
    """
    for line in counters.read_text(encoding="ascii").splitlines():
        name, colon, numbers = line.partition(":")
        if colon and name.strip() == INTERFACE:
            columns = numbers.split()
            if len(columns) > SENT_COLUMN:
                return Sample(time.monotonic_ns(), int(columns[SENT_COLUMN]))
    raise ValueError(f"no line of interface {INTERFACE}")


def rise(samples: Sequence[Sample], start_ns: int, end_ns: int) -> int | Gap:
    """How far the counter rose between the readings next to a window [byte].

    Readings farther away than the quiet around the window could hold other traffic.

    Args:
        samples: in time order.
        start_ns: start of the window [ns].
        end_ns: its end [ns].
    """
    away_ns = int(QUIET_S * 1e9)
    before = [s for s in samples if start_ns - away_ns <= s.time_ns <= start_ns]
    after = [s for s in samples if end_ns <= s.time_ns <= end_ns + away_ns]
    if not before or not after:
        return Gap(what=WHAT, reason="the counter was not read in the quiet around the transfer")
    return after[0].sent_bytes - before[-1].sent_bytes
