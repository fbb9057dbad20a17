"""README, guide, method and questions say what is so: commands, formulas' names, figures."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commwall.analysis import breakeven, census, columns
from commwall.analysis.derive import FORMULAS
from commwall.analysis.mitigations import table
from commwall.schema.metrics import METRICS
from tests.contracts import text_rules as rules
from tests.contracts.tree import ROOT

DOCS = ROOT / "docs"
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
FOR_USERS = [ROOT / "README.md", DOCS / "faq.md", *sorted((DOCS / "guide").glob("*.md"))]
MOST_README_LINES = 160
LEAST_QUESTIONS = 15


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def finding() -> Iterator[object]:
    sys.path.insert(0, str(DOCS))
    import finding

    yield finding
    sys.path.remove(str(DOCS))


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_anchors_of_links_exist(path: Path) -> None:
    found = rules.dead_anchors(
        text_of(path), lambda target: text_of(path.parent / target if target else path)
    )
    assert found == []


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_verbs_and_flags_exist(path: Path) -> None:
    text = text_of(path)
    commands = [*rules.shown_commands(text), *rules.mentioned_commands(text)]
    assert [wrong for words in commands if (wrong := rules.unknown_flag(words))] == []


@pytest.mark.parametrize("path", FOR_USERS, ids=named)
def test_shown_commands_are_taken(path: Path) -> None:
    commands = rules.shown_commands(text_of(path))
    assert [wrong for words in commands if (wrong := rules.refused(words))] == []


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_names_of_the_package_exist(path: Path) -> None:
    assert rules.unknown_names(text_of(path)) == []


def test_what_is_not_there_is_caught() -> None:
    assert rules.dead_anchors("[a](#b-c) [d](#e)", lambda target: "# B, c\n") == ["dead anchor: #e"]
    block = "```\n$ .venv/bin/commwall plan --gold x  # y\nnot commwall gold\n```\n`commwall gold`"
    assert list(rules.shown_commands(block)) == [["plan", "--gold", "x"]]
    assert list(rules.mentioned_commands(block)) == [["gold"]]
    assert rules.unknown_flag(["plan", "--gold", "x"]) == "plan has no --gold"
    assert rules.unknown_flag(["gold"]) == "no verb gold"
    assert "--within" in str(rules.refused(["measure", "CAMPAIGN", "training", "--within", "-1"]))
    names = "commwall.stats.paired.PairedRatio.n commwall.stats.paired.gold commwall.gold"
    assert rules.unknown_names(names) == ["commwall.stats.paired.gold", "commwall.gold"]


def test_every_formula_of_training_is_explained() -> None:
    text = text_of(DOCS / "method.md")
    derived = {formula.metric_id for formula in FORMULAS}
    assert {each for each in derived if f"`{each}`" not in text} == set()
    rows = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert {each for each in rows if each not in METRICS} == set()


def test_every_table_is_listed() -> None:
    text = text_of(DOCS / "guide" / "reading.md")
    made = {name for part in (breakeven, census, columns, table) for name in part.DESCRIPTIONS}
    assert {name for name in made if f"`{name}`" not in text} == set()


def test_questions_are_answered_with_commands() -> None:
    answers = re.split(r"^### ", text_of(DOCS / "faq.md"), flags=re.MULTILINE)[1:]
    assert len(answers) >= LEAST_QUESTIONS
    without = [text.splitlines()[0] for text in answers if not list(rules.shown_commands(text))]
    assert without == ["What is the difference between algorithm and bus bandwidth?"]


def test_readme_is_short() -> None:
    assert len(text_of(ROOT / "README.md").splitlines()) <= MOST_README_LINES


def test_guide_is_linked_from_readme() -> None:
    readme = text_of(ROOT / "README.md")
    assert [path for path in (DOCS / "guide").glob("*.md") if named(path) not in readme] == []


def test_finding_follows_from_the_records(finding) -> None:  # noqa: ANN001
    analysis = finding.sample()
    rows = finding.table_rows(analysis)
    readme = text_of(ROOT / "README.md")
    assert rows and [row for row in rows.values() if row not in readme] == []
    assert (DOCS / "finding.svg").read_bytes() == finding.figure(analysis), "repair: make docs"
