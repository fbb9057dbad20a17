"""One launch of the worker processes: start, watch, end, and what came of it.

Layer: measure; knows the workers only as a command. Writes `request.json` into the launch's
folder under `.cw/launch/`, reads the results there; the workers' output goes to the log.
"""

import os
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from commwall.host.energy import EnergySampler
from commwall.host.gpu_meter import GpuMeter
from commwall.host.loopback import LoopbackSampler
from commwall.host.meter import Meter
from commwall.host.one_node import OneNodeMeter
from commwall.host.processes import MARK_VARIABLE, end_launch, environment_of, seen_by
from commwall.host.secrecy import without_places
from commwall.host.slurm import free_port, on_each_node
from commwall.measure.diagnosis import DETAIL_LENGTH, diagnose, read_result
from commwall.measure.proof.nccl_log import LOG_VARIABLES, Logged, log_variables, read_log
from commwall.records.files import write_atomically
from commwall.records.state import AccidentCause
from commwall.records.texts import model_text
from commwall.schema.config import Timeouts
from commwall.schema.errors import LaunchError
from commwall.schema.result import CaseResult, LaunchRequest
from commwall.schema.variables import nccl_variables

Span = tuple[int, int]
"""Begin and end, CLOCK_MONOTONIC [ns]."""
WORKER_MODULE = "commwall.workers.start"
PROGRESS = re.compile(rb"commwall-progress (\S+) (\S+)")
POLL_S = 0.2
GRACE_S = 10.0
KEPT_VARIABLES = ("NCCL_NVLS_ENABLE",)
"""NCCL variables that the host's own setting decides: one that switches multicast off does so
because the machine cannot bear it. No treatment may overrule it (`commwall.measure.admission`)."""


@dataclass(frozen=True)
class Launch:
    """How to run a launch."""

    folder: Path
    """Where request and results lie."""
    log: Path
    """Takes the whole output of the workers."""
    timeouts: Timeouts
    inherited: tuple[int, ...] = ()
    """Descriptors the workers keep open: the device locks."""
    gpus: tuple[str, ...] = ()
    """Digests of the uuids of the GPUs that the ranks use, in rank order."""
    module: str = WORKER_MODULE
    """Module that becomes the workers; called with the request's path and `--parent PID`."""
    grace_s: float = GRACE_S
    """Time between SIGTERM and SIGKILL [s]."""
    on_start: Callable[[int], None] = lambda pid: None
    on_leg: Callable[[str, str], None] = lambda case, leg: None


@dataclass(frozen=True)
class LaunchOutcome:
    """What came of a launch."""

    results: tuple[CaseResult, ...]
    """Outcomes, in the order of the request."""
    remaining: tuple[str, ...]
    """Cases that were not begun and can run in another launch."""
    lost: tuple[str, ...]
    """Cases that had an accident."""
    cause: AccidentCause | None
    detail: str
    ended_at: datetime
    energy: Meter
    variables: Mapping[str, str]
    """Environment of the workers."""
    logged: Logged = Logged()
    """What NCCL's own log says."""
    loopback: LoopbackSampler | None = None
    """What the loopback carried; None where it was not read."""
    spans: Mapping[str, Span] = field(default_factory=dict)
    """Case -> when it was under way, as its lines came in."""


@dataclass
class _Watch:
    """What is known of a running launch."""

    look: Callable[[], dict[str, str]]
    """Finds the variables of its processes."""
    deadline: float
    case: str | None = None
    """Case that is under way."""
    begun: bool = False
    late: str | None = None
    """Why the launch was given up."""
    unfinished: bytes = b""
    """Beginning of a line of the log."""
    variables: dict[str, str] = field(default_factory=dict)
    begins_ns: dict[str, int] = field(default_factory=dict)
    """Case -> when its first line came, CLOCK_MONOTONIC [ns]."""

    def spans(self) -> dict[str, Span]:
        """Each case from its first line to that of the next, or to now."""
        starts = tuple(self.begins_ns.values())
        ends = (*starts[1:], time.monotonic_ns())
        return dict(zip(self.begins_ns, zip(starts, ends, strict=False), strict=False))


def run_launch(request: LaunchRequest, launch: Launch) -> LaunchOutcome:
    """Run the workers to their end, or end them; afterwards none of them is left.

    Args:
        request: what to measure; its folder is emptied first.
        launch: how.

    Raises:
        LaunchError: if a process cannot be started, or cannot be ended.
        OSError: if files cannot be written.
    """
    path = _write_request(request, launch.folder)
    launch.log.parent.mkdir(parents=True, exist_ok=True)
    mark = uuid.uuid4().hex
    environment = worker_environment(request, mark)
    meter = GpuMeter(launch.gpus, mark=mark) if launch.gpus else EnergySampler()
    nodes = request.platform.nodes
    loopback = LoopbackSampler() if launch.gpus and nodes == 1 else None
    with meter as energy, loopback or nullcontext(), launch.log.open("wb") as stream:
        process = _spawn(_command(path, launch, nodes), launch, environment, stream.fileno())
        try:
            launch.on_start(process.pid)
            look = partial(environment_of, process.pid) if nodes == 1 else partial(seen_by, mark)
            watch = _watch(process, launch, look)
        finally:
            left = end_launch(process.pid, mark, launch.grace_s)
        if left:
            raise _stuck(left)
        code = process.wait()
    whole = energy if nodes == 1 else OneNodeMeter(energy, nodes)
    outcome = _outcome(request, launch, watch, code, environment, whole)
    return replace(outcome, loopback=loopback)


