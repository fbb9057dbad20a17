"""The lines that NCCL writes into a log, apart from those of all other programs.

Layer: readers. Reads no file. A line names who speaks, and may have anything before that:

    node:745:788 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM

Processes write into one stream, so a second line may begin in the middle of a first; what stands
before it is then cut off. The last line of a text without a line feed may be cut off too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEAD = re.compile(
    r"(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}):(?P<pid>[0-9]{1,10}):(?P<thread>[0-9]{1,20}) "
    r"\[(?P<device>-?[0-9]{1,4})\] (?:[^\n]{1,300}? )?(?:NCCL )?(?P<level>INFO|WARN) "
)
_SIGNS = ("INFO ", "WARN ")
_BARE = re.compile(r"(?:^|[^\w])(?P<version>NCCL version [0-9])")
_FAILURE = "Test NCCL failure"


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


def nccl_lines(text: str) -> Iterator[LogLine]:
    """The lines that are NCCL's, in the text's order.

    Args:
        text: a log, cleaned; other programs' lines among it are passed over.

    Source: NVIDIA NCCL 2.4 to 2.30, src/debug.cc, ncclDebugLog.
    """
    number = 0
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        whole = number < len(lines)
        if _SIGNS[0] in line or _SIGNS[1] in line:
            yield from _spoken(number, line, whole)
        elif "NCCL version " in line:
            yield from _bare(number, line, whole)
        elif _FAILURE in line:
            yield LogLine(number, None, line[line.index(_FAILURE) :], whole)


def _spoken(number: int, line: str, whole: bool) -> Iterator[LogLine]:
    """The line, or the lines where one begins within another."""
    heads = list(_HEAD.finditer(line))
    if not heads:
        return
    ends = [head.start() for head in heads[1:]] + [len(line)]
    for head, end in zip(heads, ends, strict=True):
        speaker = Speaker(head["host"], int(head["pid"]), int(head["thread"]), int(head["device"]))
        yield LogLine(number, speaker, line[head.end() : end], whole and end == len(line))


def _bare(number: int, line: str, whole: bool) -> Iterator[LogLine]:
    """A version that is printed without a speaker."""
    if found := _BARE.search(line):
        yield LogLine(number, None, line[found.start("version") :], whole)
