"""Import contracts of pyproject.toml hold, and each of them catches its violation."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.contracts.tree import PACKAGE, ROOT

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]

BREACHES = {
    "layers": ("schema/base.py", "import commwall.records.store"),
    "reading-apart": ("report/__init__.py", "import commwall.host"),
    "measuring-apart": ("measure/__init__.py", "import commwall.analysis"),
    "torch": ("measure/__init__.py", "import torch"),
    "tables": ("cli/main.py", "def f():\n    import pandas"),
    "nvml": ("measure/__init__.py", "import pynvml"),
    "no-snakemake": ("measure/__init__.py", "import snakemake"),
}

ALLOWED = {"torch": {"workers"}, "tables": {"analysis", "report"}, "nvml": {"host"}}
"""Contract -> parts that may import what it forbids to all others."""


LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def lint(folder: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the package in a folder; `-c` puts that folder first on the path."""
    chosen = [word for contract in contracts for word in ("--contract", contract)]
    config = ["--no-cache", "--config", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-c", LINT, *config, *chosen]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_imports_keep_the_contracts() -> None:
    result = lint(PACKAGE.parent)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_contract_has_a_breach() -> None:
    assert {contract["id"] for contract in CONTRACTS} == set(BREACHES)


@pytest.mark.parametrize("contract", ALLOWED)
def test_a_contract_binds_all_parts_but_the_allowed(contract: str) -> None:
    own = {each["id"]: each for each in CONTRACTS}
    parts = {part for layer in own["layers"]["layers"] for part in layer.split(" | ")}
    bound = [name.removeprefix("commwall.") for name in own[contract]["source_modules"]]
    assert sorted(bound) == sorted(parts - ALLOWED[contract])


@pytest.mark.parametrize("contract", BREACHES)
def test_contract_catches_a_breach(contract: str, tmp_path: Path) -> None:
    name, line = BREACHES[contract]
    copy = tmp_path / "commwall"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / name).open("a", encoding="utf-8") as stream:
        stream.write(f"\n{line}\n")
    result = lint(tmp_path, contract)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "BROKEN" in result.stdout


def test_a_part_without_a_layer_is_caught(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "commwall")
    (tmp_path / "commwall" / "surprise.py").write_text('"""A part nobody declared."""\n')
    assert lint(tmp_path, "layers").returncode == 1
