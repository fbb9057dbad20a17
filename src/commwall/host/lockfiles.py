"""Lock files: the exact packages of an environment, one `name==version` a line.

Layer: host. Reads `envs/<name>.lock` and `envs/<name>.in`; writes a lock when asked to resolve
one. See envs/README.md.
"""

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from commwall.host.software import normal_name
from commwall.schema.base import digest
from commwall.schema.environment import Difference
from commwall.schema.errors import ProvisionError

CONSTRAINING = "dev"
"""The widest environment: it holds all others, whose locks are parts of its own."""
NEW_LOCK = "write one with: commwall provision NAME --resolve"


def lock_path(root: Path, name: str) -> Path:
    """The lock of an environment."""
    return root / "envs" / f"{name}.lock"


def read_lock(path: Path) -> tuple[str, ...]:
    """Requirement lines of a lock, sorted, without comments.

    Raises:
        ProvisionError: if there is no such lock.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise ProvisionError(
            "an environment has no lock", where=f"envs/{path.name}", next_step=NEW_LOCK
        ) from error
    return tuple(sorted(line.strip() for line in lines if line.strip() and line.strip()[0] != "#"))


def lock_digest(lines: Sequence[str]) -> str:
    """SHA-256 of the sorted requirement lines; comments and order do not matter."""
    return digest(sorted(lines))


def differences(lines: Sequence[str], packages: Mapping[str, str]) -> tuple[Difference, ...]:
    """Where a package list departs from a lock; a local version suffix is no departure.

    Args:
        lines: `name==version` each.
        packages: normalised name -> version.
    """
    locked = {normal_name(name): version for name, _, version in (x.partition("==") for x in lines)}
    return tuple(
        Difference(name=name, locked=locked.get(name), present=packages.get(name))
        for name in sorted({*locked, *packages})
        if _public(packages.get(name)) != locked.get(name)
    )


def resolve(root: Path, name: str, python: Path) -> Path:
    """Write an environment's lock anew from its direct needs.

    Nothing is installed: pip resolves and reports. All but the widest environment are
    resolved within that one's lock, so that tests run the versions that measure.

    Args:
        root: the checkout.
        name: environment, `envs/<name>.in`.
        python: an interpreter with pip.

    Raises:
        ProvisionError: with pip's words, if the needs cannot be met together.
    """
    needs = root / "envs" / f"{name}.in"
    within = [] if name == CONSTRAINING else ["-c", str(lock_path(root, CONSTRAINING))]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = ["install", "--dry-run", "--ignore-installed", "--quiet", "--no-input"]
        command = [str(python), "-m", "pip", *words, "--report", str(report), "-r", str(needs)]
        done = subprocess.run([*command, *within], capture_output=True, text=True)
        if done.returncode:
            raise ProvisionError(
                "the needs of an environment cannot be met together",
                where=f"envs/{needs.name}",
                found=done.stderr.strip(),
                next_step="loosen one of the needs named above",
            )
        text = _lock_text(name, json.loads(report.read_text(encoding="utf-8")))
    target = lock_path(root, name)
    target.write_text(text, encoding="utf-8")
    return target


def _lock_text(name: str, report: Mapping[str, Sequence[Mapping[str, Mapping[str, str]]]]) -> str:
    pins = sorted(
        f"{normal_name(item['metadata']['name'])}=={_public(item['metadata']['version'])}"
        for item in report["install"]
    )
    head = f"# Made from {name}.in by: commwall provision {name} --resolve (see README.md here)"
    return "\n".join([head, *pins, ""])


def _public(version: str | None) -> str | None:
    """A version without its local suffix: `2.13.0+cpu` is 2.13.0 of another build."""
    return version.partition("+")[0] if version else None
