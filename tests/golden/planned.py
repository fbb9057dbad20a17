"""Golden records of a plan: what those of all suites share stands here once."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from commwall.schema.case import SuiteName
from commwall.schema.plan import Plan
from commwall.schema.record import (
    MachineFacts,
    Protocol,
    Record,
    RecordId,
    SoftwareFacts,
    Status,
)
from commwall.schema.result import RuntimeFacts

MACHINE = MachineFacts(fingerprint="golden-machine", cpu_model="Golden CPU", cpu_count=2)


def planned_record(golden: Plan, name: str, case: str, round_: int, **own: Any) -> Record:
    """The sealed record of a platform, case and round that went well on the golden machine.

    Args:
        golden: the plan, which says of which suite the case is.
        name: the platform's.
        case: its name.
        round_: its number.
        own: fields that this record has besides, or otherwise.
    """
    suite = next(suite for suite in golden.suites if case in suite.cases)
    fields: dict[str, Any] = {
        "id": RecordId(
            campaign=golden.id,
            platform=name,
            suite=suite.suite,
            case=case,
            round=round_,
            round_id=f"{suite.suite}-round-{round_}",
        ),
        "measured_at": datetime(2026, 1, 1, 12, round_, tzinfo=UTC),
        "status": Status(state="ok"),
        "case": suite.cases[case],
        "protocol": Protocol(version="1", freshness_key=f"{suite.suite}-1-golden"),
        "platform": golden.platform(name),
        "machine": MACHINE,
        "software": software(golden.id, suite.suite),
    }
    return Record(digest="", **(fields | own)).sealed()


def software(campaign: str, suite: SuiteName, **runtime: Any) -> SoftwareFacts:
    """Software of two processes on the golden machine's CPU."""
    return SoftwareFacts(
        python="3.11.0",
        lock_digest="1" * 64,
        packages_digest="2" * 64,
        code_digest="3" * 64,
        argv=("commwall", "measure", campaign, suite),
        variables={},
        runtime=RuntimeFacts(
            torch="2.13.0", device_names=("cpu", "cpu"), threads_per_rank=1, **runtime
        ),
    )


def planned_records(
    golden: Plan, rounds: int, record: Callable[[str, str, int], Record]
) -> Iterator[Record]:
    """Every record that a plan asks for."""
    for suite in golden.suites:
        for name, cases in suite.platforms.items():
            for case in cases:
                yield from (record(name, case, round_) for round_ in range(1, rounds + 1))
