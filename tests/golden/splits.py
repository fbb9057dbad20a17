"""Writes the golden campaign of suite strategies; see build.py for training.

Step times by round [ms], of the slower rank:

| round | tensor, fast | tensor, slow | slow / fast | accumulation, fast | slow |
|---|---|---|---|---|---|
| 1 | 10 | 100 | 10 | 20 | 25 |
| 2 | 10 | 80 | 8 | 20 | 25 |
| 3 | 10 | 125 | 12.5 | 20 | 25 |

Since 8 x 12.5 = 100, the geometric mean of the ratios is 10. On the fast link a rank sends 1 % more
than the formula says; on the slow one nobody counts.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from commwall.records.layout import Layout
from commwall.schema.case import Case, SuiteName
from commwall.schema.plan import Comparison, Plan, PlannedSuite
from commwall.schema.record import (
    MachineFacts,
    Protocol,
    Record,
    RecordId,
    SoftwareFacts,
    Status,
)
from commwall.schema.result import Gap, RuntimeFacts, Series
from commwall.schema.strategies import StrategiesCase
from commwall.schema.volumes import sent_bytes
from tests import samples
from tests.golden.build import FAST, SLOW, platform

CAMPAIGN = "golden-splits"
ROUNDS = 3
RANKS = 2
STEP_MS = {
    ("tensor", FAST): (10.0, 10.0, 10.0),
    ("tensor", SLOW): (100.0, 80.0, 125.0),
    ("accumulation", FAST): (20.0, 20.0, 20.0),
    ("accumulation", SLOW): (25.0, 25.0, 25.0),
}
OVER_FORMULA = 1.01
UNCOUNTED = "nobody counts on the slow link"
STRATEGIES: dict[str, StrategiesCase] = {
    "tensor": StrategiesCase(strategy="tensor", preset="demo", sequence_length=50, micro_batch=2),
    "accumulation": StrategiesCase(
        strategy="accumulation", preset="demo", sequence_length=50, micro_batch=2, micro_batches=4
    ),
}


def plan() -> Plan:
    """The golden plan."""
    cases: dict[SuiteName, dict[str, Case]] = {"strategies": dict(STRATEGIES)}
    return Plan(
        id=CAMPAIGN,
        title="Golden strategies, in round numbers",
        fingerprint="golden-machine",
        machine="an imagined machine with 2 CPUs",
        seed=7,
        platforms=(platform(FAST, 1e9), platform(SLOW, 1e8)),
        comparisons=(Comparison(a=FAST, b=SLOW),),
        suites=tuple(_planned(suite, own) for suite, own in cases.items()),
    )


def _planned(suite: SuiteName, cases: dict[str, Case]) -> PlannedSuite:
    return PlannedSuite(
        suite=suite,
        cases=cases,
        platforms=dict.fromkeys((FAST, SLOW), tuple(cases)),
        orders=((FAST, SLOW),) * ROUNDS,
    )


def record(name: str, case: str, round_: int) -> Record:
    """The golden record of a platform, case and round."""
    golden = plan()
    suite: SuiteName = "strategies"
    counted = name == FAST
    return Record(
        digest="",
        id=RecordId(
            campaign=CAMPAIGN,
            platform=name,
            suite=suite,
            case=case,
            round=round_,
            round_id=f"{suite}-round-{round_}",
        ),
        measured_at=datetime(2026, 1, 1, 12, round_, tzinfo=UTC),
        status=Status(state="ok"),
        case=golden.suite(suite).cases[case],
        protocol=Protocol(version="1", freshness_key=f"{suite}-1-golden"),
        platform=golden.platform(name),
        machine=MachineFacts(fingerprint="golden-machine", cpu_model="Golden CPU", cpu_count=2),
        software=_software(suite),
        series=tuple(_series(name, case, round_)),
        gaps=() if counted else (Gap(what="step_sent_bytes", reason=UNCOUNTED),),
    ).sealed()


def records() -> tuple[Record, ...]:
    """All golden records."""
    return tuple(
        record(name, case, round_)
        for name in (FAST, SLOW)
        for case in STRATEGIES
        for round_ in range(1, ROUNDS + 1)
    )


def write_campaign(root: Path) -> Layout:
    """Write plan, records and index below `root`."""
    layout = samples.write_campaign(root, plan(), records())
    samples.write_index(layout, CAMPAIGN)
    return layout


def _software(suite: SuiteName) -> SoftwareFacts:
    return SoftwareFacts(
        python="3.11.0",
        lock_digest="1" * 64,
        packages_digest="2" * 64,
        code_digest="3" * 64,
        argv=("commwall", "measure", CAMPAIGN, suite),
        variables={},
        runtime=RuntimeFacts(torch="2.13.0", device_names=("cpu", "cpu"), threads_per_rank=1),
    )


def _series(name: str, case: str, round_: int) -> Iterable[Series]:
    """Three steps on two ranks, of which each is the slower one in turn; what each sent."""
    step_s = STEP_MS[case, name][round_ - 1] / 1000
    for rank in range(RANKS):
        own = tuple(step_s * (1.0 if step % 2 == rank else 0.9) for step in range(3))
        yield Series(metric="step_time_s", unit="s", rank=rank, values=own)
        yield Series(metric="loss", unit="1", rank=rank, values=(2.0, 1.9, 1.8))
        if name == FAST:
            sent = OVER_FORMULA * sent_bytes(STRATEGIES[case], RANKS)
            yield Series(metric="step_sent_bytes", unit="byte", rank=rank, values=(sent,))
