"""What became of the cases of a launch: results that ranks wrote, and the cause of an accident.

Layer: measure. Reads the results in the launch's folder, and the end of its log.
"""

import os
import re
from pathlib import Path

from commwall.records.state import AccidentCause
from commwall.schema.errors import ConfigError
from commwall.schema.parsing import parse_json_model
from commwall.schema.result import CaseResult

TAIL_BYTES = 20_000
DETAIL_LENGTH = 500
WORST_FIRST = ("out_of_memory", "unsupported", "check_failed", "error")
"""Of several ranks that failed, the one whose cause explains the others."""
GPU_LOST = re.compile(
    r"GPU is lost|fallen off the bus|uncorrectable (?:ECC|NVLink) error"
    r"|CUDA error: (?:unknown error|no CUDA-capable device)"
)
"""What NVML, the driver and CUDA's runtime say of a GPU that went away, whatever was asked of it.

Source: CUDA Runtime API, cudaError_t; NVIDIA, XID errors, XID 79.
"""
SIGNS: tuple[tuple[AccidentCause, re.Pattern[str]], ...] = (
    ("disk_full", re.compile(r"No space left on device|Disk quota exceeded")),
    (
        "node_lost",
        re.compile(
            r"NODE FAILURE|Node failure on|io error with slurmstepd"
            r"|failed on node \S+: (Communication|Unable to contact)"
        ),
    ),
    ("gpu_lost", GPU_LOST),
    ("timeout", re.compile(r"[Tt]imed out|timeout caused|operation timeout")),
    ("killed", re.compile(r"exitcode\s*:\s*-\d+ \(pid|STEP \S+ ON \S+ CANCELLED AT")),
    ("launch_failed", re.compile(r"NCCL error|nccl(?:System|Internal|Remote|UnhandledCuda)Error")),
)
"""What the end of a log tells of an accident; the first that is found counts.

A hung collective is told before a killed process: torchrun kills what does not answer.
"""


def read_result(folder: Path, case: str) -> CaseResult | None:
    """What a launch found for a case; of several ranks that failed, the telling one.

    A file that does not parse counts as none, and so does an error of a GPU that went away: the
    case then had an accident.
    """
    whole = _parse_result(folder / f"{case}.json")
    if whole:
        return whole
    failed = [_parse_result(path) for path in sorted(folder.glob(f"{case}.rank*.failed.json"))]
    told = [result for result in failed if result and not _of_a_lost_gpu(result)]
    return min(told, key=lambda result: WORST_FIRST.index(result.cause or "error"), default=None)


def _of_a_lost_gpu(result: CaseResult) -> bool:
    """Whether a rank took for the case's own error what the loss of its GPU was."""
    return result.cause == "error" and bool(GPU_LOST.search(result.detail or ""))


def _parse_result(path: Path) -> CaseResult | None:
    try:
        return parse_json_model(CaseResult, path.read_bytes(), path.name)
    except (FileNotFoundError, ConfigError):
        return None


def diagnose(log: Path, code: int, *, begun: bool) -> tuple[AccidentCause, str]:
    """Cause of an accident and what is known of it.

    Args:
        log: output of the launch.
        code: exit code of the launcher; below 0 the signal that ended it.
        begun: whether a case was under way.
    """
    tail = _tail(log)
    last = "; ".join(line.strip() for line in tail.splitlines() if line.strip())[-DETAIL_LENGTH:]
    if code < 0:
        return "killed", f"the launcher was ended by signal {-code}"
    for cause, sign in SIGNS:
        found = sign.search(tail)
        if found:
            return cause, _line_around(tail, found.start())
    said = f"exit code {code}; the log ends: {last}" if last else f"exit code {code}, empty log"
    return ("killed" if begun else "launch_failed"), said


def _line_around(text: str, position: int) -> str:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return text[start : end if end >= 0 else None].strip()


def _tail(log: Path) -> str:
    with log.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - TAIL_BYTES))
        return stream.read().decode(errors="replace")
