"""What a plan asks for that is hardly meant: it is told and done all the same.

Layer: measure. Reads and writes no file.
"""

from collections.abc import Iterator

from commwall.schema.case import TrainingCase
from commwall.schema.mitigation import StepCase
from commwall.schema.plan import Plan
from commwall.schema.treatment import EmulatedLink
from commwall.schema.units import time_text

MOST_LATENCY_S = 0.1
"""Of a link; between continents it is less, between machines of a hall microseconds. Ours [s]."""
MOST_SAMPLES = 8192
"""Of a process and step; what exceeds it runs out of memory as a rule. Ours."""


def doubts(plan: Plan, cpus: int | None) -> tuple[str, ...]:
    """Sentences on latencies, batches and processes that look like slips.

    Args:
        plan: what would be measured.
        cpus: CPUs of the machine; None where it is not the one at hand.
    """
    return (*_latencies(plan), *(_crowds(plan, cpus) if cpus else ()), *_batches(plan))


def _latencies(plan: Plan) -> Iterator[str]:
    for platform in plan.platforms:
        link = platform.treatment
        if isinstance(link, EmulatedLink) and link.latency_s > MOST_LATENCY_S:
            yield (
                f"platform {platform.name}: every exchange waits {time_text(link.latency_s)}; "
                "links take microseconds, and latency_s is in seconds. The expected time ignores it"
            )


def _crowds(plan: Plan, cpus: int) -> Iterator[str]:
    for platform in plan.platforms:
        if platform.device == "cpu" and platform.per_node > cpus:
            yield (
                f"platform {platform.name}: {platform.per_node} processes share {cpus} CPUs, so "
                "that they are measured waiting for each other; world_size is at most that number"
            )


def _batches(plan: Plan) -> Iterator[str]:
    for suite in plan.suites:
        for name, case in suite.cases.items():
            if isinstance(case, TrainingCase | StepCase) and case.batch_per_gpu > MOST_SAMPLES:
                yield (
                    f"case {name}: {case.batch_per_gpu} samples per process and step hardly fit "
                    "into memory; running out of it is then the record"
                )
