"""`nvidia-smi dmon`: one line a GPU and sample, below a header that names columns and units.

Layer: readers. Reads no file. Columns differ by release and option; the header, which comes again
every screenful, says which are there. `-` is a value that cannot be had.

    # gpu    pwr  gtemp  rxpci      pcitx
    # Idx      W      C   MB/s  GPM:MiB/s
        0     68     31      0          -
"""

import itertools
import re
from collections.abc import Sequence

from commwall.readers.nvidia_smi import error_of
from commwall.readers.reading import Reading
from commwall.readers.refusal import Unreadable

KIND = "dmon"
Sample = dict[str, int | float | str | None]

_SIGN = re.compile(r"^[ \t]*#[ \t]*(?:Date[ \t]+|Time[ \t]+){0,2}gpu[ \t]+[a-z]", re.MULTILINE)
_ERROR = re.compile(
    r"^Not supported on the device\(s\)|^Failed to process command line", re.MULTILINE
)
_UNITS = {
    "W": "_w",
    "C": "_c",
    "%": "_pct",
    "MHz": "_mhz",
    "MB": "_mb",
    "MiB": "_mib",
    "MB/s": "_mbs",
    "MiB/s": "_mibs",
    "KB/s": "_kbs",
    "errs": "",
    "bool": "",
    "us": "_us",
    "ns": "_ns",
    "GB": "_gb",
    "KiB/s": "_kibs",
    "GiB/s": "_gibs",
    "mW": "_mw",
    "RPM": "_rpm",
}
_COLUMN = re.compile(r"[a-z][a-z0-9_]{0,31}", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")
_CLOCKS = {"Date": "date", "Time": "time"}
_STAMPS = {"date": re.compile(r"[0-9]{8}"), "time": re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}")}


class Samples(Reading):
    """Samples in the order of the file; a column's name ends with its unit."""

    gpu_count: int | None = None
    columns: tuple[str, ...] | None = None
    """In the order of the file, without the GPU."""
    has_power: bool | None = None
    """Whether there is a column of power; it may hold no value even then."""
    samples: tuple[Sample, ...] | None = None


def looks_like(text: str) -> bool:
    """Whether there is a header of dmon, or its words of failure."""
    return ("Idx" in text and bool(_SIGN.search(text))) or (
        len(text) < 1024 and bool(_ERROR.search(text))
    )


def read(text: str) -> Samples:
    """The samples.

    Raises:
        Unreadable: if no header with units is there, or a later header names other columns.
    """
    reader = _Lines()
    lines = text.split("\n")
    for line in lines[:-1]:
        reader.take(line)
    if reader.is_whole(lines[-1]):
        reader.take(lines.pop())
    if not reader.samples and reader.columns is None:
        return _failure(text)
    if reader.columns is None:
        raise Unreadable(KIND, "no_header_with_units")
    return Samples(
        kind=KIND,
        tool="nvidia-smi dmon",
        partial=reader.skipped or bool(lines and lines[-1].strip()),
        gpu_count=len({sample["gpu"] for sample in reader.samples}) or None,
        columns=tuple(name for name in reader.columns if name not in ("gpu", *_STAMPS)),
        has_power="pwr_w" in reader.columns,
        samples=tuple(reader.samples),
    )


def _failure(text: str) -> Samples:
    error = "not_supported" if "Not supported on the device" in text else error_of(text)
    error = error or ("bad_arguments" if _ERROR.search(text) else None)
    if error is None:
        raise Unreadable(KIND, "no_header_with_units")
    return Samples(kind=KIND, tool="nvidia-smi dmon", readable=False, error=error)


class _Lines:
    """The header in force and the samples so far."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.columns: tuple[str, ...] | None = None
        self.samples: list[Sample] = []
        self.skipped = False
        self.width = 0

    def is_whole(self, line: str) -> bool:
        """Whether a line at which the text ends has its last value whole: a blank follows it, or
        it reaches as far as the header, to which it is aligned on the right."""
        return bool(line.strip()) and (line[-1].isspace() or len(line) == self.width)

    def take(self, line: str) -> None:
        """Read the next line."""
        stripped = line.strip()
        if stripped.startswith("#"):
            self.width = len(line.rstrip())
            self._take_header(line.rstrip(), stripped.lstrip("# \t").split())
        elif self.names:
            raise Unreadable(KIND, "header_broken")
        elif self.columns and (sample := _sample(self.columns, stripped.split())):
            self.samples.append(sample)
        else:
            self.skipped |= stripped[:1].isdigit()

    def _take_header(self, line: str, words: list[str]) -> None:
        if "gpu" in words:
            if _is_cut(line):
                raise Unreadable(KIND, "header_cut")
            self.names = words
        elif "Idx" in words and self.names:
            columns = _columns(self.names, words)
            if columns is None or self.columns not in (None, columns):
                raise Unreadable(KIND, "headers_disagree")
            self.columns, self.names = columns, []


def _is_cut(header: str) -> bool:
    """Whether the last column is narrower than all others: they are aligned on the right."""
    ends = [match.end() for match in re.finditer(r"\S+", header.replace("#", " "))]
    widths = [end - start for start, end in itertools.pairwise(ends)]
    return len(widths) > 1 and widths[-1] < min(widths[:-1])


def _columns(names: Sequence[str], units: Sequence[str]) -> tuple[str, ...] | None:
    """Names with their units, or None if the two lines do not fit."""
    if len(names) != len(units) or names.index("gpu") != units.index("Idx"):
        return None
    found = tuple(map(_column, names, units))
    return None if None in found or len(set(found)) < len(found) else found  # type: ignore[return-value]


def _column(name: str, unit: str) -> str | None:
    if name == "gpu" or name in _CLOCKS:
        return _CLOCKS.get(name, name)
    source, _, own = unit.rpartition(":")
    if not _COLUMN.fullmatch(name) or own not in _UNITS:
        return None
    return (f"{source.lower()}_" if source else "") + name.lower() + _UNITS[own]


def _sample(columns: Sequence[str], words: Sequence[str]) -> Sample | None:
    """The values of a line, or None if it is no sample of these columns."""
    if len(words) != len(columns):
        return None
    sample: Sample = {}
    for column, word in zip(columns, words, strict=True):
        if column in _STAMPS:
            if not _STAMPS[column].fullmatch(word):
                return None
            sample[column] = word
        elif word == "-" and column != "gpu":
            sample[column] = None
        elif number := _NUMBER.fullmatch(word):
            sample[column] = float(word) if number[1] else int(word)
        else:
            return None
    return sample
