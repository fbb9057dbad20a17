"""What NCCL's log tells of its choices: algorithm, protocol and channels of a collective.

Layer: readers. Reads no file. With NCCL_DEBUG_SUBSYS=TUNING rank 0 writes a line whenever a
collective is asked for, in a CUDA graph when it is recorded and not when it is replayed:

    node:17:17 [0] NCCL INFO AllReduce: 4 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}

Sends and receives have no such line. Releases before 2.22 wrote numbers for the names, which
mean something else in each release: such lines are passed over, as are all others.
"""

import re
from collections.abc import Iterable

from commwall.schema.base import Model, PositiveInt

_CHOICE = re.compile(
    r"NCCL INFO (?P<function>[A-Z][A-Za-z]+): (?P<bytes>[0-9]{1,18}) Bytes -> "
    r"Algo (?P<algorithm>[A-Z][A-Z0-9_]*) proto (?P<protocol>[A-Z][A-Z0-9_]*) "
    r"channel\{Lo\.\.Hi\}=\{(?P<low>[0-9]{1,4})\.\.(?P<high>[0-9]{1,4})\}",
    re.IGNORECASE,
)


class LoggedChoice(Model):
    """How NCCL carried a collective out, as its log has it."""

    function: str
    """NCCL's name of the collective, such as AllReduce."""
    logged_bytes: PositiveInt
    """Count times size of a value as the function is called [byte]: of all-gather and
    reduce-scatter a rank's share, of the others the full buffer."""
    algorithm: str
    """In capital letters: RING, TREE, NVLS …"""
    protocol: str
    """In capital letters: LL, LL128, SIMPLE."""
    channels: PositiveInt
    """Channels it used."""


def read_choices(lines: Iterable[str]) -> tuple[LoggedChoice, ...]:
    """The different choices in a log, in the order in which they first stand there.

    Args:
        lines: of the log; what is no whole line about a choice is passed over.

    Source: NVIDIA NCCL 2.28, src/enqueue.cc, the line of subsystem TUNING.
    """
    found = (_CHOICE.search(line) for line in lines if " Bytes -> " in line)
    choices = (_choice(match) for match in found if match)
    return tuple(dict.fromkeys(choice for choice in choices if choice))


def _choice(match: re.Match[str]) -> LoggedChoice | None:
    """The choice of a line, or None if its numbers cannot be."""
    channels = int(match["high"]) - int(match["low"]) + 1
    logged_bytes = int(match["bytes"])
    if channels < 1 or logged_bytes < 1:
        return None
    return LoggedChoice(
        function=match["function"],
        logged_bytes=logged_bytes,
        algorithm=match["algorithm"].upper(),
        protocol=match["protocol"].upper(),
        channels=channels,
    )
