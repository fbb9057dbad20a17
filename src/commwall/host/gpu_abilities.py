"""Whether the GPUs here answer what a launch asks of them, said before one is made.

Layer: host. Reads and writes no file.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from commwall.host.gpm import QUESTIONS, Interval, Monitor
from commwall.host.gpus import NvmlMissing, opened_nvml
from commwall.host.link_counters import has_links, read_links
from commwall.host.nvml_reader import AskedGpu, visible_gpus
from commwall.schema.metrics import METRICS

APART_S = 0.12
"""Two samples of performance monitoring must be 100 ms apart [s]."""


def why_no_monitoring(root: Path = Path("/")) -> str | None:
    """What performance monitoring does not answer, and why; None if it answers all."""
    return _told(root, _unanswered)


def why_no_link_counters(root: Path = Path("/")) -> str | None:
    """Why the payload on NVLink cannot be counted; None if it can."""
    return _told(root, _uncounted)


def _told(root: Path, judge: Callable[[Sequence[AskedGpu]], list[str | None]]) -> str | None:
    """What is wrong with the first GPU of which something is."""
    try:
        with opened_nvml(root) as nvml:
            gpus = visible_gpus(nvml)
            wrong = [f"GPU {i}: {words}" for i, words in enumerate(judge(gpus)) if words]
    except NvmlMissing as missing:
        return missing.reason
    return wrong[0] if wrong else None if gpus else "no GPU is shown"


def _unanswered(gpus: Sequence[AskedGpu]) -> list[str | None]:
    monitors = [Monitor(gpu) for gpu in gpus]
    try:
        for monitor in monitors:
            monitor.look()
        time.sleep(APART_S)
        return [_lacking(gpu, one.look()) for gpu, one in zip(gpus, monitors, strict=True)]
    finally:
        for monitor in monitors:
            monitor.close()


def _lacking(gpu: AskedGpu, interval: Interval | None) -> str | None:
    """Metrics that were not answered, under the reasons why; None if all were."""
    values = interval.values if interval else {}
    lacking: dict[str, list[str]] = {}
    for metric in QUESTIONS:
        if metric not in values:
            reason = gpu.refusals.get(metric, "no answer")
            lacking.setdefault(reason, []).append(METRICS[metric].label)
    if [len(labels) for labels in lacking.values()] == [len(QUESTIONS)]:
        return next(iter(lacking))
    told = (f"no {', '.join(labels)}: {reason}" for reason, labels in lacking.items())
    return "; ".join(told) or None


def _uncounted(gpus: Sequence[AskedGpu]) -> list[str | None]:
    read = [read_links(gpu) if has_links(gpu) else None for gpu in gpus]
    pairs = zip(gpus, read, strict=True)
    return [None if reading else gpu.refusals["nvlink"] for gpu, reading in pairs]
