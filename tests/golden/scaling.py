"""Writes a golden campaign of two links on 2, 4 and 8 GPUs, in whole milliseconds.

Buckets of 512 KiB and 2 MiB are ready after 4 and 8 ms, the backward pass is over after 10 ms, the
packed step after 12; one GPU alone takes 11.2 ms. Exchange and compute take nothing from each
other. On 2 GPUs 512 KiB take 1 ms over NVLink and 2 ms host-staged, and any size in proportion. A
ring of 4 takes 1.5 times as long, one of 8 1.75 times: 2 (n - 1) / n of the buffer.

| GPUs | NVLink: buckets | ends | step | host-staged: buckets | ends | step |
|---|---|---|---|---|---|---|
| 2 | 1, 4 ms | 12 ms | 14 ms | 2, 8 ms | 16 ms | 18 ms |
| 4 | 1.5, 6 ms | 14 ms | 16 ms | 3, 12 ms | 20 ms | 22 ms |
| 8 by rings | 1.75, 7 ms | 15 ms | 17 ms | 3.5, 14 ms | 22 ms | 24 ms |
| 8 as measured | the same | 15 ms | 17 ms | 7, 28 ms | 39 ms | 41 ms |

So the host's bridges carry no more for 8 GPUs than for 4, and halve the rate of each. Case
OTHER_COMPUTE takes 1 ms longer on 8 GPUs without exchange, too. In round 2 everything takes 1 %
longer, in round 3 less by the same factor.

`python -m tests.golden.scaling FOLDER` writes the campaign below FOLDER/results.
"""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from commwall.records.layout import Layout
from commwall.schema.case import CollectivesCase, Leg, TrainingCase
from commwall.schema.plan import Comparison, Plan, PlannedPlatform, PlannedSuite
from commwall.schema.record import GpuFacts, Record
from commwall.schema.result import Series
from commwall.schema.treatment import Label, NativeLink, NcclVariables, Treatment
from tests import samples
from tests.golden import build
from tests.golden.gpus import FACTS, GPU
from tests.golden.operations import operation
from tests.golden.planned import planned_record, planned_records
from tests.golden.steps import BACKWARD_MS, BUCKETS, FACTOR, NOSYNC_MS, READY_MS

