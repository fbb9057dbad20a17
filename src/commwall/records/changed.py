"""What must agree between two campaigns before a cell of one is held against the other's.

Layer: records. Reads no file. Less must agree than for a replication
(`commwall.records.replicable`): what an update changes is what is asked about. It is told instead,
with all values of both sides.
"""

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel

from commwall.records.comparable import Difference, field_difference, field_value
from commwall.records.replicable import treatment_difference
from commwall.schema.base import digest
from commwall.schema.change import ToldChange
from commwall.schema.record import Record

MUST_AGREE = (
    "case",
    "protocol.version",
    "platform.device",
    "platform.world_size",
    "platform.path",
)
"""What was asked, by which procedure, on how many devices; besides, the treatment's effect."""
_OF_A_LINE = ("machine.fingerprint", "id.platform")


def _of_runtime(field: str) -> Callable[[Record], Any]:
    return lambda record: getattr(record.software.runtime, field, None)


def _of_gpus(field: str) -> Callable[[Record], Any]:
    return lambda record: ", ".join(str(getattr(gpu, field)) for gpu in record.machine.gpus) or None


TOLD: dict[str, Callable[[Record], Any]] = {
    "driver": lambda record: record.machine.driver,
    "PyTorch": _of_runtime("torch"),
    "CUDA": _of_runtime("cuda"),
    "NCCL": _of_runtime("nccl"),
    "Python": lambda record: record.software.python,
    "lock": lambda record: record.software.lock_digest[:12],
    "packages": lambda record: record.software.packages_digest[:12],
    "measuring code": lambda record: record.software.code_digest[:12],
    "variables": lambda record: _pairs(record.software.variables),
    "kind of machine": lambda record: record.machine.fingerprint[:12],
    "CPU": lambda record: record.machine.cpu_model,
    "GPUs": _of_gpus("name"),
    "GPU devices": _of_gpus("uuid_digest"),
    "power limit [W]": _of_gpus("power_limit_w"),
    "boot": lambda record: record.machine.boot_digest,
}
"""What a reader is told of where it differs, the likely cause of a change first."""


def obstacles(before: Record, after: Record) -> tuple[Difference, ...]:
    """Differences for which a record is not held against an earlier one."""
    found = [field_difference(before, after, field) for field in MUST_AGREE]
    found.append(treatment_difference(before, after))
    return tuple(difference for difference in found if difference)


def line_identity(record: Record) -> str:
    """What records share that may stand in one line over time.

    They could be held against each other, and one kind of machine measured them on platforms of
    one name.

    Returns:
        A digest, 64 hexadecimal digits.
    """
    fields = {field: field_value(record, field) for field in (*MUST_AGREE, *_OF_A_LINE)}
    told = {
        name: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        for name, value in fields.items()
    }
    treatment = record.platform.treatment.model_dump(mode="json", exclude={"label"})
    return digest({**told, "platform.treatment": treatment})


def told_changes(before: Iterable[Record], after: Iterable[Record]) -> tuple[ToldChange, ...]:
    """What differs between two sets of records beside their values.

    A value that both have in part is told too: only what all records share is the same.
    """
    sides = tuple(before), tuple(after)
    found = (
        ToldChange(what=what, before=_values(sides[0], tell), after=_values(sides[1], tell))
        for what, tell in TOLD.items()
    )
    return tuple(each for each in found if each.before != each.after)


def _values(records: Iterable[Record], tell: Callable[[Record], Any]) -> tuple[str, ...]:
    told = (tell(record) for record in records)
    return tuple(sorted({str(value) for value in told if value is not None}))


def _pairs(variables: dict[str, str]) -> str | None:
    return " ".join(f"{name}={value}" for name, value in sorted(variables.items())) or None
