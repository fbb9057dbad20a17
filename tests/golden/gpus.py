"""Writes a golden campaign of two GPUs: energy, the GPUs' own counters, and traffic to be proved.

Leg `full` on the direct link takes 100 ms a step, host-staged 200, 180 and 200 / 0.9 ms by round:
time ratios direct / staged of 0.5, 0.5 / 0.9 and 0.5 x 0.9, whose geometric mean is 0.5.

| | direct | staged |
|---|---|---|
| power of both GPUs by the counter [W] | 600 | 400 |
| polled [W] | 588, 2 % less | 392 |
| idle, the lowest before a launch [W] | 200 | 200 |
| energy per sample in round 1 [J] | 600 x 0.1 / 8 = 7.5 | 400 x 0.2 / 8 = 10 |
| above idle [J] | 400 x 0.1 / 8 = 5 | 200 x 0.2 / 8 = 5 |
| memory in use in round 1 | 0.5 | 0.25 |
| of 4.8 TB/s | 2.4 TB/s | 1.2 TB/s |
| in a step | 0.24 TB | 0.24 TB |

So energy 0.75 = power 1.5 x time 0.5, and 600 x (1 / 0.75 - 1) = 200 W that nobody counts would
make up for it. The known transfer, 20 all-reduces of 256 MiB on 2 ranks, is 5 GiB.

`python -m tests.golden.gpus FOLDER` writes the campaign below FOLDER/results.
"""

import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from commwall.records.layout import Layout
from commwall.schema.case import Leg
from commwall.schema.plan import Comparison, Plan, PlannedPlatform, PlannedSuite
from commwall.schema.record import GpuFacts, Record, Traffic
from commwall.schema.result import Check, Series
from commwall.schema.treatment import Label, LinkPath, NativeLink, NcclVariables, Treatment
from tests import samples
from tests.golden import build

CAMPAIGN = "golden-gpus"
ROUNDS = 3
CASE = "bert-golden-gpu"
DIRECT, STAGED, AGAIN = "golden-nvlink", "golden-hoststaged", "golden-nvlink-again"
STEP_MS = {DIRECT: (100, 100, 100), STAGED: (200, 180, 200 / 0.9), AGAIN: (100, 102, 100)}
POWER_W = {DIRECT: 300.0, STAGED: 200.0, AGAIN: 300.0}
"""Of one GPU by the counter."""
POLLED = (0.94, 0.99, 1.0, 0.99)
"""Readings relative to the counter; their mean is 0.98."""
IDLE_W = 100.0
TO_REST_W = (130.0, 127.0, 104.0, IDLE_W)
"""Of one GPU before a launch."""
STEP_BYTES = 0.24e12
NOMINAL = 4.8e12
WIRE_BYTES = 5 * 2**30
GPU = "NVIDIA H200"
FACTS = Path(__file__).parents[2] / "config" / "facts"
Change = Callable[[Record], Record | None]


def platform(name: str) -> PlannedPlatform:
    """A platform of two GPUs."""
    staged = name == STAGED
    label = Label(
        title="host-staged" if staged else "NVLink",
        stands_for="a way through host memory." if staged else "the link as it is.",
        does_not_cover="other machines.",
    )
    link: Treatment = NativeLink(label=label)
    if staged:
        link = NcclVariables(label=label, variables={"NCCL_P2P_DISABLE": "1"})
    path: LinkPath = "host_staged" if staged else "nvlink"
    return PlannedPlatform(name=name, device="cuda", world_size=2, treatment=link, path=path)


def plan() -> Plan:
    """The golden plan."""
    golden = build.plan(ROUNDS)
    case = golden.suite("training").cases[build.CASE].model_copy(update={"precision": "bfloat16"})
    names = (DIRECT, STAGED, AGAIN)
    training = PlannedSuite(
        suite="training",
        cases={CASE: case},
        platforms=dict.fromkeys(names, (CASE,)),
        orders=(names,) * ROUNDS,
    )
    return golden.model_copy(
        update={
            "id": CAMPAIGN,
            "title": "Golden campaign of two GPUs, in round numbers",
            "machine": "an imagined machine with 2 GPUs",
            "platforms": tuple(map(platform, names)),
            "comparisons": (
                Comparison(a=DIRECT, b=STAGED),
                Comparison(a=DIRECT, b=AGAIN, control=True),
            ),
            "suites": (training,),
        }
    )


