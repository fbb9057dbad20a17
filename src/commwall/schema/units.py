"""From stored SI values to words for readers; the only place where units are scaled.

Layer: schema. Reads and writes no file.
"""

import math

GIB = 2**30
GB = 10**9

_TIME = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_RATE = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))
_FREQUENCY = ((1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"), (1.0, "Hz"))
_SIZE = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


def significant(value: float, digits: int = 3) -> str:
    """The value with that many significant digits, thousands separated, never in powers of ten."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exponent = int(f"{value:.{digits - 1}e}".rpartition("e")[2])  # after rounding: 9.996 is 10.0
    decimals = max(0, digits - 1 - exponent)
    return f"{value:,.{decimals}f}"


def time_text(seconds: float) -> str:
    """A duration [s] in the unit a reader expects; from two minutes on in minutes, then hours."""
    if abs(seconds) >= 7200:
        return f"{significant(seconds / 3600)} h"
    if abs(seconds) >= 120:
        return f"{significant(seconds / 60)} min"
    return _scaled(seconds, _TIME)


def rate_text(bytes_per_s: float) -> str:
    """A data rate [byte/s] in decimal units (1 GB = 10^9 byte)."""
    return _scaled(bytes_per_s, _RATE)


def size_text(size_bytes: float) -> str:
    """A size [byte] in binary units (1 GiB = 2^30 byte), a whole number of them as it is."""
    factor, unit = _step(size_bytes, _SIZE)
    count = size_bytes / factor
    return f"{count:,.0f} {unit}" if count == int(count) else f"{significant(count)} {unit}"


def volume_text(moved_bytes: float) -> str:
    """An amount of data that was moved [byte], in decimal units as its rate counts it."""
    text = rate_text(moved_bytes)
    return text.removesuffix("/s")


def frequency_text(frequency_hz: float) -> str:
    """A clock [Hz] in decimal units."""
    return _scaled(frequency_hz, _FREQUENCY)


def quantity_text(value: float, unit: str) -> str:
    """A stored value in words: times, rates, sizes and clocks scaled, all else as it is."""
    scaled = {"s": time_text, "byte/s": rate_text, "byte": size_text, "Hz": frequency_text}
    if unit in scaled:
        return scaled[unit](value)
    return significant(value) if unit == "1" else f"{significant(value)} {unit}"


def _scaled(value: float, scale: tuple[tuple[float, str], ...]) -> str:
    factor, unit = _step(value, scale)
    return f"{significant(value / factor)} {unit}"


def _step(value: float, scale: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    """Largest unit that the value reaches, else the smallest."""
    return next((step for step in scale if abs(value) >= step[0]), scale[-1])
