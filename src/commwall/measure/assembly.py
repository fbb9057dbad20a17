"""From a case's result to its record: everything that is needed to judge and repeat it.

Layer: measure. Reads the git state and the facts of the checkout; writes nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from commwall.host.loopback import LoopbackSampler
from commwall.host.machine import Machine
from commwall.host.meter import Meter
from commwall.host.secrecy import without_places
from commwall.host.software import allowed_variables, git_state, packages_digest, this_interpreter
from commwall.measure.bounds import path_rate_check
from commwall.measure.proof.launch import Sources, prove
from commwall.measure.proof.nccl_log import Logged, choices_of
from commwall.measure.step_bytes import step_bytes
from commwall.measure.window_energy import energy_of, first_full, states_of
from commwall.measure.yardstick import YardstickFound
from commwall.records.freshness import code_digest, freshness_key, protocol, suite_modules
from commwall.records.hardware import NOTHING_KNOWN, read_hardware
from commwall.records.paths import Place
from commwall.schema.case import Case, MemoryCase, SuiteName
from commwall.schema.environment import Manifest
from commwall.schema.facts import HardwareFacts
from commwall.schema.plan import Plan
from commwall.schema.record import (
    MachineFacts,
    Protocol,
    Record,
    RecordId,
    SoftwareFacts,
    Status,
)
from commwall.schema.result import CaseResult, Check, Gap, LaunchRequest, Mark, NcclChoice, Series
from commwall.schema.variables import nccl_variables
from commwall.schema.workload import Workload

KEPT_DIGITS = 8
"""As many as a float32 tells, in which a GPU's events give milliseconds. With the digits of a
float64 a record is twice as large."""


@dataclass(frozen=True)
class Setting:
    """What all records of one run of the verb share."""

    plan: Plan
    suite: SuiteName
    protocol: Protocol
    machine: Machine
    software: SoftwareFacts
    """Without the workers' own part."""
    gaps: tuple[Gap, ...]
    facts: HardwareFacts = NOTHING_KNOWN
    """What is on file of GPUs and links, by which rates are judged."""
    other_nodes: tuple[MachineFacts, ...] = ()
    """The other machines of a job on several nodes."""


