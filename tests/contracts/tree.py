"""The files of this checkout, for the contracts to look at."""

import ast
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "commwall"


def sources() -> list[Path]:
    """Python files of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    """Part of the package a source file belongs to: `cli`, `process`, …"""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def parsed(path: Path) -> ast.Module:
    """Syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def text_files() -> Iterator[tuple[str, str]]:
    """Name and text of every file that is, or would be, under version control."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    for name in sorted(set(listed.stdout.split("\0")) - {""}):
        path = ROOT / name
        if path.is_file():
            yield name, path.read_text(encoding="utf-8", errors="replace")


def gather(paths: list[Path], rule: Callable[[ast.Module], list[str]]) -> list[str]:
    """Violations of a rule in many Python files, with the file's name."""
    return [f"{path.relative_to(ROOT)}: {found}" for path in paths for found in rule(parsed(path))]


def gather_text(paths: list[Path], rule: Callable[[str], list[str]]) -> list[str]:
    """Violations of a rule in many texts, with the file's name."""
    return [
        f"{path.relative_to(ROOT)}: {found}"
        for path in paths
        for found in rule(path.read_text(encoding="utf-8"))
    ]
