"""What a launch proves of the link it used: whether the treatment was taken, and which way.

Layer: measure. Reads and writes no file; asks what was read while the launch ran.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from commwall.host.loopback import WHAT as LOOPBACK, LoopbackSampler
from commwall.host.meter import Meter
from commwall.measure.proof.nccl_log import Logged
from commwall.measure.proof.network import network_finding
from commwall.measure.proof.path import WHAT as PATH_TAKEN, path_finding, traffic_of
from commwall.measure.proof.treatment import treatment_finding
from commwall.schema.record import MachineFacts, Traffic
from commwall.schema.result import CaseResult, Check, Gap, LaunchRequest

_UNUSED = Gap(
    what="traffic",
    reason="copies are the driver's and no treatment of the link acts on them: none was made to "
    "prove a way",
)
_UNREAD = Gap(what=LOOPBACK, reason="the loopback was not read while the launch ran")


@dataclass(frozen=True)
class Sources:
    """What tells of the ways that a launch's traffic took."""

    meter: Meter
    loopback: LoopbackSampler | None
    logged: Logged
    environment: Mapping[str, str]
    """Of the workers."""


@dataclass(frozen=True)
class Proof:
    """What becomes part of a record."""

    traffic: Traffic | None = None
    checks: tuple[Check, ...] = ()
    gaps: tuple[Gap, ...] = ()


def prove(
    request: LaunchRequest, result: CaseResult, machine: MachineFacts, sources: Sources
) -> Proof:
    """What a launch on several GPUs proves; suite `memory`, which does not use NCCL, says so.

    Args:
        request: the launch.
        result: of one case, which carries the launch's known transfer.
        machine: whose topology counts.
        sources: what was read of the launch.
    """
    platform = request.platform
    if result.status != "ok" or platform.device == "cpu" or platform.world_size < 2:
        return Proof()
    if request.suite == "memory":
        return Proof(gaps=(_UNUSED,))
    taken = treatment_finding(platform, sources.logged, sources.environment)
    if result.transfer is None:
        whats = ("traffic", PATH_TAKEN) if platform.path else ("traffic",)
        reason = "the workers made no known transfer"
        return _proof(None, taken, *(Gap(what=what, reason=reason) for what in whats))
    window = result.transfer.start_ns, result.transfer.end_ns
    traffic, unknown = traffic_of(
        result.transfer,
        sources.meter.traffic(*window),
        sources.loopback.carried(*window) if sources.loopback else _UNREAD,
        sources.logged,
        platform.world_size,
    )
    if platform.nodes > 1:
        return _proof(traffic, taken, network_finding(platform, sources.logged), *unknown)
    return _proof(traffic, taken, path_finding(traffic, platform, machine), *unknown)


def _proof(traffic: Traffic | None, *found: Check | Gap | None) -> Proof:
    return Proof(
        traffic=traffic,
        checks=tuple(part for part in found if isinstance(part, Check)),
        gaps=tuple(part for part in found if isinstance(part, Gap)),
    )
