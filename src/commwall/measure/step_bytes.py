"""Bytes that a step sends over NVLink, from counters that are read beside the launch.

Layer: measure. Reads and writes no file. The workers say when so many steps ran with nothing before
and after them; what NVML counted then, divided by their number, is a step's.
"""

from commwall.host.meter import Meter, Metered
from commwall.schema.metrics import METRICS
from commwall.schema.result import CaseResult, Gap, Series

METRIC = METRICS["step_sent_bytes"]


def step_bytes(result: CaseResult, meter: Meter) -> Metered:
    """What each rank's GPU sent in a step; nothing where the workers asked for no count.

    Args:
        result: of a case.
        meter: what was read of the GPUs meanwhile.
    """
    counted = result.counted
    if counted is None:
        return Metered()
    found = meter.traffic(counted.start_ns, counted.end_ns)
    if isinstance(found, Gap):
        return _absent(found.reason)
    if found.nvlink_sent_bytes is None:
        return _absent("; ".join(gap.reason for gap in found.gaps if "nvlink" in gap.what))
    if not any(found.nvlink_sent_bytes):
        return _absent("NVLink's counters stood still: the traffic took another way, uncounted")
    return Metered(
        tuple(
            Series(metric=METRIC.id, unit=METRIC.unit, rank=rank, values=(sent / counted.steps,))
            for rank, sent in enumerate(found.nvlink_sent_bytes)
        )
    )


def _absent(reason: str) -> Metered:
    said = reason or "NVLink's counters could not be read"
    return Metered(gaps=(Gap(what=METRIC.id, reason=said),))
