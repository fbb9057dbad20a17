"""What has changed from one campaign to another: what `commwall compare A B --json` prints.

Layer: schema. Printed, not stored.
"""

from typing import Literal

from commwall.schema.base import Model, Name
from commwall.schema.case import SuiteName

CHANGE_VERSION: Literal[1] = 1
Outcome = Literal[
    "faster", "slower", "larger", "smaller", "cannot tell", "not comparable", "missing"
]
"""Values of one platform are faster or slower, ratios of two larger or smaller."""


class ToldChange(Model):
    """Something that differs between the campaigns beside the values."""

    what: str
    """In words: driver, NCCL, boot …"""
    before: tuple[str, ...]
    """Every value in the records of the first campaign; empty if none tells."""
    after: tuple[str, ...]
    """The same of the second."""


class ChangedCell(Model):
    """A value of one platform, or the ratio of two, in both campaigns."""

    suite: SuiteName
    case: Name
    """Name of the case in the first campaign, in the second if only that has it."""
    metric: str
    """Metric of the registry."""
    a: Name
    """The platform, or the one above the line of the ratio."""
    b: Name | None = None
    """The platform below the line of the ratio; null for a value as it is."""
    unit: str
    """Unit of the values; 1 for ratios."""
    outcome: Outcome
    """What the rounds tell."""
    reason: str | None = None
    """Why they tell nothing; a field that must agree stands there with both values."""
    before: tuple[float, ...] = ()
    """One value a round of the first campaign."""
    after: tuple[float, ...] = ()
    """The same of the second; the rounds do not belong together."""
    change: float | None = None
    """Ratio of the geometric means, after / before [1]."""
    low: float | None = None
    """Lower end of its interval [1]."""
    high: float | None = None
    """Upper end [1]."""
    beyond_tolerance: bool = False
    """True if it is slower, and by more than what is tolerated."""
    left_open: bool = False
    """True if it is not, and its interval leaves open that it is."""
    noise_floor_before: float | None = None
    """Difference that equal treatments of the first campaign (A/A) leave open [1]."""
    noise_floor_after: float | None = None
    """The same of the second campaign [1]."""


class CampaignChange(Model):
    """One campaign held against another."""

    schema_version: Literal[1] = CHANGE_VERSION
    before: Name
    """The campaign that is the yardstick."""
    after: Name
    """The campaign that is held against it."""
    confidence: float
    """Level of all intervals [1]."""
    tolerance: float
    """Share by which something may become slower [1]."""
    told: tuple[ToldChange, ...]
    """What differs beside the values."""
    cells: tuple[ChangedCell, ...]

    @property
    def values(self) -> tuple[ChangedCell, ...]:
        """Cells of one platform: they decide."""
        return tuple(cell for cell in self.cells if cell.b is None)

    @property
    def ratios(self) -> tuple[ChangedCell, ...]:
        """Cells of two platforms: they are told."""
        return tuple(cell for cell in self.cells if cell.b is not None)

    @property
    def slower(self) -> tuple[ChangedCell, ...]:
        """Values that became slower by more than what is tolerated."""
        return tuple(cell for cell in self.values if cell.beyond_tolerance)

    @property
    def left_open(self) -> tuple[ChangedCell, ...]:
        """Values that may have become slower by more than what is tolerated, by their interval."""
        return tuple(cell for cell in self.values if cell.left_open)

    @property
    def ruled_out(self) -> bool:
        """Whether every value of both is shown to be slower by no more than what is tolerated."""
        return self.judged == self.values and not self.slower and not self.left_open

    @property
    def judged(self) -> tuple[ChangedCell, ...]:
        """Values whose change has an interval, whatever it tells."""
        return tuple(cell for cell in self.values if cell.low is not None)
