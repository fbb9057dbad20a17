"""What a published campaign predicts for those who measure it again, fixed beforehand.

Layer: schema. Stored as `results/<campaign>/predictions.json`.
"""

from typing import Annotated, Literal

from pydantic import StringConstraints, field_validator, model_validator

from commwall.schema.base import Model, Name, PositiveFloat, PositiveInt, digest
from commwall.schema.case import SuiteName
from commwall.schema.metrics import METRICS

PREDICTIONS_VERSION: Literal[1] = 1
_WORD = r"[a-z0-9]+([.-][a-z0-9]+)*"
RecordPath = Annotated[
    str, StringConstraints(pattern=rf"^records/{_WORD}/[a-z]+/{_WORD}/r[0-9]{{2,4}}\.json$")
]
"""Where a record lies below its campaign's folder, and nowhere else."""
MOST_NEW_ROUNDS = 10
"""New rounds up to which intervals are fixed."""


class PredictedCell(Model):
    """What is predicted: a value of one platform, or the ratio of two."""

    suite: SuiteName
    case: Name
    metric: str
    """Metric of the registry."""
    a: Name
    """The platform, or the one above the line of the ratio."""
    b: Name | None = None
    """The platform below the line of the ratio; null for a value as it is."""

    @field_validator("metric")
    @classmethod
    def _registered(cls, metric: str) -> str:
        if metric not in METRICS:
            raise ValueError("no metric of the registry")
        return metric


class Bounds(Model):
    """Ends of an interval, in the metric's unit or as a ratio."""

    low: PositiveFloat
    """Least value that is inside."""
    high: PositiveFloat
    """Largest value that is inside."""

    @model_validator(mode="after")
    def _ordered(self) -> "Bounds":
        if self.low > self.high:
            raise ValueError(f"{self.low:g} is above {self.high:g}")
        return self


class Predicted(Model):
    """A cell with its intervals."""

    cell: PredictedCell
    rounds: tuple[PositiveInt, ...]
    """Rounds that it rests on."""
    centre: PositiveFloat
    """Their geometric mean."""
    deviation_log: PositiveFloat
    """Standard deviation of their logarithms."""
    bounds: tuple[Bounds, ...]
    """Interval for the geometric mean of 1, 2, … new rounds."""

    @field_validator("bounds")
    @classmethod
    def _some(cls, bounds: tuple[Bounds, ...]) -> tuple[Bounds, ...]:
        if not bounds:
            raise ValueError("no interval")
        return bounds


class NotPredicted(Model):
    """A cell for which nothing can be said beforehand."""

    cell: PredictedCell
    reason: str
    """Why not."""


class Predictions(Model):
    """Everything that a campaign predicts."""

    schema_version: Literal[1] = PREDICTIONS_VERSION
    digest: str
    """SHA-256 of the canonical text of everything else."""
    campaign: Name
    confidence: PositiveFloat
    """Probability with which an interval holds the mean of new rounds of this kind of machine."""
    records: dict[RecordPath, str]
    """Path of each record below the campaign's folder -> its digest."""
    predicted: tuple[Predicted, ...]
    absent: tuple[NotPredicted, ...]
    """Cells without a prediction."""

    @field_validator("confidence")
    @classmethod
    def _probability(cls, confidence: float) -> float:
        if confidence >= 1:
            raise ValueError("no probability below 1")
        return confidence

    def content_digest(self) -> str:
        """Digest of everything but `digest` itself."""
        return digest(self.model_dump(mode="json", exclude={"digest"}))

    def sealed(self) -> "Predictions":
        """The same carrying its own digest."""
        return self.model_copy(update={"digest": self.content_digest()})
