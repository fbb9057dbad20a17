"""Processor time of a call, undisturbed by what else the test process keeps."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """No garbage is collected: after thousands of tests one collection takes half a second."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def cpu_seconds(call: Callable[[], object], tries: int = 1) -> float:
    """Least processor time that some tries of a call took [s]; what a call raises is raised."""
    taken_s = []
    with no_collection():
        for _ in range(tries):
            started = time.process_time()
            call()
            taken_s.append(time.process_time() - started)
    return min(taken_s)
