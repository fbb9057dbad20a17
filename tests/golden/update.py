"""The golden campaign under other names, as it might be measured after an update.

Times after an update are those of build.py times a factor: throughput changes by its reciprocal.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.records.store import write_record
from commwall.records.texts import model_text
from commwall.schema.plan import Plan
from commwall.schema.record import Record
from tests.golden.build import CASE, FULL_MS, plan, record

AFTER = "golden-after"
Change = Callable[[Record], Record]
Planned = Callable[[Plan], Plan]


def same(made: Record) -> Record:
    return made


def timed(factor: float, *platforms: str) -> Change:
    """Every step of these platforms takes as many times as long."""

    def change(made: Record) -> Record:
        if platforms and made.id.platform not in platforms:
            return made
        series = tuple(
            s.model_copy(update={"values": tuple(factor * v for v in s.values)})
            if s.metric == "step_time_s"
            else s
            for s in made.series
        )
        return made.model_copy(update={"series": series})

    return change


def updated(made: Record) -> Record:
    """A month later, another driver, NCCL and boot."""
    assert made.software.runtime is not None
    runtime = made.software.runtime.model_copy(update={"nccl": "2.30.4"})
    machine = made.machine.model_copy(update={"driver": "610.43", "boot_digest": "b" * 12})
    software = made.software.model_copy(update={"runtime": runtime})
    later = made.measured_at + timedelta(days=30)
    return made.model_copy(update={"machine": machine, "software": software, "measured_at": later})


def write(
    root: Path,
    campaign: str,
    change: Change = same,
    planned: Planned = lambda p: p,
    rounds: int = 5,
) -> Layout:
    """A golden campaign under another name, its records altered before they are sealed."""
    layout = Layout(root)
    own = planned(plan(rounds)).model_copy(update={"id": campaign})
    write_atomically(layout.plan_path(campaign), model_text(own))
    (case, asked), *_ = own.suites[0].cases.items()
    for name in FULL_MS:
        for round_ in range(1, rounds + 1):
            made = record(name, round_, rounds)
            place = made.id.model_copy(update={"campaign": campaign, "case": case})
            moved = made.model_copy(
                update={"id": place, "case": asked, "platform": own.platform(name)}
            )
            write_record(layout, change(moved))
    return layout


def renamed_case(own: Plan) -> Plan:
    """The plan with its case under another name."""
    suite = own.suites[0]
    update = {
        "cases": {"bert-renamed": suite.cases[CASE]},
        "platforms": dict.fromkeys(suite.platforms, ("bert-renamed",)),
    }
    return own.model_copy(update={"suites": (suite.model_copy(update=update),)})
