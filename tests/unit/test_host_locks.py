"""Device locks and the processes that hold them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commwall.host.locks import device_locks
from commwall.host.processes import MARK_VARIABLE, end_launch, is_running, running_in_group
from commwall.schema.errors import Busy

SLEEP = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print('ready', flush=True); time.sleep(60)"
)


def test_a_held_device_is_refused_with_its_holder(tmp_path: Path) -> None:
    with (
        device_locks(["cpu"], 0, tmp_path),
        pytest.raises(Busy) as refused,
        device_locks(["cpu"], 0.1, tmp_path),
    ):
        pass
    assert f"process {os.getpid()}" in str(refused.value)


def test_a_freed_device_can_be_taken_again(tmp_path: Path) -> None:
    for _ in range(2):
        with device_locks(["cpu", "gpu"], 0, tmp_path) as locks:
            assert len(locks) == 2


def test_another_device_is_free(tmp_path: Path) -> None:
    with device_locks(["a"], 0, tmp_path), device_locks(["b"], 0, tmp_path) as locks:
        assert len(locks) == 1


def test_an_orphan_that_inherited_the_lock_still_holds_it(tmp_path: Path) -> None:
    with device_locks(["cpu"], 0, tmp_path) as locks:
        orphan = subprocess.Popen(SLEEP, pass_fds=[locks[0].descriptor])
        locks[0].note_holders(orphan.pid)
    try:
        with pytest.raises(Busy) as refused, device_locks(["cpu"], 0, tmp_path):
            pass
        assert f"process {orphan.pid}" in str(refused.value)
    finally:
        orphan.kill()
        orphan.wait()
    with device_locks(["cpu"], 1, tmp_path) as locks:
        assert locks


def test_a_zombie_is_not_running() -> None:
    process = subprocess.Popen(SLEEP)
    assert is_running(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    os.kill(process.pid, 0)  # it still has its entry
    assert not is_running(process.pid)
    process.wait()
    assert not is_running(process.pid)


def test_a_group_is_ended_with_force_where_asking_does_not_help() -> None:
    environment = {**os.environ, MARK_VARIABLE: "test-mark"}
    code = [sys.executable, "-S", "-c", STUBBORN]
    process = subprocess.Popen(
        code, env=environment, start_new_session=True, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    assert running_in_group(process.pid) == (process.pid,)
    began = time.monotonic()
    assert end_launch(process.pid, "test-mark", grace_s=0.2) == ()
    assert time.monotonic() - began < 5
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
