"""What an entry of the metric registry says.

Layer: schema. Reads and writes no file.
"""

from typing import Literal

from commwall.schema.base import Model

DESIGN = "commwall's measuring method, docs/method.md"
"""Source of what commwall itself defines."""

Direction = Literal["higher", "lower", "neither"]


class Metric(Model):
    """One quantity that commwall measures or derives."""

    id: str
    unit: str
    """SI base unit in which it is stored; `1` for a pure number."""
    direction: Direction
    """Which way is better."""
    kind: Literal["measured", "derived"]
    """Measured values stand in records; derived ones are computed from records."""
    label: str
    """Words for axes and table heads, without unit."""
    definition: str
    source: str
