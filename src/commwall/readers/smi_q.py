"""`nvidia-smi -q`: power, limits and reasons of slower clocks of each GPU.

Layer: readers. Reads no file. Lines are `key : value` below the name of their section; the same
keys come in several sections, so a key counts only with its section. Releases renamed both:

    Power Readings / Power Draw                 up to 530
    GPU Power Readings / Average Power Draw     later, beside Instantaneous Power Draw
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from commwall.readers.nvidia_smi import error_told, is_unavailable, value_in
from commwall.readers.reading import Reading, Unavailable
from commwall.readers.refusal import Unreadable
from commwall.schema.base import Model

KIND = "smi-q"

_BANNER = re.compile(r"^[ \t]*=+ ?NVSMI LOG ?=+", re.MULTILINE)
_GPU = re.compile(r"[ \t]*GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])[ \t]*")
_GPU_LINE = re.compile(rf"^{_GPU.pattern}$", re.MULTILINE)
_POWER = ("GPU Power Readings", "Power Readings")
_MODULE = ("Module Power Readings",)
_SAMPLES = ("Power Samples",)
_REASONS = ("Clocks Event Reasons", "Clocks Throttle Reasons")
_LAST_REASONS = ("Display Clock Setting", "SW Thermal Slowdown")
_DRAW = ("Power Draw", "Average Power Draw")
_LIMIT = ("Current Power Limit", "Power Limit")
_GENERATION, _WIDTH, _FABRIC = "PCIe Generation", "Link Width", "Fabric"
_COUNT = re.compile(r"([1-9][0-9]?)x?")
_WATT = "W"
_IDLE = "Idle"
_TIMESTAMP = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]?[0-9] [0-9:]{8} [0-9]{4}")
"""The longest value there is: where lines are cut or broken at a screen's width, so is it."""


class QueriedGpu(Model):
    """Power of a GPU [W], and why its clocks are not at their highest."""

    bus_id: str
    power_draw_w: float | Unavailable | None
    power_draw_field: str | None
    """The key that was read: Power Draw, or Average Power Draw."""
    instant_power_w: float | Unavailable | None
    power_limit_w: float | Unavailable | None
    default_limit_w: float | Unavailable | None
    max_limit_w: float | Unavailable | None
    samples_avg_w: float | Unavailable | None
    samples_max_w: float | Unavailable | None
    module_power_w: float | Unavailable | None
    power_capped_below_default: bool | None
    throttle_active: tuple[str, ...] | None
    """Reasons that are active, Idle among them."""
    throttled: bool | None
    """Whether one is active besides Idle; None where reasons are not all there."""
    pcie_generation: int | None = None
    """Of its link as it is now: lower where it idles."""
    pcie_generation_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    fabric_state: str | None = None
    """Of the NVSwitch fabric, in nvidia-smi's words: Completed, In Progress …"""


class Query(Reading):
    """What `nvidia-smi -q` says."""

    gpu_count: int | None = None
    """GPUs of the machine, as the text counts them; else those that are described."""
    driver_version: str | None = None
    timestamp: str | None = None
    gpus: tuple[QueriedGpu, ...] | None = None


@dataclass
class _Block:
    """A GPU: (section, key) -> value; None where a key stands twice, as when a
    heading is lost."""

    bus_id: str
    values: dict[tuple[str, str], str | None] = field(default_factory=dict)
    last_key: tuple[str, str] | None = None
    closed: bool = False
    """Something follows its last key."""


def looks_like(text: str) -> bool:
    """Whether the banner of `-q` is there, or a GPU's heading with a section below it."""
    return bool(
        ("NVSMI LOG" in text and _BANNER.search(text))
        or ("GPU 0" in text and _GPU_LINE.search(text))
    )


def read(text: str) -> Query:
    """What the text says of each GPU.

    Raises:
        Unreadable: if no GPU is described, one is twice, or lines are cut at a screen's width.
    """
    lines = text.split("\n")
    cut = lines.pop()
    if cut.rstrip().endswith(f" {_WATT}"):
        lines.append(cut)  # a value with its unit is whole
    top, blocks = _blocks(lines)
    if not blocks:
        return _failure(text)
    if len({block.bus_id for block in blocks}) < len(blocks):
        raise Unreadable(KIND, "gpu_described_twice")
    timestamp = top.get("Timestamp")
    if timestamp is not None and not _TIMESTAMP.fullmatch(timestamp):
        raise Unreadable(KIND, "lines_cut")
    attached = top.get("Attached GPUs", "")
    count = int(attached) if re.fullmatch(r"[0-9]{1,4}", attached) else len(blocks)
    return Query(
        kind=KIND,
        tool="nvidia-smi -q",
        partial=bool(cut.strip()) or count > len(blocks),
        gpu_count=max(count, len(blocks)),
        driver_version=top.get("Driver Version"),
        timestamp=timestamp,
        gpus=tuple(map(_queried, blocks)),
    )


