"""What a meter says of the windows of a case that trains.

Layer: measure. Reads and writes no file.
"""

from commwall.host.meter import ENERGY, Meter, Metered
from commwall.schema.case import Leg
from commwall.schema.device_metrics import DEVICE_METRICS
from commwall.schema.result import CaseResult, Gap, Series, Window


def energy_of(meter: Meter, result: CaseResult) -> Metered:
    """Energy of leg `full`, and of leg `mitigated` where there is one.

    A leg that is timed in several windows has one value a window. What else the meter tells, of
    clocks and disturbances, is of the first window of leg `full`.
    """
    own = [window for window in result.windows if window.leg in ("full", "mitigated")]
    first = next((window for window in own if window.leg == "full"), None)
    if first is None:
        reason = "the workers did not say when leg full was timed"
        whats = (ENERGY, *(metric.id for metric in DEVICE_METRICS))
        return Metered(gaps=tuple(Gap(what=what, reason=reason) for what in whats))
    told = meter.found(first.start_ns, first.end_ns)
    return told if len(own) == 1 else _of_windows(meter, told, own)


def states_of(meter: Meter, result: CaseResult) -> Metered:
    """Clocks and temperatures in all legs but `full`; of several windows of a leg together."""
    series: dict[tuple[str, Leg | None, int | None], Series] = {}
    gaps: list[Gap] = []
    for window in (window for window in result.windows if window.leg != "full"):
        told = meter.states(window.start_ns, window.end_ns, window.leg)
        for own in told.series:
            key = (own.metric, own.leg, own.rank)
            before = series[key].values if key in series else ()
            series[key] = own.model_copy(update={"values": (*before, *own.values)})
        gaps += told.gaps
    return Metered(tuple(series.values()), gaps=tuple(dict.fromkeys(gaps)))


def _of_windows(meter: Meter, told: Metered, windows: list[Window]) -> Metered:
    """Energies of all windows, legs apart, in place of that of the first."""
    found: dict[tuple[str, int | None], list[Series]] = {}
    for window in windows:
        for series in meter.found(window.start_ns, window.end_ns).series:
            if series.metric == ENERGY:
                found.setdefault((str(window.leg), series.rank), []).append(series)
    joined = tuple(
        own[0].model_copy(update={"leg": leg, "values": tuple(v for s in own for v in s.values)})
        for (leg, _), own in found.items()
    )
    rest = tuple(series for series in told.series if series.metric != ENERGY)
    return told._replace(series=(*joined, *rest))
