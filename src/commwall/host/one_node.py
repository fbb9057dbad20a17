"""What the meter of one node may say of a launch that runs on several: doubts, but no sums.

Layer: host. Reads and writes no file. Energy, use and traffic of a launch are sums over all its
devices; the supervisor reads those of the first node only. A disturbance there disturbs the launch.
"""

from commwall.host.meter import ENERGY, Meter, Metered
from commwall.schema.case import Leg
from commwall.schema.device_metrics import DEVICE_METRICS
from commwall.schema.result import Gap, Mark


class OneNodeMeter:
    """A meter of the first node of a launch.

    Args:
        meter: what reads that node.
        nodes: of the launch.
    """

    def __init__(self, meter: Meter, nodes: int) -> None:
        self._meter = meter
        self._reason = f"the counters of one node are read, the launch ran on {nodes}"

    def found(self, start_ns: int, end_ns: int) -> Metered:
        """The marks of a window of leg `full`; no energy, no use of devices."""
        whats = (ENERGY, *(metric.id for metric in DEVICE_METRICS), "marks of the other nodes")
        marks = self._meter.found(start_ns, end_ns).marks
        return Metered((), marks, tuple(Gap(what=w, reason=self._reason) for w in whats))

    def disturbances(self, start_ns: int, end_ns: int, leg: Leg | None) -> tuple[Mark, ...]:
        """What disturbed the first node in another leg, or a whole case."""
        return self._meter.disturbances(start_ns, end_ns, leg)

    def states(self, start_ns: int, end_ns: int, leg: Leg) -> Metered:
        """Nothing: a step goes with the slowest GPU, which may be another node's."""
        return Metered()

    def traffic(self, start_ns: int, end_ns: int) -> Gap:
        """Nothing: what passes between nodes is not what the links of one carry."""
        return Gap(what="traffic", reason=self._reason)
