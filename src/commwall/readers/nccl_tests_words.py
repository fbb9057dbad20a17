"""What nccl-tests prints around its table: ranks, collective, versions, footers, failures.

Layer: readers. Reads no file.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from commwall.readers.nccl_tests_table import PerfTable, SizeRow
from commwall.schema.base import Model

_RANK = re.compile(
    r"#[ \t]+Rank[ \t]+([0-9]{1,6})[ \t]+(?:Group[ \t]+[0-9]+[ \t]+)?(?:Pid[ \t]+[0-9]+[ \t]+)?"
    r"on[ \t]+(\S{1,253})[ \t]+device[ \t]+[0-9]+[ \t]+\["
)
_NAMES = (
    "all_gather|all_reduce|alltoallv|alltoall|broadcast|gather|hypercube|reduce_scatter|reduce"
    "|scatter|sendrecv"
)
_NAMED = re.compile(rf"Collective test (?:starting|concluded): ({_NAMES})_perf\b")
_COMMAND = re.compile(rf"(?<![\w-])({_NAMES})_perf(?=[ \t]+-|[ \t]*(?:\n|$))")
_BANNER = re.compile(r"nThread ([0-9]{1,4}) nGpus ([0-9]{1,4}) ")
_VERSION = re.compile(r"# nccl-tests version ([0-9]+(?:\.[0-9]+)+)\s")
_LIBRARY = re.compile(r"nccl-library=([0-9]{4,6})\s")
_BOUNDS = re.compile(r"Out of bounds values[ \t]*:[ \t]*([0-9]{1,15})[ \t]+(OK|FAILED)\b")
_AVERAGE = re.compile(
    r"Avg bus bandwidth[ \t]*:[ \t]*([0-9]{1,15}(?:\.[0-9]{1,15})?(?:e[+-]?[0-9]{1,2})?)[ \t\n]"
)
_FAILURE = re.compile(
    r"(?:(?P<host>[\w.-]{1,253}): )?Test (?P<kind>NCCL|CUDA) failure "
    r"(?P<file>[\w./-]{1,80}:[0-9]{1,6}) '(?P<message>.{0,400}?)'"
)
_WRONG = 1
"""From here on the column of errors says wrong results; below it, rounding."""
_ROUNDING_GB_PER_S = 0.0051
"""Rates are printed with two decimals. Source: NVIDIA nccl-tests, src/common.cu."""
_LEAST_GB_PER_S = 1.0
"""Chosen: below it the two decimals say too little about a ratio."""


class Failure(Model):
    """What went wrong."""

    kind: str
    """nccl, cuda or wrong_results."""
    file: str | None = None
    message: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Ranks:
    """The list of devices."""

    listed: int
    """Lines about a rank."""
    nranks: int | None = None
    nnodes: int | None = None
    runs: int = 1
    """Runs whose lists are in the text."""


@dataclass(frozen=True, slots=True)
class Footers:
    """What stands below the table."""

    out_of_bounds: int | None
    averages: tuple[float, ...]
    """Mean bus bandwidth of each run [GB/s]."""


def processes_of(text: str) -> set[int]:
    """Ranks of a process, as each banner states them: threads times GPUs of a thread."""
    return {int(threads) * int(gpus) for threads, gpus in _BANNER.findall(text)}


def ranks_of(text: str, of_a_process: Iterable[int] = ()) -> Ranks:
    """Ranks and hosts; None where the list has holes, or runs differ in size.

    Args:
        of_a_process: numbers of ranks that the number of all must be a multiple of.
    """
    found = [(int(rank), host) for rank, host in _RANK.findall(text)]
    count: dict[int, int] = {}
    for rank, _ in found:
        count[rank] = count.get(rank, 0) + 1
    whole = sorted(count) == list(range(len(count))) and len(set(count.values())) == 1
    if not found or not whole:
        return Ranks(len(found))
    if any(not size or len(count) % size for size in of_a_process):
        return Ranks(len(found))
    hosts = {host for _, host in found}
    return Ranks(len(found), len(count), len(hosts), count[0])


def checked(ranks: Ranks, rows: Sequence[SizeRow]) -> Ranks:
    """Ranks, unless the rates deny their number: lines of the list may be missing."""
    usable = _usable(rows)
    if ranks.nranks == 1:
        denied = any(bus > _ROUNDING_GB_PER_S for _, bus in usable)
    else:
        denied = bool(ranks.nranks and usable) and not _fitting(usable, ranks.nranks or 0)
    return Ranks(ranks.listed) if denied else ranks


def collective_of(text: str) -> str | None:
    """The collective, where the program or a command line names one and no other."""
    named = set(_NAMED.findall(text)) or set(_COMMAND.findall(text))
    return named.pop() if len(named) == 1 else None


def versions_of(text: str) -> tuple[str | None, str | None]:
    """Version of nccl-tests, and of the NCCL that it ran with: 22809 is 2.28.9."""
    version, library = _VERSION.search(text), _LIBRARY.search(text)
    number = int(library[1]) if library else 0
    major, rest = divmod(number, 10_000) if number >= 10_000 else divmod(number, 1_000)
    nccl = f"{major}.{rest // 100}.{rest % 100}" if library else None
    return version[1] if version else None, nccl


def footers_of(text: str) -> Footers:
    """Values out of bounds over all runs, and each run's mean."""
    bounds = [int(count) for count, _ in _BOUNDS.findall(text)]
    averages = tuple(float(value) for value in _AVERAGE.findall(text))
    return Footers(sum(bounds) if bounds else None, averages)


