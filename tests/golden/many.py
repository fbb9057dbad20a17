"""Writes a golden campaign of four models beside collectives and copies; see build.py.

Step times of leg `full` are those of build.py times the case's factor, on the slow link also
times its own; the factors give each verdict that a summary must word:

| case | slow / fast | verdict |
|---|---|---|
| bert | 2 in three rounds | fast is faster by 100 % |
| resnet | 1.5, 1.5 x 1.02, 1.5 / 1.02 | fast is faster by 50 % |
| swin | 1, 1.25, 0.8 | cannot tell |
| transformer-xl | host bound on the slow link | none, kept out |

Round 3 comes from another boot. Samples per watt-hour follow the step times at 8 J a step.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from commwall.records.layout import Layout
from commwall.schema.case import LEGS, MODELS, ModelName, TrainingCase
from commwall.schema.plan import LeftOut, Plan, PlannedSuite
from commwall.schema.record import Record, RecordId
from commwall.schema.result import Check, Mark, Series
from tests import samples
from tests.golden import build, operations
from tests.golden.build import AGAIN, FAST, SLOW

CAMPAIGN = "golden-many"
ROUNDS = 3
FACTORS: dict[ModelName, tuple[float, ...]] = {
    "bert": (2, 2.04, 2 / 1.02),
    "resnet": (1.5, 1.53, 1.5 / 1.02),
    "swin": (1, 1.25, 0.8),
    "transformer_xl": (1.1, 1.1, 1.1),
}
"""Slow / fast of each round."""
NOISE = (1.0, 1.02, 1 / 1.02)
"""Fast again / fast of each round."""
STEP_S: dict[ModelName, float] = {
    "bert": 0.1,
    "resnet": 0.04,
    "swin": 0.06,
    "transformer_xl": 0.2,
}
HOST_BOUND = "a step with 1 sample takes as long as one with 4"
LEFT_OUT = LeftOut(what="platform p2p", reason="the machine has no GPU")


def name_of(model: ModelName) -> str:
    """Name of a model's case."""
    return f"{model.replace('_', '-')}-demo"


def case_of(model: ModelName) -> TrainingCase:
    """The demo case of a model."""
    golden = build.plan().suite("training").cases[build.CASE]
    length = 128 if MODELS[model].samples == "sequence" else None
    return TrainingCase.model_validate(
        {**golden.model_dump(), "model": model, "sequence_length": length}
    )


def plan() -> Plan:
    """Four training cases and the operations of operations.py."""
    golden, others = build.plan(ROUNDS), operations.plan()
    training = golden.suites[0]
    cases = {name_of(model): case_of(model) for model in FACTORS}
    suite = PlannedSuite(
        suite="training",
        cases=cases,
        platforms=dict.fromkeys(training.platforms, tuple(cases)),
        orders=training.orders,
    )
    return golden.model_copy(
        update={
            "id": CAMPAIGN,
            "title": "Golden campaign of four models, in round numbers",
            "suites": (suite, *others.suites),
            "left_out": (LEFT_OUT,),
        }
    )


def records() -> Iterable[Record]:
    """All records of all suites."""
    for name in (FAST, SLOW, AGAIN):
        for round_ in range(1, ROUNDS + 1):
            yield from (training_record(name, model, round_) for model in FACTORS)
    for golden in operations.records():
        yield _placed(golden, golden.id.case)


def training_record(name: str, model: ModelName, round_: int) -> Record:
    """The record of a platform, model and round."""
    golden = build.record(FAST, round_, ROUNDS)
    ratio = {FAST: 1.0, AGAIN: NOISE[round_ - 1], SLOW: FACTORS[model][round_ - 1]}[name]
    late = model == "transformer_xl" and name == SLOW
    marks = (Mark(name="host_bound", leg="single", detail=HOST_BOUND),) if late else ()
    check = Check(name="exchanged_values", passed=True, found="0 wrong", expected="0 wrong")
    changed = golden.model_copy(
        update={
            "case": case_of(model),
            "platform": plan().platform(name),
            "series": tuple(_series(model, ratio)),
            "gaps": (),
            "marks": marks,
            "checks": (check,),
        }
    )
    return _placed(changed, name_of(model))


def write_campaign(root: Path) -> Layout:
    """Write plan, records and index below `root`."""
    layout = samples.write_campaign(root, plan(), records())
    samples.write_index(layout, CAMPAIGN)
    return layout


def _placed(golden: Record, case: str) -> Record:
    """The same record as one of this campaign; round 3 is of another boot."""
    place = {**golden.id.model_dump(), "campaign": CAMPAIGN, "case": case}
    place["platform"] = golden.platform.name
    boot = ("b" if golden.id.round == 3 else "a") * 12
    machine = golden.machine.model_copy(update={"boot_digest": boot})
    update = {"id": RecordId.model_validate(place), "machine": machine}
    return golden.model_copy(update=update).sealed()


def _series(model: ModelName, ratio: float) -> Iterable[Series]:
    """Steps, losses, memory and energy; nosync and single do not see the link."""
    base_ms = 1000 * STEP_S[model]
    legs = {"full": base_ms * ratio, "nosync": 0.9 * base_ms, "single": 0.8 * base_ms}
    legs["packed"] = legs["nosync"]
    legs["comm"] = max(0.2 * base_ms, (legs["full"] - legs["nosync"]) * 1.25)
    yield from build.steps({leg: legs[leg] for leg in LEGS})
    yield from build.others(has_energy=False)
    # five steps of 8 samples
    yield Series(metric="energy_j", unit="J", leg="full", values=(400 * STEP_S[model] * ratio,))


if __name__ == "__main__":
    write_campaign(Path(sys.argv[1]))
