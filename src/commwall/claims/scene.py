"""The quantities of one claim, each with the ends between which it may lie.

Layer: claims. Reads and writes no file. Rates of links are in one direction here, whatever the text
adds up; where it does not tell the direction, its number is taken as it stands.
"""

import ast
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeGuard

from commwall.claims.expressions import Environment, Relation, evaluate, names_in
from commwall.claims.factbook import FactBook, KnownValue
from commwall.language.translate import tr
from commwall.schema.claims import Claim, Number
from commwall.schema.quantities import SAMPLES, Dimension, Quantity, unit_of
from commwall.stats.roots import bisect

Origin = Literal["text", "fact", "own"]
"""Stated by the text, by a sourced constant, or given by the project for illustration."""
NOTHING = 1e-9
"""Relative difference below which two values are one: that of the arithmetic."""
SOLVED = 1e-6
"""Relative difference of the sides that a solution leaves at most: at a pole it is large."""


@dataclass(frozen=True)
class Entry:
    """A quantity of a claim."""

    least: Quantity
    most: Quantity
    origin: Origin
    number: Number | None = None
    fact: KnownValue | None = None

    @property
    def middle(self) -> Quantity:
        """Half-way between the ends."""
        return Quantity((self.least.value + self.most.value) / 2, self.least.dimension)

    def scaled(self, factor: float) -> "Entry":
        """The same, multiplied."""
        least, most = (
            Quantity(end.value * factor, end.dimension) for end in (self.least, self.most)
        )
        return replace(self, least=least, most=most)


def _own(value: float, unit: str) -> Entry:
    exact = Quantity(value) * unit_of(unit)
    return Entry(exact, exact, "own")


CONSTANTS = {
    "byte": _own(1, "byte"),
    "float32": _own(4, "byte/parameter"),
    "bfloat16": _own(2, "byte/parameter"),
}
"""Names that every expression may use."""
Scene = Mapping[str, Entry]


@dataclass(frozen=True)
class Compared:
    """A relation with its values."""

    holds: bool
    left: list[float]
    right: list[float]
    """Values at all ends of what is in it, in SI units."""
    dimension: Dimension
    other: Dimension
    """Of the right side: another only in what is counted."""

    @property
    def counted_alike(self) -> bool:
        """Whether both sides count the same things."""
        return self.dimension == self.other


def scene_of(claim: Claim, book: FactBook) -> dict[str, Entry]:
    """Numbers and facts of a claim.

    Raises:
        ConfigError: if a fact does not exist.
    """
    numbers = {name: _number(each) for name, each in claim.numbers.items()}
    return (
        CONSTANTS
        | numbers
        | {name: _fact(book.value(place)) for name, place in claim.facts.items()}
    )


def _number(number: Number) -> Entry:
    unit = unit_of(number.unit)
    share = 0.5 if number.direction == "both" else 1.0
    upper = number.value if number.most is None else number.most
    width = number.half_width
    least, most = (
        Quantity(end * share * unit.value, unit.dimension)
        for end in (float(number.value) - width, float(upper) + width)
    )
    return Entry(least, most, "text", number=number)


def _fact(value: KnownValue) -> Entry:
    return Entry(value.least, value.most, "fact", fact=value)


def compare(relation: Relation, scene: Scene) -> Compared:
    """Whether a relation can hold within the ends of all that is in it.

    Sides that grow or fall with each quantity have their extremes at the ends; all formulas do.
    """
    found = [_sides(relation, environment) for environment in corners(scene, relation.names)]
    left, right = ([side.value for side in sides] for sides in zip(*found, strict=True))
    return Compared(
        _holds(relation.sign, list(zip(left, right, strict=True))),
        left,
        right,
        found[0][0].dimension,
        found[0][1].dimension,
    )


