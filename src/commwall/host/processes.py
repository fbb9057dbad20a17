"""Processes of a launch: find them all, end them all, and be sure of it.

Layer: host. Reads /proc; writes nothing. torchrun starts its workers in sessions of their
own, so a process group does not contain them: every process of a launch carries its mark in
its environment instead, which children inherit.
"""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
MARK_VARIABLE = "COMMWALL_LAUNCH"
POLL_S = 0.05
KILL_WAIT_S = 10.0
DEAD_STATES = frozenset("ZX")


def is_running(pid: int) -> bool:
    """True if a process exists and is more than a zombie."""
    return (_stat(pid) or ("X",))[0] not in DEAD_STATES


def running_in_group(group: int) -> tuple[int, ...]:
    """Processes of a process group that are alive, by their state; zombies do not count."""
    return tuple(pid for pid in _pids() if _alive_stat(pid)[2:3] == (str(group),))


def running_with_mark(mark: str) -> tuple[int, ...]:
    """Processes of this user that carry a launch's mark and are alive."""
    wanted = f"{MARK_VARIABLE}={mark}".encode()
    return tuple(pid for pid in _pids() if wanted in _environment(pid) and is_running(pid))


def environment_of(pid: int) -> dict[str, str]:
    """Variables a process was started with; empty if they cannot be read."""
    pairs = [item.decode(errors="replace").partition("=") for item in _environment(pid)]
    return {name: value for name, _, value in pairs if name}


def seen_by(mark: str) -> dict[str, str]:
    """Variables of a launch's innermost process here, which has those of all above it.

    Args:
        mark: value of the launch's mark.
    """
    return max(map(environment_of, running_with_mark(mark)), key=len, default={})


def end_launch(group: int, mark: str, grace_s: float) -> tuple[int, ...]:
    """End every process of a launch: SIGTERM, then SIGKILL to what is left.

    Args:
        group: process group of the launcher.
        mark: value of the launch's mark.
        grace_s: time between the two signals [s].

    Returns:
        Processes that are alive even so (stuck in the kernel); empty as a rule.
    """
    if not _signal_and_wait(group, mark, signal.SIGTERM, grace_s):
        return ()
    return _signal_and_wait(group, mark, signal.SIGKILL, KILL_WAIT_S)


def launch_processes(group: int, mark: str) -> tuple[int, ...]:
    """All living processes of a launch, in its group or marked."""
    return tuple(sorted({*running_in_group(group), *running_with_mark(mark)}))


def _signal_and_wait(group: int, mark: str, signum: int, wait_s: float) -> tuple[int, ...]:
    """Signal all, wait for all, and signal again what was born meanwhile."""
    deadline = time.monotonic() + wait_s
    signalled: set[int] = set()
    while left := launch_processes(group, mark):
        for pid in set(left) - signalled:
            with suppress(ProcessLookupError):
                os.kill(pid, signum)
        signalled.update(left)
        if time.monotonic() > deadline:
            return left
        time.sleep(POLL_S)
    return ()


def _pids() -> list[int]:
    return [int(path.name) for path in PROC.iterdir() if path.name.isdigit()]


def _stat(pid: int) -> tuple[str, ...]:
    """State, parent, group and what follows; empty if there is no such process.

    Source: proc_pid_stat(5). The command name before them may hold blanks and brackets.
    """
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ()
    return tuple(text[text.rindex(")") + 2 :].split())


def _alive_stat(pid: int) -> tuple[str, ...]:
    stat = _stat(pid)
    return () if not stat or stat[0] in DEAD_STATES else stat


def _environment(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []
