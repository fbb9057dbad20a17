"""What the verbs of nvidia-smi have in common: how it says that it failed, and absent values.

Layer: readers. Reads no file.
"""

import math
import re

from commwall.readers.reading import UNAVAILABLE, Unavailable
from commwall.readers.refusal import Unreadable

_ERRORS: dict[str, str] = {
    "driver_not_loaded": r"couldn't communicate with the NVIDIA driver|Driver Not Loaded",
    "driver_library_mismatch": r"Driver/library version mismatch",
    "device_handle_unknown_error": r"Unable to determine the device handle for .*: Unknown Error",
    "gpu_is_lost": r"GPU is lost",
    "device_handle_error": r"Unable to determine the device handle for ",
    "no_devices": r"^No devices were found",
    "library_not_found": r"NVML Shared Library|libnvidia-ml\.so: cannot open",
    "command_not_found": r"nvidia-smi(?:\.exe)?['’\"]?: (?:command )?not found"
    r"|'nvidia-smi' is not recognized",
    "insufficient_permissions": r"Insufficient Permissions",
    "bad_arguments": r"command line argument must be used|^Invalid combination of input arguments"
    r"|is not a valid (?:option|argument|field)|^Option .* is not recognized",
}
"""Word for what went wrong -> what nvidia-smi and the shell say of it; certain signs first."""
_PATTERNS = {word: re.compile(pattern, re.MULTILINE) for word, pattern in _ERRORS.items()}
_FAILED_DEVICE = re.compile(r"the device handle for (GPU ?[0-9]+)?")
_ABSENT = {
    "n/a",
    "not supported",
    "not found",
    "not available",
    "unknown error",
    "unknown",
    "gpu is lost",
    "insufficient permissions",
    "gpu requires reset",
    "requested functionality has been deprecated",
    "function not found",
    "err!",
    "error",
}
_NUMBER = re.compile(r"(-?[0-9]{1,18}(?:\.[0-9]{1,9})?)(?: ?([%A-Za-z][A-Za-z/]{0,7}))?")


def error_of(text: str) -> str | None:
    """The word for what nvidia-smi says went wrong, or None if it says nothing of the kind."""
    return next((word for word, pattern in _PATTERNS.items() if pattern.search(text)), None)


def error_told(text: str, kind: str, reason: str) -> str:
    """The word for what nvidia-smi says went wrong, of a text in which there is nothing else.

    Args:
        text: the tool's output.
        kind: what it was to be read as.
        reason: why it is not, where no error is told either.

    Raises:
        Unreadable: if it says nothing of the kind.
    """
    error = error_of(text)
    if error is None:
        raise Unreadable(kind, reason)
    return error


def failed_devices(text: str) -> tuple[str, ...]:
    """GPUs that nvidia-smi names because they do not answer."""
    found = (match[1] for match in _FAILED_DEVICE.finditer(text))
    return tuple(dict.fromkeys(name.replace(" ", "") for name in found if name))


def is_unavailable(cell: str) -> bool:
    """Whether a cell says that its value cannot be had: `[N/A]`, `[Not Supported]` …"""
    return cell.strip().strip("[]<>").strip().lower() in _ABSENT


def quantity(cell: str) -> tuple[float, str] | None:
    """Number and unit of a cell such as `249.33 W`; None where it is anything else."""
    found = _NUMBER.fullmatch(cell.strip())
    if found is None:
        return None
    value = float(found[1])
    return (value, found[2] or "") if math.isfinite(value) else None


def value_in(cell: str | None, unit: str) -> float | Unavailable | None:
    """The number in a cell of that unit; None where there is no cell, or it cannot be read."""
    if cell is None:
        return None
    if is_unavailable(cell):
        return UNAVAILABLE
    found = quantity(cell)
    return found[0] if found and found[1] == unit else None