def worker_environment(request: LaunchRequest, mark: str) -> dict[str, str]:
    """Variables of the workers: this process's own, but NCCL's only as the treatment says.

    Kept are the host's own safety settings and what the user set of NCCL's log. Devices are
    numbered by their place on the bus, as NVML does, so that rank and counter mean the same GPU,
    whatever order the user has set.

    Args:
        request: names the treatment.
        mark: by which every process of the launch is known.
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("NCCL_") or name in (*KEPT_VARIABLES, *LOG_VARIABLES)
    }
    kept = {name: inherited[name] for name in KEPT_VARIABLES if name in inherited}
    chosen = nccl_variables(request.platform.treatment)
    own = {MARK_VARIABLE: mark, "PYTHONUNBUFFERED": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    logs = log_variables(request, {**inherited, **chosen})
    return {**inherited, **logs, **chosen, **kept, **own}


def _write_request(request: LaunchRequest, folder: Path) -> Path:
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    path = folder / "request.json"
    write_atomically(path, model_text(request))
    return path


def _command(path: Path, launch: Launch, nodes: int) -> list[str]:
    """What becomes the workers: the launcher, or srun, which starts a launcher on each node.

    Slurm gives srun's processes a parent of its own; srun is tied to this process instead, by
    SIGTERM, on which it ends them all.
    """
    parent = str(os.getpid())
    launcher = [sys.executable, "-m", launch.module, str(path)]
    if nodes == 1:
        return [*launcher, "--parent", parent]
    tied = [sys.executable, "-m", "commwall.host.tied", parent]
    return [*tied, *on_each_node(nodes, [*launcher, "--port", str(free_port())])]


def _spawn(
    command: Sequence[str], launch: Launch, environment: Mapping[str, str], output: int
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(environment),
            pass_fds=launch.inherited,
            start_new_session=True,
        )
    except OSError as error:
        raise LaunchError(
            "the worker processes cannot be started",
            where=launch.module,
            found=error.strerror,
            next_step="free memory or processes and run again",
        ) from error


def _watch(
    process: subprocess.Popen[bytes], launch: Launch, look: Callable[[], dict[str, str]]
) -> _Watch:
    """Follow the log until the launcher has ended or a deadline has passed."""
    watch = _Watch(look, deadline=time.monotonic() + launch.timeouts.startup_s)
    with launch.log.open("rb") as log:
        while True:
            ended = process.poll() is not None
            _note_progress(log.read(), watch, launch)
            if ended:
                return watch
            if time.monotonic() > watch.deadline:
                watch.late = _why_late(watch, launch.timeouts)
                return watch
            time.sleep(POLL_S)


def _note_progress(news: bytes, watch: _Watch, launch: Launch) -> None:
    """Take note of whole lines; the beginning of one waits for its end."""
    lines, newline, watch.unfinished = (watch.unfinished + news).rpartition(b"\n")
    for found in PROGRESS.finditer(lines + newline):
        case, leg = (part.decode(errors="replace") for part in found.groups())
        if not watch.begun:
            watch.variables = watch.look()
        if case != watch.case:
            watch.deadline = time.monotonic() + launch.timeouts.case_s
        watch.begun, watch.case = True, case
        watch.begins_ns.setdefault(case, time.monotonic_ns())
        launch.on_leg(case, leg)


def _why_late(watch: _Watch, timeouts: Timeouts) -> str:
    if not watch.begun:
        return f"no case began within {timeouts.startup_s:g} s (timeouts.startup_s)"
    return f"case {watch.case} took longer than {timeouts.case_s:g} s (timeouts.case_s)"


def _outcome(
    request: LaunchRequest,
    launch: Launch,
    watch: _Watch,
    code: int,
    environment: Mapping[str, str],
    energy: Meter,
) -> LaunchOutcome:
    found = [read_result(launch.folder, named.name) for named in request.cases]
    results = tuple(result for result in found if result)
    done = {result.case for result in results}
    rest = tuple(named.name for named in request.cases if named.name not in done)
    cause: AccidentCause | None = None
    detail = ""
    if rest and all(result.status != "failed" for result in results):
        if watch.late:
            cause, told = "timeout", watch.late
        else:
            cause, told = diagnose(launch.log, code, begun=watch.begun)
        detail = without_places(told, Path())[:DETAIL_LENGTH]
    lost = (rest[:1] if watch.begun else rest) if cause else ()
    return LaunchOutcome(
        results=results,
        remaining=rest[len(lost) :],
        lost=lost,
        cause=cause,
        detail=detail,
        ended_at=datetime.now(UTC),
        energy=energy,
        variables=watch.variables or environment,
        logged=read_log(launch.folder, environment),
        spans=watch.spans(),
    )


def _stuck(pids: tuple[int, ...]) -> LaunchError:
    return LaunchError(
        "worker processes do not end",
        where=f"processes {', '.join(map(str, pids))}",
        found="alive after SIGKILL, so stuck in the kernel",
        next_step="look at the kernel's log; a machine whose driver hangs must be restarted",
    )
