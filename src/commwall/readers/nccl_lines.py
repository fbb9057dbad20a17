"""The lines that NCCL writes into a log, apart from those of all other programs.

Layer: readers. Reads no file. A line names who speaks, and may have anything before that:

    node:745:788 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM

Processes write into one stream, so a second line may begin in the middle of a first; what stands
before it is then cut off. The last line of a text without a line feed may be cut off too, and so
may its longest lines: a screen has a width.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from commwall.readers.widths import longest

_HEAD = re.compile(
    r"(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}):(?P<pid>[0-9]{1,10}):(?P<thread>[0-9]{1,20}) "
    r"\[(?P<device>-?[0-9]{1,4})\] "
)
_BEFORE_HOST = ("", *" \t:>)]|")
_SIGN = re.compile(r"(?:NCCL )?(INFO|WARN) ")
_BARE = re.compile(r"(?:^|[^\w])(?P<version>NCCL version [0-9])")
_FAILURE = "Test NCCL failure"
_HEADS_KEPT = 1 << 16
"""Beginnings of lines whose speaker is kept: one a thread, unless they have time stamps."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """Which thread of which process wrote a line."""

    host: str
    pid: int
    thread: int
    device: int
    """CUDA device as the process numbers them."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """What one line says."""

    number: int
    """Line of the text, from 1."""
    speaker: Speaker | None
    """None where no process is named."""
    says: str
    whole: bool
    """False where its end may be missing."""
    warns: bool = False


def nccl_lines(text: str, begin: tuple[str, ...]) -> Iterator[LogLine]:
    """The lines that are NCCL's, in the text's order.

    Args:
        text: a log, cleaned; other programs' lines among it are passed over.
        begin: what a line has to say first; warnings, versions and failures come all.

    Source: NVIDIA NCCL 2.4 to 2.30, src/debug.cc, ncclDebugLog.
    """
    speaker_of = lru_cache(_HEADS_KEPT)(_speaker_of)
    lines = text.split("\n")
    width = longest(lines)
    for number, line in enumerate(lines, 1):
        whole = number < len(lines) and len(line) < width
        if _FAILURE in line:
            yield LogLine(number, None, line[line.index(_FAILURE) :], whole, True)
        elif "INFO " in line or "WARN " in line:
            head, says, warns = _split(line)
            if says.startswith(begin) or warns:
                spoken = LogLine(number, speaker_of(head), says, whole, warns)
                yield from _apart(spoken) if "NCCL INFO " in says else (spoken,)
        elif "NCCL version " in line:
            yield from _bare(number, line, whole)


def _split(line: str) -> tuple[str, str, bool]:
    """Who speaks, what is said without the blanks before it, and whether it warns."""
    at = line.find("NCCL INFO ")
    if at >= 0:
        return line[:at], line[at + len("NCCL INFO ") :].lstrip(), False
    found = _SIGN.search(line)
    if found is None:
        return "", "", False
    return line[: found.start()], line[found.end() :].lstrip(), found[1] == "WARN"


def _speaker_of(head: str) -> Speaker | None:
    """Who speaks; None where the end of another line may stand before the host's name."""
    found = None if "NCCL " in head else _HEAD.search(head)
    if found is None or head[: found.start()][-1:] not in _BEFORE_HOST:
        return None
    return Speaker(found["host"], int(found["pid"]), int(found["thread"]), int(found["device"]))


def _apart(line: LogLine) -> Iterator[LogLine]:
    """A line in whose middle others begin. Where the first ends and a host's name begins cannot
    be seen, so that the others have no speaker."""
    pieces = line.says.split("NCCL INFO ")
    for number, piece in enumerate(pieces, 1):
        last = number == len(pieces)
        head = None if last else _HEAD.search(piece)
        says = (piece[: head.start()] if head else piece).lstrip()
        speaker = line.speaker if number == 1 else None
        yield LogLine(line.number, speaker, says, line.whole and last, line.warns)


def _bare(number: int, line: str, whole: bool) -> Iterator[LogLine]:
    """A version that is printed without a speaker."""
    if found := _BARE.search(line):
        yield LogLine(number, None, line[found.start("version") :], whole)
