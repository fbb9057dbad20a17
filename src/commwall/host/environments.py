"""Environments: made from a lock, or adopted from an interpreter that is there already.

Layer: host. Reads `envs/<name>.lock`; makes `.envs/<name>/`, whose `manifest.json` is written
last: a folder without one is half made and is made anew.

commwall itself is attached by a path file relative to the folder, not by pip: it needs no
build, two environments can be made at once, and the checkout may be moved.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from commwall.host.lockfiles import differences, lock_digest, lock_path, read_lock
from commwall.host.software import Interpreter, interpreter_at, packages_digest
from commwall.process import die_with_parent
from commwall.records.files import write_atomically
from commwall.records.texts import model_text
from commwall.schema.environment import Manifest
from commwall.schema.errors import CommwallError, ConfigError, ProvisionError
from commwall.schema.parsing import parse_json_model

ENVIRONMENTS = ("bench", "report")
"""Made by the workflow; `driver` runs the workflow, `dev` the tests."""
PIP_TAIL_LINES = 25
FAILED_REQUIREMENT_MARKS = (
    "No matching distribution found for",
    "Could not find a version that satisfies the requirement",
    "Invalid requirement",
    "Failed to build",
    "Cannot install",
    "No space left on device",
)
PIP_STEPS = ("Collecting ", "Building ", "Installing collected packages")
STEP_LENGTH = 80
Say = Callable[[str], None]

_SITE_FOLDERS = (
    "import sys, os; [print(p) for p in sys.path if os.path.basename(p) in"
    " ('site-packages', 'dist-packages') and os.path.isdir(p)]"
)
_DATA_FOLDER = "import sysconfig; print(sysconfig.get_path('data'))"
_PAGE_TEMPLATES = Path("share/jupyter/nbconvert")
"""Looked for below the environment's own prefix, not among the packages."""
_COMMAND = """#!/bin/sh
exec "$(dirname "$0")/python" -m commwall "$@"
"""


def environment_dir(root: Path, name: str) -> Path:
    """Folder of an environment."""
    return root / ".envs" / name


def manifest_path(root: Path, name: str) -> Path:
    """Its manifest."""
    return environment_dir(root, name) / "manifest.json"


def read_manifest(root: Path, name: str) -> Manifest | None:
    """The manifest of an environment, or None where it is not made.

    Raises:
        ConfigError: if the file is malformed.
    """
    path = manifest_path(root, name)
    if not path.exists():
        return None
    where = f".envs/{name}/{path.name}"
    manifest = parse_json_model(Manifest, path.read_bytes(), where)
    if manifest.name != name:
        raise ConfigError(
            "a manifest is that of another environment",
            where=where,
            found=manifest.name,
            expected=name,
            next_step=f"delete .envs/{name}; the next run makes it anew",
        )
    return manifest


def provision(root: Path, name: str, adopt: str | None, log: Path, say: Say) -> Manifest:
    """Make an environment from scratch.

    Args:
        root: the checkout.
        name: which environment; `envs/<name>.lock` must exist.
        adopt: a Python whose packages are used instead of installing the lock.
        log: where pip's whole output goes.
        say: takes lines of progress.

    Raises:
        ProvisionError: if the lock cannot be installed or the interpreter not be adopted. No
            manifest is left, so that the next run makes the environment anew; an interpreter
            that cannot be adopted leaves what is there untouched.
    """
    lines = read_lock(lock_path(root, name))
    folder = environment_dir(root, name)
    python = None if adopt is None else Path(adopt).expanduser()
    if python is not None:
        _try_out(root, python, name)
    try:
        manifest_path(root, name).unlink(missing_ok=True)
        if folder.exists():
            shutil.rmtree(folder)
        log.parent.mkdir(parents=True, exist_ok=True)
        if python is None:
            _install(root, name, folder, log, say)
        else:
            _adopt(python, folder)
        attach_package(root, folder)
        manifest = _manifest(name, adopt, lines, _ask(folder / "bin/python", name))
        write_atomically(manifest_path(root, name), model_text(manifest))
    except OSError as error:
        raise ProvisionError(
            f"the environment {name} cannot be written",
            where=f".envs/{name}",
            found=error.strerror or str(error),
            next_step="free some disk space or correct the permissions, and run again",
        ) from error
    return manifest


def attach_package(root: Path, folder: Path) -> None:
    """Let an environment find commwall in the checkout's `src`, and give it the command.

    The path file names `src` relative to itself and is read before those of other packages.
    """
    site = _site_folder(folder)
    relative = Path(*[".."] * len(site.relative_to(root).parts)) / "src"
    _write(site / "_commwall.pth", f"{relative}\n")
    command = folder / "bin/commwall"
    _write(command, _COMMAND)
    command.chmod(0o755)


