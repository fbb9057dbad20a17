"""Writes the golden campaign through the real schema and store, so that it is always valid.

Step times of leg `full` by round [ms]:

| round | fast | fast again | slow | slow / fast | again / fast |
|---|---|---|---|---|---|
| 1 | 100 | 100 | 200 | 2 | 1 |
| 2 | 100 | 102 | 200 | 2 | 1.02 |
| 3 | 102 | 100 | 204 | 2 | 1 / 1.02 |
| 4 | 100 | 100 | 160 | 1.6 | 1 |
| 5 | 100 | 100 | 250 | 2.5 | 1 |

The ratios slow / fast have median 2 and, since 1.6 x 2.5 = 4, geometric mean 2; those of the
control have geometric mean 1. A step takes as long as its slower rank, which changes from step
to step; the five steps of a round lie at -2, -1, 0, 1 and 2 % of the value above.

`python -m tests.golden.build FOLDER` writes the campaign below FOLDER/results.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.records.store import write_record
from commwall.records.texts import model_text
from commwall.schema.case import Leg, TrainingCase, Windows
from commwall.schema.plan import Comparison, Plan, PlannedPlatform, PlannedSuite
from commwall.schema.record import (
    MachineFacts,
    Protocol,
    Record,
    RecordId,
    SoftwareFacts,
    Status,
)
from commwall.schema.result import Gap, RuntimeFacts, Series
from commwall.schema.treatment import EmulatedLink, Label
from tests.samples import write_index

CAMPAIGN = "golden"
CASE = "bert-golden"
FAST, SLOW, AGAIN = "golden-fast", "golden-slow", "golden-fast-again"
FULL_MS = {
    FAST: (100, 100, 102, 100, 100),
    AGAIN: (100, 102, 100, 100, 100),
    SLOW: (200, 200, 204, 160, 250),
}
OTHER_MS: dict[str, dict[Leg, int]] = {
    FAST: {"nosync": 90, "packed": 92, "comm": 40, "single": 80},
    AGAIN: {"nosync": 90, "packed": 92, "comm": 40, "single": 80},
    SLOW: {"nosync": 90, "packed": 92, "comm": 150, "single": 80},
}
STEP_PATTERN = (0.98, 0.99, 1.0, 1.01, 1.02)
LOSSES = (9.5, 9.0, 8.5)
BUCKETS = (5_000_000, 3_000_000)
ENERGY_J = 40.0
NO_COUNTER = "the machine offers no energy counter"
Change = Callable[[Record], Record | None]
"""Alters a record before it is written; None leaves it out."""


def plan(rounds: int = 5) -> Plan:
    """The golden plan."""
    case = TrainingCase(
        model="bert",
        preset="demo",
        batch_per_gpu=4,
        sequence_length=128,
        dataset="golden-8000",
        dataset_samples=8000,
        windows=Windows(full_s=1, other_s=1, min_steps=5, warmup_max_s=1),
    )
    order = (FAST, SLOW, AGAIN)
    return Plan(
        id=CAMPAIGN,
        title="Golden campaign: what a slow link costs, in round numbers",
        fingerprint="golden-machine",
        machine="an imagined machine with 2 CPUs",
        seed=7,
        platforms=(platform(FAST, 1e9), platform(SLOW, 1e8), platform(AGAIN, 1e9)),
        comparisons=(Comparison(a=FAST, b=SLOW), Comparison(a=FAST, b=AGAIN, control=True)),
        suites=(
            PlannedSuite(
                suite="training",
                cases={CASE: case},
                platforms=dict.fromkeys(order, (CASE,)),
                orders=tuple(order[::-1] if r % 2 else order for r in range(rounds)),
            ),
        ),
    )


def platform(name: str, bandwidth_bytes_per_s: float) -> PlannedPlatform:
    """A platform with an emulated link."""
    word = "slow" if name == SLOW else "fast"
    label = Label(
        title=f"{word} link, emulated",
        stands_for=f"a {word} link between two processes.",
        does_not_cover="real hardware: the link is emulated in software.",
    )
    link = EmulatedLink(label=label, bandwidth_bytes_per_s=bandwidth_bytes_per_s, latency_s=20e-6)
    return PlannedPlatform(name=name, device="cpu", world_size=2, treatment=link)


def record(name: str, round_: int, rounds: int = 5) -> Record:
    """The golden record of a platform and round; rounds beyond the fifth repeat."""
    golden = plan(rounds)
    full_ms = FULL_MS[name][(round_ - 1) % 5]
    legs: dict[Leg, int] = {"full": full_ms, **OTHER_MS[name]}
    has_energy = name == FAST
    return Record(
        digest="",
        id=RecordId(
            campaign=CAMPAIGN,
            platform=name,
            suite="training",
            case=CASE,
            round=round_,
            round_id=f"golden-round-{round_}",
        ),
        measured_at=datetime(2026, 1, 1, 12, round_ % 60, tzinfo=UTC),
        status=Status(state="ok"),
        case=golden.suite("training").cases[CASE],
        protocol=Protocol(version="1", freshness_key="training-1-golden"),
        platform=golden.platform(name),
        machine=MachineFacts(
            fingerprint="golden-machine", cpu_model="Golden CPU", cpu_count=2, boot_digest="0" * 12
        ),
        software=_software(),
        series=(*steps(legs), *others(has_energy)),
        gaps=() if has_energy else (Gap(what="energy_j", reason=NO_COUNTER),),
    ).sealed()


def write_campaign(root: Path, change: Change = lambda r: r, rounds: int = 5) -> Layout:
    """Write plan, records and index below `root`.

    Args:
        root: a folder that stands for a checkout.
        change: alters each record or leaves it out.
        rounds: number of rounds in the plan.
    """
    layout = Layout(root)
    write_atomically(layout.plan_path(CAMPAIGN), model_text(plan(rounds)))
    for name in FULL_MS:
        for round_ in range(1, rounds + 1):
            changed = change(record(name, round_, rounds))
            if changed is not None:
                write_record(layout, changed)
    write_index(layout, CAMPAIGN)
    return layout


def _software() -> SoftwareFacts:
    return SoftwareFacts(
        python="3.11.0",
        lock_digest="1" * 64,
        packages_digest="2" * 64,
        code_digest="3" * 64,
        git_commit="4" * 40,
        dirty=False,
        argv=("commwall", "measure", CAMPAIGN, "training"),
        variables={},
        runtime=RuntimeFacts(
            torch="2.13.0",
            device_names=("cpu", "cpu"),
            threads_per_rank=1,
            parameters=2_000_000,
            bucket_bytes=BUCKETS,
        ),
    )


def steps(legs: Mapping[Leg, float], ranks: int = 2) -> Iterable[Series]:
    """Warm-up and steps of each leg, from its time [ms]."""
    for leg, milliseconds in legs.items():
        slowest = [milliseconds / 1000 * factor for factor in STEP_PATTERN]
        yield _step_series(leg, 0, "warmup", (10 * slowest[0],))
        if leg == "single":
            yield _step_series(leg, 0, "measured", slowest)
            continue
        for rank in range(ranks):
            own = [t if i % ranks == rank else t - 0.001 for i, t in enumerate(slowest)]
            yield _step_series(leg, rank, "measured", own)


def _step_series(leg: Leg, rank: int, phase: str, values: Iterable[float]) -> Series:
    return Series(
        metric="step_time_s", unit="s", leg=leg, rank=rank, phase=phase, values=tuple(values)
    )


def others(has_energy: bool) -> Iterable[Series]:
    """Losses, gradient norms, memory, and energy where there is a counter."""
    for rank in (0, 1):
        yield Series(metric="loss", unit="1", leg="full", rank=rank, values=LOSSES)
        yield Series(metric="gradient_norm", unit="1", leg="full", rank=rank, values=(4, 3, 2))
        yield Series(metric="peak_memory_bytes", unit="byte", rank=rank, values=(2**29,))
    if has_energy:
        yield Series(metric="energy_j", unit="J", leg="full", values=(ENERGY_J,))


if __name__ == "__main__":
    write_campaign(Path(sys.argv[1]))
