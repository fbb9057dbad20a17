"""The rules by which claims are judged, each a pure function from a claim to findings.

Layer: claims. Reads and writes no file. A rule looks at what the text states and at sourced
constants; none knows a particular claim.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from commwall.claims.expressions import Relation, evaluate, parse, parse_relation
from commwall.claims.factbook import FactBook
from commwall.claims.scene import (
    Compared,
    Entry,
    Scene,
    compare,
    corners,
    readings,
    solve,
)
from commwall.claims.wording import told, told_range
from commwall.schema.claims import Claim, Formula, Unknown
from commwall.schema.parsing import nearest
from commwall.schema.quantities import Quantity, dimension_text, unit_of

Outcome = Literal["wrong", "inconsistent", "unit", "unsupported", "conditional", "holds"]
"""wrong: contradicts arithmetic or a sourced constant; inconsistent: contradicts another statement
of the same text; unit: true only if a unit, a direction or what is counted is read otherwise;
unsupported: needs something that the text does not tell; conditional: true under a condition
that it does not state; holds: nothing speaks against it."""
SCALING_WITHIN = 0.02
"""Relative difference below which two formulas grow alike when a quantity doubles."""


@dataclass(frozen=True)
class Finding:
    """What one rule says."""

    outcome: Outcome
    words: str
    sources: tuple[str, ...] = ()
    """Of the constants that it uses."""


# Unknowns ----------------------------------------------------------------------------------


def solved(claim: Claim, scene: dict[str, Entry]) -> Iterator[Finding]:
    """Solve for what the text does not tell; adds each value to the scene."""
    for name, unknown in claim.unknowns.items():
        equation = parse_relation(unknown.equation)
        values = _solutions(name, unknown, equation, scene)
        yield _condition(unknown, equation, values, scene)
        if not values:
            return
        dimension = unit_of(unknown.unit).dimension
        least, most = (Quantity(end, dimension) for end in (min(values), max(values)))
        scene[name] = Entry(least, most, _origin(equation, scene))


def _solutions(name: str, unknown: Unknown, equation: Relation, scene: Scene) -> list[float]:
    """Solutions at the ends of facts; the text's numbers are taken as they stand."""
    unit = unit_of(unknown.unit)
    least, most = (Quantity(end * unit.value, unit.dimension) for end in unknown.within)
    ranges = frozenset(own for own in equation.names & scene.keys() if scene[own].origin != "text")
    found = [solve(equation, name, (least, most), known) for known in corners(scene, ranges)]
    return [value for value in found if value is not None]


def _condition(unknown: Unknown, equation: Relation, values: list[float], scene: Scene) -> Finding:
    unit, sources = unit_of(unknown.unit), _sources(equation, scene)
    if not values:
        ends = " and ".join(told(Quantity(end) * unit) for end in unknown.within)
        words = f"impossible: no {unknown.words} between {ends} makes {equation.text} true"
        return Finding("wrong", words, sources)
    value = told_range(values, unit.dimension)
    if unknown.role == "outcome":
        words = f"not told: {unknown.words}; it would have to be {value}"
        return Finding("unsupported", words, sources)
    if unknown.role == "setting":
        return Finding("conditional", f"true if {unknown.words} is {value}", sources)
    return Finding("holds", f"{unknown.words}: {value}", sources)


def _origin(equation: Relation, scene: Scene) -> Literal["text", "fact"]:
    origins = {scene[name].origin for name in equation.names & scene.keys()}
    return "fact" if "fact" in origins else "text"


# Relations ---------------------------------------------------------------------------------


def relation(text: str, scene: Scene) -> Finding:
    """Whether a relation holds; if not, whether another reading of a number makes it hold."""
    own = parse_relation(text)
    found = compare(own, scene)
    sources = _sources(own, scene)
    if found.holds and found.counted_alike:
        return Finding("conditional" if _wide(own, scene) else "holds",
                       _told(own, found) + _spread(own, scene), sources)  # fmt: skip
    if found.holds:
        words = (f"counts {dimension_text(found.dimension)} where "
                 f"{dimension_text(found.other)} are meant: {_told(own, found)}")  # fmt: skip
        return Finding("unit", words, sources)
    others = list(_other_readings(own, scene))
    if others:
        words = f"{_told(own, found)}; true if {' or '.join(others)}"
        return Finding("unit", words, sources)
    if not found.counted_alike:
        words = (f"counts {dimension_text(found.dimension)}, the constant "
                 f"{dimension_text(found.other)}; as one and the same, {_told(own, found)}")  # fmt: skip
        return Finding("unit", words, sources)
    return Finding(_failure(own, scene), _told(own, found), sources)


def _failure(own: Relation, scene: Scene) -> Outcome:
    """What a relation that does not hold says of the text."""
    entries = [scene[name] for name in own.names & scene.keys()]
    if any(entry.fact and entry.fact.varies for entry in entries):
        return "unsupported"
    if any(entry.origin == "fact" for entry in entries):
        return "wrong"
    places = {entry.number.place for entry in entries if entry.number}
    return "inconsistent" if len(places) > 1 else "wrong"


