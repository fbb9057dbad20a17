"""The rules by which claims are judged, each a pure function from a claim to findings.

Layer: claims. Reads and writes no file. A rule looks at what the text states and at sourced
constants; none knows a particular claim.
"""

import math
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
    no_value,
    readings,
    solve,
)
from commwall.claims.wording import told, told_in, told_range
from commwall.language.translate import clauses, listed, tr, tr_later
from commwall.schema.claims import Claim, Formula, Unknown
from commwall.schema.parsing import nearest
from commwall.schema.quantities import Quantity, dimension_text, unit_of

Outcome = Literal["wrong", "inconsistent", "unit", "unsupported", "conditional", "holds"]
"""wrong: contradicts arithmetic or a sourced constant; inconsistent: contradicts another statement
of the same text; unit: true only if a unit, a direction or what is counted is read otherwise;
unsupported: needs something that the text does not tell; conditional: true under a condition
that it does not state; holds: nothing speaks against it."""
NOMINAL_WITHIN = 0.05
"""How near to a nominal rate nothing comes that was measured [1].

Source: config/facts: copies between GPUs reach 0.88 and 0.91 of it, memory 0.93.
"""
SCALING_WITHIN = 0.02
"""Relative difference below which two formulas grow alike when a quantity doubles."""


@dataclass(frozen=True)
class Finding:
    """What one rule says."""

    outcome: Outcome
    words: str
    sources: tuple[str, ...] = ()
    """Of the constants that it uses."""


@dataclass(frozen=True)
class Value:
    """Something computed for the reader to see beside a claim."""

    words: str
    text: str
    sources: tuple[str, ...] = ()


# Unknowns ----------------------------------------------------------------------------------


def solved(claim: Claim, scene: dict[str, Entry]) -> Iterator[Finding | Value]:
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


def _condition(
    unknown: Unknown, equation: Relation, values: list[float], scene: Scene
) -> Finding | Value:
    sources = _sources(equation, scene)
    if not values:
        return Finding("wrong", _impossible(unknown, equation), sources)
    words, value = tr(unknown.words), told_in(values, unknown.unit)
    if unknown.role == "outcome":
        open_ = tr("not told: {what}; it would have to be {value}", what=words, value=value)
        return Finding("unsupported", open_, sources)
    if unknown.role == "setting":
        condition = tr("true if {what} is {value}", what=words, value=value)
        return Finding("conditional", condition, sources)
    return Value(words, value, sources)


def _impossible(unknown: Unknown, equation: Relation) -> str:
    least, most = (f"{end:g}" for end in unknown.within)
    return tr(
        "impossible: no {what} between {least} and {most} {unit} makes {equation} true",
        what=_plain(tr(unknown.words)),
        least=least,
        most=most,
        unit=_plain(unknown.unit),
        equation=_plain(equation.text),
    )


def _plain(text: str) -> str:
    """Names of quantities without their underscores."""
    return text.replace("_", " ")


def _origin(equation: Relation, scene: Scene) -> Literal["text", "fact"]:
    origins = {scene[name].origin for name in equation.names & scene.keys()}
    return "fact" if "fact" in origins else "text"


# Relations ---------------------------------------------------------------------------------


def relation(text: str, scene: Scene) -> Finding:
    """Whether a relation holds; if not, whether another reading of a number makes it hold."""
    own = parse_relation(text)
    if (reason := no_value(own, scene)) is not None:
        words = tr("{relation} cannot be computed: {reason}", relation=text, reason=reason)
        return Finding("unsupported", words)
    found, sources = compare(own, scene), _sources(own, scene)
    words = _told(own, found)
    if not found.counted_alike:
        one, other = (dimension_text(kind) for kind in (found.dimension, found.other))
        kinds = tr("compares {one} with {other}: {told}", one=one, other=other, told=words)
        return Finding("unit", kinds, sources)
    if found.holds:
        return _holding(own, found, scene, words)
    if own.sign == "==" and (others := list(_other_readings(own, scene))):
        condition = tr("true if {readings}", readings=tr(" or ").join(others))
        return Finding("unit", clauses([words, condition]), sources)
    return Finding(_failure(own, scene), words, sources)


def _holding(own: Relation, found: Compared, scene: Scene, words: str) -> Finding:
    """A relation that holds: by a wide range only, or by giving a nominal rate for a real one."""
    sources = _sources(own, scene)
    entries = [scene[name] for name in own.names & scene.keys()]
    if own.sign == "==" and any(entry.fact and entry.fact.wide for entry in entries):
        spread = tr("what was reported differs as much between machines")
        return Finding("conditional", clauses([words, spread]), sources)
    near = min(found.left) >= (1 - NOMINAL_WITHIN) * max(found.right)
    if own.sign == "<=" and near and any(e.number and e.number.reached for e in entries):
        nominal = tr("the nominal rate is given for one that was reached")
        return Finding("unit", clauses([words, nominal]), sources)
    return Finding("holds", words, sources)


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
            if number and compare(own, changed).holds:
                stated = f"{number.value:g} {number.unit}"
                yield tr("{stated} is read as {meaning}", stated=stated, meaning=words)


_VERBS = {
    "==": (tr_later("agrees with"), tr_later("is not")),
    "<=": (tr_later("is at most"), tr_later("is above")),
    ">=": (tr_later("is at least"), tr_later("is below")),
    "<": (tr_later("is below"), tr_later("is not below")),
    ">": (tr_later("is above"), tr_later("is not above")),
}
"""Sign of a relation -> words between its sides if it holds, and if it does not."""


