"""What a meter says of the windows of a case that trains.

Layer: measure. Reads and writes no file.
"""

from commwall.host.meter import ENERGY, Meter, Metered
from commwall.schema.case import Leg
from commwall.schema.device_metrics import DEVICE_METRICS
from commwall.schema.result import CaseResult, Gap, MarkName, Series, Window

DOUBTFUL: MarkName = "energy_doubtful"


def energy_of(meter: Meter, result: CaseResult) -> Metered:
    """Energy of leg `full`, and of leg `mitigated` where there is one.

    A leg that is timed in several windows has one value a window, or none at all where a window of
    any rank lacks it: the others' would pass for those of all steps. What else the meter tells, of
    clocks and disturbances, is of the first window of leg `full`.
    """
    own = [window for window in result.windows if window.leg in ("full", "mitigated")]
    first = first_full(result)
    if first is None:
        reason = "the workers did not say when leg full was timed"
        whats = (ENERGY, *(metric.id for metric in DEVICE_METRICS))
        return Metered(gaps=tuple(Gap(what=what, reason=reason) for what in whats))
    told = meter.found(first.start_ns, first.end_ns)
    return told if len(own) == 1 else _of_windows(meter, told, own)


def states_of(meter: Meter, result: CaseResult) -> Metered:
    """Clocks and temperatures in all legs but `full`; of several windows of a leg together.

    Of the first window of leg `full` its energy tells; of its later ones only what is not known is
    told here.
    """
    series: dict[tuple[str, Leg | None, int | None], Series] = {}
    gaps: list[Gap] = []
    first = first_full(result)
    for window in result.windows:
        if window is first:
            continue
        told = meter.states(window.start_ns, window.end_ns, window.leg)
        for own in told.series if window.leg != "full" else ():
            key = (own.metric, own.leg, own.rank)
            before = series[key].values if key in series else ()
            series[key] = own.model_copy(update={"values": (*before, *own.values)})
        gaps += told.gaps
    return Metered(tuple(series.values()), gaps=tuple(dict.fromkeys(gaps)))


def first_full(result: CaseResult) -> Window | None:
    """The first window of leg `full`."""
    return next((window for window in result.windows if window.leg == "full"), None)


def _of_windows(meter: Meter, told: Metered, windows: list[Window]) -> Metered:
    """Energies and their doubts of all windows, legs apart, in place of those of the first."""
    each = [(window.leg, meter.found(window.start_ns, window.end_ns)) for window in windows]
    if not any(_energies(metered) for _, metered in each):
        return told
    series: list[Series] = []
    gaps: list[Gap] = []
    for leg in dict.fromkeys(leg for leg, _ in each):
        own = [metered for of, metered in each if of == leg]
        lost = _lost(leg, own)
        gaps += [lost] if lost else []
        series += () if lost else _joined(leg, own)
    doubts = (
        mark.model_copy(update={"leg": leg})
        for leg, metered in each
        for mark in metered.marks
        if mark.name == DOUBTFUL
    )
    return Metered(
        (*series, *(own for own in told.series if own.metric != ENERGY)),
        (*(mark for mark in told.marks if mark.name != DOUBTFUL), *doubts),
        (*(gap for gap in told.gaps if gap.what != ENERGY), *gaps),
    )


def _joined(leg: Leg, windows: list[Metered]) -> list[Series]:
    """Energy of each rank in a leg, one value a window."""
    ranks = [_energies(metered) for metered in windows]
    return [
        own.model_copy(
            update={"leg": leg, "values": tuple(v for of in ranks for v in of[rank].values)}
        )
        for rank, own in ranks[0].items()
    ]


def _lost(leg: Leg, windows: list[Metered]) -> Gap | None:
    """Why a leg has no energy: one of its windows lacks that of a rank; None if it has it."""
    ranks = {rank for metered in windows for rank in _energies(metered)}
    for number, metered in enumerate(windows, start=1):
        why = next((gap.reason for gap in metered.gaps if gap.what == ENERGY), None)
        if why or not ranks or ranks != set(_energies(metered)):
            place = f"leg {leg}, window {number} of {len(windows)}"
            return Gap(what=ENERGY, reason=f"{place}: {why or 'no energy of every rank'}")
    return None


def _energies(metered: Metered) -> dict[int | None, Series]:
    return {series.rank: series for series in metered.series if series.metric == ENERGY}
