"""Fully resolved parameter sets of the suites.

Layer: schema. Reads and writes no file.
"""

from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

from pydantic import Field, model_validator

from commwall.schema.base import Bytes, Duration, Model
from commwall.schema.collective import DTYPE_BYTES, IN_PLACE, Collective
from commwall.schema.inference import InferenceCase
from commwall.schema.mitigation import MitigationCase
from commwall.schema.strategies import StrategiesCase
from commwall.schema.workload import (
    CAPTURING as CAPTURING,
    COMPILING as COMPILING,
    MODELS as MODELS,
    ModelFamily as ModelFamily,
    ModelName as ModelName,
    StepMode as StepMode,
    Windows as Windows,
    Workload,
)

TrainingLeg = Literal["full", "nosync", "packed", "comm", "single"]
"""full: DDP step; nosync: same step, no gradient exchange; packed: same step, gradients packed into
DDP's buckets, which nobody exchanges; comm: the same buckets exchanged, no compute; single: one
process alone, the control for per-GPU speed."""

Leg = Literal[TrainingLeg, "mitigated"]
"""mitigated: leg `full` of suite mitigations, with the mitigation that is tried."""

LEGS: tuple[TrainingLeg, ...] = get_args(TrainingLeg)
SuiteName = Literal["training", "memory", "collectives", "strategies", "inference", "mitigations"]


class TrainingCase(Workload):
    """One training workload, and the variants of its step that are measured."""

    suite: Literal["training"] = "training"
    legs: tuple[TrainingLeg, ...] = LEGS
    """Variants to measure."""

    @model_validator(mode="after")
    def _legs_that_explain(self) -> Self:
        alone = self.legs == ("single",)  # all that one process has
        if not ("full" in self.legs or alone) or len(set(self.legs)) != len(self.legs):
            raise ValueError("legs must contain 'full', or be 'single', and name each leg once")
        return self


MemoryOperation = Literal[
    "copy",
    "triad",
    "host_to_device_pinned",
    "host_to_device_pageable",
    "device_to_host_pinned",
    "device_to_host_pageable",
    "peer",
    "peer_bidirectional",
]


class Traffic(NamedTuple):
    """What a memory operation moves."""

    counted: int
    """How often the bytes of a buffer count: once for each read and write of device memory,
    once for each transfer between two memories."""
    between: Literal["device", "host", "peer"]
    """Memory at the other end: the device's own, the host's, another device's."""


TRAFFIC: dict[MemoryOperation, Traffic] = {
    "copy": Traffic(2, "device"),
    "triad": Traffic(3, "device"),
    "host_to_device_pinned": Traffic(1, "host"),
    "host_to_device_pageable": Traffic(1, "host"),
    "device_to_host_pinned": Traffic(1, "host"),
    "device_to_host_pageable": Traffic(1, "host"),
    "peer": Traffic(1, "peer"),
    "peer_bidirectional": Traffic(2, "peer"),
}
"""Source of the counts of copy and triad: J. D. McCalpin, STREAM (a = b; a = b + s c)."""

NO_PEER_ACCESS = "peer access of device {rank} to device {peer}"
"""What the gap is called that tells of a pair whose copies the driver stages through the host."""
Turns = Literal["together", "one_at_a_time"]

LEAST_MESSAGE_BYTES = 8
SIZE_STEP = 4
Load = Literal["matmul"]
"""Work that keeps a device busy: products of square matrices, one after another."""


class MemoryCase(Model):
    """One memory operation on buffers of one or more sizes."""

    suite: Literal["memory"] = "memory"
    operation: MemoryOperation
    """copy and triad (a = b + s c) on the device, which is RAM on device cpu; transfers between
    host and device; each device's copies into every other one."""
    buffer_bytes: tuple[Annotated[Bytes, Field(ge=4, multiple_of=4)], ...] = Field(
        min_length=1, max_length=64
    )
    """Sizes of a buffer of float32 values, ascending [byte]; verdicts are about the largest."""
    ranks: Turns = "together"
    """Whether all processes work at once, as in training, or one while the others wait; both
    together show what devices share. Of copies between devices one pair works in any case."""
    window_s: Duration = 0.15
    """About how long each size is timed [s]."""

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if list(self.buffer_bytes) != sorted(set(self.buffer_bytes)):
            raise ValueError("buffer_bytes must ascend")
        return self

    @property
    def points(self) -> int:
        """Sizes that are timed."""
        return len(self.buffer_bytes)


class CollectivesCase(Model):
    """One collective over messages of growing size."""

    suite: Literal["collectives"] = "collectives"
    collective: Collective
    """Which operation; send_recv passes the buffer on to the next rank."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Type of the values."""
    in_place: bool
    """Whether a rank receives where it sends from; left out, what is usual: true for all_reduce
    and broadcast, which torch offers no other way, else false."""
    beside: Load | None = None
    """What the devices compute meanwhile; null is nothing. It shows how much longer an exchange
    takes that compute disturbs, and how much longer the compute."""
    max_bytes: Annotated[Bytes, Field(ge=LEAST_MESSAGE_BYTES)]
    """Largest message [byte]; sizes grow from 8 byte by a factor of 4 and end with it."""
    window_s: Duration = 0.15
    """About how long each size is timed [s]."""

    @model_validator(mode="before")
    @classmethod
    def _usual_place(cls, data: Any) -> Any:
        """Say where a case works that does not say so itself."""
        if not isinstance(data, dict):
            return data
        asked = str(data.get("collective"))
        usual = next((places[0] for name, places in IN_PLACE.items() if name == asked), False)
        return {"in_place": usual, **data}

    @model_validator(mode="after")
    def _possible_place(self) -> Self:
        if self.in_place in IN_PLACE[self.collective]:
            return self
        if self.in_place:
            raise ValueError(f"in_place must be false; {self.collective} cannot work in place")
        raise ValueError(
            f"in_place must be true; torch's {self.collective} works in place only, and a copy "
            "before it would be timed with it"
        )

    def message_sizes(self, ranks: int) -> tuple[int, ...]:
        """Sizes of the full buffer, ascending, such that each rank has an equal share [byte].

        Args:
            ranks: number of processes; sizes are rounded up to a value for each of them.
        """
        share = ranks * DTYPE_BYTES[self.dtype]
        sizes = [LEAST_MESSAGE_BYTES]
        while sizes[-1] * SIZE_STEP < self.max_bytes:
            sizes.append(sizes[-1] * SIZE_STEP)
        whole = {-(-size // share) * share for size in (*sizes, self.max_bytes)}
        return tuple(sorted(whole))

    @property
    def points(self) -> int:
        """Sizes that are timed, at most."""
        return len(self.message_sizes(1))


Case = Annotated[
    TrainingCase | MemoryCase | CollectivesCase | StrategiesCase | InferenceCase | MitigationCase,
    Field(discriminator="suite"),
]
"""Union of the suites' cases; grows with the suites."""