def record(name: str, round_: int) -> Record:
    """The record of a platform and round."""
    golden, own = build.record(build.FAST, round_, ROUNDS), plan()
    place = {"campaign": CAMPAIGN, "platform": name, "case": CASE}
    gpus = tuple(
        GpuFacts(name=GPU, uuid_digest=str(index) * 12, memory_bytes=141 * 10**9)
        for index in (0, 1)
    )
    runtime = golden.software.runtime
    assert runtime is not None
    devices = runtime.model_copy(update={"device_names": (GPU, GPU), "step_flops": 4e13})
    return golden.model_copy(
        update={
            "id": golden.id.model_copy(update=place),
            "case": own.suite("training").cases[CASE],
            "platform": own.platform(name),
            "machine": golden.machine.model_copy(update={"gpus": gpus, "peer_access": True}),
            "software": golden.software.model_copy(update={"runtime": devices}),
            "series": tuple(_series(name, STEP_MS[name][round_ - 1])),
            "traffic": traffic(name),
            "checks": checks(name),
            "gaps": (),
        }
    ).sealed()


def _series(name: str, full_ms: float) -> Iterable[Series]:
    legs: dict[Leg, float] = {
        "full": full_ms,
        "nosync": 90,
        "comm": 40 if name != STAGED else 150,
        "single": 80,
    }
    yield from build.steps(legs)
    yield from build.others(has_energy=False)
    share = STEP_BYTES / (full_ms / 1000) / NOMINAL
    window_s = 5 * full_ms / 1000
    staged = name == STAGED
    for rank in (0, 1):
        power_w = POWER_W[name]
        yield _of("energy_j", "J", rank, (power_w * window_s,))
        yield _of("power_w", "W", rank, tuple(power_w * part for part in POLLED))
        yield _of("power_time_s", "s", rank, tuple(1 + window_s * k / 5 for k in range(4)))
        yield Series(metric="idle_power_w", unit="W", rank=rank, values=TO_REST_W)
        yield _of("dram_active_share", "1", rank, (share - 0.1, share + 0.1))
        yield _of("sm_active_share", "1", rank, (0.4, 0.8))
        yield _of("tensor_active_share", "1", rank, (0.2, 0.4))
        for way in ("sent", "received"):
            nvlink, pcie = (0.0, 8e9) if staged else (40e9, 1e6)
            yield _of(f"nvlink_{way}_bytes_per_s", "byte/s", rank, (nvlink, nvlink))
            yield _of(f"pcie_{way}_bytes_per_s", "byte/s", rank, (pcie, pcie))
        yield _of("sm_clock_hz", "Hz", rank, (1.97e9, 1.98e9, 1.98e9))
        yield _of("memory_clock_hz", "Hz", rank, (3.2e9,) * 3)
        yield _of("temperature_c", "°C", rank, (40.0 + rank, 50.0, 60.0))


def _of(metric: str, unit: str, rank: int, values: tuple[float, ...]) -> Series:
    return Series(metric=metric, unit=unit, leg="full", rank=rank, values=values)


def traffic(name: str) -> Traffic:
    """What carried the known transfer of a launch."""
    staged = name == STAGED
    counted = (0, 0) if staged else (WIRE_BYTES, WIRE_BYTES)
    rates = (20e9, 20e9) if staged else (1e6, 1e6)
    return Traffic(
        what="20 all-reduces of 256 MiB",
        expected_bytes=WIRE_BYTES,
        duration_s=0.25 if staged else 0.02,
        nvlink_sent_bytes=counted,
        nvlink_received_bytes=counted,
        pcie_sent_bytes_per_s=rates,
        pcie_received_bytes_per_s=rates,
        loopback_bytes=4096,
        transports=("SHM/direct/direct",) if staged else ("P2P/CUMEM",),
    )


def checks(name: str) -> tuple[Check, ...]:
    """What the checks on way and treatment found."""
    way = "through host memory" if name == STAGED else "NVLink"
    set_ = "NCCL_P2P_DISABLE=1" if name == STAGED else "nothing set"
    return (
        Check(name="path_taken", passed=True, found=way, expected=way),
        Check(name="treatment_taken", passed=True, found=set_, expected=set_),
    )


def write_campaign(root: Path, change: Change = lambda r: r) -> Layout:
    """Write plan, records, facts and index below `root`.

    Args:
        root: a folder that stands for a checkout.
        change: alters each record or leaves it out.
    """
    shutil.copytree(FACTS, root / "config" / "facts", dirs_exist_ok=True)
    made = (record(name, round_) for name in STEP_MS for round_ in range(1, ROUNDS + 1))
    changed = (change(golden) for golden in made)
    kept = [golden.sealed() for golden in changed if golden is not None]
    layout = samples.write_campaign(root, plan(), kept)
    samples.write_index(layout, CAMPAIGN)
    return layout


if __name__ == "__main__":
    write_campaign(Path(sys.argv[1]))
