"""Plans and records for tests: schema-valid, with arithmetic one can do in one's head."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from commwall.records.files import write_atomically
from commwall.records.index import build_index
from commwall.records.layout import Layout
from commwall.records.store import write_record
from commwall.records.texts import model_text
from commwall.schema.case import TrainingCase, Windows
from commwall.schema.plan import Comparison, Plan, PlannedPlatform, PlannedSuite
from commwall.schema.record import (
    MachineFacts,
    Protocol,
    Record,
    RecordId,
    SoftwareFacts,
    Status,
)
from commwall.schema.result import Check, Mark, RuntimeFacts, Series
from commwall.schema.treatment import EmulatedLink, Label

FINGERPRINT = "f" * 64
KEY = "training-1-0123"
WINDOWS = Windows(full_s=1.0, other_s=0.5, min_steps=3, warmup_max_s=1.0)
CASE = TrainingCase(
    model="bert",
    preset="demo",
    batch_per_gpu=4,
    sequence_length=64,
    dataset_samples=8000,
    windows=WINDOWS,
)


def platform(name: str, bandwidth_bytes_per_s: float) -> PlannedPlatform:
    """A platform of two CPU processes over an emulated link."""
    label = Label(
        title=f"emulated {name}", stands_for="a serial link", does_not_cover="any real link"
    )
    link = EmulatedLink(label=label, bandwidth_bytes_per_s=bandwidth_bytes_per_s, latency_s=20e-6)
    return PlannedPlatform(name=name, device="cpu", world_size=2, treatment=link)


def plan(campaign: str = "golden", rounds: int = 2) -> Plan:
    """Fast, slow and fast-again over one case."""
    names = ("fast", "slow", "fast-again")
    return Plan(
        id=campaign,
        title="Golden campaign",
        fingerprint=FINGERPRINT,
        machine="a machine made up for tests",
        seed=1,
        platforms=tuple(
            platform(name, rate) for name, rate in zip(names, (6e8, 5e7, 6e8), strict=True)
        ),
        comparisons=(
            Comparison(a="fast", b="slow"),
            Comparison(a="fast", b="fast-again", control=True),
        ),
        suites=(
            PlannedSuite(
                suite="training",
                cases={"bert-demo-b4": CASE},
                platforms=dict.fromkeys(names, ("bert-demo-b4",)),
                orders=tuple(names if index % 2 == 0 else names[::-1] for index in range(rounds)),
            ),
        ),
    )


def series(
    metric: str, unit: str, values: Iterable[float], leg: str | None = None, rank: int | None = 0
) -> Series:
    """Measured values of one rank."""
    return Series.model_validate(
        {"metric": metric, "unit": unit, "leg": leg, "rank": rank, "values": tuple(values)}
    )


def record(
    campaign_plan: Plan,
    platform_name: str,
    round_: int,
    *,
    round_id: str | None = None,
    measured: tuple[Series, ...] = (),
    key: str = KEY,
    status: Status | None = None,
    checks: tuple[Check, ...] = (),
    marks: tuple[Mark, ...] = (),
    torch: str = "2.13.0",
) -> Record:
    """A sealed record of the plan's one case."""
    runtime = RuntimeFacts(
        torch=torch,
        device_names=("cpu", "cpu"),
        threads_per_rank=1,
        parameters=2_000_000,
        bucket_bytes=(8_000_000,),
    )
    return Record(
        digest="",
        id=RecordId(
            campaign=campaign_plan.id,
            platform=platform_name,
            suite="training",
            case="bert-demo-b4",
            round=round_,
            round_id=round_id or f"round{round_}",
        ),
        measured_at=datetime(2026, 1, round_, tzinfo=UTC),
        status=status or Status(state="ok"),
        case=campaign_plan.suite("training").cases["bert-demo-b4"],
        protocol=Protocol(version="1", freshness_key=key),
        platform=campaign_plan.platform(platform_name),
        machine=MachineFacts(
            fingerprint=campaign_plan.fingerprint, cpu_model="Test CPU", cpu_count=2
        ),
        software=SoftwareFacts(
            python="3.11.7",
            lock_digest="0" * 64,
            packages_digest="1" * 64,
            code_digest="2" * 64,
            argv=("commwall", "measure"),
            variables={},
            runtime=runtime,
        ),
        series=measured,
        checks=checks,
        marks=marks,
    ).sealed()


def write_campaign(root: Path, campaign_plan: Plan, records: Iterable[Record]) -> Layout:
    """Put a plan and records where a checkout keeps them."""
    layout = Layout(root)
    write_atomically(layout.plan_path(campaign_plan.id), model_text(campaign_plan))
    for item in records:
        write_record(layout, item)
    return layout


def write_index(layout: Layout, campaign: str) -> None:
    """Look at what is there and index it."""
    write_atomically(layout.index_path(campaign), model_text(build_index(layout, campaign)))
