"""Writes an archive: many campaigns of 100 records each, measured over months and drivers.

Each campaign measures four models on three platforms and four collectives on two, in five rounds.
Training records are as large as those of the sample of two H200 GPUs (about 50 KB). Campaign k is
measured on day k, every DRIVER_DAYS days with another driver and NCCL, every second one on the
second of two kinds of machine. Step times of platform `fast` are those of many.py times
`1 - 0.02 x (driver)`, with about half a percent between rounds; the slow link takes twice as long.

`python -m tests.golden.archive FOLDER --campaigns 100` writes 10,000 records.
"""

import argparse
import random
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path

from commwall.records.layout import Layout
from commwall.records.texts import model_text, record_text
from commwall.schema.case import CollectivesCase, Leg
from commwall.schema.plan import Plan, PlannedSuite
from commwall.schema.record import Record
from commwall.schema.result import Series
from tests.golden import many, operations
from tests.golden.build import FAST, SLOW

ROUNDS = 5
RECORDS = 100
"""Records of a campaign."""
DRIVER_DAYS = 20
STEPS = 350
GROUPS = 60
COLLECTIVES = {
    name: CollectivesCase(collective=name, max_bytes=2**17)
    for name in ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
}
FIRST_DAY = datetime(2026, 1, 1, 12, tzinfo=UTC)
LEG_SHARE: dict[Leg, float] = {"full": 1.0, "nosync": 0.9, "comm": 0.3, "single": 0.8}


def write_archive(root: Path, campaigns: int, processes: int = 1) -> Layout:
    """Write plans and records below `root`, without waiting for the disk.

    Args:
        root: a folder that stands for a checkout.
        campaigns: how many, RECORDS records each.
        processes: that write beside each other.
    """
    one = partial(write_campaign, root)
    if processes == 1:
        list(map(one, range(campaigns)))
    else:
        with ProcessPoolExecutor(processes) as pool:
            list(pool.map(one, range(campaigns)))
    return Layout(root)


def campaign_name(number: int) -> str:
    """Identifier of the campaign of a day."""
    return f"day-{number:03d}"


def plan(number: int) -> Plan:
    """The plan of a campaign."""
    golden = many.plan()
    training = golden.suite("training")
    order = tuple(training.platforms)
    cases = {name.replace("_", "-"): case for name, case in COLLECTIVES.items()}
    suites = (
        training.model_copy(update={"orders": (order,) * ROUNDS}),
        PlannedSuite(
            suite="collectives",
            cases=cases,
            platforms=dict.fromkeys((FAST, SLOW), tuple(cases)),
            orders=((FAST, SLOW),) * ROUNDS,
        ),
    )
    told = {
        "id": campaign_name(number),
        "title": f"Day {number}",
        "fingerprint": f"machine-{number % 2}",
    }
    return golden.model_copy(update={**told, "suites": suites, "left_out": ()})


def write_campaign(root: Path, number: int) -> None:
    """Write one campaign."""
    own, layout = plan(number), Layout(root)
    _write(layout.plan_path(own.id), model_text(own))
    for record in records(own, number):
        _write(layout.path_of(record.id), record_text(record))


def records(own: Plan, number: int) -> Iterator[Record]:
    """All records of a campaign, sealed."""
    noise = random.Random(number)
    for round_ in range(1, ROUNDS + 1):
        for suite in own.suites:
            for platform, cases in suite.platforms.items():
                for case in cases:
                    factor = (1 - 0.02 * (number // DRIVER_DAYS)) * (1 + noise.gauss(0, 0.005))
                    yield _placed(_template(platform, case), own, number, round_, factor)


@cache
def _template(platform: str, case: str) -> Record:
    """A record whose values a campaign scales."""
    if case not in plan(0).suite("collectives").cases:
        model = next(model for model in many.FACTORS if many.name_of(model) == case)
        series = tuple(_steps(1000 * many.STEP_S[model] * (2 if platform == SLOW else 1)))
        golden = many.training_record(FAST, model, 1)
        others = tuple(s for s in golden.series if s.metric != "step_time_s")
        return golden.model_copy(
            update={"series": (*series, *others), "platform": plan(0).platform(platform)}
        )
    golden = operations.record(platform, "all-reduce", 1)
    planned = plan(0).suite("collectives").cases[case]
    assert isinstance(planned, CollectivesCase)
    sizes = planned.message_sizes(2)
    times = tuple(s for size in sizes for s in _groups(size, 10 if platform == SLOW else 1))
    return golden.model_copy(update={"series": times, "case": planned})


def _steps(full_ms: float) -> Iterator[Series]:
    noise = random.Random(0)
    for leg, share in LEG_SHARE.items():
        for rank in (0,) if leg == "single" else (0, 1):
            values = tuple(full_ms / 1000 * share * noise.gauss(1, 0.01) for _ in range(STEPS))
            yield Series(metric="step_time_s", unit="s", leg=leg, rank=rank, values=values)


def _groups(size: int, slowness: int) -> Iterator[Series]:
    noise = random.Random(size)
    for rank in (0, 1):
        own = [(1e-5 + slowness * size / 1e9) * noise.gauss(1, 0.01) for _ in range(GROUPS)]
        yield operations.operation("operation_time_s", "s", own, size, rank)
        yield operations.operation("repetitions", "1", [5], size, rank)
        yield operations.operation("link_bound_share", "1", [1.0], size, rank)


def _placed(template: Record, own: Plan, number: int, round_: int, factor: float) -> Record:
    suite = template.case.suite
    case = next(n for n, c in own.suite(suite).cases.items() if c == template.case)
    place = template.id.model_copy(
        update={
            "campaign": own.id,
            "platform": template.platform.name,
            "case": case,
            "round": round_,
            "round_id": f"{own.id}-{suite}-{round_}",
        }
    )
    software = template.software
    assert software.runtime is not None
    driver = number // DRIVER_DAYS
    runtime = software.runtime.model_copy(update={"nccl": f"2.{25 + driver}.1"})
    changed = {
        "id": place,
        "measured_at": FIRST_DAY + timedelta(days=number, minutes=round_),
        "machine": template.machine.model_copy(
            update={"fingerprint": own.fingerprint, "driver": f"{550 + 10 * driver}.1"}
        ),
        "software": software.model_copy(update={"runtime": runtime}),
        "series": tuple(_scaled(template.series, factor)),
    }
    return template.model_copy(update=changed).sealed()


def _scaled(series: Iterable[Series], factor: float) -> Iterator[Series]:
    for each in series:
        timed = each.metric in ("step_time_s", "operation_time_s")
        values = tuple(value * factor for value in each.values) if timed else each.values
        yield each.model_copy(update={"values": values})


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--campaigns", type=int, default=100)
    asked = parser.parse_args()
    write_archive(asked.folder, asked.campaigns, processes=2)
