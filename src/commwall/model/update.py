"""What a step moves through a GPU's memory after its gradients are known: update and packing.

Layer: model. Reads and writes no file. Neither grows with the batch: of a small batch's step they
take a large part. At the nominal rate of the memory this is the least time that they take.
"""

from commwall.model.layout import Layout
from commwall.model.links import Values
from commwall.model.strategies import shared_gradient_bytes
from commwall.model.workload import Workload

UPDATE_BYTES = 28
"""Of AdamW for each parameter: weight, gradient and two moments are read, all but the gradient are
written, 7 values of 32 bits. With weights and gradients of 16 bits and a copy of the weights in 32
bits it is 14 read and 14 written, the same [byte].

Source: PyTorch, aten/src/ATen/native/cuda/fused_adam_utils.cuh (gradients not scaled).
"""
PACKING_PASSES = 2
"""Times that gradients are moved to be exchanged: read, and written into their bucket. They are not
copied back where they are views of the buckets.

Source: PyTorch, DistributedDataParallel, `gradient_as_bucket_view`.
"""


def update_bytes(workload: Workload, layout: Layout) -> Values:
    """Moved by one GPU to update what it holds and to pack what it exchanges [byte].

    ZeRO divides the update among the data-parallel ranks of each parameter.
    """
    experts = workload.expert_parameters
    dense = workload.parameters - experts
    shares = (layout.data, layout.data / layout.expert) if layout.zero else (1, 1)
    held = dense / shares[0] + experts / layout.expert / shares[1]
    updated = held / (layout.tensor * layout.pipeline)
    return UPDATE_BYTES * updated + packing_bytes(sum(shared_gradient_bytes(workload, layout)))


def packing_bytes(gradient_bytes: Values) -> Values:
    """Moved to pack gradients into buckets [byte]."""
    return PACKING_PASSES * gradient_bytes