def _told(own: Relation, found: Compared) -> str:
    left, right = (
        told_range(values, dimension)
        for values, dimension in ((found.left, found.dimension), (found.right, found.other))
    )
    return tr(
        "{left} {verb} {right} ({relation})",
        left=left,
        verb=tr(_VERBS[own.sign][0 if found.holds else 1]),
        right=right,
        relation=_plain(own.text.replace("==", "=")),
    )


def _sources(own: Relation, scene: Scene) -> tuple[str, ...]:
    entries = [scene[name].fact for name in sorted(own.names & scene.keys())]
    return tuple(dict.fromkeys(fact.source for fact in entries if fact))


# Formulas ----------------------------------------------------------------------------------


def formula(own: Formula) -> Finding:
    """Whether a formula of the text has the unit it should, and grows as the documented one."""
    base = {name: Quantity(value) * unit_of(unit) for name, (value, unit) in own.at.items()}
    found, wanted = evaluate(parse(own.text), base), unit_of(own.unit).dimension
    if found.dimension != wanted:
        given, asked = dimension_text(found.dimension), dimension_text(wanted)
        words = tr(
            "{formula} gives {given}, not {asked}", formula=own.text, given=given, asked=asked
        )
        return Finding("wrong", words)
    if own.documented is None:
        return Finding("holds", tr("{formula} gives {value}", formula=own.text, value=told(found)))
    return _against(own, own.documented, base)


def _against(own: Formula, documented: str, base: Mapping[str, Quantity]) -> Finding:
    known = {**base, **{theirs: base[ours] for ours, theirs in own.reads.items()}}
    here, there = (_growth(text, known, own) for text in (own.text, documented))
    differing = [
        _other_growth(name, here[name], there[name])
        for name in own.at
        if abs(here[name] / there[name] - 1) > SCALING_WITHIN
    ]
    mine, theirs = evaluate(parse(own.text), known), evaluate(parse(documented), known)
    both = {"formula": own.text, "documented": documented}
    if differing:
        words = tr("{formula} is not {documented}: {why}", **both, why=clauses(differing))
        return Finding("wrong", words)
    if not own.only_scaling and abs(mine.value / theirs.value - 1) > SCALING_WITHIN:
        values = {"value": told(mine), "other": told(theirs)}
        return Finding(
            "wrong", tr("{formula} gives {value}, {documented} {other}", **both, **values)
        )
    if own.reads:
        names = clauses(
            tr("{ours} means {theirs}", ours=ours, theirs=theirs)
            for ours, theirs in own.reads.items()
        )
        words = tr("{formula} is {documented} if {names}", **both, names=names)
        return Finding("conditional", _plain(words))
    return Finding("holds", tr("{formula} is {documented}", **both))


def _other_growth(name: str, here: float, there: float) -> str:
    mine, theirs = f"{here:.3g}", f"{there:.3g}"
    return tr(
        "doubling {name} makes it {mine} times as much, not {theirs}",
        name=name,
        mine=mine,
        theirs=theirs,
    )


def _growth(text: str, known: Mapping[str, Quantity], own: Formula) -> dict[str, float]:
    """Name -> factor on the result when that quantity doubles."""
    tree = parse(text)
    at_base = evaluate(tree, known).value
    found = {}
    for name in own.at:
        doubled = Quantity(2 * known[name].value, known[name].dimension)
        names = {name, own.reads.get(name, name)}
        then = evaluate(tree, {**known, **dict.fromkeys(names, doubled)}).value
        if not (at_base and then and math.isfinite(at_base) and math.isfinite(then)):
            raise ArithmeticError(f"{text} is 0 or beyond all bounds where {name} is doubled")
        found[name] = then / at_base
    return found


# Words and context -------------------------------------------------------------------------


def word(text: str, vocabulary: str, book: FactBook) -> Finding:
    """Whether a word that the text uses exists where it says so."""
    known = book.vocabulary(vocabulary)
    title = tr(known.title)
    if text in known.words:
        words = tr("{word} is among {vocabulary}", word=repr(text), vocabulary=title)
        return Finding("holds", words, (known.source,))
    words = (
        tr("{word} is not among {vocabulary}", word=repr(text), vocabulary=title)
        if known.complete
        else tr("{word} is not known here", word=repr(text))
    )
    if near := nearest(text, known.words):
        words = clauses([words, tr("nearest: {word}", word=repr(near))])
    return Finding("wrong" if known.complete else "unsupported", words, (known.source,))


def context(claim: Claim) -> Iterator[Finding]:
    """What the claim was found on, and does not say that it is restricted to."""
    open_ = {k: v for k, v in claim.context.items() if claim.scope.get(k) != v}
    if open_:
        conditions = listed(f"{key} {value}" for key, value in open_.items())
        yield Finding("conditional", tr("shown only for: {conditions}", conditions=conditions))


# Values beside -----------------------------------------------------------------------------


def shown(claim: Claim, scene: dict[str, Entry]) -> Iterator[Value]:
    """Computed values for the reader; each is added to the scene."""
    for name, own in claim.shown.items():
        tree = parse(own.of)
        pair = Relation(own.of, tree, "==", tree)
        if not pair.names <= scene.keys():
            continue  # an unknown that has no solution
        values = [evaluate(tree, known) for known in corners(scene, _ranges(pair, scene))]
        ends, dimension = [value.value for value in values], values[0].dimension
        least, most = (Quantity(end, dimension) for end in (min(ends), max(ends)))
        scene[name] = Entry(least, most, "fact")
        yield Value(tr(own.words), told_in(ends, own.unit), _sources(pair, scene))


def _ranges(pair: Relation, scene: Scene) -> frozenset[str]:
    return frozenset(name for name in pair.names if scene[name].origin != "text")