@dataclass(frozen=True)
class Circumstances:
    """What the records of one launch share."""

    request: LaunchRequest
    ended_at: datetime
    energy: Meter
    variables: Mapping[str, str]
    """Environment of the workers."""
    disturbance: str | None = None
    """What disturbed the whole launch, seen after it: strangers on its GPUs."""
    logged: Logged = Logged()
    """What NCCL's log says."""
    yardsticks: Mapping[str, YardstickFound] = field(default_factory=dict)
    """Case -> what nccl-tests says of it."""
    loopback: LoopbackSampler | None = None
    """What the loopback carried; None where it was not read."""
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Case -> when it was under way, CLOCK_MONOTONIC [ns]."""


@dataclass(frozen=True)
class Part:
    """What one source adds to a record."""

    series: tuple[Series, ...] = ()
    checks: tuple[Check, ...] = ()
    marks: tuple[Mark, ...] = ()
    gaps: tuple[Gap, ...] = ()


def take_setting(
    root: Path, plan: Plan, suite: SuiteName, machine: Machine, manifest: Manifest
) -> Setting:
    """Ask for all that does not change while the verb runs.

    Args:
        root: the checkout.
        plan: the campaign's plan.
        suite: which suite.
        machine: this machine.
        manifest: of the environment that measures.

    Raises:
        ConfigError: if a file of facts is malformed.
    """
    interpreter = this_interpreter()
    commit, dirty, git_gaps = git_state(root)
    software = SoftwareFacts(
        python=interpreter.python,
        lock_digest=manifest.identity,
        packages_digest=packages_digest(interpreter.packages),
        code_digest=code_digest(*suite_modules(suite)),
        git_commit=commit,
        dirty=dirty,
        argv=("commwall", "measure", plan.id, suite),
        variables={},
    )
    key = freshness_key(suite, manifest.identity)
    return Setting(
        plan=plan,
        suite=suite,
        protocol=Protocol(version=protocol(suite), freshness_key=key),
        machine=machine,
        software=software,
        gaps=(*machine.gaps, *git_gaps),
        facts=read_hardware(root),
    )


def assemble(setting: Setting, circumstances: Circumstances, result: CaseResult) -> Record:
    """The record of one case, not yet sealed."""
    request = circumstances.request
    case = setting.plan.suite(setting.suite).cases[result.case]
    detail = without_places(result.detail, Path()) if result.detail else None
    told = {"variables": _variables(circumstances), "runtime": result.runtime}
    choices, unknown = _choices(circumstances, case, result)
    proof = prove(request, result, setting.machine.facts, _sources(circumstances))
    parts = [
        *_measured(circumstances, case, result),
        Part(gaps=unknown),
        *_beside(circumstances, result),
        Part(checks=_bounds(setting, request, case, result)),
        Part(checks=proof.checks, gaps=proof.gaps),
        Part(marks=_disturbances(circumstances, result)),
    ]
    return Record(
        digest="",
        id=RecordId(
            campaign=setting.plan.id,
            platform=request.platform.name,
            suite=setting.suite,
            case=result.case,
            round=request.round,
            round_id=request.round_id,
        ),
        measured_at=circumstances.ended_at,
        status=Status(state=result.status, cause=result.cause, detail=detail),
        case=case,
        protocol=setting.protocol,
        platform=request.platform,
        machine=setting.machine.facts,
        other_nodes=setting.other_nodes[: request.platform.nodes - 1],
        software=setting.software.model_copy(update=told),
        series=tuple(as_kept(series) for part in parts for series in part.series),
        nccl_choices=choices,
        traffic=proof.traffic,
        checks=tuple(check for part in parts for check in part.checks),
        marks=tuple(mark for part in parts for mark in part.marks),
        gaps=(*setting.gaps, *(gap for part in parts for gap in part.gaps)),
    )


def as_kept(series: Series) -> Series:
    """A series with values as a record keeps them: whole numbers whole, all others to
    KEPT_DIGITS significant digits."""
    values = (v if v.is_integer() else float(f"{v:.{KEPT_DIGITS}g}") for v in series.values)
    return series.model_copy(update={"values": tuple(values)})


def _measured(circumstances: Circumstances, case: Case, result: CaseResult) -> Iterator[Part]:
    """What the workers found, and what the meter says of the windows of a case that trains."""
    yield Part(result.series, result.checks, result.marks, result.gaps)
    if isinstance(case, Workload) and result.status == "ok":
        energy = energy_of(circumstances.energy, result)
        yield Part(energy.series, marks=energy.marks, gaps=energy.gaps)
        states = states_of(circumstances.energy, result)
        yield Part(states.series, gaps=states.gaps)


def _beside(circumstances: Circumstances, result: CaseResult) -> Iterator[Part]:
    """What nccl-tests says, and the bytes of a step that NVLink's counters saw."""
    beside = circumstances.yardsticks.get(result.case, YardstickFound())
    yield Part(beside.series, gaps=beside.gaps)
    sent = step_bytes(result, circumstances.energy)
    yield Part(sent.series, gaps=sent.gaps)


def _choices(
    circumstances: Circumstances, case: Case, result: CaseResult
) -> tuple[tuple[NcclChoice, ...], tuple[Gap, ...]]:
    if result.status != "ok":
        return (), ()
    return choices_of(case, circumstances.request.platform, circumstances.logged)


def _sources(circumstances: Circumstances) -> Sources:
    """What tells of the ways that traffic takes."""
    return Sources(
        meter=circumstances.energy,
        loopback=circumstances.loopback,
        logged=circumstances.logged,
        environment=circumstances.variables,
    )


def _disturbances(circumstances: Circumstances, result: CaseResult) -> tuple[Mark, ...]:
    """What the meter says of other legs than `full`, or of a case without legs; strangers last."""
    seen = circumstances.disturbance
    strangers = (Mark(name="contended", detail=seen),) if seen else ()
    meter, span = circumstances.energy, circumstances.spans.get(result.case)
    if not result.windows:
        whole = meter.disturbances(*span, None) if span and result.status == "ok" else ()
        return (*whole, *strangers)
    first = first_full(result)
    others = (
        mark
        for window in result.windows
        if window is not first  # whose energy tells of it
        for mark in meter.disturbances(window.start_ns, window.end_ns, window.leg)
    )
    return (*others, *strangers)


def _bounds(
    setting: Setting, request: LaunchRequest, case: Case, result: CaseResult
) -> tuple[Check, ...]:
    """Whether a copy was faster than its way allows; workers do not know what is on file."""
    if not isinstance(case, MemoryCase):
        return ()
    platform = request.platform
    place = Place(platform.device, platform.world_size, setting.machine.facts, result.gaps)
    check = path_rate_check(case, result, place, setting.facts)
    return (check,) if check else ()


def _variables(circumstances: Circumstances) -> dict[str, str]:
    """Allow-listed variables but the treatment's own, which stand there: the rest must agree."""
    chosen = nccl_variables(circumstances.request.platform.treatment)
    allowed = allowed_variables(circumstances.variables)
    return {name: value for name, value in allowed.items() if name not in chosen}
