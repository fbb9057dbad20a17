"""CUDA graphs: work recorded once, then replayed by one call of the host.

Layer: workers. Reads and writes no file.
"""

from collections.abc import Callable

import torch

from commwall.workers.outcomes import Unsupported


class Graph:
    """Recorded work of the current device.

    Args:
        work: enqueues the work; runs `warmups` times before it is recorded. Memory it allocates
            while recorded belongs to the graph, and has the same addresses in every replay.
        warmups: calls before the recording, on the recording stream.

    Raises:
        Unsupported: if the work cannot be recorded, because it waits for the device, say.
    """

    def __init__(self, work: Callable[[], object], warmups: int) -> None:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(warmups):
                work()
        torch.cuda.synchronize()
        self._graph = torch.cuda.CUDAGraph()
        try:
            # Only this thread's doings count: NCCL's watchdog may ask for events meanwhile.
            with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"):
                work()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise _not_recordable(error) from error

    def replay(self) -> None:
        """Enqueue the recorded work on the current stream."""
        self._graph.replay()


def _not_recordable(error: RuntimeError) -> Unsupported:
    return Unsupported(
        "the work cannot be recorded in a CUDA graph",
        where="torch.cuda.graph",
        found=str(error).splitlines()[0],
        expected="kernels and copies only: no wait for the device, no shape that depends on data",
        next_step="choose step_mode compile or eager for this case, or take it out",
    )
