"""A small disk of its own for a test: memory, mounted where the test wants it."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """Mount an empty file system of limited size at a folder, and unmount it at the end.

    The test is skipped where no mounts are allowed: only root may, and not in every container.

    Args:
        place: the folder; it is made if it is not there, and its content is out of sight meanwhile.
        size: as mount(8) takes it for tmpfs, such as `64m`.
    """
    place.mkdir(parents=True, exist_ok=True)
    said = _mount("-t", "tmpfs", "-o", f"size={size},mode=755", "commwall-test", str(place))
    if said:
        pytest.skip(f"no disk can be mounted here: {said}")
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


def _mount(*words: str) -> str:
    """What mount complains of; nothing if it has mounted."""
    if shutil.which("mount") is None:
        return "no program mount"
    done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""
