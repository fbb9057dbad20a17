"""Values that are known only within ends, and how they are known.

Layer: model. Reads and writes no file.
"""

from dataclasses import dataclass
from typing import Literal

Origin = Literal["given", "measured", "published", "nominal", "assumed", "modelled"]
"""given: by who asks; measured: in records of a campaign; published: measured by others; nominal:
the maker's; assumed: nobody's; modelled: worked out from the others by a formula."""


@dataclass(frozen=True)
class Estimate:
    """A value between two ends."""

    low: float
    high: float
    origin: Origin
    basis: str
    """What it rests on, for readers."""