def failure_of(text: str, footers: Footers, table: PerfTable) -> Failure | None:
    """What went wrong, where the text says so; a column of errors says so too."""
    if found := _FAILURE.search(text):
        return Failure(
            kind=found["kind"].lower(),
            file=found["file"],
            message=found["message"],
            host=found["host"],
        )
    wrong = footers.out_of_bounds is None and any(
        (half.wrong or 0) >= _WRONG
        for row in table.rows
        for half in (row.out_of_place, row.in_place)
        if half
    )
    return Failure(kind="wrong_results") if footers.out_of_bounds or wrong else None


def kind_of_ratio(rows: Sequence[SizeRow], nranks: int | None) -> str | None:
    """The one group of collectives whose factor fits busbw over algbw in every row.

    Source: NVIDIA nccl-tests, doc/PERFORMANCE.md: 2(n-1)/n for all-reduce, (n-1)/n for gathers and
    all-to-all, 1 for the rest.
    """
    if nranks is None or nranks < 2:
        return None
    usable = _usable(rows)
    fitting = _fitting(usable, nranks)
    if fitting == ["factor_1", "all_reduce"]:
        return "factor_1"  # of two ranks: the ratio cannot tell
    return fitting[0] if usable and len(fitting) == 1 else None


def _usable(rows: Sequence[SizeRow]) -> list[tuple[float, float]]:
    """algbw and busbw of all halves whose two decimals say enough."""
    rates = [
        (half.algbw_gb_per_s, half.busbw_gb_per_s)
        for row in rows
        for half in (row.out_of_place, row.in_place)
        if half and half.algbw_gb_per_s and half.busbw_gb_per_s and row.size_bytes
    ]
    return [(alg, bus) for alg, bus in rates if alg >= _LEAST_GB_PER_S]


def _fitting(usable: Sequence[tuple[float, float]], nranks: int) -> list[str]:
    share = (nranks - 1) / nranks
    factors = {"factor_1": 1.0, "gather_like": share, "all_reduce": 2 * share}
    return [name for name, factor in factors.items() if _fits(usable, factor)]


def _fits(rates: Sequence[tuple[float, float]], factor: float) -> bool:
    return all(abs(bus - alg * factor) <= _ROUNDING_GB_PER_S * (1 + factor) for alg, bus in rates)
