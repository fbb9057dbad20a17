"""From a case's result to its record: everything that is needed to judge and repeat it.

Layer: measure. Reads the git state of the checkout; writes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from commwall.host.energy import METRIC, EnergySampler
from commwall.host.environments import Manifest
from commwall.host.machine import Machine
from commwall.host.secrecy import without_places
from commwall.host.software import allowed_variables, git_state, packages_digest, this_interpreter
from commwall.records.freshness import code_digest, freshness_key, protocol, suite_modules
from commwall.schema.case import SuiteName
from commwall.schema.plan import Plan
from commwall.schema.record import Protocol, Record, RecordId, SoftwareFacts, Status
from commwall.schema.result import CaseResult, Gap, LaunchRequest, Series


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


@dataclass(frozen=True)
class Circumstances:
    """What the records of one launch share."""

    request: LaunchRequest
    ended_at: datetime
    energy: EnergySampler
    variables: Mapping[str, str]
    """Environment of the workers."""


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
    )


def assemble(setting: Setting, circumstances: Circumstances, result: CaseResult) -> Record:
    """The record of one case, not yet sealed."""
    request = circumstances.request
    timed = setting.suite == "training" and result.status == "ok"
    energy = _energy(circumstances.energy, result) if timed else None
    measured = (energy,) if isinstance(energy, Series) else ()
    missing = (energy,) if isinstance(energy, Gap) else ()
    detail = without_places(result.detail, Path()) if result.detail else None
    software = setting.software.model_copy(
        update={
            "variables": allowed_variables(circumstances.variables),
            "runtime": result.runtime,
        }
    )
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
        case=setting.plan.suite(setting.suite).cases[result.case],
        protocol=setting.protocol,
        platform=request.platform,
        machine=setting.machine.facts,
        software=software,
        series=(*result.series, *measured),
        checks=result.checks,
        marks=result.marks,
        gaps=(*setting.gaps, *result.gaps, *missing),
    )


def _energy(sampler: EnergySampler, result: CaseResult) -> Series | Gap:
    """Energy over the timed window of leg `full`."""
    window = next((window for window in result.windows if window.leg == "full"), None)
    if window is None:
        return Gap(what=METRIC, reason="the workers did not say when leg full was timed")
    found = sampler.energy(window.start_ns, window.end_ns)
    if isinstance(found, Gap):
        return found
    return Series(metric=METRIC, unit="J", leg="full", values=(found,))
