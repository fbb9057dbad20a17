"""Catalogues hold every message of the code, translated, and no other."""

import ast
import re
import typing
from collections.abc import Iterator

import pytest

from commwall.language.catalogues import NOT_DONE, read
from commwall.language.messages import PLACES, messages
from commwall.language.translate import CATALOGUES
from commwall.records.names import KEPT
from commwall.records.state import AccidentCause
from commwall.records.todo import Standing
from commwall.report.marks import CHECK_NAMES, MARK_WORDS
from commwall.report.site.downloads import DESCRIPTIONS
from commwall.schema.result import Cause, MarkName
from tests.contracts.source_rules import dotted
from tests.contracts.tree import ROOT, gather, part_of, sources
from tests.languages import OTHERS

PLACEHOLDER = re.compile(r"\{\w+\}")
CHECKING = frozenset({"Check", "check", "compared", "same_losses", "sound"})
"""Functions and methods that are given a check's name, by `name` or first."""


@pytest.fixture(scope="module")
def wanted() -> dict[str, set[str]]:
    return messages(ROOT)


@pytest.mark.parametrize("language", OTHERS)
def test_catalogues_hold_the_messages_of_the_code(
    wanted: dict[str, set[str]], language: str
) -> None:
    """`make messages` brings them up to date."""
    found = {path.stem: set(read(path)) for path in (CATALOGUES / language).glob("*.po")}
    assert found == wanted


def test_what_tables_hold_is_among_the_messages(wanted: dict[str, set[str]]) -> None:
    """Downloads name each table with it, by a variable that no catalogue can follow."""
    assert set(DESCRIPTIONS.values()) - set().union(*wanted.values()) == set()


def test_names_that_records_keep_are_all_worded() -> None:
    kept = [typing.get_args(each) for each in (MarkName, Cause, AccidentCause, Standing)]
    assert sorted(KEPT) == sorted({name.replace("_", " ") for names in kept for name in names})
    assert set(MARK_WORDS) == set(typing.get_args(MarkName))


def test_names_of_checks_are_all_worded() -> None:
    measuring = [path for path in sources() if part_of(path) in ("measure", "workers")]
    assert gather(measuring, unworded_checks) == []


def unworded_checks(tree: ast.Module) -> list[str]:
    """Names of checks that no catalogue has; what an f-string puts in may be any word."""
    known = [name.replace(" ", "_") for name in CHECK_NAMES]
    return [
        pattern
        for pattern in check_names(tree)
        if not any(re.fullmatch(pattern, name) for name in known)
    ]


def check_names(tree: ast.Module) -> Iterator[str]:
    """Patterns of the names that are written out where checks are made."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and dotted(call.func).rpartition(".")[2] in CHECKING:
            named = [word.value for word in call.keywords if word.arg == "name"]
            for node in (named or call.args)[:1]:
                parts = node.values if isinstance(node, ast.JoinedStr) else [node]
                if any(isinstance(part, ast.Constant) for part in parts):
                    yield "".join(map(_pattern, parts))


def _pattern(part: ast.expr) -> str:
    return re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w+"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('Check(name="parameter_count", passed=True)', []),
        ('side.sound(f"{leg}_sound_after_timing")', []),
        ("findings.check(check)", []),
        ('Check(name="gold_count", passed=True)', ["gold_count"]),
        ('findings.check(same_losses(f"{leg}_gold", own, plain))', [r"\w+_gold"]),
    ],
)
def test_an_unworded_check_is_found(source: str, found: list[str]) -> None:
    assert unworded_checks(ast.parse(source)) == found


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_is_translated(language: str) -> None:
    missing = [
        f"{path.stem}: {message}"
        for path in sorted((CATALOGUES / language).glob("*.po"))
        for message, text in read(path).items()
        if text == NOT_DONE
    ]
    assert missing == []


@pytest.mark.parametrize("language", OTHERS)
def test_translations_keep_the_places_of_values(language: str) -> None:
    for path in sorted((CATALOGUES / language).glob("*.po")):
        for message, text in read(path).items():
            if text != NOT_DONE:
                places = (sorted(PLACEHOLDER.findall(each)) for each in (message, text))
                assert len(set(map(tuple, places))) == 1, (path.stem, message, text)


def test_messages_are_written_out_at_the_call() -> None:
    assert gather(sources(), composed_messages) == []


def composed_messages(tree: ast.Module) -> list[str]:
    """Messages that a call puts together itself, so that no catalogue can hold them."""
    return [
        f"line {call.lineno}"
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        for argument in call.args[: PLACES.get(call.func.id, -1) + 1]
        if isinstance(argument, ast.JoinedStr | ast.BinOp)
    ]


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('tr("{n} rounds", n=2)', 0),
        ("tr(WORDS[name])", 0),
        ('tr(f"{n} rounds")', 1),
        ('trn("one", "many " + what, n)', 1),
        ('tr_later("a" + "b")', 1),
    ],
)
def test_a_composed_message_is_found(source: str, count: int) -> None:
    assert len(composed_messages(ast.parse(source))) == count
