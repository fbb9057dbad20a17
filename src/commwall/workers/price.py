"""What a mitigation costs numerically: loss on a small real task, and the error of its gradients.

Layer: workers. Reads and writes no file. The price is a matter of arithmetic, not of the link: all
ranks train on their CPUs and exchange through the group for agreements, which no link delays.
"""

import math
from functools import cache

import torch
import torch.distributed as dist

from commwall.schema.mitigation import NEEDS_GPUS, Mitigation, PriceCase
from commwall.schema.result import CaseResult, Check, Gap
from commwall.workers.findings import Findings
from commwall.workers.group import Group
from commwall.workers.mitigated import mitigated_step
from commwall.workers.reading import Reading
from commwall.workers.reporting import exchanged, runtime_facts, tell_progress

BUCKET_BYTES = 2**16
"""Small enough that the small model has several buckets [byte]."""
ONE_BUCKET_BYTES = 2**22
"""Large enough for all of its gradients [byte]."""
NO_EXCHANGE = "gradients are not exchanged: ranks average their weights"
_PLAIN = Mitigation.model_construct()


def run_price(name: str, case: PriceCase, group: Group) -> CaseResult:
    """Train with and without a mitigation from the same seeds.

    Raises:
        Unsupported: if there is no text to learn from.
        CheckFailed: if a training ends without a finite loss.
    """
    findings = Findings(name, group.rank)
    numerical = Mitigation.model_validate(case.mitigation.numerical)
    seeds = range((group.round - 1) * case.seeds, group.round * case.seeds)
    tell_progress(group, name, "price")
    plain = [_plain_loss(seed, case.batches, group) for seed in seeds]
    runs = [
        _train(seed, case.batches, numerical, group, watched=seed == seeds[0]) for seed in seeds
    ]
    losses = [loss for loss, _ in runs]
    findings.check(_finite_check([*plain, *losses]))
    findings.values("held_out_loss", plain, "full")
    findings.values("held_out_loss", losses, "mitigated")
    if numerical.local_steps > 1:
        findings.gap(Gap(what="gradient_error", reason=NO_EXCHANGE))
    else:
        findings.values("gradient_error", runs[0][1], "mitigated")
    findings.runtime = runtime_facts(group, name)
    return exchanged(name, group, findings)


@cache
def _plain_loss(seed: int, batches: int, group: Group) -> float:
    """Loss after the training without a mitigation, which several cases of a launch share."""
    return _train(seed, batches, _PLAIN, group, watched=False)[0]


def _train(
    seed: int, batches: int, mitigation: Mitigation, group: Group, *, watched: bool
) -> tuple[float, list[float]]:
    """Loss on text that was not learnt [nat], and where watched the error of each gradient [1]."""
    reading = Reading(seed, group.rank, batches, mitigation.batch_times)
    bucket_bytes = ONE_BUCKET_BYTES if mitigation.exchange in NEEDS_GPUS else BUCKET_BYTES
    step = mitigated_step(reading, mitigation, bucket_bytes, group.control)
    errors = []
    for _ in range(batches // mitigation.batches):
        exact = _exact_gradient(reading, mitigation.accumulate, group) if watched else None
        step()
        if exact is not None and mitigation.local_steps == 1:
            error = torch.linalg.vector_norm(reading.gradient() - exact)
            errors.append(float(error / torch.linalg.vector_norm(exact)))
    return reading.held_out_loss(), errors


def _exact_gradient(reading: Reading, batches: int, group: Group) -> torch.Tensor:
    """Mean of all ranks' gradients of the next batches, in double precision."""
    mean = reading.local_gradient(batches)
    dist.all_reduce(mean, group=group.control)
    return mean / group.size


def _finite_check(losses: list[float]) -> Check:
    return Check(
        name="finite_losses",
        passed=all(map(math.isfinite, losses)),
        found=", ".join(f"{loss:.4g}" for loss in losses),
        expected="finite numbers",
    )
