"""nccl-tests beside the own measurement: a yardstick that the user may name.

Layer: measure. Runs the user's programs of nccl-tests; their output goes into the folder of the
launch. They run after a launch, on its GPUs, with the variables of its platform, one process for
all GPUs. What goes wrong with them is a gap of the record, never of the campaign.
"""

import os
import signal
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from commwall.host.processes import MARK_VARIABLE, end_launch
from commwall.host.secrecy import without_places
from commwall.measure.proof.nccl_log import LOG_VARIABLES
from commwall.process import die_with_parent
from commwall.readers.nccl_tests_table import PerfTable, SizeRow, Timing, read_table
from commwall.schema.case import LEAST_MESSAGE_BYTES, SIZE_STEP, CollectivesCase
from commwall.schema.collective import Collective
from commwall.schema.metrics import METRICS
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import Gap, LaunchRequest, Series
from commwall.schema.units import size_text

METRIC = "nccl_tests_time_s"
PROGRAMS: dict[Collective, str] = {
    "all_reduce": "all_reduce_perf",
    "all_gather": "all_gather_perf",
    "reduce_scatter": "reduce_scatter_perf",
    "all_to_all": "alltoall_perf",
    "broadcast": "broadcast_perf",
    "send_recv": "sendrecv_perf",
}
_TYPES = {"float32": "float", "bfloat16": "bfloat16"}
_WARMUPS, _ITERATIONS = 5, 20


@dataclass(frozen=True)
class YardstickFound:
    """What nccl-tests says of a case."""

    series: tuple[Series, ...] = ()
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True)
class Yardstick:
    """The user's build of nccl-tests.

    Args:
        build: folder with its programs.
        timeout_s: of one program [s].
    """

    build: Path
    timeout_s: float

    def measures(self, platform: PlannedPlatform) -> bool:
        """Whether it can stand beside a platform: one process takes the GPUs of one machine."""
        return platform.device == "cuda" and platform.nodes == 1

    def measure(
        self,
        case: CollectivesCase,
        request: LaunchRequest,
        environment: Mapping[str, str],
        folder: Path,
    ) -> YardstickFound:
        """Run the program of a case's collective over the case's sizes.

        Args:
            case: what to measure.
            request: the launch that it stands beside.
            environment: of the launch's workers.
            folder: where the output goes.
        """
        program, sizes = PROGRAMS[case.collective], case.message_sizes(request.platform.world_size)
        rows: list[SizeRow] = []
        for number, (low, high) in enumerate(sweeps(sizes)):
            words = arguments(case, low, high, request.platform.world_size)
            output = folder / f"{program}.{case.dtype}.{number}.txt"
            problem = self._run([str(self.build / program), *words], environment, output)
            if problem:
                return _nothing(f"{program}: {without_places(problem, Path())}")
            table = read_table(output.read_text(encoding="utf-8", errors="replace"))
            if table.failure or not table.rows:
                return _nothing(f"{program}: {table.failure or 'its output holds no table'}")
            rows += table.rows
        return found_in(PerfTable(rows=tuple(rows), failure=None), sizes, in_place=case.in_place)

    def _run(self, command: list[str], environment: Mapping[str, str], output: Path) -> str | None:
        """Run a program to its end, or end it; why it gave nothing, or None."""
        mark = uuid.uuid4().hex
        own = {name: v for name, v in environment.items() if name not in LOG_VARIABLES}
        own = {"NCCL_SOCKET_IFNAME": "lo", **own, MARK_VARIABLE: mark}
        try:
            with output.open("wb") as stream:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=stream,
                    env=own,
                    start_new_session=True,
                    preexec_fn=partial(die_with_parent, signal.SIGKILL, os.getpid()),
                )
        except OSError as error:
            return error.strerror or str(error)
        try:
            code = process.wait(timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            return f"it took longer than {self.timeout_s:g} s (timeouts.case_s)"
        finally:
            end_launch(process.pid, mark, 0.0)
            process.wait()
        table = read_table(output.read_text(encoding="utf-8", errors="replace"))
        return None if code == 0 else table.failure or f"exit code {code}"


def sweeps(sizes: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Smallest and largest size of the programs' sweeps that hold these sizes [byte].

    nccl-tests multiplies from the smallest size on, so a largest one off these steps takes a run
    of its own.
    """
    size = LEAST_MESSAGE_BYTES
    while size * SIZE_STEP <= sizes[-1]:
        size *= SIZE_STEP
    sweep = (LEAST_MESSAGE_BYTES, size)
    return (sweep,) if size == sizes[-1] else (sweep, (sizes[-1], sizes[-1]))


def arguments(case: CollectivesCase, low: int, high: int, gpus: int) -> list[str]:
    """Words for a program of nccl-tests.

    Source: NVIDIA nccl-tests, README.md, section "Arguments".
    """
    sizes = ["-b", str(low), "-e", str(high), "-f", str(SIZE_STEP)]
    timing = ["-w", str(_WARMUPS), "-n", str(_ITERATIONS), "-c", "1"]
    return [*sizes, "-g", str(gpus), "-d", _TYPES[case.dtype], *timing]


def found_in(table: PerfTable, sizes: Sequence[int], *, in_place: bool) -> YardstickFound:
    """The times of a table at some sizes, and a gap for sizes that it lacks or got wrong."""
    by_size: dict[int, Timing] = {}
    for row in table.rows:
        timing = row.in_place if in_place else row.out_of_place
        if timing and timing.time_s > 0 and not timing.wrong:
            by_size.setdefault(row.size_bytes, timing)
    series = tuple(
        Series(
            metric=METRIC,
            unit=METRICS[METRIC].unit,
            message_bytes=size,
            values=(by_size[size].time_s,),
        )
        for size in sizes
        if size in by_size
    )
    missing = [size_text(size) for size in sizes if size not in by_size]
    reason = f"nccl-tests has no right result of {', '.join(missing)}"
    return YardstickFound(series, (Gap(what=METRIC, reason=reason),) if missing else ())


def _nothing(reason: str) -> YardstickFound:
    return YardstickFound(gaps=(Gap(what=METRIC, reason=reason),))
