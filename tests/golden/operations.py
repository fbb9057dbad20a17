"""Writes the golden campaign of suites memory and collectives; see build.py for training.

Times of one operation for the largest size by round [ms]:

| round | fast | fast again | slow | all-reduce: slow / fast |
|---|---|---|---|---|
| 1 | 4 | 4 | 40 | 10 |
| 2 | 4 | 4.08 | 32 | 8 |
| 3 | 4 | 4 / 1.02 | 50 | 12.5 |

Since 8 x 12.5 = 100, the geometric mean of the ratios is 10. Smaller sizes take 1 ms on the fast
links and 2 ms on the slow one. The smallest all-reduce is not bound by the emulated link, the
all-gather is. Copies take 4 ms on every platform; transfers to the host are skipped on the CPU.
A group takes as long as its slower rank, which changes from group to group.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from commwall.records.layout import Layout
from commwall.schema.case import Case, CollectivesCase, MemoryCase, SuiteName
from commwall.schema.plan import Comparison, Plan, PlannedPlatform, PlannedSuite
from commwall.schema.record import (
    Record,
    Status,
)
from commwall.schema.result import Series
from tests import samples
from tests.golden.build import AGAIN, FAST, SLOW, platform
from tests.golden.planned import planned_record

CAMPAIGN = "golden-operations"
ROUNDS = 3
LARGEST_MS = {
    FAST: (4.0, 4.0, 4.0),
    AGAIN: (4.0, 4.08, 4 / 1.02),
    SLOW: (40.0, 32.0, 50.0),
}
SMALLER_MS = {FAST: 1.0, AGAIN: 1.0, SLOW: 2.0}
COPY_MS = 4.0
REPETITIONS = 5
MEMORY: dict[str, MemoryCase] = {
    "copy": MemoryCase(operation="copy", buffer_bytes=(4000, 4_000_000)),
    "to-device": MemoryCase(operation="host_to_device_pinned", buffer_bytes=(4_000_000,)),
}
COLLECTIVES: dict[str, CollectivesCase] = {
    "all-reduce": CollectivesCase(collective="all_reduce", max_bytes=128),
    "all-gather": CollectivesCase(collective="all_gather", max_bytes=128),
}
SKIPPED = "on device cpu there is one memory"


def plan() -> Plan:
    """The golden plan."""
    return Plan(
        id=CAMPAIGN,
        title="Golden operations, in round numbers",
        fingerprint="golden-machine",
        machine="an imagined machine with 2 CPUs",
        seed=7,
        platforms=(platform(FAST, 1e9), platform(SLOW, 1e8), platform(AGAIN, 1e9)),
        comparisons=(Comparison(a=FAST, b=SLOW), Comparison(a=FAST, b=AGAIN, control=True)),
        suites=(_planned("memory", MEMORY), _planned("collectives", COLLECTIVES)),
    )


def _planned(suite: SuiteName, cases: Mapping[str, Case]) -> PlannedSuite:
    order = (FAST, SLOW, AGAIN)
    return PlannedSuite(
        suite=suite,
        cases=dict(cases),
        platforms=dict.fromkeys(order, tuple(cases)),
        orders=(order,) * ROUNDS,
    )


def record(name: str, case: str, round_: int, where: PlannedPlatform | None = None) -> Record:
    """The golden record of a platform, case and round."""
    own: dict[str, Any] = {"series": tuple(_series(name, case, round_))}
    if case == "to-device":
        own = {"series": (), "status": Status(state="skipped", detail=SKIPPED)}
    if where:
        own["platform"] = where
    return planned_record(plan(), name, case, round_, **own)


def records() -> tuple[Record, ...]:
    """All golden records."""
    return tuple(
        record(name, case, round_)
        for name in LARGEST_MS
        for case in (*MEMORY, *COLLECTIVES)
        for round_ in range(1, ROUNDS + 1)
    )


def write_campaign(root: Path) -> Layout:
    """Write plan, records and index below `root`."""
    layout = samples.write_campaign(root, plan(), records())
    samples.write_index(layout, CAMPAIGN)
    return layout


def _series(name: str, case: str, round_: int) -> Iterable[Series]:
    collective = COLLECTIVES.get(case)
    sizes = collective.message_sizes(2) if collective else MEMORY[case].buffer_bytes
    for size in sizes:
        largest_ms = LARGEST_MS[name][round_ - 1] if size == sizes[-1] else SMALLER_MS[name]
        yield from times((largest_ms if collective else COPY_MS) / 1000, size)
        if collective:
            late = case == "all-reduce" and size == sizes[0]
            yield from _shares(0.5 if late else 1.0, size)


def times(operation_s: float, message_bytes: int) -> Iterable[Series]:
    """Three groups on two ranks whose slower one takes `operation_s` in each [s]."""
    for rank in (0, 1):
        own = [operation_s * (1.0 if group % 2 == rank else 0.9) for group in range(3)]
        yield operation("operation_time_s", "s", own, message_bytes, rank)
        yield operation("repetitions", "1", [REPETITIONS], message_bytes, rank)


def operation(
    metric: str,
    unit: str,
    values: Iterable[float],
    message_bytes: int,
    rank: int,
    peer: int | None = None,
) -> Series:
    """Values of one rank at one size."""
    return Series(
        metric=metric,
        unit=unit,
        values=tuple(values),
        message_bytes=message_bytes,
        rank=rank,
        peer=peer,
    )


def _shares(share: float, message_bytes: int) -> Iterable[Series]:
    return (operation("link_bound_share", "1", [share], message_bytes, rank) for rank in (0, 1))
