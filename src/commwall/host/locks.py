"""One measurement at a time on a device: a file lock outside every checkout.

Layer: host. Writes `<temporary folder>/commwall-<uid>/<device>.lock`. The kernel frees the
lock when the last process that has its descriptor open ends, however it ends; workers
inherit the descriptor, so that one left behind still holds the device.
"""

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from commwall.host.processes import is_running
from commwall.schema.errors import Busy

WAIT_S = 5.0
POLL_S = 0.2


class DeviceLock:
    """A held lock."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        """To pass on to the workers."""

    def note_holders(self, *pids: int) -> None:
        """Write down who holds the lock, for whoever finds it held."""
        text = " ".join(map(str, pids)).encode()
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, text, 0)


def lock_folder() -> Path:
    """Folder of the locks of this user."""
    return Path(os.environ.get("TMPDIR") or "/tmp") / f"commwall-{os.getuid()}"


@contextmanager
def device_locks(
    devices: Sequence[str], wait_s: float = WAIT_S, folder: Path | None = None
) -> Iterator[tuple[DeviceLock, ...]]:
    """Hold the locks of several devices, taken in sorted order so that two runs never cross.

    Args:
        devices: `cpu` or digests of GPU uuids.
        wait_s: how long to wait for each [s].
        folder: where the locks lie; None takes `lock_folder()`.

    Raises:
        Busy: naming the processes that hold a device.
    """
    place = folder or lock_folder()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        yield tuple(
            stack.enter_context(_device_lock(place / f"{device}.lock", wait_s))
            for device in sorted(set(devices))
        )


@contextmanager
def _device_lock(path: Path, wait_s: float) -> Iterator[DeviceLock]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _acquired(descriptor, wait_s):
            raise _busy(path, descriptor)
        lock = DeviceLock(descriptor)
        lock.note_holders(os.getpid())
        yield lock
    finally:
        # Closing, not unlocking: a worker that still has the descriptor keeps the lock.
        os.close(descriptor)


def _acquired(descriptor: int, wait_s: float) -> bool:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
        else:
            return True


def _busy(path: Path, descriptor: int) -> Busy:
    noted = os.pread(descriptor, 4096, 0).decode(errors="replace").split()
    alive = [word for word in noted if word.isdigit() and is_running(int(word))]
    holders = f"process {' and '.join(alive)}" if alive else "a process that is not known"
    return Busy(
        "another run measures on this device",
        where=f"device {path.stem}",
        found=f"held by {holders}",
        next_step="wait until that process has ended, or end it, and run again",
    )
