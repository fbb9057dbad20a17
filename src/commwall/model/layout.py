"""How GPUs share a step: degrees of data, tensor, pipeline and expert parallelism.

Layer: model. Reads and writes no file. Order on the machine, innermost first: tensor, data (experts
lie among its ranks), pipeline.

Source: Narayanan et al., arXiv:2104.04473, section 3.3; Megatron-LM places ranks in this order.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from commwall.model.links import Values
from commwall.model.workload import Workload

Schedule = Literal["gpipe", "1f1b"]
"""gpipe: all forward passes, then all backward ones; 1f1b: one of each in turn."""


@dataclass(frozen=True)
class Layout:
    """Degrees, or arrays of degrees; their product without `expert` is the number of GPUs."""

    data: Values = 1
    tensor: Values = 1
    pipeline: Values = 1
    expert: Values = 1
    """Data-parallel ranks among which the experts of a layer are divided; divides `data`."""
    zero: int = 0
    """Stage of ZeRO."""
    schedule: Schedule = "1f1b"
    whole_gradients: bool = False
    """Where ZeRO divides gradients: they are kept whole between micro-batches, scattered once."""

    @property
    def gpus(self) -> Values:
        """All of them."""
        return self.data * self.tensor * self.pipeline


def micro_batch(workload: Workload) -> float:
    """Samples that a replica works on at a time."""
    return workload.micro_batch or workload.batch_per_gpu


def micro_batches(workload: Workload, layout: Layout) -> Values:
    """Micro-batches of a replica in a step; its GPUs work on each together."""
    replica = layout.tensor * layout.pipeline
    return workload.batch_per_gpu * replica / micro_batch(workload)


def divisors(number: int) -> tuple[int, ...]:
    """All divisors, ascending."""
    return tuple(each for each in range(1, number + 1) if number % each == 0)


def layouts(gpus: int, layers: int, heads: int, experts: int = 1) -> Layout:
    """Every way to divide a step over so many GPUs, as arrays of shape (ways,).

    Args:
        gpus: number of GPUs.
        layers: of the model; a pipeline's stages hold equally many.
        heads: of the attention; tensor parallelism divides them evenly.
        experts: in each layer; 1 is none.
    """
    ways = [
        (gpus // (tensor * pipeline), tensor, pipeline, expert)
        for tensor in divisors(gpus)
        if heads % tensor == 0
        for pipeline in divisors(gpus // tensor)
        if layers % pipeline == 0
        for expert in divisors(gpus // (tensor * pipeline))
        if experts % expert == 0
    ]
    data, tensor, pipeline, expert = np.array(ways, dtype=np.int64).T
    return Layout(data, tensor, pipeline, expert)
