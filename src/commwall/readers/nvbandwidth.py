"""nvbandwidth: bandwidth and latency between the host and GPUs, and between GPUs.

Layer: readers. Reads no file. Text of releases 0.1 to 0.8, and JSON. A matrix has a row for each
sender or receiver and a column for each GPU; N/A is None, and the diagonal, `0.00` in the first
releases, is no measurement. A test that was waived or failed has no matrix: it is not 0.
"""

import json
import math
import re
from typing import Any

from commwall.readers.reading import Reading
from commwall.readers.refusal import Unreadable
from commwall.readers.widths import without_ends_in_doubt
from commwall.schema.base import Model

KIND = "nvbandwidth"

_SIGN = re.compile(
    r"^nvbandwidth Version: |^(?:Running|Waiving) [a-z0-9_]{3,80}\.[ \t]*$"
    r"|^SUM [a-z][a-z0-9_]{3,80} [0-9.]+|\A\s*\{\s*\"nvbandwidth\"\s*:",
    re.MULTILINE,
)
_VERSION = re.compile(r"^nvbandwidth Version: (v?[0-9]+\.[0-9][\w.]*)[ \t]*\n", re.MULTILINE)
_DEVICE = re.compile(
    r"(?:Device )?([0-9]{1,4}): (\S.{0,120}?)(?: \([0-9A-Fa-f:.]{5,20}\))?(?:: \([^)]*\))?[ \t]*"
)
_RUNNING = re.compile(r"Running ([a-z0-9_]{3,80})\.[ \t]*")
_WAIVED = re.compile(r"(?:Waiving ([a-z0-9_]{3,80})\.|Waived:[ \t]*([a-z0-9_]{3,80})?)[ \t]*")
_SUM = re.compile(r"SUM[ \t]+([a-z0-9_]{3,80})[ \t]+([0-9]{1,15}\.[0-9]{2})[ \t]*")
_DESCRIPTION = re.compile(r"\S.*\((GB/s|ns|us)\)[ \t]*")
_CELL = re.compile(r"N/A|[0-9]{1,12}(?:\.[0-9]{1,8})?")
_VALUE = re.compile(r"N/A|[0-9]{1,12}\.[0-9]{2}")
_ERRORS = {
    "Invalid value when checking the pattern": "pattern_check_failed",
    "[CUDA_ERROR": "cuda_error",
    "[cudaError": "cuda_error",
    "[NVML_ERROR": "nvml_error",
}
_PEER = "device_to_device_"
_BETWEEN_PEERS = ("memcpy", "bidirectional_memcpy", "latency")

Matrix = tuple[tuple[float | None, ...], ...]


class BandwidthTest(Model):
    """One test."""

    name: str | None
    """None where a waived test is not named."""
    description: str | None = None
    """What rows and columns are, in the tool's words."""
    status: str | None
    """Passed, Waived or Error; None where the text ends before the test does."""
    unit: str | None = None
    matrix: Matrix | None = None
    """Values in `unit`; None for N/A."""
    sum: float | None = None
    """As printed; of latencies it means nothing."""


class Nvbandwidth(Reading):
    """All tests of a run."""

    version: str | None = None
    device_count: int | None = None
    devices: tuple[str, ...] | None = None
    """Name of each GPU."""
    tests: tuple[BandwidthTest, ...] | None = None
    p2p_available: bool | None = None
    """Whether GPUs reach each other's memory: a copy between two was measured, or all waived."""
    errors: tuple[str, ...] | None = None


def looks_like(text: str) -> bool:
    """Whether the program names itself, a test or a sum."""
    return bool(_SIGN.search(text))


def read(text: str) -> Nvbandwidth:
    """All tests in their order.

    Raises:
        Unreadable: if there is neither a test nor a device, or the JSON is broken.
    """
    if text.lstrip().startswith("{"):
        return _of_json(text)
    whole = text[: text.rfind("\n") + 1]  # a last line without an end may lack digits
    lines = whole.split("\n")
    tests = tuple(_tests(lines))
    sure = without_ends_in_doubt(text).split("\n")
    devices = _devices([line for line in sure if line.startswith("Device ")])
    if not tests and not devices:
        raise Unreadable(KIND, "no_test")
    version = _VERSION.search(whole)
    return _reading(version[1] if version else None, devices, tests, _errors(whole), bool(tests))


def _tests(lines: list[str]) -> list[BandwidthTest]:
    """Cut the text at the lines that begin a test, and read each piece."""
    found: list[BandwidthTest] = []
    name, piece = None, list[str]()
    for line in lines:
        running, waived = _RUNNING.fullmatch(line), _WAIVED.fullmatch(line)
        if (running or waived) and name:
            found.append(_test(name, piece, ended=True))
            name = None
        if running:
            name, piece = running[1], []
        elif waived:
            found.append(BandwidthTest(name=waived[1] or waived[2], status="Waived"))
        else:
            piece.append(line)
    return [*found, _test(name, piece, ended=False)] if name else found


