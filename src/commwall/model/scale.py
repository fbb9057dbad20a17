"""Time of a step on any number of GPUs: compute, exchanges and bubble added up.

Layer: model. Reads and writes no file.
"""

import math
from dataclasses import dataclass

from commwall.model.layout import Layout, micro_batches
from commwall.model.links import Fabric, Values
from commwall.model.overlap import exposed_s
from commwall.model.strategies import (
    expert_exchange_s,
    gradient_exchanges,
    stage_exchange_s,
    tensor_exchange_s,
)
from commwall.model.update import update_bytes
from commwall.model.workload import Workload

BUCKET_BYTES = 25 * 2**20
"""Source: PyTorch, DistributedDataParallel, default of `bucket_cap_mb`: 25 MiB."""


@dataclass(frozen=True)
class StepTime:
    """Parts of a step, one after the other [s]."""

    compute_s: Values
    """Forward and backward pass."""
    update_s: Values
    """Optimiser, and packing of gradients."""
    tensor_s: Values
    expert_s: Values
    bubble_s: Values
    """A stage waits while the pipeline fills and drains."""
    stages_s: Values
    """Messages between stages that are waited for."""
    gradients_s: Values
    """Exchange of gradients, and of ZeRO's parameters, that compute does not hide."""
    exchange_s: Values
    """The whole of it with nothing in the way; not a part of its own."""

    @property
    def whole_s(self) -> Values:
        """The step [s]."""
        waited = self.tensor_s + self.expert_s + self.bubble_s + self.stages_s + self.gradients_s
        return self.compute_s + self.update_s + waited


def step_time(
    workload: Workload,
    layout: Layout,
    fabric: Fabric,
    *,
    flops_per_s: Values,
    overlap: Values,
    memory_bytes_per_s: Values = math.inf,
    bucket_bytes: float = BUCKET_BYTES,
) -> StepTime:
    """Time of a step.

    Args:
        workload: what is trained.
        layout: how GPUs share it; arrays give arrays.
        fabric: links of the cluster.
        flops_per_s: FLOPs of the model that a GPU does in a second of pure compute [FLOP/s].
        overlap: share of what could be hidden that is, between 0 and 1.
        memory_bytes_per_s: of a GPU's memory; infinite leaves update and packing out [byte/s].
        bucket_bytes: of gradients that are exchanged together [byte].
    """
    compute_s = workload.work_share * workload.flops_per_gpu / flops_per_s
    update_s = update_bytes(workload, layout) / memory_bytes_per_s
    tensor_s = tensor_exchange_s(workload, layout, fabric)
    expert_s = expert_exchange_s(workload, layout, fabric)
    busy_s = compute_s + tensor_s + expert_s
    exchanges = gradient_exchanges(workload, layout, fabric, bucket_bytes)
    return StepTime(
        compute_s=compute_s,
        update_s=update_s,
        tensor_s=tensor_s,
        expert_s=expert_s,
        bubble_s=busy_s * (layout.pipeline - 1) / micro_batches(workload, layout),
        stages_s=stage_exchange_s(workload, layout, fabric, overlap),
        gradients_s=sum(
            exposed_s(compute_s + update_s, each_s, overlap, window) for each_s, window in exchanges
        ),
        exchange_s=sum(each_s for each_s, _ in exchanges),
    )
