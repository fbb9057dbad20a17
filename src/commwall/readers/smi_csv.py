"""`nvidia-smi --query-gpu=… --format=csv`: a table whose header names what was asked for.

Layer: readers. Reads no file. A unit stands in the header (`power.draw [W]`), behind each value,
in both or in neither. Without a header nothing says what a column is, so nothing is read.
"""

import re
from collections.abc import Sequence

from commwall.readers.nvidia_smi import error_told, is_unavailable, quantity
from commwall.readers.reading import UNAVAILABLE, Reading
from commwall.readers.refusal import Unreadable

KIND = "smi-csv"
Value = int | float | str | bool | None
Row = dict[str, Value]

_NAMES = {
    "power.draw": "power_draw",
    "temperature.gpu": "temperature_c",
    "temperature.memory": "memory_temperature_c",
    "utilization.gpu": "util",
    "utilization.memory": "util_mem",
    "clocks.current.sm": "sm_clock",
    "clocks.sm": "sm_clock",
    "clocks.current.memory": "memory_clock",
    "clocks.mem": "memory_clock",
    "clocks.max.sm": "sm_clock_max",
    "clocks.max.memory": "memory_clock_max",
    "pci.bus_id": "bus_id",
    "gpu_bus_id": "bus_id",
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "pcie.link.gen.current": "gen_current",
    "pcie.link.gen.gpucurrent": "gen_current",
    "pcie.link.gen.max": "gen_max",
    "pcie.link.width.current": "width_current",
    "pcie.link.width.max": "width_max",
}
"""nvidia-smi's name -> ours, without its unit; of all others dots become underscores."""
_UNITS = {"W": "_w", "%": "_pct", "MHz": "_mhz", "MiB": "_mib", "ms": "_ms", "us": "_us"}
_FIELD = re.compile(r"([a-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)(?: ?\[([A-Za-z%/]{1,8})\])?")
_NAMES_LINE = re.compile(r"(?m:^)[a-z][A-Za-z0-9_.,\[\]%/ ]{2,8191}(?m:$)")
"""What a line of names may hold."""
_ROOT = re.compile(
    r"timestamp|driver_version|count|name|gpu_name|serial|gpu_serial|uuid|gpu_uuid|"
    r"pci|gpu_bus_id|pcie|index|display_mode|display_attached|display_active|"
    r"persistence_mode|addressing_mode|accounting|driver_model|vbios_version|inforom|"
    r"gom|fan|pstate|clocks_event_reasons|clocks_throttle_reasons|memory|compute_mode|"
    r"compute_cap|utilization|encoder|ecc|retired_pages|remapped_rows|temperature|"
    r"power|enforced|module|clocks|mig|gsp|c2c|fabric|protected_memory|platform|"
    r"reset_status|gpu_reset_status|hostname|gpu_recovery_action"
)
"""First part of every field that `--help-query-gpu` lists."""
_TEXT = re.compile(
    r"(?:.*[._])?(?:timestamp|name|uuid|serial|bus_id|pstate|version|active|mode|state)(?:[._].*)?"
)
_WITHOUT_UNIT = re.compile(
    r"timestamp|driver_version|vbios_version|count|index|(?:gpu_)?(?:name|uuid|serial)|gpu_bus_id"
    r"|pci\.(?:bus_id|domain|device_id|sub_device_id)|pstate|compute_cap|temperature\.(?:gpu|memory)"
    r"|pcie\.link\.(?:gen|width)\.(?:current|max|gpucurrent|gpumax|hostmax)"
    r"|(?:persistence|compute|display)_mode|(?:ecc|mig)\.mode\.(?:current|pending)"
    r"|clocks_(?:event|throttle)_reasons\.(?:active|sw_power_cap|hw_slowdown|gpu_idle)"
)
"""Names that are whole without a unit: at the end of a line that is cut others may lack more."""
_SHAPES = {
    "bus_id": re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]"),
    "timestamp": re.compile(r"[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9:]{8}\.[0-9]{3}"),
    "uuid": re.compile(r"(?:GPU|MIG)-[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
}
_NEEDS = 2
"""Columns of a header that is known without a dot: `name` alone is any word."""
_IDS = ("uuid", "bus_id", "index")


class CsvTable(Reading):
    """Rows in the order of the file; a name ends with its unit."""

    rows: tuple[Row, ...] | None = None
    gpu_count: int | None = None
    """Different GPUs; None where several rows do not say which GPU they are of."""


def looks_like(text: str) -> bool:
    """Whether a line names fields of `--query-gpu`."""
    return any(_fields(match[0]) for match in _NAMES_LINE.finditer(text))