def _failure(text: str) -> Query:
    error = error_told(text, KIND, "no_gpu_described")
    return Query(kind=KIND, tool="nvidia-smi -q", readable=False, error=error)


def _blocks(lines: list[str]) -> tuple[dict[str, str], list[_Block]]:
    """What stands before the first GPU, and the GPUs."""
    top: dict[str, str] = {}
    blocks: list[_Block] = []
    section = ""
    for line in lines:
        if not line:
            _close(blocks)
            continue
        key, colon, value = _parts(line)
        if heading := _GPU.fullmatch(line):
            _close(blocks)
            blocks.append(_Block(heading[1]))
            section = ""
        elif not blocks:
            if colon:
                top.setdefault(key, value)
        elif colon:
            _put(blocks[-1], (section, key), value)
        else:
            _close(blocks)
            section = key or section
    return top, blocks


def _parts(line: str) -> tuple[str, bool, str]:
    """Key, whether there is a value, and the value."""
    key, colon, value = line.partition(" :")
    if not colon:
        key, colon, value = line.partition(": ")
    return key.strip(), bool(colon), value.strip()


def _close(blocks: list[_Block]) -> None:
    if blocks:
        blocks[-1].closed = True


def _put(block: _Block, place: tuple[str, str], value: str) -> None:
    block.values[place] = None if place in block.values else value
    block.closed = False
    block.last_key = place


def _section(block: _Block, names: tuple[str, ...]) -> dict[str, str]:
    """Key -> value of the sections of those names."""
    return {key: value for (name, key), value in block.values.items() if name in names and value}


def _queried(block: _Block) -> QueriedGpu:
    power, samples = _section(block, _POWER), _section(block, _SAMPLES)
    draw = _first(power, _DRAW)
    module = _section(block, _MODULE)
    limit = _watts(power, _first(power, _LIMIT))
    default = _watts(power, "Default Power Limit")
    active = _active(block)
    return QueriedGpu(
        bus_id=block.bus_id,
        power_draw_w=_watts(power, draw),
        power_draw_field=draw,
        instant_power_w=_watts(power, "Instantaneous Power Draw"),
        power_limit_w=limit,
        default_limit_w=default,
        max_limit_w=_watts(power, "Max Power Limit"),
        samples_avg_w=_watts(samples, "Avg"),
        samples_max_w=_watts(samples, "Max"),
        module_power_w=_watts(module, _first(module, _DRAW)),
        power_capped_below_default=(
            limit < default if isinstance(limit, float) and isinstance(default, float) else None
        ),
        throttle_active=active,
        throttled=None if active is None else any(reason != _IDLE for reason in active),
        pcie_generation=_count(block, _GENERATION, "Current"),
        pcie_generation_max=_count(block, _GENERATION, "Max"),
        pcie_width=_count(block, _WIDTH, "Current"),
        pcie_width_max=_count(block, _WIDTH, "Max"),
        fabric_state=_fabric_state(block),
    )


def _count(block: _Block, section: str, key: str) -> int | None:
    """A number such as `16x`; None where it is not told."""
    found = _COUNT.fullmatch(block.values.get((section, key)) or "")
    return int(found[1]) if found else None


def _fabric_state(block: _Block) -> str | None:
    state = block.values.get((_FABRIC, "State"))
    return None if state is None or is_unavailable(state) else state


def _first(section: Mapping[str, str], keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if key in section), None)


def _watts(section: Mapping[str, str], key: str | None) -> float | Unavailable | None:
    return value_in(section.get(key) if key else None, _WATT)


def _active(block: _Block) -> tuple[str, ...] | None:
    """Active reasons; None where they are not told, or the text ends among them."""
    reasons = _section(block, _REASONS)
    told_twice = any(value is None for (name, _), value in block.values.items() if name in _REASONS)
    states = {reason: value for reason, value in reasons.items() if value.endswith("Active")}
    if not states or told_twice:
        return None
    name, key = block.last_key or ("", "")
    if not block.closed and name in _REASONS and key not in _LAST_REASONS:
        return None
    return tuple(reason for reason, value in states.items() if value == "Active")
