"""What limits a training case, in words and as rows of a table.

Layer: analysis. Reads and writes no file.
"""

from collections.abc import Iterator
from statistics import median

from commwall.analysis.limits import FULL, CaseLimit, Limit, Parts, limits
from commwall.analysis.result import Analysis
from commwall.analysis.tables.rows import Row, platform_columns
from commwall.analysis.verdicts.wording import share_text
from commwall.language.translate import listed, tr, tr_later, trn

LIMIT_WORDS: dict[Limit, str] = {
    "link": tr_later("the link"),
    "host": tr_later("the host"),
    "compute": tr_later("compute"),
    "memory": tr_later("memory"),
    "power": tr_later("power"),
    "neither": tr_later("neither compute nor memory"),
    "device": tr_later("the device's own work"),
    "unknown": tr_later("unknown"),
}
"""What limits, for `tr`."""


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
    rounds = listed(
        tr("{limit} in {n}", limit=tr(LIMIT_WORDS[limit]), n=n) for limit, n in found.rounds
    )
    return tr("{sentence} Single rounds differ: {rounds}.", sentence=words, rounds=rounds)


def _sentence(limit: Limit, parts: Parts) -> str:
    if limit == "link" and parts.exposed is not None:
        return tr(
            "The link limits: {share} of the step is communication that compute does not hide.",
            share=share_text(parts.exposed),
        )
    if limit == "host":
        return tr("The host limits: {why}.", why=_host_words(parts))
    if limit == "power":
        return tr(
            "Power limits: the GPUs' power limit keeps their clocks down. The step runs {bounds}; "
            "at most {exposed} of it is exposed communication.",
            bounds=_bounds(parts, 1.0),
            exposed=share_text(max(0.0, parts.exposed_most or 0.0)),
        )
    if limit == "unknown" or parts.own_work is None:
        return tr("Unknown: {missing}.", missing=_missing(parts))
    own = {"share": share_text(parts.own_work), "bounds": _bounds(parts, parts.own_work)}
    if limit == "neither":
        return tr(
            "Neither compute nor memory at half of its peak: the device's own work takes {share} "
            "of the step, {bounds}; the cause was not measured.",
            **own,
        )
    if limit == "device":
        return tr(
            "The device's own work limits: it takes {share} of the step, {bounds}. {undecided}.",
            **own,
            undecided=_undecided(parts),
        )
    return tr(
        "{limit} limits: the device's own work takes {share} of the step, {bounds}.",
        limit=tr(LIMIT_WORDS[limit]).capitalize(),
        **own,
    )


def _host_words(parts: Parts) -> str:
    if parts.host is not None:
        return tr("the device waits for it {share} of the step", share=share_text(parts.host))
    return tr("it decides the step's time (marked host bound), by how much is not known")


def _bounds(parts: Parts, own_work: float) -> str:
    """How near compute and memory are to their bounds while the device works."""
    compute, memory = tr("compute unknown"), tr("memory unknown")
    if parts.mfu is not None:
        share = share_text(parts.mfu / own_work)
        compute = tr("compute at {share} of its peak", share=share)
    if parts.memory is not None:
        share = share_text(parts.memory / own_work)
        memory = tr("memory at {share} of its own", share=share)
    elif parts.memory_least is not None:
        share = share_text(parts.memory_least / own_work)
        memory = tr("memory at {share} of its own or more", share=share)
    return tr("with {compute} and {memory}", compute=compute, memory=memory)


def _undecided(parts: Parts) -> str:
    lacking = {
        tr("the share of the peak in computing"): parts.mfu is None,
        tr("the traffic of the device's memory"): parts.memory is None,
    }
    return trn(
        "Which of the two bounds it is not told: {missing} is not measured",
        "Which of the two bounds it is not told: {missing} are not measured",
        sum(lacking.values()),
        missing=tr(" and ").join(what for what, absent in lacking.items() if absent),
    )


def _missing(parts: Parts) -> str:
    """Which part of the step is not known, and what is."""
    if parts.exposed is None and parts.exposed_most is not None:
        return tr(
            "at most {exposed} of the step is exposed communication; legs full and nosync ran at "
            "clocks that differ, so that it is not known how much",
            exposed=share_text(parts.exposed_most),
        )
    if parts.exposed is None:
        return tr("the exchange was not left out of a step (leg nosync)")
    exposed = share_text(parts.exposed)
    if parts.host is None:
        return tr(
            "{exposed} of the step is exposed communication; how much of the rest the device waits "
            "for the host was not measured",
            exposed=exposed,
        )
    return tr(
        "{exposed} of the step is exposed communication, the device waits {host} of it; no part is "
        "the largest",
        exposed=exposed,
        host=share_text(parts.host),
    )
