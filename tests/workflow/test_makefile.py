"""What the Makefile says and removes; what it makes is tested end to end."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.workflow.checkout import SOURCE, plain_environment

TARGETS = {"driver", "report", "test", "check", "docs", "clean", "help"}


def _make(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["make", *words],
        cwd=folder,
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_names_every_target() -> None:
    listed = set(re.findall(r"^ +make (\w+)", _make(SOURCE, "help").stdout, re.MULTILINE))
    assert listed >= TARGETS


def test_old_python_is_refused_with_a_next_step(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    text = '#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.8.2" && exit 0\nexit 1\n'
    python.write_text(text, encoding="utf-8")
    python.chmod(0o755)
    done = _make(SOURCE, "report", f"PYTHON={python}")
    assert done.returncode != 0
    assert "3.11 or newer" in done.stderr and "Python 3.8.2" in done.stderr
    assert "make PYTHON=" in done.stderr


def test_a_host_that_pip_cannot_serve_is_told_the_other_way(tmp_path: Path) -> None:
    shutil.copy(SOURCE / "Makefile", tmp_path)
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs/driver.lock").touch()
    python = tmp_path / "python3"
    text = (
        '#!/bin/sh\n[ "$2" != venv ] || { mkdir -p "$3/bin" && cp /bin/false "$3/bin/python"; }\n'
    )
    python.write_text(text, encoding="utf-8")
    python.chmod(0o755)
    done = _make(tmp_path, "driver", f"PYTHON={python}")
    assert done.returncode != 0 and not (tmp_path / ".venv/lock").exists()
    assert "docs/guide/air-gapped.md" in done.stderr


@pytest.mark.parametrize(("code", "named"), [(0, True), (1, True), (2, False)])
def test_the_page_to_open_is_named_unless_the_start_was_refused(
    tmp_path: Path, code: int, named: bool
) -> None:
    shutil.copy(SOURCE / "Makefile", tmp_path)
    (tmp_path / "envs").mkdir()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    for lock in ("envs/driver.lock", ".venv/lock"):
        (tmp_path / lock).touch()
    python = tmp_path / ".venv/bin/python"
    text = f'#!/bin/sh\n[ "$2" = snakemake ] && exit {code}\necho "$2" "$3"\n'
    python.write_text(text, encoding="utf-8")
    python.chmod(0o755)
    done = _make(tmp_path, "report")
    assert ("commwall pages" in done.stdout) is named
    assert (done.returncode == 0) is (code == 0)


def test_report_lists_no_job_with_its_inputs_and_targets_may_follow() -> None:
    recipe = _make(SOURCE, "-n", "report", "FLAGS=measure").stdout
    assert "-m snakemake --quiet rules reason host --cores all measure;" in recipe


def test_clean_keeps_plans_and_records(tmp_path: Path) -> None:
    shutil.copy(SOURCE / "Makefile", tmp_path)
    kept = {"results/a/plan.json", "results/a/records/p/training/c/r01.json"}
    gone = {
        *(".cw/a/training.state", ".venv/lock", ".envs/bench/manifest.json", "logs/a.log"),
        *("results/a/index.json", "results/a/attempts/training.json", "results/site/index.html"),
        *("results/a/tables/rounds.csv", "results/a/notebooks/summary.html"),
    }
    for name in kept | gone:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    done = _make(tmp_path, "clean")
    assert done.returncode == 0, done.stderr
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == kept | {"Makefile"}
    assert "Plans and records stay" in done.stdout
