"""Read files of claims: everything that is wrong with one is told at once, with its line.

Layer: claims. Reads `config/facts/claims/*.yaml` and files that the user names.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from commwall.claims.expressions import ExpressionError, evaluate, parse, parse_relation
from commwall.claims.factbook import FactBook
from commwall.claims.rules import formula as judged
from commwall.claims.scene import as_samples, scene_of
from commwall.schema.claims import Claim, ClaimsFile, Formula, Measured
from commwall.schema.errors import CommwallError, ConfigError
from commwall.schema.metrics import METRICS
from commwall.schema.parsing import parse_model, parse_yaml
from commwall.schema.quantities import Dimension, Quantity, dimension_text, unit_of

FOLDER = Path("config/facts/claims")
UNCERTAIN_MOST = 12
"""Quantities of one relation whose ends are combined: 4096 combinations for each reading."""
Key = str | int
Problem = tuple[tuple[Key, ...], str]
"""Keys that lead to it in the file, and what is wrong."""


def shipped(root: Path) -> tuple[Path, ...]:
    """Files of claims in the checkout, sorted by name."""
    return tuple(sorted((root / FOLDER).glob("*.yaml")))


def read_claims(path: Path, book: FactBook) -> ClaimsFile:
    """The claims of a file.

    Args:
        path: the file.
        book: constants that they may refer to.

    Raises:
        ConfigError: naming line, key and reason of every problem.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "cannot read a file of claims",
            where=str(path),
            found=str(error),
            expected="a YAML file in UTF-8",
            next_step="look at the name; docs/claims.md has a file to copy",
        ) from error
    data = parse_yaml(text, path.name)
    try:
        file = parse_model(ClaimsFile, data, path.name)
    except ConfigError as error:
        raise _refused(path, _located(error, text)) from error
    found = [f"line {line_of(text, keys)}: {words}" for keys, words in _problems(file, book)]
    if found:
        raise _refused(path, found)
    return file


def _refused(path: Path, found: list[str]) -> ConfigError:
    return ConfigError(
        f"{len(found)} problem(s) in {path.name}",
        where=str(path),
        found="\n".join(found),
        next_step="correct the file and run again; docs/claims.md explains every key",
    )


def _located(error: ConfigError, text: str) -> list[str]:
    """The problems that a model found, with the lines of their keys."""
    told = (error.parts["found"] or "").splitlines()
    items = error.__cause__.errors() if isinstance(error.__cause__, ValidationError) else []
    if len(items) != len(told):
        return told
    return [
        f"line {line_of(text, item['loc'])}: {words}"
        for item, words in zip(items, told, strict=True)
        if not _follows(item)
    ]


def _follows(problem: Mapping[str, Any]) -> bool:
    """Whether a list is called empty only because all of its items are refused."""
    return bool(problem["type"] == "too_short" and problem["input"])


