"""Signals that ask a verb to stop, as one exception.

Layer: measure. Reads and writes no file.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNAL_EXIT_BASE = 128


class Interrupted(BaseException):
    """Somebody asked this process to stop.

    Not an Exception, like KeyboardInterrupt: nothing on the way may take it for a failure.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(signal_number).name}")
        self.signal_number = signal_number

    @property
    def exit_code(self) -> int:
        """128 and the signal's number, as shells tell it."""
        return SIGNAL_EXIT_BASE + self.signal_number


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise Interrupted at the first stopping signal; later ones do not disturb the cleaning up."""
    before = {number: signal.signal(number, _interrupt) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    for stopping in STOPPING:
        signal.signal(stopping, signal.SIG_IGN)
    raise Interrupted(number)
