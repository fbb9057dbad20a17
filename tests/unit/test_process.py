"""A child that watches its parent dies with it, and at once if the parent has already gone."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commwall import process

CHILD = """
import os, signal, sys, time
from commwall.process import die_with_parent
die_with_parent(signal.SIGKILL, int(sys.argv[1]))
print(os.getpid(), flush=True)
time.sleep(60)
"""
PARENT = f"""
import os, subprocess, sys
subprocess.run([sys.executable, "-c", {CHILD!r}, str(os.getpid())])
"""


def state_of(pid: int) -> str | None:
    """State letter of a process, or None when it is gone; a zombie counts as gone."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return None
    return None if state == "Z" else state


def test_child_dies_with_its_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert state_of(child) is not None
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 5
    while state_of(child) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert state_of(child) is None


def test_child_of_another_parent_ends_at_once() -> None:
    not_my_parent = os.getppid()
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(not_my_parent)],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert child.returncode == process.EXIT_ORPHANED
    assert child.stdout == ""
    assert f"parent {not_my_parent} is gone" in child.stderr


def test_elsewhere_it_says_why_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process.sys, "platform", "darwin")
    reason = process.die_with_parent(signal.SIGTERM, os.getppid())
    assert reason is not None
    assert "darwin" in reason
