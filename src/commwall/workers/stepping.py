"""Step modes: how the step of a training case is run on a device.

Layer: workers. Reads and writes no file.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from commwall.schema.case import CAPTURING, COMPILING, StepMode
from commwall.workers.compilation import named_refusals
from commwall.workers.graphs import Graph

WARMUPS = 12
"""Steps before a step is recorded. DDP measures itself in its first ten, which no graph can hold.

Source: PyTorch, notes "CUDA semantics", section "Usage with DistributedDataParallel".
"""
SETTLED_WARMUPS = 3
"""Steps before a step is recorded in which DDP has no part, or has measured itself already.

Source: PyTorch, notes "CUDA semantics", section "Whole-network capture".
"""

Step = Callable[[], object]


def first_run_of(mode: StepMode) -> AbstractContextManager[None]:
    """Surrounds the first step, in which blocks are compiled.

    Raises:
        Unsupported: if the compiler refuses one.
    """
    return named_refusals() if mode in COMPILING else nullcontext()


def in_mode(mode: StepMode, step: Step, warmups: int = WARMUPS) -> Step:
    """What runs the step in that mode.

    Args:
        mode: which.
        step: one step.
        warmups: how often it runs before it is recorded.

    Raises:
        Unsupported: if the step cannot be recorded.
    """
    return Graph(step, warmups).replay if mode in CAPTURING else step
