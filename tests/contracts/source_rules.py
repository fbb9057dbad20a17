"""What the house asks of Python source, each rule a function from a syntax tree to violations.

A violation is one line of text, `line N: what is wrong`. Rules know nothing of files.
"""

import ast
from collections.abc import Iterator

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
BLIND = {"Exception", "BaseException"}


def functions(tree: ast.AST) -> Iterator[FunctionNode]:
    """All functions and methods, nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, FunctionNode))


def length(function: FunctionNode) -> int:
    """Lines of a function with its docstring, without decorators."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def dotted(node: ast.AST) -> str:
    """`a.b.c` for a name or a chain of attributes, else an empty text."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def prints(tree: ast.AST) -> list[str]:
    """Writing to the terminal: `print` and `sys.stdout`/`sys.stderr` `.write`."""
    writers = {"print", "sys.stdout.write", "sys.stderr.write", "sys.stdout.writelines"}
    return [
        f"line {node.lineno}: {dotted(node.func)} outside cli"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and dotted(node.func) in writers
    ]


def blind_excepts(tree: ast.AST) -> list[str]:
    """`except:`, and `except Exception` (or suppress) that does not raise again."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and _is_blind(node):
            found.append(f"line {node.lineno}: except that swallows everything")
        if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "suppress":
            if BLIND & set(map(dotted, node.args)):
                found.append(f"line {node.lineno}: suppress that swallows everything")
    return found


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
