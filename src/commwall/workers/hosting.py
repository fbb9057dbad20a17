"""Who decides how long a step takes: the device, or the host that starts its work.

Layer: workers. Reads and writes no file.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Protocol

import torch

from commwall.schema.case import Leg
from commwall.schema.result import Mark
from commwall.workers.timing import Clock, Crew

MOST_HOST_GAP = 0.02
"""Above this share of a step in which the device waits for the host, the host decides."""
MOST_HOST_SHARE = 0.8
"""Above this share of an unrecorded step that one sample takes as well, the GPU may not decide."""
QUEUED_STEPS = 8
"""Steps of a leg that are timed so."""
_DELAYS = (3.0, 12.0, 48.0)
"""Delays to try, relative to the time the host takes to enqueue the steps."""
_LEAST_DELAY_S = 0.005
_CYCLES_PER_S = 2e9
"""Chosen: above the clock of the GPUs meant here; at a lower one a delay is longer, which does no
harm."""


class Hold(Protocol):
    """Keeps the device busy."""

    def __call__(self, delay_s: float) -> Callable[[], bool]:
        """Keep it busy about so long [s]; the result tells whether it still is."""


def hold_cuda(delay_s: float) -> Callable[[], bool]:
    """Keep the current stream of the GPU busy; see `Hold`."""
    torch.cuda.synchronize()
    torch.cuda._sleep(int(delay_s * _CYCLES_PER_S))
    over = torch.cuda.Event()
    over.record()
    return lambda: not over.query()


def queued_steps(
    step: Callable[[], object],
    clock: Clock,
    crew: Crew,
    hold: Hold = hold_cuda,
    count: int = QUEUED_STEPS,
) -> list[float] | None:
    """Times of steps that the device finds enqueued: what they take if the host never keeps it
    waiting [s]. All of the crew must ask.

    One step at a time, because the launch of a graph may wait until the device is through with
    the launch before.

    Args:
        step: one step, which the host enqueues without waiting for the device.
        clock: of the device.
        crew: all that take part.
        hold: keeps the device busy until the host is through.
        count: how many steps to time.

    Returns:
        The times, or None if the host could not get ahead of the device.
    """
    begin_s = time.perf_counter()
    _enqueue(step, clock, crew)
    enqueuing_s = crew.most(time.perf_counter() - begin_s)
    clock.intervals_s()
    for factor in _DELAYS:
        delay_s = max(factor * enqueuing_s, _LEAST_DELAY_S)
        steps = [_held(step, clock, crew, hold, delay_s) for _ in range(count)]
        if crew.least(all(ahead for _, ahead in steps)):
            return [step_s for step_s, _ in steps]
    return None


def gap_mark(
    leg: Leg | None, queued_s: list[float] | None, step_s: tuple[float, ...]
) -> Mark | None:
    """The mark of a leg in which the device waits for the host; None where it hardly does.

    Args:
        leg: which; None in a case without legs.
        queued_s: times of steps enqueued beforehand [s]; None if the host was never ahead.
        step_s: times of the leg's steps [s].
    """
    if queued_s is None:
        detail = "the host could not enqueue steps before the device asked for them"
        return Mark(name="host_bound", leg=leg, detail=detail)
    gap = 1 - max(queued_s) / median(step_s)  # the slowest, lest noise count as waiting
    if gap <= MOST_HOST_GAP:
        return None
    detail = (
        f"a step takes {median(step_s):.3g} s, enqueued beforehand {max(queued_s):.3g} s at most: "
        f"the device waits for the host {gap:.1%} of the time, more than {MOST_HOST_GAP:.0%}"
    )
    return Mark(name="host_bound", leg=leg, detail=detail)


def one_sample_mark(one_sample_s: float, step_s: float, samples: int) -> Mark | None:
    """The mark of an unrecorded step that the host decides; None where the batch makes it longer.

    The host starts the same kernels whatever the batch; with one sample the GPU has next to
    nothing to do.

    Args:
        one_sample_s: step time with one sample [s].
        step_s: step time of the case [s].
        samples: of the case.
    """
    if one_sample_s <= MOST_HOST_SHARE * step_s:
        return None
    detail = (
        f"a step with 1 sample takes {one_sample_s:.3g} s, with {samples} samples {step_s:.3g} s: "
        "what the batch does not change, the host's work above all, is more than "
        f"{MOST_HOST_SHARE:.0%} of the step"
    )
    return Mark(name="host_bound", leg="single", detail=detail)


def _held(
    step: Callable[[], object], clock: Clock, crew: Crew, hold: Hold, delay_s: float
) -> tuple[float, bool]:
    """Time of a step enqueued behind a delay [s], and whether it was enqueued in time."""
    still_busy = hold(delay_s)
    _enqueue(step, clock, crew)
    ahead = still_busy()
    (step_s,) = clock.intervals_s()
    return step_s, ahead


def _enqueue(step: Callable[[], object], clock: Clock, crew: Crew) -> None:
    crew.meet()  # or the step would hold the time in which it waits for another rank's delay
    clock.mark()
    step()
    clock.mark()
