"""What lies before the judge: files of one machine, each with what a reader is certain of.

Layer: judge. Reads no file.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from commwall.judge.facts import GpuLinks, JudgeFacts
from commwall.judge.finding import Evidence
from commwall.readers.cleaning import clean
from commwall.readers.detection import LOOK_ALIKE, kinds_of, read_cleaned
from commwall.readers.gpu_list import GpuList
from commwall.readers.nvbandwidth import Nvbandwidth
from commwall.readers.nvlink import NvLinks
from commwall.readers.reading import Reading
from commwall.readers.refusal import Unreadable
from commwall.readers.smi_csv import CsvTable
from commwall.readers.smi_table import Table

_LINE_CHARACTERS = 160
_RANK_LINE = re.compile(
    r"#[ \t]+Rank[ \t]+[0-9]+ .*\bdevice[ \t]+[0-9]+[ \t]+\[[^\]]{1,20}\] (\S.{0,80}?)[ \t]*$",
    re.MULTILINE,
)
_JSON_NAME = re.compile(r'"\w{1,40}"\s{0,9}:\s{0,9}"((?:NVIDIA|Tesla|GeForce|TITAN) [^"\n]{1,80})"')
R = TypeVar("R", bound=Reading)


@dataclass
class Pasted:
    """One file."""

    name: str
    text: str
    """Cleaned: its lines are those of the file."""
    readings: tuple[Reading, ...]
    """One for each kind of output that is in it."""
    refused: str | None = None
    """Why nothing in it is read."""

    @cached_property
    def lines(self) -> list[str]:
        """Lines of the file."""
        return self.text.split("\n")

    def at(self, number: int) -> Evidence:
        """A line as evidence.

        Args:
            number: of the line, from 1.
        """
        words = " ".join(self.lines[number - 1].split())
        short = words[: _LINE_CHARACTERS - 1] + "…" if len(words) > _LINE_CHARACTERS else words
        return Evidence(file=self.name, line=number, text=short)

    def find(self, pattern: str, *, most: int = 1) -> tuple[Evidence, ...]:
        """The first lines in which a pattern is found.

        Args:
            pattern: a regular expression; `^` and `$` are a line's ends.
            most: lines.
        """
        found: list[Evidence] = []
        start, number = 0, 1
        for match in re.finditer(pattern, self.text, re.MULTILINE):
            number += self.text.count("\n", start, match.start())
            start = match.start()
            if not found or found[-1].line != number:
                found.append(self.at(number))
            if len(found) == most:
                break
        return tuple(found)

    def below(self, heading: str, pattern: str) -> tuple[Evidence, ...]:
        """A heading, and the first line below it in which a pattern is found.

        Args:
            heading: text of the heading, as it stands.
            pattern: a regular expression.
        """
        start = self.text.find(heading)
        if start < 0:
            return ()
        first = self.text.count("\n", 0, start) + 1
        match = re.compile(pattern, re.MULTILINE).search(self.text, start)
        if match is None:
            return (self.at(first),)
        return (self.at(first), self.at(first + self.text.count("\n", start, match.start())))

    def last(self) -> tuple[Evidence, ...]:
        """The last line that says something."""
        number = self.text.count("\n", 0, len(self.text.rstrip())) + 1
        return (self.at(number),)

    def whole(self, text: str) -> tuple[Evidence, ...]:
        """The file as evidence of what no single line says."""
        return (Evidence(file=self.name, line=None, text=text),)


@dataclass
class Scene:
    """All files, and the facts by which they are judged."""

    pasted: tuple[Pasted, ...]
    facts: JudgeFacts
    _names: dict[str, None] = field(default_factory=dict)

    def of(self, model: type[R]) -> Iterator[tuple[Pasted, R]]:
        """Files that hold a reading of that kind, with it."""
        for paste in self.pasted:
            for reading in paste.readings:
                if isinstance(reading, model):
                    yield paste, reading

    @cached_property
    def gpu_names(self) -> tuple[str, ...]:
        """Names of GPUs in all files, as drivers write them."""
        found = (name for paste in self.pasted for name in names_in(paste))
        return tuple(dict.fromkeys(found))

    @cached_property
    def gpu(self) -> GpuLinks | None:
        """What is on file of the machine's GPUs; None where they are unknown or differ."""
        return self.facts.gpu_of(self.gpu_names)


def names_in(paste: Pasted) -> Iterator[str]:
    """GPU names of one file."""
    for reading in paste.readings:
        if isinstance(reading, GpuList | NvLinks):
            yield from (gpu.name for gpu in reading.gpus or ())
        elif isinstance(reading, Table):
            yield from (gpu.name for gpu in reading.gpus or () if not gpu.name.endswith("..."))
        elif isinstance(reading, Nvbandwidth):
            yield from reading.devices or ()
        elif isinstance(reading, CsvTable):
            yield from _in_rows(reading)
        elif reading.kind == "nccl-tests":
            pattern = _JSON_NAME if paste.text.lstrip().startswith("{") else _RANK_LINE
            yield from (match[1] for match in pattern.finditer(paste.text))


def _in_rows(table: CsvTable) -> Iterator[str]:
    found = (row.get("name") for row in table.rows or ())
    return (name for name in found if isinstance(name, str))


def paste(name: str, text: str) -> Pasted:
    """Read a file as all that it looks like."""
    cleaned = clean(text)
    kinds = kinds_of(cleaned)
    if LOOK_ALIKE in kinds:
        kinds = (LOOK_ALIKE,)
    readings, refusals = [], []
    for kind in kinds:
        try:
            readings.append(read_cleaned(cleaned, kind))
        except Unreadable as refusal:
            refusals.append(refusal.reason)
    refused = None if readings else next(iter(refusals), "no_known_format")
    return Pasted(name, cleaned, tuple(_told(readings)), refused)


def _told(readings: Iterable[Reading]) -> Iterator[Reading]:
    """Readings without a second one that only repeats a tool's words of failure."""
    seen: set[str] = set()
    for reading in readings:
        if reading.error is None or reading.error not in seen:
            yield reading
        if reading.error:
            seen.add(reading.error)
