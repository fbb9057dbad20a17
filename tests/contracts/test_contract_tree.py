"""Workflow, notebooks, config and texts keep the house rules; each rule can fail."""

from collections.abc import Callable

import pytest

from commwall.schema.config import Config
from tests.contracts import tree_rules as rules
from tests.contracts.tree import ROOT, gather_text, text_files

RULE_FILES = [ROOT / "Snakefile", *sorted((ROOT / "workflow").rglob("*.smk"))]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
CONFIG = ROOT / "config" / "config.yaml"


def test_there_is_something_to_look_at() -> None:
    assert len(RULE_FILES) > 5
    assert {path.stem for path in NOTEBOOKS} >= {"summary", "throughput"}


def test_snakefile_is_a_contents_page() -> None:
    assert len((ROOT / "Snakefile").read_text(encoding="utf-8").splitlines()) <= 40


@pytest.mark.parametrize("rule", [rules.rule_directives, rules.path_mentions])
def test_rules_only_call_the_package(rule: Callable[[str], list[str]]) -> None:
    assert gather_text(RULE_FILES, rule) == []


def test_workflow_holds_no_python() -> None:
    """A module named `workflow` would replace Snakemake's own object."""
    assert [str(path) for path in (ROOT / "workflow").rglob("*.py")] == []


@pytest.mark.parametrize("rule", [rules.notebook_size, rules.notebook_code])
def test_notebooks_read_and_explain(rule: Callable[[str], list[str]]) -> None:
    assert gather_text(NOTEBOOKS, rule) == []


def test_no_notebook_with_outputs_is_kept() -> None:
    kept = [name for name, _ in text_files() if name.endswith(".ipynb")]
    assert [name for name in kept if not name.startswith("results/")] == []


def test_config_explains_every_key() -> None:
    assert gather_text([CONFIG], rules.uncommented_keys) == []


def test_config_and_model_know_the_same_keys() -> None:
    assert rules.key_differences(CONFIG.read_text(encoding="utf-8"), Config) == []


@pytest.mark.parametrize("rule", [rules.machine_paths, rules.index_hosts])
def test_texts_name_no_machine(rule: Callable[[str], list[str]]) -> None:
    found = [f"{name}: {violation}" for name, text in text_files() for violation in rule(text)]
    assert found == []


LONG_CELL = "# %%\n" + "x = 1\n" * 9


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (rules.rule_directives, "rule a:\n    script: 'x.py'"),
        (rules.rule_directives, "rule a:\n    run:\n        pass"),
        (rules.rule_directives, "rule a:\n    notebook: 'x.ipynb'"),
        (rules.path_mentions, "shell: 'PYTHONPATH=src python -m x'"),
        (rules.notebook_size, LONG_CELL),
        (rules.notebook_size, "# %% [markdown]\n# a\n" * 26),
        (rules.notebook_code, "# %%\ndef f(): ..."),
        (rules.notebook_code, "# %%\nclass A: ..."),
        (rules.notebook_code, "# %%\nfor x in y: ..."),
        (rules.notebook_code, "# %%\nwhile x: ..."),
        (rules.notebook_code, "# %%\ntry:\n    x\nfinally:\n    y"),
        (rules.notebook_code, "# %%\nopen('x')"),
        (rules.notebook_code, "# %%\npath.open()"),
        (rules.notebook_code, "# %%\nimport sys\nsys.path.append('x')"),
        (rules.uncommented_keys, "# of a\na: 1\nb: 2"),
        (rules.uncommented_keys, "# of a\na:\n  b: 2"),
        (rules.machine_paths, "see " + "/home" + "/alice/data"),
        (rules.index_hosts, "--index" + "-url x"),
        (rules.index_hosts, "https" + "://download.pytorch" + ".org/whl/cpu"),
    ],
)
def test_rule_catches(rule: Callable[[str], list[str]], text: str) -> None:
    assert len(rule(text)) == 1


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (rules.rule_directives, "rule a:\n    shell: 'run: x'"),
        (rules.notebook_size, "# %%\n" + "\n\nx = 1" * 8),
        (rules.notebook_code, "# %%\ntable = [row for row in rows]"),
        (rules.uncommented_keys, "# of a\na: 1\nb: 2  # of b"),
        (rules.machine_paths, "src/home/alice and https://a.org/home/alice"),
        (rules.machine_paths, "/home/somebody/data"),
        (rules.index_hosts, "https://arxiv.org/abs/2312.02741"),
    ],
)
def test_rule_lets_pass(rule: Callable[[str], list[str]], text: str) -> None:
    assert rule(text) == []


def test_key_rule_catches_both_directions() -> None:
    text = CONFIG.read_text(encoding="utf-8")
    renamed = text.replace("confidence:", "confidense:")
    assert rules.key_differences(renamed, Config) == [
        "confidense: not in Config",
        "confidence: not in the file",
    ]
