"""What a rank finds about a case, and how the ranks' findings become one result.

Layer: workers. Writes the result files of a launch. Does not use `commwall.records`: an edit
of the record keeping must not make measurements stale.
"""

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from commwall.schema.case import Leg
from commwall.schema.metrics import METRICS
from commwall.schema.result import (
    CaseResult,
    Check,
    CountedSteps,
    Gap,
    Mark,
    RuntimeFacts,
    Series,
    Window,
)
from commwall.workers.beside import Disturbed
from commwall.workers.outcomes import require
from commwall.workers.repetitions import Repeated
from commwall.workers.timing import SETTLED_SPREAD, Timed


class Findings:
    """Collects what one rank finds about one case."""

    def __init__(self, case: str, rank: int) -> None:
        self._case = case
        self._rank = rank
        self._series: list[Series] = []
        self._windows: list[Window] = []
        self._checks: list[Check] = []
        self._marks: list[Mark] = []
        self._gaps: list[Gap] = []
        self.runtime: RuntimeFacts | None = None
        self.counted: CountedSteps | None = None

    def values(
        self,
        metric: str,
        values: Iterable[float],
        leg: Leg | None = None,
        *,
        warmup: bool = False,
        message_bytes: int | None = None,
        peer: int | None = None,
        bucket: int | None = None,
    ) -> None:
        """Keep raw values of a registered metric."""
        self._series.append(
            Series(
                metric=metric,
                unit=METRICS[metric].unit,
                leg=leg,
                rank=self._rank,
                message_bytes=message_bytes,
                peer=peer,
                bucket=bucket,
                phase="warmup" if warmup else "measured",
                values=tuple(values),
            )
        )

    def timed(self, leg: Leg | None, *blocks: Timed, metric: str = "step_time_s") -> None:
        """Keep the step times of a leg, or of a case without legs, each block's window, and
        whether it had settled."""
        self.values(metric, (s for block in blocks for s in block.warmup_s), leg, warmup=True)
        self.values(metric, (s for block in blocks for s in block.step_s), leg)
        for timed in blocks:
            if leg:
                self._windows.append(Window(leg=leg, start_ns=timed.start_ns, end_ns=timed.end_ns))
            if not timed.settled:
                detail = (
                    f"interquartile range of the last steps above {SETTLED_SPREAD:.0%} of their "
                    f"median after {len(timed.warmup_s)} steps, {sum(timed.warmup_s):.2f} s"
                )
                self.mark(Mark(name="warmup_not_settled", leg=leg, detail=detail))

    def repeated(self, repeated: Repeated, message_bytes: int, peer: int | None = None) -> None:
        """Keep the times of a repeated operation on a message or buffer of that size."""
        keep = partial(self.values, message_bytes=message_bytes, peer=peer)
        keep("operation_time_s", repeated.warmup_s, warmup=True)
        keep("operation_time_s", repeated.time_s)
        keep("repetitions", (repeated.repetitions,))
        if repeated.recorded:
            keep("recorded_repetitions", (repeated.recorded,))
        if repeated.eager_s:
            keep("eager_time_s", repeated.eager_s)
        if repeated.host_bound:
            self._host_bound_at(message_bytes)

    def disturbed(self, disturbed: Disturbed, message_bytes: int) -> None:
        """Keep the times of an operation on a message of that size beside a load."""
        keep = partial(self.values, message_bytes=message_bytes)
        keep("operation_time_s", disturbed.operation_s)
        keep("load_time_s", disturbed.load_s)
        keep("load_beside_time_s", disturbed.load_beside_s)
        keep("load_beside_repetitions", (disturbed.repetitions,))
        if disturbed.host_bound:
            self._host_bound_at(message_bytes)

    def _host_bound_at(self, message_bytes: int) -> None:
        detail = (
            f"at {message_bytes} byte the host could not enqueue the work before the device was "
            "free for it"
        )
        self.mark(Mark(name="host_bound", detail=detail))

    def check(self, check: Check) -> None:
        """Keep a check.

        Raises:
            CheckFailed: if it did not pass.
        """
        self._checks.append(require(check, tuple(self._checks)))

    def mark(self, mark: Mark | None) -> None:
        """Keep a doubt, if there is one."""
        if mark:
            self._marks.append(mark)

    def gap(self, gap: Gap | None) -> None:
        """Keep what could not be had, if anything."""
        if gap:
            self._gaps.append(gap)

    def peak(self, peak: float | Gap | None) -> None:
        """Keep the peak memory [byte], or why it is unknown."""
        if isinstance(peak, Gap):
            self.gap(peak)
        elif peak is not None:
            self.values("peak_memory_bytes", (peak,))

    def result(self) -> CaseResult:
        """All of it, as the result of a case that went well."""
        return CaseResult(
            case=self._case,
            status="ok",
            series=tuple(self._series),
            windows=tuple(self._windows),
            checks=tuple(self._checks),
            marks=tuple(self._marks),
            gaps=tuple(self._gaps),
            runtime=self.runtime,
            counted=self.counted,
        )


def merge(results: list[CaseResult]) -> CaseResult:
    """One result of all ranks'.

    Series of all ranks; windows, checks and runtime of rank 0 (every rank made the checks and
    none failed); each mark and each gap once.
    """
    first = results[0]
    marks = {(m.name, m.leg): m for result in reversed(results) for m in result.marks}
    gaps = {gap.what: gap for result in reversed(results) for gap in result.gaps}
    return first.model_copy(
        update={
            "series": tuple(series for result in results for series in result.series),
            "marks": tuple(marks.values()),
            "gaps": tuple(gaps.values()),
        }
    )


def write_result(result: CaseResult, path: Path) -> None:
    """Write a result whole: beside, flushed to disk, renamed."""
    beside = path.with_name(f"{path.name}.part")
    with beside.open("w") as file:
        file.write(result.model_dump_json(indent=1))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
