"""The software as probed: interpreter, packages, commit and allow-listed variables.

Layer: host. Runs `git` and other interpreters; writes nothing.
"""

import importlib.metadata
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from commwall.host.secrecy import short_digest, without_places
from commwall.schema.base import digest
from commwall.schema.result import Gap

NOT_LISTED = frozenset({"commwall", "pip"})
"""commwall itself is told by its code digest; the installer is not part of what runs."""
GIT_TIMEOUT_S = 20.0
INTERPRETER_TIMEOUT_S = 120.0
ALLOWED_VARIABLES = (
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "CUBLAS_WORKSPACE_CONFIG",
    "GLOO_SOCKET_IFNAME",
    "KMP_AFFINITY",
    "MALLOC_CONF",
    "MKL_NUM_THREADS",
    "NCCL_NVLS_ENABLE",
    "NVIDIA_TF32_OVERRIDE",
    "NVSHMEM_DISABLE_NVLS",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "PYTORCH_CUDA_ALLOC_CONF",
    "TORCH_NUM_THREADS",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST",
)
"""Variables that change speed and cannot hold a name of a host, a user or a path."""

_UUID = re.compile(r"(GPU|MIG)-[0-9A-Fa-f-]+")

_LIST_PACKAGES = (
    "import importlib.metadata as m, json, platform;"
    "described = [d.metadata for d in m.distributions()];"
    "print(json.dumps({'python': platform.python_version(), 'packages':"
    " [[d['Name'], d['Version']] for d in described]}))"
)


@dataclass(frozen=True)
class Interpreter:
    """A Python and the packages it finds."""

    python: str
    """Version, such as 3.11.7."""
    packages: dict[str, str]
    """Normalised name -> version, sorted, without commwall and pip."""


@cache
def this_interpreter() -> Interpreter:
    """The interpreter that runs this code; asked once, as reading all packages takes a while."""
    described = [found.metadata for found in importlib.metadata.distributions()]
    pairs = [(package["Name"], package["Version"]) for package in described]
    return Interpreter(platform.python_version(), _packages(pairs))


def installed_nccl() -> str | None:
    """Release of NCCL that this interpreter's packages bring; None where they bring none, so that
    PyTorch has one of its own or there is none.
    """
    own = this_interpreter().packages.items()
    return next((version for name, version in own if name.startswith("nvidia-nccl-")), None)


def interpreter_at(python: Path) -> Interpreter:
    """Ask another interpreter for its version and packages.

    Raises:
        OSError: if it cannot be started.
        subprocess.SubprocessError: if it fails or takes too long.
    """
    command = [str(python), "-c", _LIST_PACKAGES]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=INTERPRETER_TIMEOUT_S
    )
    answer = json.loads(done.stdout)
    return Interpreter(answer["python"], _packages(answer["packages"]))


def packages_digest(packages: Mapping[str, str]) -> str:
    """SHA-256 of a package list, 64 digits."""
    return digest(dict(packages))


def normal_name(name: str) -> str:
    """A package name in the form in which two spellings of it are equal.

    Source: Python Packaging User Guide, "Names and normalization".
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def allowed_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The allow-listed variables that are set, sorted; device uuids only as digests."""
    present = {name: environment[name] for name in ALLOWED_VARIABLES if name in environment}
    return {name: _UUID.sub(_uuid_digest, value) for name, value in present.items()}


def git_state(root: Path) -> tuple[str | None, bool | None, tuple[Gap, ...]]:
    """Commit of a checkout and whether tracked files differ from it.

    Args:
        root: the checkout.

    Returns:
        Commit (40 digits), dirty flag, and a gap where git cannot tell.
    """
    try:
        commit = _git(root, "rev-parse", "--verify", "HEAD").strip()
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except FileNotFoundError:
        return None, None, (Gap(what="software.git_commit", reason="git is not installed"),)
    except subprocess.SubprocessError as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1]
        return None, None, (Gap(what="software.git_commit", reason=without_places(said, root)),)
    return commit, bool(changed.strip()), ()


def _uuid_digest(found: re.Match[str]) -> str:
    return f"digest-{short_digest(found.group())}"


def _git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), "--no-optional-locks", *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=GIT_TIMEOUT_S
    ).stdout


def _packages(pairs: Iterable[tuple[str | None, str]]) -> dict[str, str]:
    """Sorted package list; of two copies on the path the first counts, as for import."""
    found: dict[str, str] = {}
    for name, version in pairs:
        if name and normal_name(name) not in NOT_LISTED:
            found.setdefault(normal_name(name), version)
    return dict(sorted(found.items()))