CAMPAIGN = "golden-scaling"
ROUNDS = 3
SIZES = (2, 4, 8)
SINGLE_MS, PACKED_MS = 11.2, 12.0
STAGED = "hoststaged"
EXCHANGE_MS = {
    "nvlink2": (1.0, 4.0), "nvlink4": (1.5, 6.0), "nvlink8": (1.75, 7.0),
    "hoststaged2": (2.0, 8.0), "hoststaged4": (3.0, 12.0), "hoststaged8": (7.0, 28.0),
}  # fmt: skip
STEP_MS = {
    "nvlink2": 14.0, "nvlink4": 16.0, "nvlink8": 17.0,
    "hoststaged2": 18.0, "hoststaged4": 22.0, "hoststaged8": 41.0,
}  # fmt: skip
OTHER_COMPUTE = "other-compute"
CASES = ("first", "second", "third", OTHER_COMPUTE)
LATER_MS = 1.0
"""By so much a step of OTHER_COMPUTE is longer on 8 GPUs."""
SWEEP = "all-reduce"
SWEPT = tuple(BUCKETS[1] // 2**power for power in range(12, -1, -1))
Change = Callable[[Record], Record | None]


def platform(name: str) -> PlannedPlatform:
    """A platform of as many GPUs as its name ends with."""
    ranks, staged = int(name[-1]), name.startswith(STAGED)
    label = Label(
        title=f"{'host-staged' if staged else 'NVLink'}, {ranks} GPUs",
        stands_for="a way through host memory." if staged else "the link as it is.",
        does_not_cover="other machines.",
    )
    link: Treatment = NativeLink(label=label)
    if staged:
        link = NcclVariables(label=label, variables={"NCCL_P2P_DISABLE": "1"})
    return PlannedPlatform(name=name, device="cuda", world_size=ranks, treatment=link)


def plan() -> Plan:
    """The golden plan."""
    template = build.plan().suite("training").cases[build.CASE]
    assert isinstance(template, TrainingCase)
    own: TrainingCase = template.model_copy(
        update={"bucket_bytes": BUCKETS[0], "precision": "bfloat16"}
    )
    sweep = CollectivesCase.model_validate({"collective": "all_reduce", "max_bytes": BUCKETS[1]})
    names = tuple(EXCHANGE_MS)
    return Plan(
        id=CAMPAIGN,
        title="Golden campaign of growing numbers of GPUs, in round numbers",
        fingerprint="golden-machine",
        machine="an imagined machine with 8 GPUs",
        seed=7,
        platforms=tuple(map(platform, names)),
        comparisons=tuple(Comparison(a=f"nvlink{n}", b=f"{STAGED}{n}") for n in SIZES[::-1]),
        suites=(
            PlannedSuite(
                suite="training",
                cases=dict.fromkeys(CASES, own),
                platforms=dict.fromkeys(names, CASES),
                orders=(names,) * ROUNDS,
            ),
            PlannedSuite(
                suite="collectives",
                cases={SWEEP: sweep},
                platforms=dict.fromkeys(names, (SWEEP,)),
                orders=(names,) * ROUNDS,
            ),
        ),
    )


def record(name: str, case: str, round_: int) -> Record:
    """The record of a platform, case and round."""
    golden, template = plan(), build.record(build.FAST, 1)
    runtime = template.software.runtime
    assert runtime is not None
    ranks = golden.platform(name).world_size
    own = runtime.model_copy(update={"device_names": (GPU,) * ranks, "bucket_bytes": BUCKETS})
    gpus = tuple(
        GpuFacts(name=GPU, uuid_digest=str(index) * 12, memory_bytes=141 * 10**9)
        for index in range(max(SIZES))
    )
    return planned_record(
        golden,
        name,
        case,
        round_,
        machine=template.machine.model_copy(update={"gpus": gpus, "peer_access": True}),
        software=template.software.model_copy(
            update={"runtime": own, "variables": {"NCCL_NVLS_ENABLE": "0"}}
        ),
        series=tuple(_series(name, case, ranks, FACTOR[round_ - 1])),
    )


def records() -> Iterator[Record]:
    """All golden records."""
    return planned_records(plan(), ROUNDS, record)


def write_campaign(root: Path, change: Change = lambda r: r) -> Layout:
    """Write plan, records, facts and index below `root`.

    Args:
        root: a folder that stands for a checkout.
        change: alters each record or leaves it out.
    """
    shutil.copytree(FACTS, root / "config" / "facts", dirs_exist_ok=True)
    changed = (change(own) for own in records())
    kept = [own.sealed() for own in changed if own is not None]
    layout = samples.write_campaign(root, plan(), kept)
    samples.write_index(layout, CAMPAIGN)
    return layout


def _series(name: str, case: str, ranks: int, factor: float) -> Iterable[Series]:
    first_ms, second_ms = (factor * value for value in EXCHANGE_MS[name])
    if case == SWEEP:
        for size in SWEPT:
            operation_s = second_ms / 1000 * size / BUCKETS[1]
            for rank in range(ranks):
                yield operation("operation_time_s", "s", [operation_s] * 2, size, rank)
                yield operation("repetitions", "1", [5], size, rank)
        return
    later_ms = factor * LATER_MS if case == OTHER_COMPUTE and ranks == max(SIZES) else 0.0
    legs: dict[Leg, float] = {
        "full": factor * STEP_MS[name] + later_ms,
        "nosync": factor * NOSYNC_MS,
        "packed": factor * PACKED_MS + later_ms,
        "comm": first_ms + second_ms,
        "single": factor * SINGLE_MS,
    }
    yield from build.steps(legs, ranks)
    for rank in range(ranks):
        for bucket, ready_ms in enumerate(READY_MS):
            yield _packed("bucket_ready_time_s", factor * ready_ms, rank, bucket)
        yield _packed("backward_end_time_s", factor * BACKWARD_MS, rank, None)
        yield Series(metric="loss", unit="1", leg="full", rank=rank, values=build.LOSSES)


def _packed(metric: str, milliseconds: float, rank: int, bucket: int | None) -> Series:
    """Two steps, as long on every rank."""
    values = (milliseconds / 1000,) * 2
    return Series(metric=metric, unit="s", leg="packed", rank=rank, bucket=bucket, values=values)


if __name__ == "__main__":
    write_campaign(Path(sys.argv[1]))
