"""Which constants the code may hold, each rule a function from a syntax tree to violations.

Facts about the world belong into config/facts, where each has a source. Code may hold numbers
that the project chose, if it says so, and numbers that a standard or an algorithm fixes, if it
names the standard. It does not know GPUs by name.
"""

import ast
import math
import re
from collections.abc import Iterator

LARGE = 1e6
"""From here on a number is no count, index or share: it is a rate, a size or a price."""
PHYSICAL = re.compile(
    r"(BYTES_PER_S|GB_PER_S|FLOPS|FLOPS_PER_S|BANDWIDTH|PRICE|DOLLARS?|EUROS?|WATTS?|_W|_HZ|TDP"
    r"|EFFICIENCY|OVERHEAD)$",
    re.IGNORECASE,
)
"""Names of constants that are quantities of hardware or prices, however small their numbers."""
ORIGINS = ("Source:", "Chosen:")
"""What the string below a constant says: where it is from, or that the project chose it."""
GPU_NAME = re.compile(r"\b([ABHLVP]\d{2,3}S?|RTX|GeForce|Tesla|TITAN|MI\d{3}X?)\b")


def unsourced_numbers(tree: ast.Module) -> list[str]:
    """Large numbers, and constants named like quantities, without their origin."""
    told = {id(node) for own in _told(tree) for node in ast.walk(own)}
    large = [
        f"line {node.lineno}: {node.value!r} without Source or Chosen; or is it a fact for "
        "config/facts?"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and id(node) not in told and _is_large(node.value)
    ]
    named = [
        f"line {own.lineno}: {name} without Source or Chosen; or is it a fact for config/facts?"
        for own in _constants(tree)
        for name in _names(own)
        if PHYSICAL.search(name) and id(own) not in told
    ]
    return large + named


def gpu_names(tree: ast.Module) -> list[str]:
    """GPUs by name where the code decides or looks something up by it."""
    places: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            places += [key for key in node.keys if key]
        elif isinstance(node, ast.Compare):
            places += [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            places.append(node.value)
    return [
        f"line {place.lineno}: the code knows {place.value!r}; config/facts should"
        for place in places
        if isinstance(place, ast.Constant)
        and isinstance(place.value, str)
        and GPU_NAME.search(place.value)
    ]


def _constants(tree: ast.Module) -> Iterator[ast.Assign | ast.AnnAssign]:
    """Assignments of numbers, or of collections that hold them, at the top of a module or class."""
    scopes = [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    for scope in scopes:
        for node in scope.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and _has_number(node.value):
                yield node


def _told(tree: ast.Module) -> Iterator[ast.Assign | ast.AnnAssign]:
    """Constants with a string below them that tells their origin."""
    for scope in (tree, *(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))):
        for own, below in zip(scope.body, scope.body[1:], strict=False):
            text = below.value if isinstance(below, ast.Expr) else None
            words = text.value if isinstance(text, ast.Constant) else ""
            if isinstance(own, ast.Assign | ast.AnnAssign) and any(
                origin in str(words) for origin in ORIGINS
            ):
                yield own


def _names(own: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = own.targets if isinstance(own, ast.Assign) else [own.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _has_number(value: ast.expr | None) -> bool:
    if value is None or isinstance(value, ast.Call):
        return False
    numbers = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]
    return any(_is_number(number) and not _is_scale(number) for number in numbers)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_large(value: object) -> bool:
    """A number that is large and no scale: powers of ten and of two are units."""
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) < LARGE:
        return False
    return not _is_scale(value)


def _is_scale(value: object) -> bool:
    """A power of ten or of two, or all bits of a word set; 1 is none."""
    if not isinstance(value, int | float) or value <= 0 or value == 1:
        return False
    limit = isinstance(value, int) and math.log2(value + 1).is_integer()
    return math.log10(value).is_integer() or math.log2(value).is_integer() or limit
