"""CUDA graphs: work recorded once, then replayed by one call of the host.

Layer: workers. Reads and writes no file.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from commwall.workers.outcomes import Unsupported


class Graph:
    """Recorded work of the current device.

    Args:
        work: enqueues the work; runs `warmups` times before it is recorded. Memory it allocates
            while recorded belongs to the graph, and has the same addresses in every replay.
        warmups: calls before the recording, on the stream that records.

    Raises:
        Unsupported: if the work cannot be recorded, because it waits for the device, say.
    """

    def __init__(self, work: Callable[[], object], warmups: int) -> None:
        self._graph = torch.cuda.CUDAGraph()
        with own_stream(torch.device("cuda")):
            for _ in range(warmups):
                work()
            torch.cuda.synchronize()
            stream = torch.cuda.current_stream()
            try:
                # Only this thread's doings count: NCCL's watchdog may ask for events meanwhile.
                with torch.cuda.graph(
                    self._graph, stream=stream, capture_error_mode="thread_local"
                ):
                    work()
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:
                raise _not_recordable(error) from error

    def replay(self) -> None:
        """Enqueue the recorded work on the current stream."""
        self._graph.replay()


@contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """Work on a stream that can be recorded: the current one, unless it is the default stream.

    What is built inside, DDP above all, belongs to the same stream as what is recorded there.

    Args:
        device: a CUDA device, which is the current one; on any other there are no streams.
    """
    current = torch.cuda.current_stream() if device.type == "cuda" else None
    if current is None or current != torch.cuda.default_stream():
        yield
        return
    stream = torch.cuda.Stream()
    stream.wait_stream(current)
    with torch.cuda.stream(stream):
        yield
    current.wait_stream(stream)


def _not_recordable(error: RuntimeError) -> Unsupported:
    return Unsupported(
        "the work cannot be recorded in a CUDA graph",
        where="torch.cuda.graph",
        found=str(error).splitlines()[0],
        expected="kernels and copies only: no wait for the device, no shape that depends on data",
        next_step="take the case out, or in suite training choose step_mode compile or eager",
    )
