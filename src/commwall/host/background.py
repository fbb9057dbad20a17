"""A thread that reads something while others measure.

Layer: host. Reads and writes no file.
"""

import threading
from types import TracebackType
from typing import Self


class Background:
    """Runs `read_on` in a thread while it is entered.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self.read_on, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def read_on(self) -> None:
        """Read until `stopped_after` is true."""
        raise NotImplementedError

    def stopped_after(self, period_s: float) -> bool:
        """Wait so long [s], or until it is time to stop; whether it is."""
        return self._stop.wait(period_s)
