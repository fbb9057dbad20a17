"""What runs in the driver's environment needs only what its lock names; next steps exist."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from commwall.host.lockfiles import lock_path, read_lock
from commwall.host.software import normal_name
from commwall.schema.commands import command, environment_of
from tests.contracts.text_rules import shown_commands
from tests.contracts.tree import PACKAGE, ROOT

READING = ("whatif", "cost", "claims", "lint-env")
"""Verbs whose documented commands need no campaign and write nothing."""
BARE = """
import json, sys
from commwall.cli.main import VERBS, main
from commwall.schema.commands import environment_of
sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))  # None: as if not installed
for words in [*json.loads(sys.argv[2]), *([verb, "--help"] for verb in VERBS)]:
    try:
        main(words)
    except SystemExit:
        pass
"""


def absent_from_driver() -> Iterator[str]:
    """Packages of the tests' environment that the driver's has not."""
    locked = {normal_name(line.partition("==")[0]) for line in read_lock(lock_path(ROOT, "driver"))}
    for package, distributions in packages_distributions().items():
        if package != "commwall" and not locked & set(map(normal_name, distributions)):
            yield package


@pytest.fixture(scope="module")
def missed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Verbs that missed a package where only the driver's are."""
    page = tmp_path_factory.mktemp("page") / "page.html"
    topology = next((ROOT / "tests/data").rglob("topo*.txt"))
    asked = [["judge", "--language", "zh", "--page", str(page), str(topology)]]
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        asked += [words for words in shown_commands(path.read_text()) if words[0] in READING]
    once = [list(words) for words in dict.fromkeys(map(tuple, asked))]
    words = (json.dumps(sorted(absent_from_driver())), json.dumps(once))
    done = subprocess.run(
        [sys.executable, "-c", BARE, *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert page.exists()
    return set(re.findall(r"`commwall (\S+)` needs more than this Python has", done.stderr))


def test_documented_verbs_need_only_the_drivers_packages(missed: set[str]) -> None:
    assert {verb for verb in missed if environment_of(verb) is None} == set()


def test_a_verb_of_another_environment_says_so(missed: set[str]) -> None:
    assert {"tables", "render", "site"} <= missed
    assert command("tables") == ".envs/report/bin/python -m commwall tables"


def test_next_steps_name_programs_that_are_there() -> None:
    def bare(path: Path) -> bool:
        return "`snakemake " in path.read_text(encoding="utf-8")

    files = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.j2"), *(ROOT / "notebooks").glob("*.py")]
    assert list(filter(bare, files)) == []
