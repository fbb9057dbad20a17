"""Writes the golden campaign of suite mitigations; see build.py for training.

Step times by round [ms]; the unmitigated step takes 200 on the slow link and 100 on the fast one:

| mitigation | rounds | share of the gap | price, loss with less loss without |
|---|---|---|---|
| bfloat16 exchange | 150, 140, 160 | 0.5, 0.6, 0.4 | -0.004, 0, 0.004 |
| 8-bit exchange | 120, 110, 130 | 0.8, 0.9, 0.7 | 0.02, 0.03, 0.04 |
| static graph | 198, 200, 202 | 0.02, 0, -0.02 | none: same arithmetic |
| 1-bit exchange | 110, 110, 110 | 0.9 | not measured |
| 2 batches a step | 300, 300, 300 for both | 0.5 | 0, 0, 0 |

A training case takes 200 (full), 100 (nosync) and 150 (comm): an exchange in half the bytes should
save 75 and take 125. A step takes as long as its slower rank.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from commwall.records.layout import Layout
from commwall.schema.case import Case, Leg, SuiteName, TrainingCase, Windows
from commwall.schema.mitigation import Mitigation, PriceCase, StepCase
from commwall.schema.plan import Comparison, Plan, PlannedSuite
from commwall.schema.record import (
    Record,
)
from commwall.schema.result import Series
from tests import samples
from tests.golden.build import FAST, SLOW, platform, steps
from tests.golden.planned import planned_record, software

CAMPAIGN = "golden-mitigations"
ROUNDS = 3
WORKLOAD: dict[str, Any] = {
    "model": "bert",
    "preset": "demo",
    "batch_per_gpu": 4,
    "sequence_length": 128,
    "dataset_samples": 8000,
    "windows": Windows(full_s=1, other_s=1, min_steps=5, warmup_max_s=1),
}
MITIGATIONS = {
    "bfloat16": Mitigation(exchange="bfloat16"),
    "int8": Mitigation(exchange="int8"),
    "static": Mitigation(static_graph=True),
    "onebit": Mitigation(exchange="onebit"),
    "two-batches": Mitigation(accumulate=2),
}
MITIGATED_MS = {
    "bfloat16": (150, 140, 160),
    "int8": (120, 110, 130),
    "static": (198, 200, 202),
    "onebit": (110, 110, 110),
    "two-batches": (300, 300, 300),
}
PRICES_NAT = {
    "price-bfloat16": (-0.004, 0.0, 0.004),
    "price-int8": (0.02, 0.03, 0.04),
    "price-two-batches": (0.0, 0.0, 0.0),
}
ENERGIES_J = {"two-batches": {"full": (8.0, 12.0), "mitigated": (14.0, 16.0)}}
"""One value a window. Five steps of 8 samples take 20 J, five of 16 samples 30 J: 0.75 a sample."""
PLAIN_NAT = 2.5
STEPS: dict[str, Case] = {
    name: StepCase(mitigation=mitigation, **WORKLOAD) for name, mitigation in MITIGATIONS.items()
}
PRICES: dict[str, Case] = {
    name: PriceCase(mitigation=MITIGATIONS[name.removeprefix("price-")], seeds=1)
    for name in PRICES_NAT
}
TRAINING: dict[str, Case] = {
    "bert": TrainingCase(legs=("full", "nosync", "comm"), **WORKLOAD),
}
PLAIN_MS = {FAST: 100, SLOW: 200}
FAST_MITIGATED_MS = 75
LEGS_MS: dict[Leg, float] = {"full": 200, "nosync": 100, "comm": 150}


def plan() -> Plan:
    """The golden plan: the fast link runs one mitigation, for the gap."""
    own = (
        ("mitigations", {SLOW: (*STEPS, *PRICES), FAST: ("bfloat16",)}, {**STEPS, **PRICES}),
        ("training", {SLOW: ("bert",)}, TRAINING),
    )
    return Plan(
        id=CAMPAIGN,
        title="Golden mitigations, in round numbers",
        fingerprint="golden-machine",
        machine="an imagined machine with 2 CPUs",
        seed=7,
        platforms=(platform(FAST, 1e9), platform(SLOW, 1e8)),
        comparisons=(Comparison(a=FAST, b=SLOW),),
        suites=tuple(
            PlannedSuite(suite=suite, cases=cases, platforms=runs, orders=(tuple(runs),) * ROUNDS)
            for suite, runs, cases in own
        ),
    )


def record(name: str, case: str, round_: int) -> Record:
    """The golden record of a platform, case and round."""
    suite: SuiteName = "training" if case in TRAINING else "mitigations"
    return planned_record(
        plan(),
        name,
        case,
        round_,
        software=software(CAMPAIGN, suite, bucket_bytes=(8_000_000,)),
        series=tuple(_series(name, case, round_)),
    )


def _series(name: str, case: str, round_: int) -> Iterable[Series]:
    if case in TRAINING:
        yield from steps(LEGS_MS)
    elif case in STEPS:
        own_ms = MITIGATED_MS[case][round_ - 1] if name == SLOW else FAST_MITIGATED_MS
        yield from steps({"full": PLAIN_MS[name], "mitigated": own_ms})
        for leg, energies_j in ENERGIES_J.get(case, {}).items():
            yield samples.series("energy_j", "J", energies_j, leg, None)
    else:
        losses = {"full": PLAIN_NAT, "mitigated": PLAIN_NAT + PRICES_NAT[case][round_ - 1]}
        for leg, loss in losses.items():
            yield samples.series("held_out_loss", "1", (loss,), leg)
        yield samples.series("gradient_error", "1", (0.1, 0.2, 0.3), "mitigated")


def records() -> tuple[Record, ...]:
    """All golden records."""
    return tuple(
        record(name, case, round_)
        for suite in plan().suites
        for name, cases in suite.platforms.items()
        for case in cases
        for round_ in range(1, ROUNDS + 1)
    )


def write_campaign(root: Path) -> Layout:
    """Write plan, records and index below `root`."""
    layout = samples.write_campaign(root, plan(), records())
    samples.write_index(layout, CAMPAIGN)
    return layout