def no_value(relation: Relation, scene: Scene) -> str | None:
    """Why a relation has no value somewhere between the ends of what is in it, or None."""
    for side in (relation.left, relation.right):
        for divisor in (node.right for node in ast.walk(side) if _divides(node)):
            ends = [evaluate(divisor, own).value for own in corners(scene, names_in(divisor))]
            if min(ends) <= 0 <= max(ends):
                return tr("{divisor}, by which it divides, may be 0", divisor=ast.unparse(divisor))
    try:
        found = [_sides(relation, own) for own in corners(scene, relation.names)]
    except (ArithmeticError, ValueError) as error:
        return str(error)
    finite = all(math.isfinite(side.value) for sides in found for side in sides)
    return None if finite else tr("a number beyond all bounds comes out")


def _divides(node: ast.AST) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def _sides(relation: Relation, environment: Environment) -> tuple[Quantity, Quantity]:
    return evaluate(relation.left, environment), evaluate(relation.right, environment)


def _holds(sign: str, sides: list[tuple[float, float]]) -> bool:
    """Whether the relation holds at one pair of ends at least, or between two of them."""
    room = [NOTHING * max(abs(left), abs(right)) for left, right in sides]
    differences = [left - right for left, right in sides]
    least = min(d - r for d, r in zip(differences, room, strict=True))
    most = max(d + r for d, r in zip(differences, room, strict=True))
    if sign == "==":
        return least <= 0 <= most
    if sign in ("<=", "<"):
        return least <= 0 if sign == "<=" else min(differences) < 0
    return most >= 0 if sign == ">=" else max(differences) > 0


def corners(scene: Scene, names: frozenset[str]) -> Iterator[dict[str, Quantity]]:
    """All combinations of the ends of these quantities, the others at their middle."""
    middle = {name: entry.middle for name, entry in scene.items()}
    ends = {name: {scene[name].least, scene[name].most} for name in sorted(names & scene.keys())}
    for chosen in itertools.product(*ends.values()):
        yield {**middle, **dict(zip(ends, chosen, strict=True))}


def solve(
    equation: Relation, unknown: str, within: tuple[Quantity, Quantity], environment: Environment
) -> float | None:
    """Value of an unknown that makes an equation true [SI unit of the unknown].

    Args:
        equation: two sides that are to be equal.
        unknown: its name in the equation.
        within: least and most that is possible.
        environment: all other quantities.

    Returns:
        None if no value within the limits does.
    """

    def difference(value: float) -> float:
        left, right = both(value)
        return left - right

    def size(value: float) -> float:
        return max(map(abs, both(value)))

    def both(value: float) -> tuple[float, float]:
        known = {**environment, unknown: Quantity(value, within[0].dimension)}
        left, right = _sides(equation, known)
        return left.value, right.value

    points = list(_grid(within[0].value, within[1].value))
    for low, high in itertools.pairwise(points):
        if difference(low) * difference(high) <= 0:
            found = bisect(difference, low, high)
            if abs(difference(found)) <= SOLVED * size(found):
                return found
    return None


def _grid(low: float, high: float, steps: int = 48) -> Iterator[float]:
    """Points from end to end, in equal ratios where both ends are positive."""
    for step in range(steps + 1):
        share = step / steps
        yield low * (high / low) ** share if low > 0 else low + (high - low) * share


def as_samples(dimension: Dimension) -> Dimension:
    """The dimension with images, sequences and tokens taken as one kind of thing."""
    return tuple(sorted(("sample" if base in SAMPLES else base, n) for base, n in dimension))


def readings(number: Number) -> Iterator[tuple[str, float]]:
    """Other ways in which a number can be meant: words, and the factor on its value."""
    bases = {base for base, _ in unit_of(number.unit).dimension}
    if number.direction in ("one", "unstated"):
        yield tr("both directions added"), 0.5
    if number.direction == "both":
        yield tr("one direction"), 2.0
    if number.gpus:
        yield tr("the rate of each of the {n} GPUs", n=number.gpus), float(number.gpus)
    if "byte" in bases:
        bits = "b" in number.unit.partition("/")[0] and "byte" not in number.unit
        yield (tr("bytes instead of bits"), 8.0) if bits else (tr("bits instead of bytes"), 1 / 8)
    if bases & {"byte", "s", "J"}:
        yield tr("a unit a thousand times larger"), 1000.0
        yield tr("a unit a thousand times smaller"), 1 / 1000
