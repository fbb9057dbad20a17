"""What must agree before a new measurement counts as a replication of a published one.

Layer: records. Reads no file. Stricter lists (`commwall.records.comparable`) say what may be pooled
into one campaign; a replication is by others, on another machine and another day.
"""

from collections.abc import Iterable, Sequence

from commwall.records.comparable import Difference, field_difference
from commwall.schema.record import Record

MUST_AGREE = (
    "id.suite",
    "id.case",
    "id.platform",
    "case",
    "protocol.version",
    "platform.device",
    "platform.world_size",
    "platform.nodes",
    "platform.path",
    "machine.fingerprint",
    "machine.cpu_model",
    "software.runtime.torch",
    "software.runtime.cuda",
    "software.runtime.nccl",
)
"""Kind of machine (CPU, GPU models, memory, power limits), case, measuring procedure, and what
computes and exchanges; besides, the treatment's effect and the driver's first number."""

TOLD = (
    "machine.driver",
    "machine.memory_bytes",
    "machine.link_matrix",
    "software.python",
    "software.lock_digest",
    "software.packages_digest",
    "software.variables",
)
"""May differ, and is told: a reader judges whether it matters."""


def obstacles(own: Record, published: Record) -> tuple[Difference, ...]:
    """Differences for which a record does not count as a replication of another."""
    found = [field_difference(own, published, field) for field in MUST_AGREE]
    found += [treatment_difference(own, published), _driver_difference(own, published)]
    return tuple(difference for difference in found if difference)


def told_differences(own: Iterable[Record], published: Sequence[Record]) -> tuple[Difference, ...]:
    """Differences that a reader is told of, each once."""
    found = (
        field_difference(record, other, field)
        for record in own
        for other in published
        if _cell(record) == _cell(other)
        for field in TOLD
    )
    return tuple(dict.fromkeys(difference for difference in found if difference))


def same_devices(own: Iterable[Record], published: Iterable[Record]) -> bool | None:
    """Whether any device measured both sides: a repetition, not an independent replication.

    Returns:
        None where devices cannot be told apart: a CPU has no identity.
    """
    sides = [
        {gpu.uuid_digest for record in side for gpu in record.machine.gpus}
        for side in (own, published)
    ]
    return bool(sides[0] & sides[1]) if all(sides) else None


def _cell(record: Record) -> tuple[str, str, str]:
    return record.id.platform, record.id.suite, record.id.case


def treatment_difference(own: Record, published: Record) -> Difference | None:
    """How the links of two records were chosen otherwise, whatever their labels say."""
    left, right = (
        record.platform.treatment.model_dump(exclude={"label"}) for record in (own, published)
    )
    same = left == right
    return (
        None if same else Difference(field="platform.treatment", left=str(left), right=str(right))
    )


def _driver_difference(own: Record, published: Record) -> Difference | None:
    left, right = own.machine.driver, published.machine.driver
    if (left or "").split(".")[0] == (right or "").split(".")[0]:
        return None
    return Difference(field="machine.driver", left=str(left), right=str(right))
