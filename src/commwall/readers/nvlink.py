"""`nvidia-smi nvlink -s`: speed of each NVLink link of each GPU, in one direction.

Layer: readers. Reads no file. A GPU is a heading, its links are lines below it:

    GPU 0: NVIDIA H200 (UUID: GPU-…)
         Link 0: 26.562 GB/s
         Link 1: <inactive>

A GPU none of whose links is active may have a sentence in their place. A speed of 0 is a link that
is up and carries nothing: neither inactive nor active.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from commwall.readers.nvidia_smi import error_of
from commwall.readers.reading import Reading
from commwall.readers.refusal import Unreadable
from commwall.schema.base import Model

KIND = "nvlink"

_GPU = re.compile(r"[ \t]*GPU ([0-9]{1,4}): (\S.{0,199}?)(?: \(UUID: ?[^)]{0,80}\)?)?[ \t]*")
_SPEED = re.compile(r"[ \t]*Link ([0-9]{1,3}): ([0-9]{1,6}(?:\.[0-9]{1,6})?) GB/s[ \t]*")
_INACTIVE = re.compile(r"[ \t]*Link ([0-9]{1,3}): <?inactive>?[ \t]*", re.IGNORECASE)
_LINK = re.compile(r"[ \t]*Link ?[0-9]*:?.*")
_ALL_INACTIVE = re.compile(r"all links are inactive", re.IGNORECASE)
_UNSUPPORTED = re.compile(
    r"NVML: Unable to retrieve NVLink|NVLink.{0,40}not supported|Device does not (?:have|support)",
    re.IGNORECASE,
)
_SNIP = re.compile(
    r"[ \t]*(?:\[?\(?(?:snip\w*|\.{3,}|…|truncated|cut)\)?\]?|\[\.{3}\])[ \t]*", re.I
)
_SIGN = re.compile(
    r"^[ \t]*Link [0-9]{1,3}: (?:[0-9.]+ GB/s|<inactive>)|^NVML: Unable to retrieve NVLink",
    re.MULTILINE,
)


class LinkedGpu(Model):
    """A GPU and its links."""

    index: int
    name: str
    links: dict[str, float | Literal["inactive"]]
    """Number of the link -> speed in one direction [GB/s], or inactive."""
    active_links: int | None = None
    inactive_links: int | None = None
    zero_speed_links: int | None = None
    """Links that are up at speed 0; None if there are none."""
    sum_gbps: float | None = None
    """Speed of all active links in one direction [GB/s]."""
    state: str | None = None
    """all_links_inactive, not_supported, incomplete; None where the links say all."""


class NvLinks(Reading):
    """The NVLink links of a machine."""

    gpu_count: int | None = None
    gpus: tuple[LinkedGpu, ...] | None = None
    verdict: str | None = None
    """all_links_up, some_links_down, some_gpus_without_nvlink, no_nvlink or incomplete."""
    per_direction: bool = True


@dataclass
class _Gpu:
    index: int
    name: str
    links: dict[str, float | Literal["inactive"]] = field(default_factory=dict)
    state: str | None = None


def looks_like(text: str) -> bool:
    """Whether the speed of a link is told, or why it is not."""
    return "Link" in text and bool(_SIGN.search(text))


def read(text: str) -> NvLinks:
    """The links of each GPU.

    Raises:
        Unreadable: if no GPU with links is there, or a GPU or a link stands twice.
    """
    lines = text.split("\n")
    found: list[_Gpu] = []
    for number, line in enumerate(lines):
        heading = _GPU.fullmatch(line)
        if heading and (number < len(lines) - 1 or line.endswith(")")):
            found.append(_Gpu(int(heading[1]), heading[2]))
        elif found and not heading:  # a name at the very end may be cut
            _take(found[-1], line, at_end=number == len(lines) - 1)
        elif _SPEED.fullmatch(line) or _INACTIVE.fullmatch(line):
            raise Unreadable(KIND, "link_of_no_gpu")
    if len({gpu.index for gpu in found}) < len(found):
        raise Unreadable(KIND, "gpu_listed_twice")
    if not any(gpu.links or gpu.state for gpu in found):
        raise Unreadable(KIND, error_of(text) or "no_link")
    _mark_cut(found, open_end=bool(lines[-1]))
    gpus = tuple(map(_linked, found))
    one_more = bool(_GPU.fullmatch(lines[-1]))
    return NvLinks(
        kind=KIND,
        tool="nvidia-smi nvlink -s",
        partial=one_more or any(gpu.state == "incomplete" for gpu in gpus),
        gpu_count=len(gpus),
        gpus=gpus,
        verdict="incomplete" if one_more else _verdict(gpus),
    )


def _take(gpu: _Gpu, line: str, *, at_end: bool) -> None:
    """Add what a line says of a GPU. A last line without its end may be cut within a number."""
    speed, inactive = _SPEED.fullmatch(line), _INACTIVE.fullmatch(line)
    if speed or inactive:
        number = (speed or inactive)[1]  # type: ignore[index]
        if number in gpu.links:
            raise Unreadable(KIND, "link_listed_twice")
        gpu.links[number] = float(speed[2]) if speed else "inactive"
    elif _LINK.fullmatch(line) or _SNIP.fullmatch(line) or (at_end and line.strip()):
        gpu.state = "incomplete"
    elif told := _told_instead(line):
        if gpu.links:
            raise Unreadable(KIND, "gpu_without_heading")
        gpu.state = told


def _told_instead(line: str) -> str | None:
    """What a sentence in the place of links says."""
    if _ALL_INACTIVE.search(line):
        return "all_links_inactive"
    return "not_supported" if _UNSUPPORTED.search(line) else None


def _mark_cut(gpus: Sequence[_Gpu], *, open_end: bool) -> None:
    """Mark GPUs of which links are missing.

    There is a gap in the numbers, or others of the name have more, or nothing is said at all. The
    last GPU of a text whose last line has no end is whole only if another one is like it.
    """
    most: dict[str, int] = {}
    for gpu in gpus[: -1 if open_end else None]:
        most[gpu.name] = max(most.get(gpu.name, 1), len(gpu.links))
    for gpu in gpus:
        gap = set(map(int, gpu.links)) != set(range(len(gpu.links)))
        expected = most.get(gpu.name, len(gpu.links) + 1)
        if gap or (gpu.state is None and len(gpu.links) < expected):
            gpu.state = "incomplete"


def _linked(gpu: _Gpu) -> LinkedGpu:
    if gpu.state == "incomplete":
        return LinkedGpu(index=gpu.index, name=gpu.name, links=gpu.links, state=gpu.state)
    speeds = [value for value in gpu.links.values() if value != "inactive"]
    zero = speeds.count(0.0)
    unsupported = gpu.state == "not_supported"
    return LinkedGpu(
        index=gpu.index,
        name=gpu.name,
        links=gpu.links,
        active_links=None if unsupported else len(speeds) - zero,
        inactive_links=None if unsupported else len(gpu.links) - len(speeds),
        zero_speed_links=zero or None,
        sum_gbps=round(sum(speeds), 6) if gpu.links else None,
        state=gpu.state,
    )


def _verdict(gpus: Sequence[LinkedGpu]) -> str:
    if any(gpu.state == "incomplete" for gpu in gpus):
        return "incomplete"
    active = [gpu.active_links or 0 for gpu in gpus]
    if not any(active):
        return "no_nvlink"
    if not all(active):
        return "some_gpus_without_nvlink"
    down = any(gpu.inactive_links or gpu.zero_speed_links for gpu in gpus)
    return "some_links_down" if down else "all_links_up"
