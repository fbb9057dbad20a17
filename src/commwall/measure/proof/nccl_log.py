"""NCCL's log of a launch: what makes NCCL write it, and what it says of ways and of each size.

Layer: measure. Reads `nccl.*.log` in the launch's folder, which NCCL writes there. What it
says of variables, topology and ways it writes while the ranks join and connect, before anything
is timed. Only suite `collectives` has it log its choices too: that is a line for each call, which
costs the host about as much as a print does. In a CUDA graph that is when the call is recorded,
so replays are not touched; eager times are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from commwall.readers import nccl_log
from commwall.readers.cleaning import clean
from commwall.readers.nccl_choices import LoggedChoice, read_choices
from commwall.readers.refusal import Unreadable
from commwall.schema.case import Case, CollectivesCase
from commwall.schema.collective import Collective
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import Gap, LaunchRequest, NcclChoice
from commwall.schema.units import size_text

LOG_VARIABLES = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE")
JOINING = "INIT,ENV,GRAPH"
"""Subsystems that write while ranks join and connect. INIT holds the lines of the ways, too.

Source: NVIDIA NCCL 2.28, src/transport/p2p.cc, shm.cc and net.cc, the lines "Channel ... via".
"""
WHAT = "nccl_choices"
_PATTERN = "nccl.*.log"
_FUNCTIONS: dict[Collective, str] = {
    "all_reduce": "AllReduce",
    "all_gather": "AllGather",
    "reduce_scatter": "ReduceScatter",
    "broadcast": "Broadcast",
}
_BY_SHARE = ("all_gather", "reduce_scatter")
"""Collectives whose calls count a rank's share of the buffer."""


@dataclass(frozen=True)
class Logged:
    """What NCCL's log of a launch holds."""

    choices: tuple[LoggedChoice, ...] = ()
    reason: str = "NCCL wrote no log"
    """Why there are no choices, where there are none."""
    ways: nccl_log.NcclLog | None = None
    """What the logs of all processes together say of the ways between ranks."""
    named: tuple[Mapping[str, str], ...] = ()
    """Variables and their values, as each process names them when it reads them."""


def log_variables(request: LaunchRequest, chosen: Mapping[str, str]) -> dict[str, str]:
    """Variables that make NCCL log into the launch's folder; suite `memory` does not use it.

    Args:
        request: the launch.
        chosen: NCCL variables that the treatment or the user sets; who sets NCCL's log keeps it.
    """
    wanted = request.suite != "memory" and request.platform.device == "cuda"
    if not wanted or set(LOG_VARIABLES) & set(chosen):
        return {}
    subsystems = f"{JOINING},TUNING" if request.suite == "collectives" else JOINING
    process = "%h.%p" if request.platform.nodes > 1 else "%p"  # nodes may give out the same pid
    values = ("INFO", subsystems, f"{Path(request.output_dir).resolve()}/nccl.{process}.log")
    return dict(zip(LOG_VARIABLES, values, strict=True))


def read_log(folder: Path, environment: Mapping[str, str]) -> Logged:
    """What NCCL logged of a launch that has ended.

    Args:
        folder: of the launch.
        environment: of its workers.
    """
    paths = sorted(folder.glob(_PATTERN))
    if paths:
        texts = [clean(path.read_text(encoding="utf-8", errors="replace")) for path in paths]
        found = (choice for text in texts for choice in read_choices(text.splitlines()))
        readings = [reading for text in texts if (reading := _reading(text))]
        return Logged(
            choices=tuple(dict.fromkeys(found)),
            reason="NCCL's log names no choice",
            ways=_reading("\n".join(texts)),
            named=tuple(_named(reading) for reading in readings),
        )
    own = environment.get("NCCL_DEBUG_FILE", "").startswith(str(folder.resolve()))
    others = [f"{name}={environment[name]}" for name in LOG_VARIABLES[:2] if name in environment]
    if own or not others:
        return Logged()
    return Logged(reason=f"NCCL's log is set by user or treatment: {', '.join(others)}")


def choices_of(
    case: Case, platform: PlannedPlatform, logged: Logged
) -> tuple[tuple[NcclChoice, ...], tuple[Gap, ...]]:
    """NCCL's choices at the sizes of a case, and a gap for the sizes of which it tells none.

    A size may have several: NCCL may choose otherwise when it is recorded than when it is called.
    """
    if not isinstance(case, CollectivesCase) or platform.device == "cpu" or platform.world_size < 2:
        return (), ()
    if case.collective not in _FUNCTIONS:
        reason = f"NCCL's log tells no algorithm of sends and receives, which {case.collective} is"
        return (), (Gap(what=WHAT, reason=reason),)
    found = tuple(_at_sizes(case, platform.world_size, logged))
    told = {choice.message_bytes for choice in found}
    silent = [size for size in case.message_sizes(platform.world_size) if size not in told]
    if not silent:
        return found, ()
    reason = f"{logged.reason} of {', '.join(map(size_text, silent))}"
    return found, (Gap(what=WHAT, reason=reason if found else logged.reason),)


def _reading(text: str) -> nccl_log.NcclLog | None:
    """What a log says; None if no line is NCCL's."""
    try:
        return nccl_log.read(text)
    except Unreadable:
        return None


def _named(reading: nccl_log.NcclLog) -> dict[str, str]:
    """Variables of one process; one that it names with two values is named with neither."""
    differs = reading.env_differs or ()
    return {name: value for name, value in (reading.env or {}).items() if name not in differs}


def _at_sizes(case: CollectivesCase, ranks: int, logged: Logged) -> Iterator[NcclChoice]:
    parts = ranks if case.collective in _BY_SHARE else 1
    for size in case.message_sizes(ranks):
        key = (_FUNCTIONS[case.collective], size // parts)
        for choice in logged.choices:
            if (choice.function, choice.logged_bytes) == key:
                yield NcclChoice(
                    message_bytes=size,
                    algorithm=choice.algorithm,
                    protocol=choice.protocol,
                    channels=choice.channels,
                )
