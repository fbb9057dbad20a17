"""Mitigations and their workloads in words.

Layer: analysis. Reads and writes no file.
"""

from commwall.language.translate import listed, said, tr
from commwall.schema.mitigation import Mitigation
from commwall.schema.workload import Workload


def mitigation_text(mitigation: Mitigation) -> str:
    """Its options: "bfloat16 exchange, buckets of 100 MiB"."""
    return listed(map(said, mitigation.phrases))


def workload_text(case: Workload) -> str:
    """Model and batch of a case: "bert base, 32 per process"."""
    return tr(
        "{model} {preset}, {batch} per process",
        model=case.model,
        preset=case.preset,
        batch=case.batch_per_gpu,
    )