def _other_readings(own: Relation, scene: Scene) -> Iterator[str]:
    for name in sorted(own.names & scene.keys()):
        number = scene[name].number
        for words, factor in readings(number) if number else ():
            changed = {**scene, name: scene[name].scaled(factor)}
            if compare(own, changed).holds:
                yield f"{number.value:g} {number.unit} is read as {words}" if number else ""


def _told(own: Relation, found: Compared) -> str:
    left, right = (
        told_range(values, dimension)
        for values, dimension in ((found.left, found.dimension), (found.right, found.other))
    )
    verb = "holds" if found.holds else "does not hold"
    return f"{own.text} {verb}: {left} against {right}"


def _wide(own: Relation, scene: Scene) -> bool:
    """Whether an equation holds only because a constant of it is a wide range."""
    entries = [scene[name] for name in own.names & scene.keys()]
    return own.sign == "==" and any(entry.fact and entry.fact.wide for entry in entries)


def _spread(own: Relation, scene: Scene) -> str:
    return "; what was reported differs as much between machines" if _wide(own, scene) else ""


def _sources(own: Relation, scene: Scene) -> tuple[str, ...]:
    entries = [scene[name].fact for name in sorted(own.names & scene.keys())]
    return tuple(dict.fromkeys(fact.source for fact in entries if fact))


# Formulas ----------------------------------------------------------------------------------


def formula(own: Formula) -> Finding:
    """Whether a formula of the text has the unit it should, and grows as the documented one."""
    base = {name: Quantity(value) * unit_of(unit) for name, (value, unit) in own.at.items()}
    found, wanted = evaluate(parse(own.text), base), unit_of(own.unit).dimension
    if found.dimension != wanted:
        given = dimension_text(found.dimension)
        return Finding("wrong", f"{own.text} gives {given}, not {dimension_text(wanted)}")
    if own.documented is None:
        return Finding("holds", f"{own.text} gives {told(found)}")
    return _against(own, own.documented, base)


def _against(own: Formula, documented: str, base: Mapping[str, Quantity]) -> Finding:
    known = {**base, **{theirs: base[ours] for ours, theirs in own.reads.items()}}
    here, there = (_growth(text, known, own) for text in (own.text, documented))
    differing = [
        f"doubling {name} makes it {here[name]:.3g} times as much, not {there[name]:.3g}"
        for name in own.at
        if abs(here[name] / there[name] - 1) > SCALING_WITHIN
    ]
    mine, theirs = evaluate(parse(own.text), known), evaluate(parse(documented), known)
    if differing:
        return Finding("wrong", f"{own.text} is not {documented}: {'; '.join(differing)}")
    if not own.only_scaling and abs(mine.value / theirs.value - 1) > SCALING_WITHIN:
        return Finding("wrong", f"{own.text} gives {told(mine)}, {documented} {told(theirs)}")
    if own.reads:
        names = "; ".join(f"{ours} means {theirs}" for ours, theirs in own.reads.items())
        return Finding("conditional", f"{own.text} is {documented} if {names}".replace("_", " "))
    return Finding("holds", f"{own.text} is {documented}")


def _growth(text: str, known: Mapping[str, Quantity], own: Formula) -> dict[str, float]:
    """Name -> factor on the result when that quantity doubles."""
    tree = parse(text)
    at_base = evaluate(tree, known).value
    found = {}
    for name in own.at:
        doubled = Quantity(2 * known[name].value, known[name].dimension)
        names = {name, own.reads.get(name, name)}
        found[name] = evaluate(tree, {**known, **dict.fromkeys(names, doubled)}).value / at_base
    return found


# Words and context -------------------------------------------------------------------------


def word(text: str, vocabulary: str, book: FactBook) -> Finding:
    """Whether a word that the text uses exists where it says so."""
    known = book.vocabulary(vocabulary)
    if text in known.words:
        return Finding("holds", f"{text!r} is known: {vocabulary}", (known.source,))
    near = nearest(text, known.words)
    hint = f"; nearest: {near!r}" if near else ""
    if known.complete:
        return Finding("wrong", f"{text!r} is none of {vocabulary}{hint}", (known.source,))
    return Finding("unsupported", f"{text!r} is not known here{hint}", (known.source,))


def context(claim: Claim) -> Iterator[Finding]:
    """What the claim was found on, and does not say that it is restricted to."""
    open_ = {k: v for k, v in claim.context.items() if claim.scope.get(k) != v}
    if open_:
        words = ", ".join(f"{key} {value}" for key, value in open_.items())
        yield Finding("conditional", f"shown only for: {words}")


# Values beside -----------------------------------------------------------------------------


def shown(claim: Claim, scene: dict[str, Entry]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Computed values for the reader: words, value, sources; each is added to the scene."""
    for name, own in claim.shown.items():
        tree = parse(own.of)
        pair = Relation(own.of, tree, "==", tree)
        if not pair.names <= scene.keys():
            continue  # an unknown that has no solution
        values = [evaluate(tree, known) for known in corners(scene, _ranges(pair, scene))]
        ends = [value.value for value in values]
        dimension = values[0].dimension
        scene[name] = Entry(Quantity(min(ends), dimension), Quantity(max(ends), dimension), "fact")
        yield own.words, told_range(ends, dimension), _sources(pair, scene)


def _ranges(pair: Relation, scene: Scene) -> frozenset[str]:
    return frozenset(name for name in pair.names if scene[name].origin != "text")
