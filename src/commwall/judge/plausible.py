"""Runs of nccl-tests that cannot be, and rows that do not fit the others.

Layer: judge. Reads no file. A rate that no link can carry, at any size, says that the run measured
something else: then none of its rows counts. A row that falls between its neighbours, or halves
that differ, are told and judge nothing.
"""

from collections.abc import Iterator

from commwall.judge.bounds import Bound, bound_of
from commwall.judge.finding import Finding
from commwall.judge.rows import GB, line_of, rate_of, rates_of
from commwall.judge.scene import Pasted, Scene
from commwall.language.translate import clauses, tr
from commwall.readers.nccl_tests import NcclTest, PerfRow
from commwall.schema.units import rate_text, size_text, time_text

_SHOWN_GB_PER_S = 1.0
"""Algbw from which on a busbw of 0 beside it is none that two decimals made 0. Chosen: far above
the hundredth that they round to."""
_MOST_ROWS = 3


def impossible(paste: Pasted, test: NcclTest, scene: Scene) -> Finding | None:
    """Why a run of several ranks cannot have measured what it says; None where it can.

    Args:
        paste: the run's file.
        test: the run.
        scene: everything else.
    """
    rows = [row for row in test.rows or () if row.size]
    if not rows or (test.nranks or 1) < 2:
        return None
    return (
        _without_busbw(paste, rows)
        or _too_fast(paste, rows, test, scene)
        or _too_quick(paste, rows, scene)
    )


def uneven_rows(scene: Scene) -> Iterator[Finding]:
    """Large messages that are much slower than both smaller and larger ones."""
    share = scene.facts.thresholds.dip_share.value
    for paste, test in scene.of(NcclTest):
        rows = _large_rows(test, scene)
        low = [
            row
            for before, row, after in zip(rows, rows[1:], rows[2:], strict=False)
            if before.size < row.size < after.size
            and rate_of(row) < share * min(rate_of(before), rate_of(after))
        ][:_MOST_ROWS]
        if low:
            part = f"{share:.0%}"
            told = (f"{rate_text(rate_of(row))} ({size_text(row.size)})" for row in low)
            yield Finding(
                rule="uneven_rows",
                level="note",
                verdict=tr(
                    "{rates}: less than {share} of what smaller and larger messages reach",
                    rates=clauses(told),
                    share=part,
                ),
                means=tr(
                    "something else ran meanwhile, or NCCL chose another algorithm for this size; "
                    "a job whose messages have it is slowed by it if it stays"
                ),
                next_step=tr(
                    "<the same command> -n 100; if it stays: NCCL_DEBUG=INFO "
                    "NCCL_DEBUG_SUBSYS=INIT,TUNING <the same command>"
                ),
                evidence=tuple(line for row in low for line in line_of(paste, row)),
            )


def uneven_halves(scene: Scene) -> Iterator[Finding]:
    """Runs whose largest message has two rates."""
    share = scene.facts.thresholds.outlier_share.value
    for paste, test in scene.of(NcclTest):
        row = max(_large_rows(test, scene), key=lambda row: row.size, default=None)
        rates = rates_of(row) if row else []
        if row and len(rates) == 2 and min(rates) < share * max(rates):
            yield Finding(
                rule="uneven_halves",
                level="note",
                verdict=tr(
                    "at {size} {first} out of place and {second} in place",
                    size=size_text(row.size),
                    first=rate_text(rates[0]),
                    second=rate_text(rates[1]),
                ),
                means=tr(
                    "both take the same way and usually agree within some per cent: the slower "
                    "half was disturbed or is set up otherwise; the faster one is judged"
                ),
                next_step=tr("<the same command> -w 20 -n 100"),
                evidence=line_of(paste, row),
            )


def _large_rows(test: NcclTest, scene: Scene) -> list[PerfRow]:
    """Rows that the link decides, as they stand; none of a run that failed or had one rank."""
    least = scene.facts.thresholds.large_message_bytes.value
    if test.failure or test.nranks == 1:
        return []
    return [row for row in test.rows or () if row.size >= least and rate_of(row)]


def _without_busbw(paste: Pasted, rows: list[PerfRow]) -> Finding | None:
    for row in rows:
        rates = [half.algbw or 0 for half in (row.oop, row.ip) if half and half.busbw == 0]
        if max(rates, default=0) >= _SHOWN_GB_PER_S:
            told = tr(
                "busbw is 0 beside an algbw of {rate} at {size}, which only one rank has",
                rate=rate_text(GB * max(rates)),
                size=size_text(row.size),
            )
            return _finding(paste, row, told)
    return None


def _too_quick(paste: Pasted, rows: list[PerfRow], scene: Scene) -> Finding | None:
    limit = scene.facts.thresholds.least_collective_time_s
    for row in rows:
        times = [1e-6 * half.time_us for half in (row.oop, row.ip) if half and half.busbw]
        if min(times, default=limit.value) < limit.value:
            told = tr(
                "{size} in {time}: no collective of several GPUs ends within {least}",
                size=size_text(row.size),
                time=time_text(min(times)),
                least=time_text(limit.value),
            )
            return _finding(paste, row, told, limit.source)
    return None


def _too_fast(paste: Pasted, rows: list[PerfRow], test: NcclTest, scene: Scene) -> Finding | None:
    """The row of the highest rate, where that is above the bound of its way."""
    row = max(rows, key=rate_of)
    bound = bound_of(paste, test, rate_of(row), scene) if (test.nnodes or 1) == 1 else None
    if bound is None or rate_of(row) <= bound.most_bytes_per_s:
        return None
    told = tr(
        "{rate} busbw at {size} is more than {what} can carry ({most})",
        rate=rate_text(rate_of(row)),
        size=size_text(row.size),
        what=bound.what,
        most=_most(bound),
    )
    return _finding(paste, row, told, bound.source)


def _most(bound: Bound) -> str:
    most = rate_text(bound.most_bytes_per_s)
    if bound.most_bytes_per_s == bound.bytes_per_s:
        return most
    return tr("{most}, reduction in the switch included", most=most)


def _finding(paste: Pasted, row: PerfRow, verdict: str, *sources: str) -> Finding:
    return Finding(
        rule="impossible_rate",
        level="fault",
        verdict=verdict,
        means=tr(
            "the run measured something else: one rank, a cache, results not looked at, or busbw "
            "multiplied twice (all_gather and reduce_scatter before June 2020)"
        ),
        next_step=tr("the newest nccl-tests with -c 1 and the number of ranks in its list"),
        evidence=line_of(paste, row),
        sources=sources,
    )
