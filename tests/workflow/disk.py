"""A small disk of its own for a test: memory, mounted where the test wants it."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

CAP_SYS_ADMIN = 21
"""The capability to mount; root has it, but not in every container.

Source: capabilities(7); linux/capability.h.
"""
FORBIDDEN = "permission denied"
"""What mount says where a security module of the host forbids it, whatever the capabilities."""


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """Mount an empty file system of limited size at a folder, and unmount it at the end.

    The test is skipped where nothing may be mounted; where it may and cannot be, the test fails.

    Args:
        place: the folder; it is made if it is not there, and its content is out of sight meanwhile.
        size: as mount(8) takes it for tmpfs, such as `64m`.
    """
    place.mkdir(parents=True, exist_ok=True)
    if reason := why_not():
        pytest.skip(f"no disk can be mounted here: {reason}")
    said = _mount("-t", "tmpfs", "-o", f"size={size},mode=755", "commwall-test", str(place))
    if FORBIDDEN in said:
        pytest.skip(f"no disk can be mounted here: {said}")
    assert not said, said
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder with its content on a disk that cannot be written, not even by root."""
    kept = folder.with_name(f"{folder.name}-kept")
    shutil.copytree(folder, kept, copy_function=shutil.copy2)
    with small_disk(folder, "64m"):
        shutil.copytree(kept, folder, copy_function=shutil.copy2, dirs_exist_ok=True)
        said = _mount("-o", "remount,ro", str(folder))
        assert not said, said
        yield


def fill(disk: Path) -> Path:
    """Fill a disk that others write to as well; returns the file that does it."""
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(2**20)):
            pass
    assert shutil.disk_usage(disk).free == 0
    return filler


def why_not() -> str | None:
    """Why this process may mount nothing; None if it may."""
    if shutil.which("mount") is None:
        return "no program mount"
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    effective = int(status.partition("CapEff:")[2].split()[0], 16)
    return None if effective >> CAP_SYS_ADMIN & 1 else "no capability to (CAP_SYS_ADMIN)"


def _mount(*words: str) -> str:
    """What mount complains of; nothing if it has mounted."""
    done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""
