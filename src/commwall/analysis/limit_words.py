"""What limits a training case, in words and as rows of a table.

Layer: analysis. Reads and writes no file.
"""

from collections.abc import Iterator
from statistics import median

from commwall.analysis.columns import Row, platform_columns
from commwall.analysis.limits import FULL, CaseLimit, Limit, Parts, limits
from commwall.analysis.result import Analysis
from commwall.analysis.wording import share_text

LIMIT_WORDS: dict[Limit, str] = {
    "link": "the link",
    "host": "the host",
    "compute": "compute",
    "memory": "memory",
    "neither": "neither compute nor memory",
    "device": "the device's own work",
    "unknown": "unknown",
}


def limit_rows(analysis: Analysis) -> Iterator[Row]:
    """Rows of table `limits`."""
    for found in limits(analysis):
        parts = found.parts
        yield {
            **platform_columns(found.cells[0].record, analysis),
            "n": len(found.cells),
            "step_time_s": median(cell.derived.values[FULL] for cell in found.cells),
            "exposed_comm_share": parts.exposed,
            "host_gap_share": parts.host,
            "own_work_share": parts.own_work,
            "mfu": parts.mfu,
            "memory_share": parts.memory,
            "memory_share_least": parts.memory_least,
            "limit": found.limit,
            "words": limit_sentence(found),
        }


def limit_sentence(found: CaseLimit) -> str:
    """What limits a case, with the shares that say so; and whether single rounds differ."""
    words = _sentence(found.limit, found.parts)
    if len(found.rounds) == 1:
        return words
    rounds = ", ".join(f"{LIMIT_WORDS[limit]} in {count}" for limit, count in found.rounds)
    return f"{words} Single rounds differ: {rounds}."


def _sentence(limit: Limit, parts: Parts) -> str:
    if limit == "link" and parts.exposed is not None:
        words = "of the step is communication that compute does not hide"
        return f"The link limits: {share_text(parts.exposed)} {words}."
    if limit == "host":
        return f"The host limits: {_host_words(parts)}."
    if limit == "unknown" or parts.own_work is None:
        return f"Unknown: {_missing(parts)}."
    busy = f"the device's own work takes {share_text(parts.own_work)} of the step"
    bounds = _bounds(parts, parts.own_work)
    if limit == "neither":
        return (
            f"Neither compute nor memory at half of its peak: {busy}, {bounds}; what limits it is "
            "the latency of kernels, or small ones."
        )
    if limit == "device":
        it = busy.replace("the device's own work", "it")
        return f"The device's own work limits: {it}, {bounds}. {_undecided(parts)}."
    return f"{LIMIT_WORDS[limit].capitalize()} limits: {busy}, {bounds}."


def _host_words(parts: Parts) -> str:
    if parts.host is not None:
        return f"the device waits for it {share_text(parts.host)} of the step"
    return "it decides the step's time (marked host bound), by how much is not known"


def _bounds(parts: Parts, own_work: float) -> str:
    """How near compute and memory are to their bounds while the device works."""
    compute = "compute unknown"
    if parts.mfu is not None:
        compute = f"compute at {share_text(parts.mfu / own_work)} of its peak"
    memory = "memory unknown"
    if parts.memory is not None:
        memory = f"memory at {share_text(parts.memory / own_work)} of its own"
    elif parts.memory_least is not None:
        memory = f"memory at {share_text(parts.memory_least / own_work)} of its own or more"
    return f"with {compute} and {memory}"


def _undecided(parts: Parts) -> str:
    lacking = {
        "the share of the peak in computing": parts.mfu is None,
        "the traffic of the device's memory": parts.memory is None,
    }
    missing = " and ".join(what for what, absent in lacking.items() if absent)
    verb = "are" if all(lacking.values()) else "is"
    return f"Which of the two bounds it is not told: {missing} {verb} not measured"


def _missing(parts: Parts) -> str:
    """Which part of the step is not known, and what is."""
    if parts.exposed is None:
        return "the exchange was not left out of a step (leg nosync)"
    exposed = f"{share_text(parts.exposed)} of the step is exposed communication"
    if parts.host is None:
        return f"{exposed}; how much of the rest the device waits for the host was not measured"
    return f"{exposed}, the device waits {share_text(parts.host)} of it; no part is the largest"
