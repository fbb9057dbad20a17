"""Compiling the blocks of a model, each by itself.

Layer: workers. Reads and writes no file; the compiler keeps its kernels in the folder that
`commwall.workers.start` names. The compiler is imported where it is needed: it takes seconds.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import nn

from commwall.schema.result import Mark
from commwall.workers.outcomes import Unsupported

MOST_VARIANTS = 64
"""Shapes and settings for which one block may be compiled, each on its own."""


class Region(NamedTuple):
    """A part of a model that is compiled by itself."""

    owner: nn.Module
    method: str = "forward"
    """Name of the owner's method that computes it."""


class CacheUse(NamedTuple):
    """What the compiler found in its cache since the process began."""

    hits: int
    misses: int


def compile_regions(regions: Iterable[Region]) -> None:
    """Have the regions compiled when they first run, each whole and for its very shapes.

    Blocks of one kind share one compiled graph. DDP starts to exchange the gradients of a block
    as soon as its backward pass is through, as it does with eager blocks; a model compiled in one
    piece would hand over all gradients at its end.
    """
    from torch._dynamo import config

    config.optimize_ddp = False  # regions end where DDP must take over already
    config.recompile_limit = MOST_VARIANTS
    for owner, method in regions:
        eager = getattr(owner, method)
        setattr(owner, method, torch.compile(eager, dynamic=False, fullgraph=True))


@contextmanager
def named_refusals() -> Iterator[None]:
    """Call what the compiler refuses by its name.

    Raises:
        Unsupported: if a region cannot be compiled in one piece.
    """
    from torch._dynamo.exc import TorchDynamoException

    try:
        yield
    except TorchDynamoException as error:
        raise Unsupported(
            "a block of the model cannot be compiled in one piece",
            where="torch.compile",
            found=str(error).strip().splitlines()[0],
            expected="no graph break, no shape that depends on data",
            next_step="choose step_mode captured or eager for this case, or take it out",
        ) from error


def anew_mark(graphs: int) -> Mark | None:
    """The mark of a case for which so many graphs were compiled; None if all were found.

    The compiler tries which variant of a kernel is fastest, and may choose another next time.
    """
    if not graphs:
        return None
    detail = f"{graphs} graphs were compiled in this launch: others may run other kernels"
    return Mark(name="compiled_anew", detail=detail)


def cache_use() -> CacheUse:
    """How the compiler's cache served this process."""
    from torch._dynamo.utils import counters

    kernels, graphs = counters["inductor"], counters["aot_autograd"]
    hits = kernels["fxgraph_cache_hit"] + graphs["autograd_cache_hit"]
    return CacheUse(hits, kernels["fxgraph_cache_miss"])
