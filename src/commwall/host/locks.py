"""One measurement at a time on a device, one run at a time in a checkout: file locks.

Layer: host. Writes `<device>.lock` into one folder for all users of a machine (`commwall-locks`
in /tmp; the variable COMMWALL_LOCKS names another), and the checkout's `.cw/run.lock` and
`.cw/start.lock`. The kernel frees a lock when the last process that has its descriptor open ends,
however it ends; workers inherit a device's descriptor, so that one left behind still holds the
device.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from commwall.host.processes import is_running
from commwall.schema import commands
from commwall.schema.errors import Busy, LaunchError

WAIT_S = 5.0
POLL_S = 0.2
FOLDER_VARIABLE = "COMMWALL_LOCKS"
"""Names another folder for the device locks; all who share a machine must set the same."""
FOLDER = Path("/tmp") / "commwall-locks"  # noqa: S108 - shared on purpose, opened with care
FOLDER_MODE, FILE_MODE = 0o1777, 0o666
"""All users take part; sticky, so that nobody removes another's lock."""
RUN_LOCK_NAME = ".cw/run.lock"
START_LOCK_NAME = ".cw/start.lock"
START_WAIT_S = 30.0
"""A start looks at all records; another waits for it so long [s]."""
PROBE_S = 0.3
"""A look whether a lock is held takes it for less than this [s]."""


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
    """Folder of the device locks: one for all users, whatever their TMPDIR."""
    return Path(os.environ.get(FOLDER_VARIABLE) or FOLDER)


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
        LaunchError: if the folder or a lock in it cannot be used.
    """
    place = folder or lock_folder()
    _make_folder(place)
    with ExitStack() as stack:
        yield tuple(
            stack.enter_context(_device_lock(place / f"{device}.lock", wait_s))
            for device in sorted(set(devices))
        )


@contextmanager
def _device_lock(path: Path, wait_s: float) -> Iterator[DeviceLock]:
    descriptor = _open_shared(path)
    try:
        if not _acquired(descriptor, wait_s):
            raise _busy(path, descriptor)
        lock = DeviceLock(descriptor)
        lock.note_holders(os.getpid())
        yield lock
    finally:
        # Closing, not unlocking: a worker that still has the descriptor keeps the lock.
        os.close(descriptor)


def _make_folder(place: Path) -> None:
    """A folder in which every user may make locks.

    Raises:
        LaunchError: if there is something else in its place, or it cannot be made.
    """
    try:
        with suppress(FileExistsError):
            place.mkdir(parents=True)
            place.chmod(FOLDER_MODE)  # mkdir's own mode is cut by the umask
        if not stat.S_ISDIR(place.lstat().st_mode):
            raise _unusable(place, "something that is no folder")
    except OSError as error:
        raise _unusable(place, error.strerror or str(error)) from error


def _open_shared(path: Path) -> int:
    """A lock file open to every user, never through a link that somebody put there.

    An existing file is opened without O_CREAT: in a sticky folder the kernel refuses that flag
    on another user's file (sysctl fs.protected_regular).

    Raises:
        LaunchError: if it cannot be opened or is no file.
    """
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        try:
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL)
            os.fchmod(descriptor, FILE_MODE)
        except FileExistsError:
            descriptor = os.open(path, flags)
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _unusable(path, "something that is no file")
    return descriptor


def _unusable(path: Path, found: str) -> LaunchError:
    return LaunchError(
        "the device locks cannot be used, so nothing is measured",
        where=str(path),
        found=found,
        expected="a folder in which every user may write, with plain files in it",
        next_step=f"remove what is there, or set {FOLDER_VARIABLE} to one folder for all users",
    )


def hold_checkout(root: Path) -> None:
    """Lock a checkout until this process ends, however it ends.

    The descriptor stays open on purpose: the lock lives as long as it, and children do not
    inherit it.

    Args:
        root: the checkout.

    Raises:
        Busy: if another run holds it.
    """
    path = root / RUN_LOCK_NAME
    path.parent.mkdir(exist_ok=True)
    if not _acquired(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC), PROBE_S):
        raise Busy(
            "another run works in this checkout",
            where=RUN_LOCK_NAME,
            next_step=f"wait for its end or stop it; `{commands.LOOK}` works beside it, with its "
            "configuration",
        )


@contextmanager
def starting(root: Path, wait_s: float = START_WAIT_S) -> Iterator[None]:
    """Prepare a checkout alone: of several runs that start at once one waits for the other.

    Args:
        root: the checkout.
        wait_s: how long to wait [s].

    Raises:
        Busy: if the other does not end.
        OSError: if the lock cannot be made.
    """
    path = root / START_LOCK_NAME
    path.parent.mkdir(exist_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
    try:
        if not _acquired(descriptor, wait_s):
            raise Busy(
                "another run has been starting in this checkout for long",
                where=START_LOCK_NAME,
                found=f"held for more than {wait_s:g} s",
                next_step="end it, and run again",
            )
        yield
    finally:
        os.close(descriptor)


def checkout_is_held(root: Path) -> bool:
    """Whether a run holds the checkout; writes nothing.

    Raises:
        OSError: if the lock cannot be looked at.
    """
    try:
        descriptor = os.open(root / RUN_LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two who look do not see each other.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _acquired(descriptor: int, wait_s: float) -> bool:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
        except OSError as error:
            raise LaunchError(
                "the file system offers no locks, so two runs could work on the same files",
                found=error.strerror,
                expected="flock(2), as local file systems, NFS with its lock service and Lustre "
                "mounted with -o flock have it",
                next_step="move the checkout, or name a local folder in " + FOLDER_VARIABLE,
            ) from error
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
