"""A trace of PyTorch's profiler: how long GPUs communicated, and how much of it was exposed.

Layer: readers. Reads no file. Times are unions of intervals per device, added over devices: two
kernels at once are not two times. A communication kernel's time contains waiting for its peers.
Annotations repeat the kernels' spans and count as nothing; copies are no kernels.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from commwall.readers.reading import Reading
from commwall.readers.refusal import Unreadable
from commwall.schema.base import Model

KIND = "torch-trace"

Interval = tuple[float, float]
"""Start and end [us]."""
_HEAD_CHARACTERS = 100_000
_UNNAMED = ("ncclDevKernel_", "ncclKernel_", "nccl")
_KERNEL, _COPIES = "kernel", ("gpu_memcpy", "memcpy", "gpu_memset", "memset")
_CONTEXT_CHARACTERS = 40


class CollectiveTime(Model):
    """All kernels of one collective."""

    name: str
    count: int
    total_us: float
    """Union of its kernels' times per device [us]."""


class TorchTrace(Reading):
    """Times of one rank's GPUs."""

    rank: int | None = None
    world_size: int | None = None
    backend: str | None = None
    gpu_kernel_count: int | None = None
    nccl_kernel_count: int | None = None
    device_count: int | None = None
    comm_total_us: float | None = None
    """Time with a communication kernel [us]; None without one: that says nothing of 0."""
    compute_total_us: float | None = None
    """Time with any other kernel [us]."""
    overlap_us: float | None = None
    """Time with both [us]."""
    exposed_comm_us: float | None = None
    """Communication without a kernel beside it [us]."""
    span_us: float | None = None
    """From the first kernel's start to the last one's end [us]."""
    memcpy_total_us: float | None = None
    collectives: tuple[CollectiveTime, ...] | None = None
    warnings: tuple[str, ...] = ()
    invalid_at: str | None = None
    """What stands where the JSON breaks."""


def looks_like(text: str) -> bool:
    """Whether it is JSON that has a trace's events near its head."""
    start = text[:_HEAD_CHARACTERS].lstrip()
    if start[:1] not in ("{", "["):
        return False
    return '"traceEvents"' in start or ('"ph"' in start and '"ts"' in start)


def read(text: str) -> TorchTrace:
    """Times of the kernels of a trace. A broken one is told as such, with the place.

    Raises:
        Unreadable: if it has no list of events, or what ran on a GPU lacks its category, its name
            or its time.
    """
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise Unreadable(KIND, "nested_too_deeply") from error
    except json.JSONDecodeError as error:
        return _broken(text, error)
    except ValueError as error:  # a number of more digits than Python reads
        raise Unreadable(KIND, "number_too_long") from error
    about = document if isinstance(document, dict) else {}
    events = about.get("traceEvents") if about else document
    if not isinstance(events, list):
        raise Unreadable(KIND, "no_events")
    if any(not {"ph", "cat", "name"} <= event.keys() for event in _of_a_stream(events)):
        raise Unreadable(KIND, "kernel_without_category")
    kernels = [event for event in map(_timed, _of_category(events, (_KERNEL,))) if event]
    copies = [event for event in map(_timed, _of_category(events, _COPIES)) if event]
    return _trace(about, kernels, copies, _has_annotations(events))


class _Event(tuple[int | str, float, float, str, str]):
    """Device, start [us], end [us], kernel's name, collective's name or ''."""


def _broken(text: str, error: json.JSONDecodeError) -> TorchTrace:
    """A document that is cut off or has no value where one must be."""
    start = max(error.pos - _CONTEXT_CHARACTERS, 0)
    return TorchTrace(
        kind=KIND,
        tool="pytorch-trace",
        readable=False,
        partial=error.pos >= len(text.rstrip()),
        error="invalid_json",
        invalid_at=text[start : error.pos + 2],
    )


def _of_category(events: Iterable[Any], wanted: Sequence[str]) -> Iterable[dict[str, Any]]:
    for event in events:
        if isinstance(event, dict) and event.get("ph", "X") == "X":
            category = event.get("cat")
            if isinstance(category, str) and category.lower() in wanted:
                yield event


def _of_a_stream(events: Iterable[Any]) -> Iterable[dict[str, Any]]:
    """Events that ran on a GPU's stream, by what they say of themselves."""
    for event in events:
        arguments = event.get("args") if isinstance(event, dict) else None
        if isinstance(arguments, dict) and {"device", "stream"} <= arguments.keys():
            yield event


