"""How long looking at many results takes, and how much memory: a measurement, run by hand.

`python -m tests.scale FOLDER` measures the archive that `tests.golden.archive` wrote below FOLDER.
Cold is without what an earlier look left in `.cw`; the operating system may still hold files in
memory. Each step is a process of its own, so that its peak memory is its own.
docs/decisions/025 holds the figures.
"""

import argparse
import multiprocessing
import shutil
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from commwall.records.files import write_atomically
from commwall.records.index import build_index
from commwall.records.layout import Layout
from commwall.records.state import write_state
from commwall.records.store import read_plan
from commwall.records.texts import model_text

CONFIDENCE = 0.95
LONGEST_S = 600


class Cost(NamedTuple):
    """What a step took."""

    duration_s: float
    cpu_s: float
    peak_bytes: int
    """Largest resident memory of its process."""


def cost(step: Callable[[Layout], None], layout: Layout) -> Cost:
    """Run a step in a process of its own."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(step, layout, sender))
    process.start()
    found: Cost | None = receiver.recv() if receiver.poll(timeout=LONGEST_S) else None
    process.join()
    if found is None or process.exitcode:
        raise RuntimeError(f"{step.__name__} did not end well")
    return found


def _run(step: Callable[[Layout], None], layout: Layout, sender: Connection) -> None:
    started, cpu_before_s = time.perf_counter(), time.process_time()
    step(layout)
    durations = time.perf_counter() - started, time.process_time() - cpu_before_s
    sender.send(Cost(*durations, _peak_bytes()))


def _peak_bytes() -> int:
    """Most memory that this program held; rusage would count its parent in, if that is larger."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def look(layout: Layout) -> None:
    """What the start of the workflow does with campaigns of other machines."""
    for campaign in layout.campaigns():
        plan = read_plan(layout.plan_path(campaign))
        for suite in plan.suites:
            write_state(layout, plan, suite.suite, None)


def index(layout: Layout) -> None:
    """What `commwall index` does with each campaign."""
    for campaign in layout.campaigns():
        text = model_text(build_index(layout, campaign))
        write_atomically(layout.index_path(campaign), text)


def landing_page(layout: Layout) -> None:
    """What `commwall site` does."""
    from commwall.report.site.origin import Origin
    from commwall.report.site.publishing import publish

    publish(layout, layout.campaigns(), CONFIDENCE, Origin("1", "0" * 40, "3"), ("en", "zh"))


def trends(layout: Layout) -> None:
    """What the page on trends reads."""
    from commwall.report.trends.page import open_trends

    open_trends(layout.root, CONFIDENCE)


def comparison(layout: Layout) -> None:
    """What `commwall compare` of the first and the last campaign reads."""
    from commwall.analysis.changes.judging import compare_campaigns
    from commwall.analysis.result import analyse
    from commwall.records.evidence import look_at

    names = layout.campaigns()
    sides = (analyse(look_at(layout, name), CONFIDENCE) for name in (names[0], names[-1]))
    compare_campaigns(*sides, tolerance=0.03)


def measured(layout: Layout) -> Iterator[tuple[str, Cost]]:
    """Every step with what it took."""
    shutil.rmtree(layout.root / ".cw", ignore_errors=True)
    yield "look, cold", cost(look, layout)
    yield "look, warm", cost(look, layout)
    shutil.rmtree(layout.root / ".cw")
    yield "index, cold", cost(index, layout)
    yield "index, warm", cost(index, layout)
    yield "comparison", cost(comparison, layout)
    yield "landing page", cost(landing_page, layout)
    yield "trends", cost(trends, layout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    for name, taken in measured(Layout(parser.parse_args().folder)):
        spent = f"{taken.duration_s:7.2f} s, CPU {taken.cpu_s:7.2f} s"
        print(f"{name:14} {spent}, {taken.peak_bytes / 2**20:6.0f} MiB", flush=True)
