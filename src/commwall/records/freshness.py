"""Which code and environment made a number: digests and freshness keys.

Layer: records. Reads the package's own source files and `protocols.json` beside this module.
The digest of a suite covers every module of the package that its workers import, in a form
that comments, docstrings and layout do not change and that all Python versions agree on.
"""

import ast
import gc
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import commwall
from commwall.schema.base import digest
from commwall.schema.record import Protocol, Record

PACKAGE_DIR = Path(commwall.__file__).parent
PROTOCOLS_PATH = Path(__file__).with_name("protocols.json")
_UNACKNOWLEDGED = "digest-"
"""Beginning of the version of code that nobody has acknowledged."""
_IGNORED_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields of statements that hold statements."""


@dataclass(frozen=True)
class _Meaning:
    """What a source file says."""

    digest: str
    """Of its meaning; of its raw text if it does not parse."""
    imports: frozenset[Path]
    """Files of the package that it imports, inside functions too."""


def suite_modules(suite: str) -> tuple[str, ...]:
    """Modules at which the import closure of a suite's workers starts."""
    return ("commwall.workers.start", "commwall.workers.__main__", f"commwall.workers.{suite}")


def code_digest(*entries: str) -> str:
    """Digest of the import closure of modules.

    Args:
        entries: dotted names of modules or packages of commwall; a package stands for all
            modules in it.

    Returns:
        64 hexadecimal digits.

    Raises:
        FileNotFoundError: if an entry is no module of the package.
    """
    with _no_collection():
        files = closure(*entries)
    return digest({str(path.relative_to(PACKAGE_DIR)): _meaning(path).digest for path in files})


def closure(*entries: str) -> tuple[Path, ...]:
    """Source files of the package that the entries import, directly or not, sorted.

    Raises:
        FileNotFoundError: if an entry is no module of the package.
    """
    waiting = [path for entry in entries for path in _entry_files(entry)]
    reached: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting.extend(_meaning(path).imports)
    return tuple(sorted(reached))


@contextmanager
def _no_collection() -> Iterator[None]:
    """No syntax tree stays: to look for garbage among them takes a quarter of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def protocol(suite: str) -> str:
    """Protocol version of a suite's code as it stands.

    Returns:
        The version `protocols.json` gives the code's digest, or `digest-<12 digits>` for code
        that nobody has acknowledged: it is its own version, so it measures anew.
    """
    code = code_digest(*suite_modules(suite))
    return acknowledged(suite).get(code, f"{_UNACKNOWLEDGED}{code[:12]}")


def acknowledged(suite: str) -> dict[str, str]:
    """Acknowledged code digests of a suite with the protocol version each belongs to."""
    versions: dict[str, dict[str, str]] = json.loads(PROTOCOLS_PATH.read_text(encoding="utf-8"))
    return versions.get(suite, {})


def freshness_key(suite: str, lock_digest: str) -> str:
    """Key that a record must carry to count as fresh."""
    return _key(suite, protocol(suite), lock_digest)


def acknowledged_since(record: Record) -> Record:
    """A record under the protocol that its code belongs to, if that was said after it measured."""
    own, software, suite = record.protocol, record.software, record.id.suite
    if not own.version.startswith(_UNACKNOWLEDGED):
        return record
    version = acknowledged(suite).get(software.code_digest)
    if version is None:
        return record
    known = Protocol(version=version, freshness_key=_key(suite, version, software.lock_digest))
    return record.model_copy(update={"protocol": known})


def _key(suite: str, version: str, lock_digest: str) -> str:
    return f"{suite}-{version}-{lock_digest[:24]}"


def _entry_files(entry: str) -> list[Path]:
    path = _module_file(entry)
    if path is None:
        raise FileNotFoundError(f"{entry} is no module of the package")
    return sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]


def _module_file(name: str) -> Path | None:
    """Source file of a dotted name, or None if it is no module of the package."""
    head, *parts = name.split(".")
    if head != "commwall":
        return None
    stem = PACKAGE_DIR.joinpath(*parts)
    candidates = (stem.with_name(stem.name + ".py"), stem / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


@cache
def _meaning(path: Path) -> _Meaning:
    """Reads a file; the trees of a whole package, if kept, would slow every search for garbage."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError:
        return _Meaning(hashlib.sha256(path.read_bytes()).hexdigest(), frozenset())
    return _Meaning(digest(_canonical(tree)), _imported_files(tree))


def _imported_files(tree: ast.Module) -> frozenset[Path]:
    names = {name for node in _statements(tree.body) for name in _imported_names(node)}
    files = map(_module_file, {prefix for name in names for prefix in _prefixes(name)})
    return frozenset(file for file in files if file)


def _statements(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements, of inner blocks too."""
    for statement in block:
        yield statement
        for name in _BLOCKS:
            yield from _statements(getattr(statement, name, []))


def _imported_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def _prefixes(name: str) -> list[str]:
    """`a.b.c` -> `a`, `a.b`, `a.b.c`: importing a module runs its packages too."""
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


def _canonical(node: Any) -> Any:
    """A syntax tree as plain lists: no positions, no docstrings, no empty fields.

    Python versions disagree on which empty fields exist, hence they are left out.
    """
    if isinstance(node, ast.AST):
        fields = {
            name: _canonical(value)
            for name, value in ast.iter_fields(node)
            if name not in _IGNORED_FIELDS and value not in (None, [])
        }
        return [type(node).__name__, fields]
    if isinstance(node, list):
        return [_canonical(item) for item in node if not _is_docstring(item)]
    return repr(node)


def _is_docstring(node: Any) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