def _timed(event: dict[str, Any]) -> _Event:
    """Where and when an event ran.

    Raises:
        Unreadable: if its time is no number: a sum without it would be wrong.
    """
    start, taken = event.get("ts"), event.get("dur")
    if not _is_number(start) or not _is_number(taken) or taken < 0:
        raise Unreadable(KIND, "kernel_without_time")
    found = event.get("args")
    arguments = found if isinstance(found, dict) else {}
    device = arguments.get("device", event.get("pid"))
    name = str(event.get("name", ""))
    collective = str(arguments.get("Collective name") or "")
    place = device if isinstance(device, int | str) else ""
    return _Event((place, start, start + taken, name, collective))


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _has_annotations(events: Iterable[Any]) -> bool:
    return any(
        isinstance(event, dict) and event.get("cat") == "gpu_user_annotation" for event in events
    )


def _is_communication(event: _Event) -> bool:
    return event[3].lower().startswith("nccl")


def _trace(
    about: dict[str, Any], kernels: list[_Event], copies: list[_Event], annotated: bool
) -> TorchTrace:
    communication = [event for event in kernels if _is_communication(event)]
    others = [event for event in kernels if not _is_communication(event)]
    comm, compute = _unions(communication), _unions(others)
    comm_us, overlap_us = _length(comm), _length(_common(comm, compute))
    found = about.get("distributedInfo")
    group = found if isinstance(found, dict) else {}
    known = bool(communication)
    return TorchTrace(
        kind=KIND,
        tool="pytorch-trace",
        rank=_integer(group.get("rank")),
        world_size=_integer(group.get("world_size")),
        backend=str(group["backend"]) if group.get("backend") else None,
        gpu_kernel_count=len(kernels),
        nccl_kernel_count=len(communication),
        device_count=len({event[0] for event in kernels}) or None,
        comm_total_us=comm_us if known else None,
        compute_total_us=_length(compute) if kernels else None,
        overlap_us=overlap_us if known else None,
        exposed_comm_us=comm_us - overlap_us if known else None,
        span_us=_span(kernels),
        memcpy_total_us=_length(_unions(copies)) if copies else None,
        collectives=tuple(_collectives(communication)),
        warnings=_warnings(group, kernels, known=known, annotated=annotated),
    )


def _warnings(
    group: dict[str, Any], kernels: list[_Event], *, known: bool, annotated: bool
) -> tuple[str, ...]:
    said = {
        "gpu_user_annotation_must_not_be_counted": annotated,
        "distributed_run_but_no_nccl_kernel": not known and (group.get("world_size") or 1) != 1,
        "no_gpu_kernel": not kernels,
    }
    return tuple(name for name, holds in said.items() if holds)


def _unions(events: Iterable[_Event]) -> dict[int | str, list[Interval]]:
    """Device -> intervals that do not touch, in order."""
    by_device: dict[int | str, list[Interval]] = defaultdict(list)
    for device, start, end, _, _ in events:
        by_device[device].append((start, end))
    return {device: _union(intervals) for device, intervals in by_device.items()}


def _union(intervals: list[Interval]) -> list[Interval]:
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def _common(
    one: dict[int | str, list[Interval]], other: dict[int | str, list[Interval]]
) -> dict[int | str, list[Interval]]:
    """Times that are in both, per device."""
    return {device: _shared(one[device], other.get(device, [])) for device in one}


def _shared(one: list[Interval], other: list[Interval]) -> list[Interval]:
    found, at = list[Interval](), 0
    for start, end in one:
        while at < len(other) and other[at][1] <= start:
            at += 1
        ahead = at
        while ahead < len(other) and other[ahead][0] < end:
            found.append((max(start, other[ahead][0]), min(end, other[ahead][1])))
            ahead += 1
        at = max(at, ahead - 1)
    return found


def _length(unions: dict[int | str, list[Interval]]) -> float:
    return float(sum(end - start for union in unions.values() for start, end in union))


def _span(kernels: Sequence[_Event]) -> float | None:
    if not kernels:
        return None
    return float(max(event[2] for event in kernels) - min(event[1] for event in kernels))


def _collectives(communication: Iterable[_Event]) -> Iterable[CollectiveTime]:
    by_name: dict[str, list[_Event]] = defaultdict(list)
    for event in communication:
        by_name[event[4] or _name_of_kernel(event[3])].append(event)
    for name, events in by_name.items():
        yield CollectiveTime(name=name, count=len(events), total_us=_length(_unions(events)))


def _name_of_kernel(kernel: str) -> str:
    """`ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)` is an AllReduce."""
    prefix = next(known for known in (*_UNNAMED, "") if kernel.startswith(known))
    return kernel[len(prefix) :].split("(")[0].split("_")[0] or kernel


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