def _test(name: str, piece: list[str], *, ended: bool) -> BandwidthTest:
    """A test that ran: with its matrix if that is whole."""
    first = next(filter(str.strip, piece), "")
    described = first if _DESCRIPTION.fullmatch(first) else None
    sums = [found for line in piece if (found := _SUM.fullmatch(line)) and found[1] == name]
    matrix = _matrix(piece) if described and (sums or ended) else None
    unit = _DESCRIPTION.fullmatch(described) if described else None
    if matrix is None:
        failed = bool(_errors("\n".join(piece)))
        return BandwidthTest(name=name, status="Error" if failed else None)
    return BandwidthTest(
        name=name,
        description=described.strip() if described else None,
        status="Passed",
        unit=unit[1] if unit else None,
        matrix=matrix,
        sum=float(sums[0][2]) if sums else None,
    )


def _matrix(piece: list[str]) -> Matrix | None:
    """Head `0 1 2 …`, then rows `label value …`, wherever lines are wrapped; None if not whole."""
    split = [line.split() for line in piece]
    cells = [word for words in split if all(map(_CELL.fullmatch, words)) for word in words]
    width = next((at for at, cell in enumerate(cells) if cell != str(at)), len(cells))
    rows, rest = divmod(len(cells) - width, width + 1) if width else (0, 1)
    if rest or not rows:
        return None
    found = []
    for row in range(rows):
        label, *values = cells[width + row * (width + 1) :][: width + 1]
        if label != str(row) or not all(map(_VALUE.fullmatch, values)):
            return None
        found.append(tuple(None if value == "N/A" else float(value) for value in values))
    return tuple(found) if rows in (1, width) else None


def _devices(lines: list[str]) -> tuple[str, ...]:
    """Names in the order of their numbers; none if a number is missing."""
    found = [device for line in lines if (device := _DEVICE.fullmatch(line))]
    numbered = [int(device[1]) for device in found] == list(range(len(found)))
    return tuple(device[2] for device in found) if numbered else ()


def _errors(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for words, name in _ERRORS.items() if words in text))


def _reading(
    version: str | None,
    devices: tuple[str, ...],
    tests: tuple[BandwidthTest, ...],
    errors: tuple[str, ...],
    all_listed: bool,
) -> Nvbandwidth:
    widths = {len(test.matrix[0]) for test in tests if test.matrix}
    columns = widths.pop() if len(widths) == 1 else None
    listed = len(devices) if devices and all_listed else None
    count = listed if listed is not None else columns
    return Nvbandwidth(
        kind=KIND,
        tool=KIND,
        version=version,
        device_count=count,
        devices=devices or None,
        tests=tests,
        p2p_available=_p2p(tests, count),
        errors=errors,
    )


def _p2p(tests: tuple[BandwidthTest, ...], count: int | None) -> bool | None:
    """From the copies between GPUs; None where there was none to make."""
    between = [
        test
        for test in tests
        if (test.name or "").startswith(tuple(_PEER + word for word in _BETWEEN_PEERS))
    ]
    if any(_has_pair(test.matrix) for test in between if test.matrix):
        return True
    waived = bool(between) and all(test.status == "Waived" for test in between)
    return False if waived and count is not None and count > 1 else None


def _has_pair(matrix: Matrix) -> bool:
    """Whether a value off the diagonal was measured."""
    return any(
        value for row, values in enumerate(matrix) for at, value in enumerate(values) if at != row
    )


def _of_json(text: str) -> Nvbandwidth:
    """The document of release 0.5 and later: cells are texts there.

    Source: NVIDIA nvbandwidth 0.8, json_output.cpp.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(KIND, "invalid_json") from error
    run = document.get("nvbandwidth") if isinstance(document, dict) else None
    if not isinstance(run, dict):
        raise Unreadable(KIND, "no_test")
    entries = [entry for entry in run.get("testcases") or [] if isinstance(entry, dict)]
    listed = run.get("GPU Device list") or []
    failed = [str(run["error"])] if "error" in run else []
    return _reading(
        str(run.get("version") or run.get("git_version") or "") or None,
        _devices([str(entry) for entry in listed]),
        tuple(map(_json_test, entries)),
        _errors("\n".join(failed)),
        all_listed=True,
    )


def _json_test(entry: dict[str, Any]) -> BandwidthTest:
    name = entry.get("name")
    status = {"passed": "Passed", "waived": "Waived", "error": "Error"}.get(
        str(entry.get("status")).lower()
    )
    described = str(entry.get("bandwidth_description") or entry.get("description") or "")
    matrix = _json_matrix(entry.get("bandwidth_matrix"))
    if status != "Passed" or matrix is None:
        return BandwidthTest(
            name=str(name) if name else None, status=None if status == "Passed" else status
        )
    unit = _DESCRIPTION.fullmatch(described)
    return BandwidthTest(
        name=str(name) if name else None,
        description=described or None,
        status=status,
        unit=unit[1] if unit else None,
        matrix=matrix,
        sum=_number(entry.get("sum")),
    )


def _json_matrix(rows: Any) -> Matrix | None:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) for row in rows):
        return None
    found = tuple(tuple(map(_number, row)) for row in rows)
    return found if len({len(row) for row in found}) == 1 else None


def _number(value: Any) -> float | None:
    """A number, also one that is written as text; None for N/A."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) and found >= 0 else None