def line_of(text: str, keys: tuple[Key, ...]) -> int:
    """Line of a value in a YAML text, counted from 1; of the nearest one above, if it is absent."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    line = 1
    for key in keys:
        following = _below(node, key)
        if following is None:
            return line
        line, node = following
    return line


def _below(node: yaml.Node | None, key: Key) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.value[key].start_mark.line + 1, node.value[key]
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == str(key):
                return name.start_mark.line + 1, value
    return None


# What a model cannot see -------------------------------------------------------------------


def _problems(file: ClaimsFile, book: FactBook) -> Iterator[Problem]:
    """Names that are not known and units that do not fit."""
    seen: set[str] = set()
    for index, claim in enumerate(file.claims):
        if claim.id in seen:
            yield ("claims", index, "id"), f"{claim.id!r} stands twice"
        seen.add(claim.id)
        for keys, words in _of_claim(claim, book):
            yield ("claims", index, *keys), words


def _of_claim(claim: Claim, book: FactBook) -> Iterator[Problem]:
    wrong_facts = list(_unknown_names(claim, book))
    yield from wrong_facts
    if wrong_facts:
        return
    known = {name: entry.middle for name, entry in scene_of(claim, book).items()}
    for name, unknown in claim.unknowns.items():
        with_it = {**known, name: Quantity(unknown.within[1]) * unit_of(unknown.unit)}
        yield from _tried(("unknowns", name), partial(_alike, unknown.equation, with_it))
        if unknown.within[0] >= unknown.within[1]:
            yield ("unknowns", name, "within"), "the first must be below the second"
        known = with_it
    for name, own in claim.shown.items():
        yield from _tried(("shown", name), partial(_shown, own.of, own.unit, dict(known)))
        known[name] = unit_of(own.unit)
    exact = {name for name, entry in scene_of(claim, book).items() if entry.least == entry.most}
    for place, text in enumerate(claim.relations):
        yield from _tried(("relations", place), partial(_alike, text, known))
        yield from _tried(("relations", place), partial(_few, text, exact))
    for place, formula in enumerate(claim.formulas):
        yield from _tried(("formulas", place), partial(_formula, formula))
    for place, measured in enumerate(claim.measured):
        yield from _tried(("measured", place), partial(_measurable, claim, measured))


def _unknown_names(claim: Claim, book: FactBook) -> Iterator[Problem]:
    for name, address in claim.facts.items():
        if name in claim.numbers or name in claim.unknowns:
            yield ("facts", name), f"{name!r} stands for two things"
        yield from _tried(("facts", name), partial(book.value, address))
    for word, vocabulary in claim.words.items():
        yield from _tried(("words", word), partial(book.vocabulary, vocabulary))


def _tried(keys: tuple[Key, ...], action: Callable[[], object]) -> Iterator[Problem]:
    """The problem that an action meets, if any."""
    try:
        action()
    except CommwallError as error:
        parts = [error.what, *(error.parts[part] for part in ("found", "expected"))]
        yield keys, "; ".join(part for part in parts if part)
    except (ArithmeticError, TypeError, ValueError) as error:
        yield keys, f"cannot be computed: {error}"


def _alike(text: str, known: dict[str, Quantity]) -> None:
    """Evaluate both sides of a relation, and see that they are of one kind.

    What is counted may differ: that is for the rules to find.
    """
    relation = parse_relation(text)
    left, right = (evaluate(side, known).dimension for side in (relation.left, relation.right))
    if as_samples(left) != as_samples(right):
        raise ExpressionError(f"{text!r} compares two kinds", found=_two(left, right))


def _few(text: str, exact: set[str]) -> None:
    """See that the combinations of ends, two of each quantity, can be tried."""
    uncertain = parse_relation(text).names - exact
    if len(uncertain) > UNCERTAIN_MOST:
        raise ExpressionError(
            f"a relation names {len(uncertain)} quantities that are not exact",
            expected=f"{UNCERTAIN_MOST} at most: add some up in the text's own sum, or split it",
        )


def _shown(text: str, unit: str, known: dict[str, Quantity]) -> None:
    found, wanted = evaluate(parse(text), known).dimension, unit_of(unit).dimension
    if found != wanted:
        raise ExpressionError(f"{text!r} has another unit", found=_two(found, wanted))


def _formula(formula: Formula) -> None:
    """A formula of the text may be wrong in every way but in its names; ours may not."""
    for value, unit in formula.at.values():
        if value <= 0:
            raise ExpressionError(f"values of `at` must be above 0, not {value} {unit}")
    if strangers := sorted(formula.reads.keys() - formula.at.keys()):
        raise ExpressionError(f"`reads` names {', '.join(strangers)}, which `at` does not have")
    known = {name: Quantity(value) * unit_of(unit) for name, (value, unit) in formula.at.items()}
    known |= {theirs: known[ours] for ours, theirs in formula.reads.items()}
    for text in (formula.text, formula.documented):
        if text:
            evaluate(parse(text), known)
    judged(formula)


def _measurable(claim: Claim, measured: Measured) -> None:
    """See that cells can be set beside the number, if there is one."""
    if measured.number is None:
        return
    if measured.number not in claim.numbers:
        raise ExpressionError(f"{measured.number!r} is no number of this claim")
    unit = "1" if measured.is_ratio else METRICS[measured.metric].unit
    found, wanted = (unit_of(own).dimension for own in (claim.numbers[measured.number].unit, unit))
    if found != wanted:
        raise ExpressionError(f"{measured.number!r} has another unit", found=_two(found, wanted))


def _two(one: Dimension, other: Dimension) -> str:
    return f"{dimension_text(one)} and {dimension_text(other)}"


def loaded(paths: tuple[Path, ...], book: FactBook) -> dict[Path, ClaimsFile]:
    """Several files; what is wrong with any of them is told at once.

    Raises:
        ConfigError: naming every problem of every file.
    """
    files: dict[Path, ClaimsFile] = {}
    problems: list[str] = []
    for path in paths:
        try:
            files[path] = read_claims(path, book)
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("claims cannot be judged", found="\n".join(problems))
    return files