def _install(root: Path, name: str, folder: Path, log: Path, say: Say) -> None:
    say(f"{name}: making the environment")
    _run_logged([sys.executable, "-m", "venv", str(folder)], name, log, say)
    packages = len(read_lock(lock_path(root, name)))
    say(f"{name}: installing {packages} packages of envs/{name}.lock")
    words = ["install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    lock = str(lock_path(root, name))
    _run_logged([str(folder / "bin/python"), "-m", "pip", *words, "-r", lock], name, log, say)


def _try_out(root: Path, python: Path, name: str) -> None:
    """Refuse an interpreter that cannot import commwall before anything is given up for it."""
    code = f"import sys; sys.path.insert(0, {str(root / 'src')!r}); import commwall.schema.record"
    try:
        _checked([str(python), "-c", code])
    except (OSError, subprocess.SubprocessError) as error:
        raise _unfit(python, name, error) from error


def _last_line(error: Exception) -> str:
    """The last line that a program which failed wrote, or what the error says."""
    said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
    return said[-1] if said else "no message"


def _unfit(python: Path, name: str, error: Exception) -> ProvisionError:
    return ProvisionError(
        "an interpreter cannot be adopted",
        where=f"environments.{name}.adopt: {python}",
        found=_last_line(error),
        expected="a Python of version 3.11 or later with its module venv, pydantic and pyyaml",
        next_step="correct the path in config/config.yaml, or set it to null to install",
    )


def _adopt(python: Path, folder: Path) -> None:
    """A folder of its own around the packages of another interpreter; nothing is installed."""
    try:
        asked = _checked([str(python), "-c", _SITE_FOLDERS])
        data = Path(_checked([str(python), "-c", _DATA_FOLDER]).strip())
        _checked([str(python), "-m", "venv", "--without-pip", str(folder)])
    except (OSError, subprocess.SubprocessError) as error:
        raise _unfit(python, folder.name, error) from error
    _write(_site_folder(folder) / "adopted.pth", asked)
    if (data / _PAGE_TEMPLATES).is_dir():
        (folder / _PAGE_TEMPLATES).parent.mkdir(parents=True, exist_ok=True)
        (folder / _PAGE_TEMPLATES).symlink_to(data / _PAGE_TEMPLATES)


def _manifest(name: str, adopt: str | None, lines: tuple[str, ...], found: Interpreter) -> Manifest:
    return Manifest(
        name=name,
        mode="installed" if adopt is None else "adopted",
        adopted_from=adopt,
        python=found.python,
        lock_digest=lock_digest(lines),
        packages=found.packages,
        packages_digest=packages_digest(found.packages),
        differences=differences(lines, found.packages),
    )


def _ask(python: Path, name: str) -> Interpreter:
    """Packages of a new environment, which must be able to import commwall.

    Raises:
        ProvisionError: if it cannot.
    """
    try:
        _checked([str(python), "-c", "import commwall.schema.record"])
        return interpreter_at(python)
    except (OSError, subprocess.SubprocessError) as error:
        raise ProvisionError(
            "a new environment cannot import commwall",
            where=f".envs/{name}",
            found=_last_line(error),
            expected="pydantic and pyyaml among its packages, Python 3.11 or later",
            next_step="add what is missing to the interpreter or the lock",
        ) from error


def _run_logged(command: list[str], name: str, log: Path, say: Say) -> None:
    """Run a command, its output into the log; it is ended if this process is.

    Raises:
        ProvisionError: with the failing requirement and the last lines, if the command fails.
    """
    tail: deque[str] = deque(maxlen=PIP_TAIL_LINES)
    with log.open("a", encoding="utf-8") as stream:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=partial(die_with_parent, signal.SIGKILL, os.getpid()),
        )
        try:
            for line in process.stdout or ():
                stream.write(line)
                tail.append(line.rstrip())
                if line.startswith(PIP_STEPS):
                    say(f"{name}: {line.partition(' (from')[0].strip()[:STEP_LENGTH]}")
            code = process.wait()
        finally:
            _end(process)
    if code:
        raise _failed(name, tail, log, code)


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait()


def _failed(name: str, tail: deque[str], log: Path, code: int) -> CommwallError:
    failing = next((x for x in tail if any(m in x for m in FAILED_REQUIREMENT_MARKS)), None)
    return ProvisionError(
        f"the environment {name} cannot be made from its lock"
        + (f": {failing.removeprefix('ERROR: ')}" if failing else ""),
        where=f"envs/{name}.lock",
        found=f"exit code {code}; the last lines were\n" + "\n".join(tail),
        expected="every line of the lock can be installed from the package index in use",
        next_step=f"correct the lock or the connection and run again (all output: {log}); "
        "without network, set environments.*.adopt in config/config.yaml",
    )


def _checked(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _site_folder(folder: Path) -> Path:
    return next(folder.glob("lib/python3*/site-packages"))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
