"""What a collective and a device's compute cost each other when they run side by side.

Layer: workers. Reads and writes no file. The compute is a run of matrix products, as long as the
collective's repetitions and longer, so that every repetition is disturbed and the run's end is the
run's own. A collective takes longer beside it, where it waits for a place on the device or for the
memory; the run takes longer, since kernels that move data keep others from theirs.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import torch

from commwall.workers.hosting import Hold, hold_cuda, queued_steps
from commwall.workers.repetitions import MOST_RECORDED, Operation, warm_up
from commwall.workers.timing import Clock, Crew, clock_of, run_steps

GROUPS = 5
"""Runs of the load that are timed alone, and as many beside the collective."""
FILLED = 0.4
"""Share of a run that the repetitions should take if neither disturbs the other."""
OUTLASTED = 0.95
"""Largest share of a run that they may take in the end."""
_LONGER = (1.0, 3.0, 9.0)
"""Lengths of the run to try, relative to the first."""
_SHAPES = {"cuda": (4096, 1024, 4096), "cpu": (256, 256, 256)}
"""Rows, shared and columns: on a GPU the product of 4,096 tokens with a layer of BERT-Large."""


class MatrixProducts:
    """A run of products, on a stream of its own on a GPU, in a thread of its own on a CPU."""

    def __init__(self, device: torch.device) -> None:
        rows, shared, columns = _SHAPES[device.type]
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        self._a = torch.ones(rows, shared, dtype=dtype, device=device)
        self._b = torch.ones(shared, columns, dtype=dtype, device=device)
        self._product = torch.empty(rows, columns, dtype=dtype, device=device)
        self._stream = torch.cuda.Stream() if device.type == "cuda" else None

    def run(self, count: int) -> None:
        """Enqueue so many on the current stream; on a CPU, carry them out."""
        for _ in range(count):
            torch.mm(self._a, self._b, out=self._product)

    @contextmanager
    def beside(self, count: int) -> Iterator[None]:
        """Have so many computed while the body is; both are over for what follows."""
        if self._stream is None:
            thread = threading.Thread(target=self.run, args=(count,))
            thread.start()
            try:
                yield
            finally:
                thread.join()
            return
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            self.run(count)
        yield
        current.wait_stream(self._stream)


class Disturbed(NamedTuple):
    """What the timing of an operation beside a load gave on this rank."""

    repetitions: int
    """Repetitions of the operation in each run."""
    operation_s: tuple[float, ...]
    """Time of one of them in each run [s]."""
    load_s: tuple[float, ...]
    """Time of each run alone [s]."""
    load_beside_s: tuple[float, ...]
    """Time of each run beside the repetitions [s]."""
    host_bound: bool
    """True if the host could not enqueue a run before the device was free for it."""


def time_beside(
    operation: Operation,
    load: MatrixProducts,
    window_s: float,
    device: torch.device,
    crew: Crew,
    hold: Hold = hold_cuda,
) -> Disturbed | None:
    """Time an operation and a load beside each other, and the load alone.

    Args:
        operation: what to repeat.
        load: what to compute.
        window_s: about how long all runs take; longer where the operation does [s].
        device: that both run on.
        crew: all that take part.
        hold: keeps the device busy while the host enqueues a run.

    Returns:
        The times, or None if no run outlasted the repetitions.
    """
    clock = clock_of(device)
    repetitions, products = _counts(operation, load, window_s, clock, crew)
    for longer in _LONGER:
        count = math.ceil(longer * products)
        timer = _Timer(device, clock, crew, hold)
        load_s = timer.runs(partial(load.run, count))
        pair = _Pair(operation, repetitions, load, count, clock_of(device))
        load_beside_s = timer.runs(pair.run)
        operation_s = pair.repetitions_s()[-GROUPS:]
        taken = max(a / b for a, b in zip(operation_s, load_beside_s, strict=True))
        if crew.most(taken) <= OUTLASTED:
            each_s = tuple(taken_s / repetitions for taken_s in operation_s)
            return Disturbed(repetitions, each_s, load_s, load_beside_s, timer.host_bound)
    return None


def _counts(
    operation: Operation, load: MatrixProducts, window_s: float, clock: Clock, crew: Crew
) -> tuple[int, int]:
    """Repetitions and products of a run, agreed by all."""
    run_s = window_s / GROUPS / 2
    _, product_s = warm_up(partial(load.run, 1), run_s, clock, crew)
    _, operation_s = warm_up(operation, run_s, clock, crew)
    repetitions = min(MOST_RECORDED, max(1, round(FILLED * run_s / operation_s)))
    run_s = max(run_s, repetitions * operation_s / FILLED)
    return repetitions, math.ceil(run_s / product_s)


class _Pair:
    """Repetitions of an operation beside a run of the load."""

    def __init__(
        self, operation: Operation, repetitions: int, load: MatrixProducts, count: int, clock: Clock
    ) -> None:
        self._operation, self._repetitions = operation, repetitions
        self._load, self._count, self._clock = load, count, clock

    def run(self) -> None:
        """One run of both."""
        with self._load.beside(self._count):
            self._clock.mark()
            for _ in range(self._repetitions):
                self._operation()
            self._clock.mark()

    def repetitions_s(self) -> list[float]:
        """Time of all repetitions in each run so far [s]."""
        return self._clock.intervals_s()[::2]


class _Timer:
    """Times runs on a device, each enqueued before the device is free for it."""

    def __init__(self, device: torch.device, clock: Clock, crew: Crew, hold: Hold) -> None:
        self._on_gpu = device.type == "cuda"
        self._clock, self._crew, self._hold = clock, crew, hold
        self.host_bound = False

    def runs(self, run: Operation) -> tuple[float, ...]:
        """Times of GROUPS runs, after one that does not count [s]."""
        if self._on_gpu:
            queued_s = queued_steps(run, self._clock, self._crew, self._hold, GROUPS)
            if queued_s:
                return tuple(queued_s)
            self.host_bound = True
        return tuple(run_steps(run, GROUPS + 1, self._clock)[1:])
