"""Whether NCCL took the variables of a treatment, and no others that choose its ways.

Layer: measure. Reads and writes no file. NCCL names a variable in its log when it reads it. One
that it does not name had no effect: it stood in the wrong process, or this release has no such
variable. NCCL also reads /etc/nccl.conf and ~/.nccl.conf, which set what the environment leaves
open: there a host may choose a way that no treatment asked for.

Source: NVIDIA NCCL 2.28, src/misc/param.cc, ncclLoadParam and setEnvFile; src/graph/paths.cc.
"""

from collections.abc import Iterator, Mapping

from commwall.judge.lint import whole_number
from commwall.measure.proof.nccl_log import LOG_VARIABLES, Logged
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import Check, Gap
from commwall.schema.variables import nccl_variables

WHAT = "treatment_taken"
OTHERWISE_NAMED = (*LOG_VARIABLES, "NCCL_CONF_FILE", "NCCL_NET", "NCCL_IB_HCA")
"""Variables that NCCL does not name when it reads them, or in other words."""
OF_WAYS = ("NCCL_P2P_", "NCCL_SHM_", "NCCL_NET", "NCCL_HOSTID")
"""How the names of variables begin that choose between the ways of one machine."""


def treatment_finding(
    platform: PlannedPlatform, logged: Logged, environment: Mapping[str, str]
) -> Check | Gap | None:
    """Whether every process took the treatment; None where NCCL is not used.

    Args:
        platform: whose treatment it is.
        logged: NCCL's log of the launch.
        environment: of the workers.

    Returns:
        A check, passed or not, or a gap where the log does not tell of every process.
    """
    if platform.device != "cuda" or platform.world_size < 2:
        return None
    chosen = nccl_variables(platform.treatment)
    if len(logged.named) < platform.world_size:
        seen = f"NCCL's log tells of {len(logged.named)} of {platform.world_size} processes"
        return Gap(what=WHAT, reason=seen if logged.named else logged.reason)
    wrong = [
        *_without_effect(chosen),
        *(f"{told} in a process" for told in _not_taken(chosen, logged.named)),
        *_uninvited(chosen, logged.named, environment),
    ]
    words = ", ".join(f"{name}={value}" for name, value in chosen.items()) or "no variable"
    return Check(
        name=WHAT,
        passed=not wrong,
        found="; ".join(dict.fromkeys(wrong)) or f"every process took {words}",
        expected=f"every process takes {words}, and no other that chooses a way",
    )


def _without_effect(chosen: Mapping[str, str]) -> Iterator[str]:
    for name, value in chosen.items():
        if name.endswith("_DISABLE") and whole_number(value) == 0:
            yield f"{name}={value} disables nothing"


def _not_taken(
    chosen: Mapping[str, str], processes: tuple[Mapping[str, str], ...]
) -> Iterator[str]:
    for name, value in chosen.items():
        if name in OTHERWISE_NAMED:
            continue
        for named in processes:
            if name not in named:
                yield f"NCCL does not name {name}"
            elif not _same(name, value, named[name]):
                yield f"NCCL took {name}={named[name]} for {value}"


def _uninvited(
    chosen: Mapping[str, str],
    processes: tuple[Mapping[str, str], ...],
    environment: Mapping[str, str],
) -> Iterator[str]:
    """Variables of ways that the treatment does not set."""
    for named in processes:
        for name, value in named.items():
            if name.startswith(OF_WAYS) and name not in chosen:
                source = "the environment" if name in environment else "a file (nccl.conf)"
                yield f"NCCL took {name}={value} from {source}"


def _same(name: str, chosen: str, named: str) -> bool:
    """Whether a log means the value that was chosen: numbers may be written in several ways, and
    a level is named by its word where a number was given."""
    if name.endswith("_LEVEL") and whole_number(chosen) is not None:
        return True
    numbers = whole_number(chosen), whole_number(named)
    return numbers[0] == numbers[1] if None not in numbers else chosen.upper() == named.upper()
