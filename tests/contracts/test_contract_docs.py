"""Generated pages are current; links, commands and references of the texts lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from commwall.cli.main import VERBS
from commwall.schema.metrics import METRICS
from tests.contracts import tree_rules as rules
from tests.contracts.tree import ROOT

TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
SHOWN_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)


def generate(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "docs" / "generate.py", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def shown_code(path: Path) -> str:
    return "\n".join(SHOWN_CODE.findall(path.read_text(encoding="utf-8")))


def test_generated_pages_are_current() -> None:
    result = generate("--check")
    assert result.returncode == 0, result.stdout + result.stderr


def test_stale_pages_are_caught(tmp_path: Path) -> None:
    assert generate("--folder", tmp_path).returncode == 0
    pages = sorted(tmp_path.iterdir())
    for page in pages:
        page.write_text(f"{page.read_text(encoding='utf-8')}Edited {page.name}.\n", "utf-8")
    result = generate("--check", "--folder", tmp_path)
    assert result.returncode == 1
    names = ["ARCHITECTURE.md", "commands.md", "metrics.md", "records.md"]
    assert [page.name for page in pages] == names
    assert [name for name in names if f"-Edited {name}." not in result.stdout] == []
    assert "make docs" in result.stdout


def test_every_stored_field_has_a_meaning() -> None:
    lines = (ROOT / "docs" / "records.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if re.search(r"\|\s*\|$", line)] == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert rules.dead_links(text, lambda target: (path.parent / target).exists()) == []


def test_a_dead_link_is_caught() -> None:
    assert rules.dead_links("[a](gone.md#x) [b](https://b.org)", lambda target: False) == [
        "dead link: gone.md"
    ]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_commands_exist(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    code = shown_code(path)
    assert rules.unknown_words(code, r"\bmake ([a-z-]+)", targets) == []
    assert rules.unknown_words(code, r"(?:bin/|-m |`|^)commwall ([a-z-]+)", set(VERBS)) == []


def test_an_unknown_command_is_caught() -> None:
    assert rules.unknown_words("`make report` `make gold`", r"make (\w+)", {"report"}) == ["gold"]


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_decisions_have_their_parts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(path.name[:3]) for path in DECISIONS]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers


def test_sources_of_metrics_exist() -> None:
    sources = [metric.source for metric in METRICS.values()]
    files = {
        name
        for source in sources
        for name in re.findall(r"config/\S+\.yaml|docs/[\w/-]+\.md", source)
    }
    assert {name.split("/")[0] for name in files} == {"config", "docs"}
    assert {name for name in files if not (ROOT / name).exists()} == set()
