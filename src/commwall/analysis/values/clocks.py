"""At which clocks the processors ran in each leg, and which legs may therefore be compared.

Layer: analysis. Reads no file. A GPU at its power limit lowers its clocks after a second or so: in
the long window of leg `full`, and not yet in the short ones. Legs at different clocks differ by
more than the exchange, so that their difference is no value.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean, median

from commwall.analysis.values.readings import all_values, measured
from commwall.language.translate import tr_later
from commwall.schema.case import Leg
from commwall.schema.record import Record
from commwall.schema.result import MarkName

SM_CLOCK = "sm_clock_hz"
MOST_APART = 0.01
"""By so much clocks of legs that are compared may differ [1]. Chosen: over a fast link, a percent
of a step is as much as half of the exchange."""
NEAR_LIMIT = 0.95
"""Of its power limit a GPU draws so much while the limit holds it [1]. Chosen: with clocks that are
lowered too, it leaves hardly another reason."""
POWER_CAPPED: MarkName = "power_capped"
APART = tr_later(
    "legs ran at processor clocks more than 1 % apart (a GPU meets its power limit in a long "
    "window, and not yet in a short one), so that they differ by more than the exchange"
)


def highest_clock_hz(records: Iterable[Record]) -> float | None:
    """Highest reading of the processors' clock in any leg of any record [Hz]; None without one."""
    return max((hz for record in records for hz in all_values(record, SM_CLOCK)), default=None)


def leg_clocks_hz(record: Record, leg: Leg) -> dict[int | None, float]:
    """Rank -> mean clock of its GPU's processors in the timed window of a leg [Hz]."""
    series = (own for own in measured(record, SM_CLOCK, leg) if own.values)
    return {own.rank: fmean(own.values) for own in series}


def slowest_clock_hz(records: Iterable[Record], leg: Leg) -> float | None:
    """Mean clock in a leg of the GPU that is slowest in its round, median over the rounds [Hz]."""
    found = (leg_clocks_hz(record, leg).values() for record in records)
    slowest = [min(clocks_hz) for clocks_hz in found if clocks_hz]
    return median(slowest) if slowest else None


def apart(record: Record, legs: Sequence[Leg], highest_hz: float | None) -> bool:
    """Whether legs ran at clocks that forbid comparing them; not where nothing is known of these.

    Compared are the GPUs that timed all of the legs, but not in leg `comm`, which computes
    nothing. Records of before every leg was watched have the clocks of leg `full` only: the others,
    being short, are taken to have run at the highest clock seen.

    Args:
        record: of suite training.
        legs: which are compared.
        highest_hz: highest clock in any record of the campaign; None if none was read [Hz].
    """
    computing = [leg for leg in legs if leg != "comm"]
    if highest_hz is None or len(computing) < 2:
        return False
    known = [leg_clocks_hz(record, leg) for leg in computing]
    timed = [{own.rank for own in measured(record, "step_time_s", leg)} for leg in computing]
    for rank in set.intersection(*timed):
        clocks = [own.get(rank, highest_hz) for own in known]
        if min(clocks) < (1 - MOST_APART) * max(clocks):
            return True
    return False


def at_power_limit(record: Record, highest_hz: float | None) -> bool:
    """Whether the power limit kept the clocks of leg `full` of a GPU noticeably down.

    By the driver's own reason; in records of before that was kept, by the power drawn.
    """
    clocks_hz = leg_clocks_hz(record, "full").values()
    if highest_hz is None or min(clocks_hz, default=highest_hz) >= (1 - MOST_APART) * highest_hz:
        return False
    marked = any(mark.name == POWER_CAPPED and mark.leg == "full" for mark in record.marks)
    return marked or any(share >= NEAR_LIMIT for share in _power_shares(record))


def _power_shares(record: Record) -> list[float]:
    """Median power of each GPU in leg `full` by its limit [1], where both are known."""
    series = (own for own in measured(record, "power_w", "full") if own.values)
    polled = {own.rank: median(own.values) for own in series}
    limits = [gpu.power_limit_w for gpu in record.machine.gpus]
    known = zip(map(polled.get, range(len(limits))), limits, strict=True)
    return [power_w / limit_w for power_w, limit_w in known if power_w and limit_w]