def read(text: str) -> CsvTable:
    """The rows.

    Raises:
        Unreadable: if there is no header, it is cut, or there are several that differ.
    """
    lines = text.split("\n")
    found = [(line, fields) for line in lines[:-1] if (fields := _fields(line))]
    if not found:
        return _failure(text)
    if not all(_is_whole(line) for line, _ in found):
        raise Unreadable(KIND, "header_cut")
    headers = [fields for _, fields in found]
    if any(header != headers[0] for header in headers):
        raise Unreadable(KIND, "headers_disagree")
    if len({name for name, _ in headers[0]}) < len(headers[0]):
        raise Unreadable(KIND, "column_named_twice")
    return _table(headers[0], lines)


def _failure(text: str) -> CsvTable:
    error = error_told(text, KIND, "no_header")
    return CsvTable(kind=KIND, tool="nvidia-smi --query-gpu", readable=False, error=error)


def _fields(line: str) -> tuple[tuple[str, str], ...]:
    """Our name and the unit of each column of a header; nothing if the line is none."""
    if "," not in line and "." not in line:
        return ()
    if not _NAMES_LINE.fullmatch(line):
        return ()
    found = [_FIELD.fullmatch(cell.strip()) for cell in line.split(",")]
    names = [match[1] if match else "" for match in found]
    known = all(_ROOT.fullmatch(name.partition(".")[0]) for name in names)
    if not known or (len(names) < _NEEDS and "." not in names[0]):
        return ()
    return tuple(_named(match[1], match[2] or "") for match in found if match)


def _is_whole(header: str) -> bool:
    """Whether the last name of a header can be no part of a longer one."""
    last = header.rpartition(",")[2].strip()
    return last.endswith("]") or bool(_WITHOUT_UNIT.fullmatch(last))


def _named(field: str, unit: str) -> tuple[str, str]:
    name = _NAMES.get(field, field.replace(".", "_"))
    suffix = _UNITS.get(unit, f"_{unit.lower()}" if unit else "")
    return name + suffix, unit


def _table(columns: Sequence[tuple[str, str]], lines: Sequence[str]) -> CsvTable:
    rows, partial, width = [], False, 0
    for number, line in enumerate(lines):
        if not width or _fields(line):
            width = width or (len(line) if _fields(line) else 0)
            continue
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) > len(columns):
            raise Unreadable(KIND, "header_cut")
        at_end = number == len(lines) - 1
        row = _row(columns, cells, cut=at_end or len(line) == width)
        partial |= row is None and len(cells) > 1 or (at_end and bool(line.strip()))
        if row is not None:
            rows.append(row | _judged(row))
    return CsvTable(
        kind=KIND,
        tool="nvidia-smi --query-gpu",
        partial=partial,
        rows=tuple(rows),
        gpu_count=_gpu_count(rows),
    )


def _row(columns: Sequence[tuple[str, str]], cells: Sequence[str], *, cut: bool) -> Row | None:
    """The values of a line, None if it is no row.

    Of a row at which the text ends the last cell is certain only if a bracket or its unit ends it.
    """
    if len(cells) < len(columns) and not cut:
        return None
    if cut and (len(cells) == 1 or not _is_closed(cells[-1], columns[len(cells) - 1][1])):
        cells = cells[:-1]
    row: Row = {name: None for name, _ in columns}
    for (name, unit), cell in zip(columns, cells, strict=False):
        value = _value(name, unit, cell)
        if value is None:
            return None
        row[name] = value
    return row if cells else None


def _is_closed(cell: str, unit: str) -> bool:
    return cell.endswith("]") or bool(unit and cell.endswith(f" {unit}"))


def _value(name: str, unit: str, cell: str) -> Value:
    """What a cell says; None where it is not what its column holds."""
    if is_unavailable(cell):
        return UNAVAILABLE
    if name in _SHAPES and not _SHAPES[name].fullmatch(cell):
        return None
    if _TEXT.fullmatch(name):
        return cell or None
    found = quantity(cell)
    if found is None:
        return None if unit or not cell else cell
    value, own = found
    if own not in ("", unit):
        return None
    return value if "." in cell else int(value)


def _judged(row: Row) -> Row:
    """Width and generation of the PCIe link against what it can be."""
    found: Row = {}
    if "width_current" in row and "width_max" in row:
        found["degraded_width"] = _less(row["width_current"], row["width_max"])
    if "gen_current" in row and "gen_max" in row:
        found["low_gen_maybe_idle"] = _less(row["gen_current"], row["gen_max"])
    return found


def _less(value: Value, most: Value) -> bool | None:
    return value < most if isinstance(value, int) and isinstance(most, int) else None


def _gpu_count(rows: Sequence[Row]) -> int | None:
    name = next((name for name in _IDS if rows and name in rows[0]), None)
    if name is None:
        return len(rows) if len(rows) == 1 else None
    return len({row[name] for row in rows} - {None})
