"""Catalogues hold every message of the code, translated, and no other."""

import ast
import re

import pytest

from commwall.language.catalogues import NOT_DONE, read
from commwall.language.messages import PLACES, messages
from commwall.language.translate import CATALOGUES
from tests.contracts.tree import ROOT, gather, sources
from tests.languages import OTHERS

PLACEHOLDER = re.compile(r"\{\w+\}")


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
