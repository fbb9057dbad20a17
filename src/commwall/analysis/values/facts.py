"""What a record says of its machine and software, fact by fact, with the reason where one lacks.

Layer: analysis. Reads no file. Facts of the case (parameters, buckets) are not among them: they
differ between cases on any machine.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from commwall.language.translate import tr, tr_later
from commwall.schema.record import GpuFacts, MachineFacts, Record

NOT_STATED = tr_later("the record does not state it")
WITHOUT_GPUS = tr_later("no GPU was measured")
BUILT_WITHOUT = {
    "software.runtime.cuda": tr_later("PyTorch was built without CUDA"),
    "software.runtime.nccl": tr_later("PyTorch works without NCCL here"),
}
UNITS = {
    "cpu_count": "CPU",
    "numa_nodes": "node",
    "memory_bytes": "byte",
    "power_limit_w": "W",
    "max_sm_clock_hz": "Hz",
    "pcie_generation": "1",
    "pcie_width": "lane",
    "threads_per_rank": "thread",
}
"""Field -> unit of its number; fields without one are words."""
MACHINE_FIELDS = tuple(n for n in MachineFacts.model_fields if n not in ("gpus", "link_matrix"))
GPU_FIELDS = tuple(GpuFacts.model_fields)
SOFTWARE_FIELDS = (
    "python",
    "lock_digest",
    "packages_digest",
    "code_digest",
    "git_commit",
    "dirty",
)
RUNTIME_FIELDS = ("torch", "cuda", "nccl", "threads_per_rank")


@dataclass(frozen=True)
class Fact:
    """One fact of one record; equal facts of several records compare equal."""

    name: str
    """Path of the field in the record, without the number of a GPU."""
    gpu: int | None
    unit: str | None
    value: float | str | None
    """In `unit` if it is a number."""
    why_absent: str | None = None
    """Why there is no value."""


def facts_of(record: Record) -> Iterator[Fact]:
    """All facts of a record that a reader may ask for, the machine first."""
    machine, software = record.machine, record.software
    for field in MACHINE_FIELDS:
        yield _fact(record, f"machine.{field}", field, getattr(machine, field))
    links = machine.link_matrix
    yield _fact(record, "machine.link_matrix", "link_matrix", links and matrix_text(links))
    for index, gpu in enumerate(machine.gpus):
        for field in GPU_FIELDS:
            yield _fact(record, f"machine.gpus.{field}", field, getattr(gpu, field), index)
    for field in SOFTWARE_FIELDS:
        yield _fact(record, f"software.{field}", field, getattr(software, field))
    for field in RUNTIME_FIELDS:
        value = getattr(software.runtime, field) if software.runtime else None
        yield _fact(record, f"software.runtime.{field}", field, value)
    for name, value in sorted(software.variables.items()):
        yield Fact(f"variable {name}", None, None, value)
    yield Fact(f"protocol of suite {record.id.suite}", None, None, record.protocol.version)


def matrix_text(matrix: tuple[tuple[str, ...], ...]) -> str:
    """A link matrix in one line: "X NV18 / NV18 X"."""
    return " / ".join(" ".join(row) for row in matrix)


def matrix_of(text: str) -> list[list[str]]:
    """The link matrix that `matrix_text` wrote, shape (GPUs, GPUs)."""
    return [row.split() for row in text.split(" / ")]


def _fact(record: Record, path: str, field: str, value: object, gpu: int | None = None) -> Fact:
    if value is None or value == "":
        return Fact(path, gpu, UNITS.get(field), None, _why_absent(record, path, field, gpu))
    if isinstance(value, bool):
        return Fact(path, gpu, None, tr("yes") if value else tr("no"))
    number = field in UNITS and isinstance(value, int | float)
    return Fact(path, gpu, UNITS.get(field), float(str(value)) if number else str(value))


def _why_absent(record: Record, path: str, field: str, gpu: int | None) -> str:
    """The record's own reason, or the most that can be said without one."""
    own = path if gpu is None else f"machine.gpus.{gpu}.{field}"
    reasons = {gap.what: gap.reason for gap in record.gaps}
    if own in reasons:
        return reasons[own]
    if path == "software.dirty":
        return reasons.get("software.git_commit", tr(NOT_STATED))
    if field == "partitioned":
        return tr("it cannot be divided")
    if field in ("driver", "link_matrix", "peer_access") and not record.machine.gpus:
        return reasons.get("machine.gpus", tr(WITHOUT_GPUS))
    built = BUILT_WITHOUT if record.software.runtime else {}
    return tr(built.get(path, NOT_STATED))
