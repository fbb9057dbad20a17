"""Mitigations and their workloads in words.

Layer: analysis. Reads and writes no file.
"""

from commwall.analysis.mitigations.turns import Tried
from commwall.language.translate import listed, said, tr
from commwall.schema.mitigation import Mitigation
from commwall.schema.workload import Workload


def mitigation_text(mitigation: Mitigation) -> str:
    """Its options: "bfloat16 exchange, buckets of 100 MiB"."""
    return listed(map(said, mitigation.phrases))


def tried_text(tried: Tried) -> str:
    """Options and variables: "bfloat16 exchange, NCCL_MIN_CTAS=16"."""
    options = [mitigation_text(tried.mitigation)] if tried.mitigation else []
    return listed([*options, *(f"{name}={value}" for name, value in tried.settings)])


def workload_text(case: Workload) -> str:
    """Model and batch of a case: "bert base, 32 per process"."""
    return tr(
        "{model} {preset}, {batch} per process",
        model=case.model,
        preset=case.preset,
        batch=case.batch_per_gpu,
    )
