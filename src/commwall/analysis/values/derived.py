"""What one record says of each quantity, or why it says nothing.

Layer: analysis. Reads no file.
"""

from dataclasses import dataclass, field

from commwall.analysis.quantities import Quantity


@dataclass(frozen=True)
class Derived:
    """Values that follow from one record."""

    values: dict[Quantity, float] = field(default_factory=dict)
    """In the registry's units."""
    absent: dict[Quantity, str] = field(default_factory=dict)
    """Why a quantity has no value."""

    def __or__(self, other: "Derived") -> "Derived":
        """Both together."""
        return Derived(self.values | other.values, self.absent | other.absent)
