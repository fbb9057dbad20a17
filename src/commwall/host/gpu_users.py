"""Processes on the GPUs of a launch that are not the launch's.

Layer: host. Reads /proc; writes nothing. NVML lists processes by numbers of some pid namespace:
this one's, or in a container the host's, or it lists none at all. Only where a listed number is
that of a process with the launch's mark are the numbers this namespace's; then every other is a
stranger's. Elsewhere a stranger is certain only if more processes are listed than the launch has
ranks. Not seen are strangers whom NVML does not list, as many as there are ranks that it does not
list either, and programs that only draw.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from commwall.host.gpus import NvmlMissing, opened_nvml
from commwall.host.nvml_reader import NOT_LOOKED_AT, AskedGpu, Refusals, handles_of
from commwall.host.processes import MARK_VARIABLE, environment_of
from commwall.schema.result import Gap, Mark

WHAT = "contended"
Pids = frozenset[int]


class Look(NamedTuple):
    """Who computed on the GPUs of a launch at one moment."""

    time_ns: int
    """CLOCK_MONOTONIC [ns]."""
    listed: tuple[Pids | None, ...]
    """Processes on each GPU; None where NVML does not tell."""
    own: Pids
    """Those of them that carry the launch's mark."""


def look_at_users(gpus: Sequence[AskedGpu], mark: str | None, known: Pids = frozenset()) -> Look:
    """Who computes on the GPUs now.

    Args:
        gpus: of the launch, in rank order.
        mark: which the launch's processes carry; None if there is none.
        known: processes that carried it earlier; a driver lists them a while after their end.
    """
    now_ns = time.monotonic_ns()
    listed = tuple(_listed(gpu) for gpu in gpus)
    everybody = frozenset[int]().union(*(pids for pids in listed if pids))
    own = {pid for pid in everybody if pid in known or _carries(pid, mark)}
    return Look(now_ns, listed, frozenset(own))


def users_found(
    looks: Sequence[Look], refusals: Sequence[Refusals], start_ns: int, end_ns: int
) -> tuple[tuple[Mark, ...], tuple[Gap, ...]]:
    """Strangers who came while a window of leg `full` was timed, or why none could be seen.

    Args:
        looks: in time order.
        refusals: of each rank's GPU.
        start_ns: start of the window, CLOCK_MONOTONIC [ns].
        end_ns: its end [ns].
    """
    within = [look for look in looks if start_ns <= look.time_ns <= end_ns]
    if not within:
        return (), (Gap(what=WHAT, reason=NOT_LOOKED_AT),)
    told = [words for look in within if (words := _strangers(look))]
    if told:
        detail = f"{told[-1]}, in {len(told) / len(within):.0%} of the looks"
        return (Mark(name="contended", leg="full", detail=detail),), ()
    blind = _blind(within, refusals)
    return (), (Gap(what=WHAT, reason=blind),) if blind else ()


def strangers_on(digests: Sequence[str], root: Path = Path("/")) -> str | None:
    """Which processes compute on GPUs that ought to be free; None if there are none.

    Call it while no worker runs. A driver that does not tell is taken at its word.
    """
    found = []
    try:
        with opened_nvml(root) as nvml:
            for index, handle in enumerate(handles_of(nvml, digests)):
                found += _users(nvml, index, handle)
    except NvmlMissing:
        return None
    return "; ".join(found) or None


def _carries(pid: int, mark: str | None) -> bool:
    return mark is not None and environment_of(pid).get(MARK_VARIABLE) == mark


def _listed(gpu: AskedGpu) -> Pids | None:
    found = gpu.ask(WHAT, "nvmlDeviceGetComputeRunningProcesses")
    return None if found is None else frozenset(process.pid for process in found)


def _strangers(look: Look) -> str | None:
    """Who is certainly not of the launch, in words."""
    everybody = frozenset[int]().union(*(pids for pids in look.listed if pids))
    ranks = len(look.listed)
    if not look.own:
        more = len(everybody) > ranks
        return f"{len(everybody)} processes compute on the GPUs of {ranks} ranks" if more else None
    told = [
        f"GPU of rank {rank} is in use by process {', '.join(map(str, sorted(others)))}"
        for rank, pids in enumerate(look.listed)
        if (others := (pids or frozenset()) - look.own)
    ]
    return "; ".join(told) or None


def _blind(within: Sequence[Look], refusals: Sequence[Refusals]) -> str | None:
    """Why a stranger may have been overlooked; None if not."""
    if any(pids is None for look in within for pids in look.listed):
        return next((own[WHAT] for own in refusals if WHAT in own), "NVML lists no processes")
    if any(look.own for look in within):
        return None
    return (
        "NVML does not list the launch's own processes under their numbers (a container), so that "
        f"of other programs only more processes than the {len(within[0].listed)} ranks would be "
        "noticed"
    )


def _users(nvml: Any, index: int, handle: Any) -> list[str]:
    with suppress(nvml.NVMLError):
        pids = [process.pid for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle)]
        if pids:
            return [f"GPU {index} is in use by process {', '.join(map(str, pids))}"]
    return []
