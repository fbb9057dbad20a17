"""Writes the golden campaign of suites strategies and inference; see build.py for training.

Step times by round [ms], of the slower rank:

| round | tensor, fast | tensor, slow | slow / fast | accumulation, fast | slow |
|---|---|---|---|---|---|
| 1 | 10 | 100 | 10 | 20 | 25 |
| 2 | 10 | 80 | 8 | 20 | 25 |
| 3 | 10 | 125 | 12.5 | 20 | 25 |

Since 8 x 12.5 = 100, the geometric mean of the ratios is 10. On the fast link a rank sends 1 % more
than the formula says; on the slow one nobody counts. A token of the decoder's 4 answers takes 2 ms
on the fast link and 8, 6.4 and 10 ms on the slow one, 4 prompts of 25 tokens 10 ms and 20 ms.
"""

from collections.abc import Iterable
from pathlib import Path

from commwall.records.layout import Layout
from commwall.schema.case import Case, SuiteName
from commwall.schema.inference import InferenceCase
from commwall.schema.plan import Comparison, Plan, PlannedSuite
from commwall.schema.record import (
    Record,
)
from commwall.schema.result import Gap, Series
from commwall.schema.strategies import StrategiesCase
from commwall.schema.volumes import sent_bytes, token_sent_bytes
from tests import samples
from tests.golden.build import FAST, SLOW, platform
from tests.golden.planned import planned_record

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


INFERENCE: dict[str, InferenceCase] = {
    "decoder": InferenceCase(
        preset="demo", batch=4, prompt_tokens=25, generated_tokens=15, precision="float32"
    )
}
TOKEN_MS = {FAST: (2.0, 2.0, 2.0), SLOW: (8.0, 6.4, 10.0)}
PREFILL_MS = {FAST: 10.0, SLOW: 20.0}


def plan() -> Plan:
    """The golden plan."""
    cases: dict[SuiteName, dict[str, Case]] = {
        "strategies": dict(STRATEGIES),
        "inference": dict(INFERENCE),
    }
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
    counted = name == FAST
    return planned_record(
        plan(),
        name,
        case,
        round_,
        series=tuple(_steps(name, case, round_) if case in STRATEGIES else _answers(name, round_)),
        gaps=() if counted else (Gap(what="step_sent_bytes", reason=UNCOUNTED),),
    )


def records() -> tuple[Record, ...]:
    """All golden records."""
    return tuple(
        record(name, case, round_)
        for name in (FAST, SLOW)
        for case in (*STRATEGIES, *INFERENCE)
        for round_ in range(1, ROUNDS + 1)
    )


def write_campaign(root: Path) -> Layout:
    """Write plan, records and index below `root`."""
    layout = samples.write_campaign(root, plan(), records())
    samples.write_index(layout, CAMPAIGN)
    return layout


def _steps(name: str, case: str, round_: int) -> Iterable[Series]:
    """Times, losses and bytes of a strategy's steps."""
    yield from times("step_time_s", STEP_MS[case, name][round_ - 1])
    for rank in range(RANKS):
        yield Series(metric="loss", unit="1", rank=rank, values=(2.0, 1.9, 1.8))
    if name == FAST:
        yield from _sent(sent_bytes(STRATEGIES[case], RANKS))


def _answers(name: str, round_: int) -> Iterable[Series]:
    """Times and bytes of the decoder."""
    yield from times("prefill_time_s", PREFILL_MS[name])
    yield from times("token_time_s", TOKEN_MS[name][round_ - 1])
    if name == FAST:
        yield from _sent(token_sent_bytes(INFERENCE["decoder"], RANKS))


def times(metric: str, step_ms: float) -> Iterable[Series]:
    """Three steps on two ranks, of which each is the slower one in turn."""
    for rank in range(RANKS):
        own = tuple(step_ms / 1000 * (1.0 if step % 2 == rank else 0.9) for step in range(3))
        yield Series(metric=metric, unit="s", rank=rank, values=own)


def _sent(formula_bytes: float) -> Iterable[Series]:
    for rank in range(RANKS):
        values = (OVER_FORMULA * formula_bytes,)
        yield Series(metric="step_sent_bytes", unit="byte", rank=rank, values=values)
