"""The package keeps the house rules; each rule is shown to catch what it is there for."""

import ast
from collections.abc import Callable

import pytest

from tests.contracts import source_rules as rules
from tests.contracts.tree import PACKAGE, gather, gather_text, parsed, part_of, sources

IMPORTERS_BY_NAME = ("main.py", "gpus.py", "launch.py", "detection.py")
"""cli.main loads one verb, host.gpus loads NVML where it exists, workers.launch the module of the
request's suite, which `freshness.suite_modules` names, readers.detection the readers of its
registry."""


def test_functions_are_short() -> None:
    found = [
        (rules.length(function), f"{path.name}:{function.name}")
        for path in sources()
        for function in rules.functions(parsed(path))
    ]
    assert rules.size_problems([lines for lines, _ in found]) == [], max(found)


def test_files_are_short() -> None:
    assert gather_text(sources(), rules.long_file) == []


@pytest.mark.parametrize(
    ("lengths", "problem"),
    [
        ([13] * 10, "median 13 lines, at most 12"),
        ([5] * 17 + [40] * 3, "90 % 40 lines, at most 39"),
        ([5] * 99 + [61], "longest 61 lines, at most 60"),
    ],
)
def test_size_rule_catches(lengths: list[int], problem: str) -> None:
    assert rules.size_problems(lengths) == [problem]
    assert rules.size_problems([12] * 18 + [39, 60]) == []


def test_a_long_file_is_caught() -> None:
    assert rules.long_file("x\n" * 400) == ["400 lines, at most 399"]
    assert rules.long_file("x\n" * 399) == []


def test_only_cli_prints() -> None:
    others = [path for path in sources() if part_of(path) not in ("cli", "workers")]
    workers = [path for path in sources() if part_of(path) == "workers"]
    assert gather(others, rules.prints) + gather(workers, rules.worker_prints) == []


def test_only_verbs_and_nvml_are_imported_by_name() -> None:
    others = [path for path in sources() if path.name not in IMPORTERS_BY_NAME]
    assert gather(others, rules.imports_by_name) == []


@pytest.mark.parametrize(
    "rule",
    [
        rules.blind_excepts,
        rules.undocumented,
        rules.unannotated,
        rules.path_edits,
        rules.relative_imports,
    ],
)
def test_rule_holds(rule: Callable[[ast.Module], list[str]]) -> None:
    assert gather(sources(), rule) == []


def test_every_module_names_its_layer() -> None:
    """A part that is one module has no name of its own to give; cli says it once for all verbs."""
    found = [
        f"{path.relative_to(PACKAGE)}: {violation}"
        for path in sources()
        if part_of(path) not in ("__init__", "__main__", "cli")
        for violation in rules.layerless(
            parsed(path), part_of(path) if path.parent != PACKAGE else ""
        )
    ]
    assert found == []


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (rules.prints, "print(1)"),
        (rules.prints, "import sys\nsys.stderr.write('x')"),
        (rules.worker_prints, "print(1, file=sys.stderr)"),
        (rules.blind_excepts, "try:\n    f()\nexcept:\n    raise"),
        (rules.blind_excepts, "try:\n    f()\nexcept Exception:\n    pass"),
        (rules.blind_excepts, "try:\n    f()\nexcept (OSError, BaseException) as e:\n    g(e)"),
        (rules.blind_excepts, "with contextlib.suppress(Exception):\n    f()"),
        (rules.undocumented, "x = 1"),
        (rules.undocumented, '"""To be written."""'),
        (rules.undocumented, '"""Module."""\ndef public() -> None: ...'),
        (rules.undocumented, '"""Module."""\nclass A:\n    """A."""\n    def b(self): ...'),
        (rules.unannotated, "def f(x) -> None: ..."),
        (rules.unannotated, "def f(*args, **kwargs: int) -> None: ..."),
        (rules.unannotated, "def f(x: int): ..."),
        (rules.path_edits, "import sys\nsys.path.insert(0, 'x')"),
        (rules.path_edits, "import os\nos.environ['PYTHONPATH'] = 'x'"),
        (rules.relative_imports, "from . import x"),
        (rules.imports_by_name, "import importlib\nimportlib.import_module('pynvml')"),
    ],
)
def test_rule_catches(rule: Callable[[ast.Module], list[str]], source: str) -> None:
    assert len(rule(ast.parse(source))) == 1


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (rules.prints, "log.write('x')"),
        (rules.worker_prints, "sys.stderr.write('x')"),
        (rules.blind_excepts, "try:\n    f()\nexcept Exception:\n    clean()\n    raise"),
        (rules.blind_excepts, "try:\n    f()\nexcept OSError:\n    pass"),
        (rules.undocumented, '"""Module."""\ndef _private(): ...'),
        (rules.unannotated, "class A:\n    def f(self, x: int) -> None: ..."),
        (rules.path_edits, "import sys\nsys.argv"),
        (rules.relative_imports, "from a import x"),
    ],
)
def test_rule_lets_pass(rule: Callable[[ast.Module], list[str]], source: str) -> None:
    assert rule(ast.parse(source)) == []


def test_layer_rule_catches_the_wrong_name() -> None:
    tree = ast.parse('"""Things.\n\nLayer: stats.\n"""')
    assert rules.layerless(tree, "stats") == []
    assert len(rules.layerless(tree, "host")) == 1


def test_length_counts_docstring_and_nested_functions() -> None:
    tree = ast.parse('@d\ndef f():\n    """A."""\n    def g():\n        pass\n    return g')
    assert {f.name: rules.length(f) for f in rules.functions(tree)} == {"f": 5, "g": 2}
