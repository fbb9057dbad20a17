"""Device locks and the processes that hold them."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from commwall.host.locks import (
    FOLDER,
    checkout_is_held,
    device_locks,
    hold_checkout,
    lock_folder,
)
from commwall.host.processes import MARK_VARIABLE, end_launch, is_running, running_in_group
from commwall.schema.errors import Busy, LaunchError

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


def test_one_folder_serves_all_users_whatever_their_tmpdir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMMWALL_LOCKS", raising=False)
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    assert lock_folder() == FOLDER
    monkeypatch.setenv("COMMWALL_LOCKS", "/locks")
    assert lock_folder() == Path("/locks")


def test_folder_and_locks_are_open_to_all(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    before = os.umask(0o077)
    try:
        with device_locks(["cpu"], 0, folder):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o1777
            assert stat.S_IMODE((folder / "cpu.lock").stat().st_mode) == 0o666
    finally:
        os.umask(before)


def _file(folder: Path) -> None:
    folder.write_text("", encoding="utf-8")


def _link(folder: Path) -> None:
    (folder.parent / "target").mkdir()
    folder.symlink_to(folder.parent / "target")


def _linked_lock(folder: Path) -> None:
    folder.mkdir()
    (folder / "cpu.lock").symlink_to(folder.parent / "precious")


def _pipe(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / "cpu.lock")


@pytest.mark.parametrize("trap", [_file, _link, _linked_lock, _pipe])
def test_whatever_else_lies_there_is_refused_and_not_touched(
    tmp_path: Path, trap: Callable[[Path], None]
) -> None:
    folder = tmp_path / "locks"
    trap(folder)
    with pytest.raises(LaunchError) as refused, device_locks(["cpu"], 0, folder):
        pass
    assert str(folder) in str(refused.value)
    assert all(refused.value.parts.values())
    assert not (tmp_path / "precious").exists()


def test_a_checkout_is_held_by_one_and_looked_at_by_all(tmp_path: Path) -> None:
    assert not checkout_is_held(tmp_path)
    code = "import sys; from pathlib import Path; from commwall.host.locks import hold_checkout;"
    code += "hold_checkout(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
    assert checkout_is_held(tmp_path)
    with pytest.raises(Busy):
        hold_checkout(tmp_path)
    holder.communicate()
    assert not checkout_is_held(tmp_path)
