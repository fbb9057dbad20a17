"""Writes a golden campaign for the model of a step: two links, four cases, whole milliseconds.

All cases have the buckets of 512 KiB and 2 MiB, ready after 4 and 8 ms; the backward pass is over
after 10 ms, the packed step after 12. What the sweeps say:

| | NVLink | host-staged |
|---|---|---|
| 512 KiB alone | 1 ms | 2 ms |
| 2 MiB alone | 3 ms | 6 ms |
| compute lost of each second beside it | 0.5 | 0.2 |
| exchange beside compute / alone | 1 | 1.25 |

NVLink: the first bucket goes from 4 to 5 ms and costs compute half of that, the second is ready at
8.5 and goes to 11.5, compute is over at 12, the step at 14 ms. Host-staged: 4 to 6.5 with compute
at 6, then 8.5 to 15 (the last 2 ms of compute take 2.5, in which 2 of 6 ms are exchanged), the step
at 17 ms. What was measured on NVLink is 14 ms for every case. Host-staged:

| case | step | why |
|---|---|---|
| as-modelled | 17 ms | everything as above |
| other-optimiser | 18 ms | its packed step takes 13 ms there |
| other-exchange | 18.625 ms | leg `comm` takes 10 ms there, not the 8 of the sweep |
| other-contention | 16 ms | nothing else is different |

In round 2 everything takes 1 % longer, in round 3 less by the same factor, so that geometric means
are those above.

`python -m tests.golden.steps FOLDER` writes the campaign below FOLDER/results.
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from commwall.records.layout import Layout
from commwall.schema.case import CollectivesCase, Leg, TrainingCase
from commwall.schema.plan import Comparison, Plan, PlannedPlatform, PlannedSuite
from commwall.schema.record import Record
from commwall.schema.result import Series
from commwall.schema.treatment import Label, NativeLink, NcclVariables, Treatment
from tests import samples
from tests.golden import build
from tests.golden.operations import operation
from tests.golden.planned import planned_record, planned_records

CAMPAIGN = "golden-steps"
ROUNDS = 3
FACTOR = (1.0, 1.01, 1 / 1.01)
NVLINK, STAGED, AGAIN = "golden-nvlink", "golden-hoststaged", "golden-nvlink-again"
BUCKETS = (2**19, 2**21)
READY_MS = (4.0, 8.0)
BACKWARD_MS = 10.0
NOSYNC_MS = 11.5
EXCHANGE_MS = {NVLINK: (1.0, 3.0), STAGED: (2.0, 6.0), AGAIN: (1.0, 3.0)}
LOST = {NVLINK: 0.5, STAGED: 0.2, AGAIN: 0.5}
STRETCH = {NVLINK: 1.0, STAGED: 1.25, AGAIN: 1.0}
AS_MODELLED, OPTIMISER, EXCHANGE, CONTENTION = (
    "as-modelled", "other-optimiser", "other-exchange", "other-contention",
)  # fmt: skip
STAGED_MS = {
    AS_MODELLED: (17.0, 12.0, 8.0),
    OPTIMISER: (18.0, 13.0, 8.0),
    EXCHANGE: (18.625, 12.0, 10.0),
    CONTENTION: (16.0, 12.0, 8.0),
}
"""Legs full, packed and comm of the host-staged platform."""
NVLINK_MS = (14.0, 12.0, 4.0)
SWEEP, BESIDE = "all-reduce", "all-reduce-beside"
LOAD_MS, REPETITIONS = 40.0, 5
Change = Callable[[Record], Record | None]


def plan() -> Plan:
    """The golden plan."""
    template = build.plan().suite("training").cases[build.CASE]
    assert isinstance(template, TrainingCase)
    own: TrainingCase = template.model_copy(
        update={
            "bucket_bytes": BUCKETS[0],
            "legs": ("full", "nosync", "packed", "comm"),
            "precision": "bfloat16",
        }
    )
    sweep = CollectivesCase.model_validate({"collective": "all_reduce", "max_bytes": BUCKETS[1]})
    beside = sweep.model_copy(update={"beside": "matmul"})
    names = (NVLINK, STAGED, AGAIN)
    return Plan(
        id=CAMPAIGN,
        title="Golden campaign for the model of a step, in round numbers",
        fingerprint="golden-machine",
        machine="an imagined machine with 2 GPUs",
        seed=7,
        platforms=tuple(map(platform, names)),
        comparisons=(
            Comparison(a=NVLINK, b=STAGED),
            Comparison(a=NVLINK, b=AGAIN, control=True),
        ),
        suites=(
            PlannedSuite(
                suite="training",
                cases=dict.fromkeys(STAGED_MS, own),
                platforms={
                    NVLINK: tuple(STAGED_MS),
                    STAGED: tuple(STAGED_MS),
                    AGAIN: (AS_MODELLED,),
                },
                orders=(names,) * ROUNDS,
            ),
            PlannedSuite(
                suite="collectives",
                cases={SWEEP: sweep, BESIDE: beside},
                platforms=dict.fromkeys(names, (SWEEP, BESIDE)),
                orders=(names,) * ROUNDS,
            ),
        ),
    )


def platform(name: str) -> PlannedPlatform:
    """A platform of two GPUs."""
    label = Label(
        title={NVLINK: "NVLink", STAGED: "host-staged", AGAIN: "NVLink again"}[name],
        stands_for="a way through host memory." if name == STAGED else "the link as it is.",
        does_not_cover="other machines.",
    )
    link: Treatment = NativeLink(label=label)
    if name == STAGED:
        link = NcclVariables(label=label, variables={"NCCL_P2P_DISABLE": "1"})
    return PlannedPlatform(name=name, device="cuda", world_size=2, treatment=link)


def record(name: str, case: str, round_: int) -> Record:
    """The record of a platform, case and round."""
    golden, template = plan(), build.record(build.FAST, 1)
    runtime = template.software.runtime
    assert runtime is not None
    own = runtime.model_copy(update={"device_names": ("a GPU", "a GPU"), "bucket_bytes": BUCKETS})
    return planned_record(
        golden,
        name,
        case,
        round_,
        machine=template.machine,
        software=template.software.model_copy(update={"runtime": own}),
        series=tuple(_series(name, case, FACTOR[round_ - 1])),
    )


def records() -> Iterable[Record]:
    """All golden records."""
    return planned_records(plan(), ROUNDS, record)


def write_campaign(root: Path, change: Change = lambda r: r) -> Layout:
    """Write plan, records and index below `root`.

    Args:
        root: a folder that stands for a checkout.
        change: alters each record or leaves it out.
    """
    changed = [own for own in map(change, records()) if own is not None]
    layout = samples.write_campaign(root, plan(), changed)
    samples.write_index(layout, CAMPAIGN)
    return layout


def without(*legs_or_metrics: str) -> Change:
    """A change that takes series of legs, or of metrics, out of every record."""

    def change(own: Record) -> Record:
        kept = (s for s in own.series if not {s.leg, s.metric} & set(legs_or_metrics))
        return own.model_copy(update={"series": tuple(kept)}).sealed()

    return change


def _series(name: str, case: str, factor: float) -> Iterable[Series]:
    if case in STAGED_MS:
        yield from trained(name, case, factor)
    else:
        sizes = (BUCKETS[1] // 4**power for power in range(9, -1, -1))
        yield from swept(name, sizes, factor, beside=case == BESIDE)


def trained(name: str, case: str, factor: float) -> Iterable[Series]:
    """All that a case tells on a platform; everything takes `factor` times as long."""
    legs_ms = STAGED_MS[case] if name == STAGED else NVLINK_MS
    full_ms, packed_ms, comm_ms = (factor * value for value in legs_ms)
    legs: dict[Leg, float] = {
        "full": full_ms, "nosync": factor * NOSYNC_MS, "packed": packed_ms, "comm": comm_ms,
    }  # fmt: skip
    yield from build.steps(legs)
    for bucket, ready_ms in enumerate(READY_MS):
        yield from _packed("bucket_ready_time_s", factor * ready_ms, bucket)
    yield from _packed("backward_end_time_s", factor * BACKWARD_MS, None)
    for rank in (0, 1):
        yield Series(metric="loss", unit="1", leg="full", rank=rank, values=build.LOSSES)


def _packed(metric: str, milliseconds: float, bucket: int | None) -> Iterable[Series]:
    """Two steps whose slower rank takes so long in each."""
    for rank in (0, 1):
        values = tuple(milliseconds / 1000 * (1.0 if step == rank else 0.9) for step in (0, 1))
        yield Series(metric=metric, unit="s", leg="packed", rank=rank, bucket=bucket, values=values)


def swept(name: str, sizes: Iterable[int], factor: float, *, beside: bool) -> Iterable[Series]:
    """A sweep of a platform's all-reduce; beyond the second bucket all sizes take as long."""
    for size in sizes:
        yield from _swept(name, size, factor, beside=beside)


def _swept(name: str, size: int, factor: float, *, beside: bool) -> Iterable[Series]:
    first_ms, second_ms = EXCHANGE_MS[name]
    alone_s = factor * (second_ms if size >= BUCKETS[1] else first_ms) / 1000
    operation_s = STRETCH[name] * alone_s if beside else alone_s
    load_s = factor * LOAD_MS / 1000
    for rank in (0, 1):
        yield operation("operation_time_s", "s", [operation_s, operation_s], size, rank)
        yield operation("repetitions", "1", [REPETITIONS], size, rank)
        if beside:
            longer_s = load_s + LOST[name] * REPETITIONS * operation_s
            yield operation("load_time_s", "s", [load_s], size, rank)
            yield operation("load_beside_time_s", "s", [longer_s], size, rank)
            yield operation("load_beside_repetitions", "1", [REPETITIONS], size, rank)


if __name__ == "__main__":
    write_campaign(Path(sys.argv[1]))
