"""What the links of GPUs carried between two moments, from NVML's counters.

Layer: host. Reads and writes no file; the caller opens NVML.
"""

from dataclasses import dataclass

from commwall.schema.result import Gap


@dataclass(frozen=True)
class LinkTraffic:
    """What the links of a launch's GPUs carried in a window; tuples are in rank order."""

    nvlink_sent_bytes: tuple[int, ...] | None = None
    """Payload, summed over the links of each GPU [byte]."""
    nvlink_received_bytes: tuple[int, ...] | None = None
    """The same of what came in [byte]."""
    pcie_sent_bytes_per_s: tuple[float, ...] | None = None
    """Mean rate of each GPU in the window, protocol included [byte/s]."""
    pcie_received_bytes_per_s: tuple[float, ...] | None = None
    """The same of what came in [byte/s]."""
    gaps: tuple[Gap, ...] = ()
    """Why what is None is not known."""
