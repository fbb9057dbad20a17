"""What every suite tells of a case: progress, the set-up, and the ranks' findings as one.

Layer: workers. Writes progress lines to stderr, which is the launch's log.
"""

import sys

import torch

from commwall.schema.result import CaseResult, RuntimeFacts
from commwall.workers.findings import Findings, merge
from commwall.workers.group import Group


def tell_progress(group: Group, case: str, part: str) -> None:
    """Tell, once a launch, what of a case begins now; `part` is one word."""
    if group.rank == 0:
        sys.stderr.write(f"commwall-progress {case} {part}\n")
        sys.stderr.flush()


def runtime_facts(
    group: Group,
    case: str,
    *,
    parameters: int | None = None,
    step_flops: float | None = None,
    buckets: tuple[int, ...] = (),
) -> RuntimeFacts:
    """The workers' software and devices; all ranks must ask.

    Args:
        group: the ranks.
        case: name of the case.
        parameters: of the model, where there is one.
        step_flops: of one step of one process, where the model's family has a formula [FLOP].
        buckets: bytes of the gradient buckets, where there are any [byte].
    """
    device = group.device
    cuda = device.type == "cuda"
    name = torch.cuda.get_device_name(device) if cuda else "cpu"
    return RuntimeFacts(
        torch=torch.__version__,
        cuda=torch.version.cuda if cuda else None,
        nccl=".".join(map(str, torch.cuda.nccl.version())) if cuda else None,
        device_names=group.texts(f"devices/{case}", name),
        threads_per_rank=torch.get_num_threads(),
        parameters=parameters,
        step_flops=step_flops,
        bucket_bytes=buckets,
    )


def exchanged(case: str, group: Group, findings: Findings) -> CaseResult:
    """The merged findings of all ranks; all ranks must ask, and get the same."""
    mine = findings.result().model_dump_json()
    reports = group.texts(f"findings/{case}", mine)
    return merge([CaseResult.model_validate_json(report) for report in reports])


def skipped(case: str, reason: str) -> CaseResult:
    """The result of a case that the platform has no use for."""
    return CaseResult(case=case, status="skipped", detail=reason)
