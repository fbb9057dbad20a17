"""Expressions of claim files: arithmetic over named quantities, and relations between two.

Layer: claims. Reads and writes no file. Nothing of Python is evaluated but numbers, names, the four
operations, whole powers, and calls of `commwall.claims.formulas`.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from commwall.claims.formulas import FORMULAS
from commwall.schema.errors import CommwallError, UnitError
from commwall.schema.quantities import Quantity, dimension_text, unit_of

Environment = Mapping[str, Quantity]
_OPERATIONS: dict[type[ast.operator], Callable[[Quantity, Quantity], Quantity]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.LtE: "<=", ast.GtE: ">=", ast.Lt: "<", ast.Gt: ">",
}  # fmt: skip


class ExpressionError(CommwallError):
    """A text that is no expression, or one whose names or units do not fit."""


@dataclass(frozen=True)
class Relation:
    """Two expressions and how they are said to compare."""

    text: str
    left: ast.expr
    sign: str
    right: ast.expr

    @property
    def names(self) -> frozenset[str]:
        """Names of quantities in it."""
        return names_in(self.left) | names_in(self.right)


def parse(text: str) -> ast.expr:
    """The tree of an expression.

    Raises:
        ExpressionError: if it is none.
    """
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{text!r} is no expression: {error}") from error


def parse_relation(text: str) -> Relation:
    """The two sides of a relation.

    Raises:
        ExpressionError: if it does not compare exactly two expressions.
    """
    tree = parse(text)
    signs = [type(sign) for sign in tree.ops] if isinstance(tree, ast.Compare) else []
    if not isinstance(tree, ast.Compare) or len(signs) != 1 or signs[0] not in _COMPARISONS:
        raise ExpressionError(
            f"{text!r} is no relation", expected="two expressions joined by ==, <=, >=, < or >"
        )
    return Relation(text, tree.left, _COMPARISONS[signs[0]], tree.comparators[0])


def names_in(tree: ast.AST) -> frozenset[str]:
    """Names of quantities in an expression; those of formulas are not among them."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return frozenset(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called
    )


def evaluate(tree: ast.expr, environment: Environment) -> Quantity:
    """The value of an expression.

    Raises:
        ExpressionError: for a name, a formula or a piece of syntax that is not known.
        UnitError: if values of two kinds are added, or a formula is given other units.
    """
    if isinstance(tree, ast.Name):
        return _named(tree.id, environment)
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int | float):
        return _constant(tree.value)
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATIONS:
        left, right = evaluate(tree.left, environment), evaluate(tree.right, environment)
        return _OPERATIONS[type(tree.op)](left, right)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Pow):
        return _raised(tree, environment)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and not tree.keywords:
        return _called(tree.func.id, [evaluate(item, environment) for item in tree.args])
    raise ExpressionError(f"{ast.unparse(tree)!r} is not allowed in an expression")


def _constant(value: float) -> Quantity:
    if isinstance(value, bool):
        raise ExpressionError(f"{value} is no number")
    return Quantity(float(value))


def _named(name: str, environment: Environment) -> Quantity:
    if name not in environment:
        raise ExpressionError(
            f"{name!r} is not known here", expected=f"one of {', '.join(sorted(environment))}"
        )
    return environment[name]


def _raised(tree: ast.BinOp, environment: Environment) -> Quantity:
    exponent = tree.right
    if isinstance(exponent, ast.Constant) and exponent.value in (2, 3):
        return evaluate(tree.left, environment) ** (2 if exponent.value == 2 else 3)
    raise ExpressionError(f"{ast.unparse(tree)!r}: a power is 2 or 3")


def _called(name: str, given: list[Quantity]) -> Quantity:
    if name not in FORMULAS:
        raise ExpressionError(
            f"there is no formula {name!r}", expected=f"one of {', '.join(sorted(FORMULAS))}"
        )
    formula = FORMULAS[name]
    if len(given) != len(formula.takes):
        raise ExpressionError(
            f"{name} takes {len(formula.takes)} values, not {len(given)}",
            expected=f"{name}({', '.join(formula.takes)})",
        )
    for value, unit in zip(given, formula.takes, strict=True):
        if value.dimension != unit_of(unit).dimension:
            raise UnitError(
                f"{name} is given another kind of value",
                found=dimension_text(value.dimension),
                expected=f"{name}({', '.join(formula.takes)})",
            )
    try:
        result = formula.compute(*(value.value for value in given))
    except ZeroDivisionError:
        result = math.inf  # as a quotient of two quantities is
    return Quantity(result, unit_of(formula.gives).dimension)
