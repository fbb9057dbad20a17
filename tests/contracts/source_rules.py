"""What the house asks of Python source, each rule a function from a syntax tree to violations.

A violation is one line of text, `line N: what is wrong`. Rules know nothing of files.
"""

import ast
import statistics
from collections.abc import Iterator

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
BLIND = {"Exception", "BaseException"}


def functions(tree: ast.AST) -> Iterator[FunctionNode]:
    """All functions and methods, nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, FunctionNode))


def length(function: FunctionNode) -> int:
    """Lines of a function with its docstring, without decorators."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def size_problems(lengths: list[int]) -> list[str]:
    """What is wrong with the lengths of all functions: median, ninth decile, longest."""
    ordered = sorted(lengths)
    middle, ninth, longest = (
        statistics.median_low(ordered),
        ordered[9 * len(ordered) // 10],
        ordered[-1],
    )
    found = {"median": (middle, 12), "90 %": (ninth, 39), "longest": (longest, 60)}
    return [f"{name} {n} lines, at most {most}" for name, (n, most) in found.items() if n > most]


def long_file(text: str) -> list[str]:
    """A file of 400 lines or more."""
    lines = len(text.splitlines())
    return [f"{lines} lines, at most 399"] if lines > 399 else []


def dotted(node: ast.AST) -> str:
    """`a.b.c` for a name or a chain of attributes, else an empty text."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def prints(tree: ast.AST) -> list[str]:
    """Writing to the terminal: `print`, and `write` of the standard streams."""
    return _calls(tree, {"print", "sys.stdout.write", "sys.stderr.write"})


def worker_prints(tree: ast.AST) -> list[str]:
    """As `prints`, but a worker may write to stderr: its stderr is its log."""
    return _calls(tree, {"print", "sys.stdout.write"})


def _calls(tree: ast.AST, forbidden: set[str]) -> list[str]:
    return [
        f"line {node.lineno}: {dotted(node.func)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and dotted(node.func) in forbidden
    ]


def blind_excepts(tree: ast.AST) -> list[str]:
    """`except:`, and `except Exception` (or suppress) that does not raise again."""
    found = [
        f"line {node.lineno}: except that swallows everything"
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and _is_blind(node)
    ]
    return found + [
        f"line {node.lineno}: suppress that swallows everything"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and dotted(node.func).split(".")[-1] == "suppress"
        and BLIND & set(map(dotted, node.args))
    ]


def _is_blind(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    raises = any(isinstance(node, ast.Raise) for node in ast.walk(handler))
    return bool(BLIND & set(map(dotted, caught))) and not raises


def undocumented(tree: ast.Module) -> list[str]:
    """Public classes, functions and methods, and the module, without a docstring."""
    found = [] if _written(tree) else ["line 1: module without a docstring"]
    return found + [
        f"line {node.lineno}: {node.name} has no docstring"
        for node in _public(tree)
        if not _written(node)
    ]


def _written(node: ast.Module | ast.ClassDef | FunctionNode) -> bool:
    text = ast.get_docstring(node)
    return bool(text) and "To be written" not in str(text)


def _public(scope: ast.Module | ast.ClassDef) -> Iterator[ast.ClassDef | FunctionNode]:
    for node in scope.body:
        if isinstance(node, ast.ClassDef | FunctionNode) and not node.name.startswith("_"):
            yield node
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _public(node)


def layerless(tree: ast.Module, part: str) -> list[str]:
    """A module docstring that does not say `Layer: <part>`."""
    wanted = f"Layer: {part}"
    found = wanted in (ast.get_docstring(tree) or "")
    return [] if found else [f"line 1: module docstring does not say '{wanted}'"]


def unannotated(tree: ast.AST) -> list[str]:
    """Functions with an argument or a result that has no type."""
    return [
        f"line {function.lineno}: {function.name} lacks the type of {missing}"
        for function in functions(tree)
        for missing in _untyped(function)
    ]


def _untyped(function: FunctionNode) -> list[str]:
    spec = function.args
    arguments = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
    names = [a.arg for a in arguments if a and not a.annotation and a.arg not in ("self", "cls")]
    return names if function.returns else [*names, "its result"]


def path_edits(tree: ast.AST) -> list[str]:
    """Changes of `sys.path`, and any mention of PYTHONPATH."""
    return [
        f"line {node.lineno}: {what}"
        for node in ast.walk(tree)
        if (what := _path_edit(node)) and hasattr(node, "lineno")
    ]


def _path_edit(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute) and dotted(node) == "sys.path":
        return "sys.path"
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return "PYTHONPATH" if node.value == "PYTHONPATH" else ""
    return ""


def relative_imports(tree: ast.AST) -> list[str]:
    """`from . import x`: the digest of a suite's import closure does not follow it."""
    return [
        f"line {node.lineno}: relative import"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]


def imports_by_name(tree: ast.AST) -> list[str]:
    """`importlib.import_module`: neither layers nor digests of code see what it imports."""
    return _calls(tree, {"importlib.import_module", "import_module", "__import__"})
