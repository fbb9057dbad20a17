"""Idle power of the GPUs of a campaign: the lowest that each was seen to draw before a launch.

Layer: analysis. Reads no file. A GPU that has just worked comes to rest in seconds, so that most of
what is read in the pause before a launch is not rest. What a GPU draws idle is its own, whatever
links it to others: all platforms share it (decision 041).
"""

from collections.abc import Iterable, Mapping

from commwall.analysis.values.readings import by_rank
from commwall.schema.record import Record

IDLE = "idle_power_w"
IdlePowers = Mapping[str, float]
"""GPU, as `gpu_of` tells it -> its idle power [W]."""


def gpu_of(record: Record, rank: int) -> str:
    """Which GPU a rank had: digest of its uuid, or machine and place where that was not read."""
    node, place = divmod(rank, record.platform.per_node)
    nodes = (record.machine, *record.other_nodes)
    gpus = nodes[node].gpus if node < len(nodes) else ()
    digest = gpus[place].uuid_digest if place < len(gpus) else ""
    return digest or f"{record.machine.fingerprint} {rank}"


def lowest_before_launches_w(records: Iterable[Record]) -> dict[str, list[float]]:
    """GPU -> the lowest reading of the pause before each record's launch that is above zero [W]."""
    lowest: dict[str, list[float]] = {}
    for record in records:
        for rank, values in by_rank(record, IDLE).items():
            powers_w = [value for value in values if value > 0]
            if powers_w and rank is not None:
                lowest.setdefault(gpu_of(record, rank), []).append(min(powers_w))
    return lowest


def idle_powers_w(records: Iterable[Record]) -> IdlePowers:
    """GPU -> the lowest reading before any launch of the records [W]."""
    return {gpu: min(lowest) for gpu, lowest in lowest_before_launches_w(records).items()}
