"""All cases of a launch, one after the other, and what becomes of a case that fails.

Layer: workers. Writes `<case>.json` (rank 0) or `<case>.rank<N>.failed.json` (a rank that
fails) into the launch's output folder.
"""

import gc
import importlib
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Literal

import torch

from commwall.schema.case import SuiteName
from commwall.schema.result import CaseResult, LaunchRequest, NamedCase, Transfer
from commwall.workers.findings import write_result
from commwall.workers.graphs import own_stream
from commwall.workers.group import Group, join
from commwall.workers.known_transfer import launch_transfer
from commwall.workers.outcomes import (
    EXIT_ACCIDENT,
    EXIT_FAILED_CASE,
    CheckFailed,
    cause_of,
    is_accident,
)

_LONGEST_DETAIL = 2000


def run_cases(request: LaunchRequest) -> None:
    """Measure all cases, or only compile; a case that fails ends this process, torchrun the others.

    Going on in the same process group would pair one rank's next case with another's last.
    """
    torch.set_num_threads(request.threads_per_rank)
    run_case = suite_runner(request.suite, "compile_case" if request.only_compile else "run_case")
    gc.freeze()  # what is loaded, stays: no garbage is sought there
    gc.enable()
    group: Group | None = None
    transfer: Transfer | None = None
    for named in request.cases:
        with _LastWords(request, named):
            if group is None:
                group = join(request)
                transfer = None if request.only_compile else launch_transfer(group, request.suite)
            with own_stream(group.device):
                result = run_case(named, group).model_copy(update={"transfer": transfer})
            if group.rank == 0:
                write_result(result, Path(request.output_dir) / f"{named.name}.json")
            group.texts(f"written/{named.name}", "")
    if group:
        group.leave()


def suite_runner(
    suite: SuiteName, function: Literal["run_case", "compile_case"] = "run_case"
) -> Callable[[NamedCase, Group], CaseResult]:
    """The function of a suite that measures one case, or has it compiled.

    Imported by name, so that the code of one suite is not part of another's digest, and a
    launch loads only what it runs; `commwall.records.freshness.suite_modules` names the module.
    """
    module = importlib.import_module(f"commwall.workers.{suite}")
    runner: Callable[[NamedCase, Group], CaseResult] = getattr(module, function)
    return runner


def failed_result(case: str, rank: int, error: Exception) -> CaseResult:
    """The result a failing rank leaves."""
    detail = f"rank {rank}: {type(error).__name__}: {error}"
    return CaseResult(
        case=case,
        status="failed",
        cause=cause_of(error),
        detail=detail[:_LONGEST_DETAIL],
        checks=error.checks if isinstance(error, CheckFailed) else (),
    )


class _LastWords:
    """Records an outcome that escapes its block, then ends the process at once.

    At once, because leaving by the normal way could wait in gloo or NCCL for ranks that wait
    for this one. An accident leaves no file: another rank has the reason, or there is none
    that would come again.
    """

    def __init__(self, request: LaunchRequest, named: NamedCase) -> None:
        self._folder = Path(request.output_dir)
        self._case = named.name
        self._rank = int(os.environ["RANK"])

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not isinstance(error, Exception):
            return
        traceback.print_exception(kind, error, trace)
        accident = is_accident(error)
        if not accident:
            result = failed_result(self._case, self._rank, error)
            write_result(result, self._folder / f"{self._case}.rank{self._rank}.failed.json")
        what = "an accident, not recorded" if accident else "failed"
        sys.stderr.write(f"commwall: case {self._case}, rank {self._rank}: {what}\n")
        sys.stderr.flush()
        os._exit(EXIT_ACCIDENT if accident else EXIT_FAILED_CASE)
